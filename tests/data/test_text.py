"""Reading text: where lines end, and what is said about files that cannot be read."""

from __future__ import annotations

import gzip

import pytest

from seq2seq.data.aligned import read_parallel
from seq2seq.data.text import lines_of, read_lines, sentences_of
from seq2seq.errors import DataError


def refusal_of(call, *arguments) -> str:
    """The one line that a call is refused with."""
    with pytest.raises(DataError) as refused:
        call(*arguments)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\n\nb\n\n", ["a", "", "b", ""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\n\rc\n", ["a\rb", "\rc"]),
        ("a\r\r\nb\n", ["a\r", "b"]),
        ("a\u2028b\u2029c\n", ["a\u2028b\u2029c"]),
        ("a\x85b\n", ["a\x85b"]),
        ("a\x0cb\x0bc\x1cd\n", ["a\x0cb\x0bc\x1cd"]),
        ("a\0b\n", ["a\0b"]),
        (" a\t\n\xa0b \n", [" a\t", "\xa0b "]),
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),
        ("\ufeff", []),
        ("Größe 漢字 🚲\n", ["Größe 漢字 🚲"]),
    ],
)
@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_only_a_newline_ends_a_line(tmp_path, content, lines, name):
    raw = content.encode("utf-8")
    (tmp_path / name).write_bytes(gzip.compress(raw, mtime=0) if name.endswith(".gz") else raw)
    assert read_lines(tmp_path / name) == lines


def test_gzip_members_in_a_row_are_one_text(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a\nb", mtime=0) + gzip.compress(b"c\n", mtime=0))
    assert read_lines(path) == ["a", "bc"]


WHOLE = gzip.compress(b"a line\n" * 100, mtime=0)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"plain text\n",
        WHOLE[:1],
        WHOLE[:5],
        WHOLE[:-9],
        WHOLE[:-1],
        WHOLE + b"more",
        WHOLE[:-8] + bytes(4) + WHOLE[-4:],
        WHOLE[:10] + b"\xff" * 20 + WHOLE[30:],
    ],
)
def test_a_broken_gzip_file_is_refused(tmp_path, raw):
    path = tmp_path / "text.gz"
    path.write_bytes(raw)
    assert refusal_of(read_lines, path) == f"{path} is not a whole gzip file."


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"\xff", "line 1, byte 1 is not UTF-8 (0xff)"),
        (b"good\nGr\xfc\xdfe\n", "line 2, byte 3 is not UTF-8 (0xfc)"),
        (b"a\r\nb\r\n\r\ncd\xe4\n", "line 4, byte 3 is not UTF-8 (0xe4)"),
        ("ä\u2028\x85\n".encode() + b"\xe2\x82", "line 2, byte 1 is not UTF-8 (0xe2)"),
        (b"\xef\xbb\xbfa\xed\xa0\x80\n", "line 1, byte 5 is not UTF-8 (0xed)"),
    ],
)
@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_what_is_not_utf8_is_refused_with_its_place(tmp_path, raw, place, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw, mtime=0) if name.endswith(".gz") else raw)
    assert refusal_of(read_lines, path).startswith(f"{path}, {place}. Convert the file")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"\xff\xfea\0", "UTF-16 (convert it with `iconv -f UTF-16 -t UTF-8`)"),
        (b"\xfe\xff\0a", "UTF-16 (convert it with `iconv -f UTF-16 -t UTF-8`)"),
        (gzip.compress(b"a", mtime=0), "a gzip file (one is unpacked if its name ends in .gz)"),
    ],
)
def test_what_is_no_plain_text_is_named(tmp_path, raw, kind):
    path = tmp_path / "text"
    path.write_bytes(raw)
    assert refusal_of(read_lines, path) == f"{path} is not UTF-8 text, but {kind}."


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_a_missing_file_and_a_folder_are_refused(tmp_path, name):
    path = tmp_path / name
    assert refusal_of(read_lines, path) == f"{path} cannot be read: No such file or directory."
    path.mkdir()
    assert refusal_of(read_lines, path) == f"{path} cannot be read: Is a directory."


def test_parallel_files_need_equally_many_lines(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes("a\nb\u2028c\n".encode())
    target.write_bytes(b"x\r\n\r\n")
    pairs = read_parallel(source, target)
    assert (pairs.source, pairs.target, len(pairs)) == (["a", "b\u2028c"], ["x", ""], 2)
    assert str(source) in pairs.origin and str(target) in pairs.origin
    target.write_bytes(b"x\ny\nz\n")
    refusal = refusal_of(read_parallel, source, target)
    assert refusal.startswith(f"{source} has 2 lines and {target} has 3,")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("3.5 metres, e.g. here", ["3.5 metres, e.g.", "here"]),
        ("一。二！", ["一。", "二！"]),
        ("no end", ["no end"]),
        ("", [""]),
        ("  \t", ["  \t"]),
        ("... and so on", ["...", "and so on"]),
    ],
)
def test_a_text_is_cut_behind_what_ends_a_sentence(text, sentences):
    assert sentences_of(text) == sentences


def test_lines_come_as_they_are_read(tmp_path):
    """So an endless input has a first translation, and what is wrong below does not hide it."""
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\n\xff\n")
    lines = lines_of(path)
    assert (next(lines), next(lines)) == ("one", "two")
    assert refusal_of(next, lines).startswith(f"{path}, line 3, byte 1 is not UTF-8 (0xff)")
