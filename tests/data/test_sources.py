"""Readers of parallel text: right values, and one line for whatever is wrong."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import sys
import zipfile
from collections import Counter
from random import Random

import pytest

from seq2seq.data import tatoeba
from seq2seq.data.aligned import AlignedFiles
from seq2seq.data.base import DataConfig
from seq2seq.data.cut import Cut
from seq2seq.data.files import FilesConfig
from seq2seq.data.jsonl import JsonlConfig
from seq2seq.data.tatoeba import TatoebaConfig
from seq2seq.data.text import read_lines
from seq2seq.data.tmx import TmxConfig
from seq2seq.data.tsv import TsvConfig
from seq2seq.errors import DataError, DependencyError, SettingsError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS = {
    "": bytes,
    ".gz": lambda raw: gzip.compress(raw, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
# Characters that end a line for others, and that must not for us.
LINES = ["a\u2028b", "c\u0085d\x0ce", '"f\tg"', "", "\x00", "h" * (1 << 20), "\u200bi\xa0j"]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_closed", [True, False])
def test_lines_are_what_newlines_part_however_packed(tmp_path, suffix, end, is_closed):
    text = "\ufeff" + end.join(LINES) + (end if is_closed else "")
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix](text.encode()))
    assert read_lines(path) == LINES


@pytest.mark.parametrize("suffix", [one for one in PACKERS if one])
def test_what_is_not_whole_is_refused(tmp_path, suffix):
    whole = PACKERS[suffix](b"a line\n" * 1000)
    path = tmp_path / f"text{suffix}"
    for raw in (b"", b"plain text\n", whole[:-5], whole[:10]):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=rf"{re.escape(str(path))} is not a whole \w+ file"):
            read_lines(path)
    (tmp_path / "bare").write_bytes(whole)
    with pytest.raises(DataError, match=rf"one is unpacked if its name ends in {suffix}\)"):
        read_lines(tmp_path / "bare")


def test_without_its_package_zstandard_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, zstd.__name__, None)
    (tmp_path / "text.zst").write_bytes(zstd.compress(b"a\n"))
    with pytest.raises(DependencyError, match=r"pip install backports\.zstd"):
        read_lines(tmp_path / "text.zst")


def written(path, text) -> str:
    path.write_bytes(text.encode("utf-8"))
    return str(path)


def pairs_of(data: DataConfig, split="train"):
    return [tuple(one) for one in data.pairs(split)]


def test_several_training_files_are_one_after_another(tmp_path):
    names = {
        name: written(tmp_path / name, text)
        for name, text in (
            ("1.en", "a\nb\n"),
            ("1.de", "A\nB\n"),
            ("2.en", "c\n"),
            ("2.de", "C"),
        )
    }
    data = FilesConfig(
        train_source=(names["1.en"], names["2.en"]), train_target=(names["1.de"], names["2.de"])
    )
    assert pairs_of(data) == [(1, "a", "A"), (2, "b", "B"), (3, "c", "C")]
    with pytest.raises(SettingsError, match="names 2 files and train_target 1"):
        FilesConfig(train_source=("a", "b"), train_target=("c",))
    crossed = FilesConfig(
        train_source=(names["1.en"], names["2.en"]), train_target=(names["2.de"], names["1.de"])
    )
    with pytest.raises(DataError, match=r"1.en has 2 lines and .*2.de has 1"):
        pairs_of(crossed)


def test_columns_are_parted_by_tabs_alone(tmp_path):
    path = written(tmp_path / "x.tsv", 'id\tde\ten\n1\t"A\ta "quoted"\n2\t\tb\textra\n')
    data = TsvConfig(train=(path,), source_column=3, target_column=2, header=True)
    assert pairs_of(data) == [(2, 'a "quoted"', '"A'), (3, "b", "")]
    narrow = TsvConfig(train=(path,), source_column=1, target_column=4)
    with pytest.raises(DataError, match=r"x.tsv, line 1 has 3 columns .* column 4 is wanted"):
        pairs_of(narrow)
    with pytest.raises(SettingsError, match="must not be source_column"):
        TsvConfig(train=(path,), source_column=2)


def test_json_lines_give_chosen_fields_each_on_one_line(tmp_path):
    records = [{"t": {"en": "a\nb", "de": "A\u2028B"}}, {"t": {"en": "", "de": "C", "x": 1}}]
    path = written(tmp_path / "x.jsonl", "\n".join(map(json.dumps, records)))
    data = JsonlConfig(train=(path,), source_field="t.en", target_field="t.de")
    assert pairs_of(data) == [(1, "a b", "A\u2028B"), (2, "", "C")]
    for line, problem in (
        ("{", "line 1 is not JSON"),
        ("[1]", "has no text at `source` (it has: no object)"),
        ('{"source": 3}', "has no text at `source` (it has: source)"),
        (r'{"source": "\ud800", "target": ""}', "has half a character"),
        ("[" * 100_000, "line 1 is not JSON"),
    ):
        bad = JsonlConfig(train=(written(tmp_path / "bad.jsonl", line),))
        with pytest.raises(DataError, match=re.escape(problem)):
            pairs_of(bad)


TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><prop type="x">no</prop><tuv xml:lang="en-GB"><seg>Press <bpt i="1">&lt;b></bpt>the <hi>red</hi>
button<ept i="1">&lt;/b></ept> &amp; wait.</seg></tuv>
<tuv xml:lang="DE"><seg>Warten.</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Attendez.</seg></tuv><tuv xml:lang="en"><seg>Wait.</seg></tuv></tu>
<tu><tuv lang="de"><seg/></tuv><tuv lang="en"><seg>Nothing.</seg></tuv></tu>
</body></tmx>"""


def test_a_translation_memory_gives_units_that_have_both_languages(tmp_path):
    path = written(tmp_path / "x.tmx", TMX)
    data = TmxConfig(train=(path,), source="en", target="de")
    assert pairs_of(data) == [(1, "Press the red button & wait.", "Warten."), (3, "Nothing.", "")]
    with pytest.raises(SettingsError, match="must differ from the source"):
        TmxConfig(train=(path,), source="en", target="en-GB")


NESTED = "<hi>" * 100_000 + "</hi>" * 100_000
DEEP = f"""<tmx><body><tu><tuv xml:lang="en"><seg>{NESTED}</seg></tuv>
<tuv xml:lang="de"><seg/></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    "text",
    [
        TMX[:-20],
        TMX.replace("</hi>", ""),
        '<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><tmx><body>&b;</body></tmx>',
        '<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx><body>&a;</body></tmx>',
        '<?xml version="1.0" encoding="no-such-code"?><tmx/>',
        DEEP,
    ],
)
def test_xml_that_is_broken_or_hostile_is_refused(tmp_path, text):
    data = TmxConfig(train=(written(tmp_path / "x.tmx", text),), source="en", target="de")
    with pytest.raises(DataError, match=r"x\.tmx (is not whole XML|holds XML that is not read)"):
        pairs_of(data)


def test_what_is_cut_from_training_is_in_one_split_and_stays_there(tmp_path):
    random = Random(1)
    rows = [f"Sentence {random.randrange(3000)}\tSatz {number}" for number in range(9000)]
    rows += [one.upper().replace(" ", "  ", 1) for one in rows[:100]]
    path = written(tmp_path / "x.tsv", "\n".join(rows))
    data = TsvConfig(train=(path,), validation_share=0.1, test_share=0.2)
    splits = {name: pairs_of(data, name) for name in ("train", "validation", "test")}
    assert sorted(line for one in splits.values() for line, _, _ in one) == [
        *range(1, len(rows) + 1)
    ]
    folded = [
        {" ".join(one.casefold().split()) for _, one, _ in pairs} for pairs in splits.values()
    ]
    counts = Counter(one for sentences in folded for one in sentences)
    assert set(counts.values()) == {1}
    shares = [len(one) / len(counts) for one in folded]
    assert shares == pytest.approx([0.7, 0.1, 0.2], abs=0.03)
    shorter = TsvConfig(
        train=(written(tmp_path / "y.tsv", "\n".join(rows[:500])),),
        validation_share=0.1,
        test_share=0.2,
    )
    assert pairs_of(shorter, "test") == [one for one in splits["test"] if one[0] <= 500]
    with pytest.raises(SettingsError, match="must leave something"):
        TsvConfig(train=(path,), validation_share=0.5, test_share=0.5)
    # SHA-256 of `hello` opens with 2cf24dba, which is 0.1756 of 2^32.
    assert Cut(data.pairs("train"), "train", 0.1, 0.2).split_of(" Hello") == "test"


def test_what_is_held_out_is_found_again_without_reading_the_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path / "cache"))
    rows = [f"sentence {number}\tSatz {number}" for number in range(200)]
    data = TsvConfig(train=(written(tmp_path / "x.tsv", "\n".join(rows)),), test_share=0.2)
    first = data.read("test")
    assert 20 < len(first) < 60
    with monkeypatch.context() as patched:
        patched.setattr(Cut, "__iter__", None)
        assert data.read("test") == first
    (kept,) = (tmp_path / "cache" / "held-out").iterdir()
    for damage in ("[[1], [2]]", '[["a"], []]', '{"a": 1}', "[", '["a", "b"]'):
        kept.write_text(damage, "utf-8")
        assert data.read("test") == first
    written(tmp_path / "x.tsv", "\n".join(rows[1:]))
    assert data.read("test").source == [one for one in first.source if one != "sentence 0"]
    assert len([*kept.parent.iterdir()]) == 2


def test_a_split_that_is_given_is_not_cut_and_one_that_is_neither_is_refused(tmp_path):
    path = written(tmp_path / "x.tsv", "a\tA\n")
    with pytest.raises(SettingsError, match="but one is given"):
        TsvConfig(train=(path,), test=path, test_share=0.1)
    data = TsvConfig(train=(path,), validation=path)
    assert pairs_of(data, "validation") == [(1, "a", "A")] and not data.has_test()
    with pytest.raises(DataError, match=r"There is no test split: .* data\.test_share=0\.01"):
        data.pairs("test")


def test_digests_tell_apart_what_differs(tmp_path):
    one, other = (written(tmp_path / name, "a\tb\nc\td\n") for name in ("one", "other"))
    changed = written(tmp_path / "changed", "a\tb\nc\te\n")
    split = written(tmp_path / "split", "a\tb\n"), written(tmp_path / "rest", "c\td\n")
    digests = [
        data.pairs("train").digest()
        for data in (
            TsvConfig(train=(one,)),
            TsvConfig(train=(changed,)),
            TsvConfig(train=split),
            TsvConfig(train=(one,), source_column=2, target_column=1),
            TsvConfig(train=(one,), validation_share=0.5),
            FilesConfig(train_source=(one,), train_target=(other,)),
        )
    ]
    assert len(set(digests)) == len(digests)
    beside = TsvConfig(train=(one,), test=other)  # not what they are beside
    assert beside.pairs("train").digest() == digests[0]
    again = FilesConfig(train_source=(other,), train_target=(one,))
    assert again.pairs("train").digest() == digests[-1]  # content counts, not names


def test_a_pipe_is_refused_since_it_is_read_more_than_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe is no regular file.* write it to the disk first"):
        TsvConfig(train=(f"{tmp_path}/pipe",)).pairs("train").digest()


def test_a_change_while_text_is_read_is_told(tmp_path):
    path = written(tmp_path / "x.tsv", "a\tA\n")
    pairs = TsvConfig(train=(path,)).pairs("train")
    stamp = pairs.stamp()
    pairs.check_unchanged(stamp)
    written(tmp_path / "x.tsv", "a\tA\nb\tB\n")
    with pytest.raises(DataError, match=r"x\.tsv has changed while it was read"):
        pairs.check_unchanged(stamp)
    (tmp_path / "x.tsv").unlink()
    with pytest.raises(DataError, match=r"x\.tsv cannot be read: No such file"):
        pairs.stamp()


def test_the_textbooks_archive_is_read_in_place(tmp_path, monkeypatch):
    path = tmp_path / "fra-eng.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(tatoeba.INSIDE, "Go.\tVa !\n" + "Run!\tCours\u202f!\tCC-BY\n")
        archive.writestr("../../escaped", "x")
    whole = {"validation_share": 0.0, "test_share": 0.0, "root": str(tmp_path)}
    assert pairs_of(TatoebaConfig(**whole)) == [(1, "Go.", "Va !"), (2, "Run!", "Cours\u202f!")]
    turned = TatoebaConfig(source="fr", target="en", **whole)
    assert pairs_of(turned)[0] == (1, "Va !", "Go.")
    assert not (tmp_path.parent / "escaped").exists() and [*tmp_path.iterdir()] == [path]
    for raw in (b"no archive", path.read_bytes()[:60]):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"fra-eng\.zip is not the archive"):
            pairs_of(turned)
    asked = []
    monkeypatch.setattr(tatoeba, "fetch", lambda *args: asked.append(args) or path)
    with pytest.raises(DataError):
        pairs_of(TatoebaConfig())
    assert asked[0][:2] == (tatoeba.ADDRESS, tatoeba.SHA1)


def readers(folder) -> dict:
    """Each reader, of files that are there, and what it is likely to meet."""
    path = {suffix: str(folder / f"x{suffix}") for suffix in (*PACKERS, ".b")}
    return {
        "aligned": AlignedFiles([folder / "x"], [folder / "x.b"]),
        **{
            f"aligned{suffix}": AlignedFiles([folder / f"x{suffix}"], [folder / f"x{suffix}"])
            for suffix in PACKERS
            if suffix
        },
        "tsv": TsvConfig(train=(path[""],)).pairs("train"),
        "jsonl": JsonlConfig(train=(path[""],)).pairs("train"),
        "tmx": TmxConfig(train=(path[""],), source="en", target="de").pairs("train"),
    }


def fuzzed(random: Random) -> bytes:
    """Bytes of some kind: noise, text with odd characters, or something good with damage."""
    lines = [
        "".join(
            random.choices(
                "ab \t\r\x00\u2028\u0085\x0c\ufeff\u00fc\U0001f600", k=random.randrange(9)
            )
        )
        for _ in range(random.randrange(6))
    ]
    good = [
        "\n".join(lines).encode(),
        "\n".join(json.dumps({"source": one, "target": one}) for one in lines).encode(),
        TMX.encode(),
    ]
    raw = random.choice([random.randbytes(random.randrange(200)), *good])
    raw = random.choice([*PACKERS.values(), bytes, bytes, bytes])(raw)
    if raw and random.random() < 0.4:
        place = random.randrange(len(raw))
        raw = raw[:place] + random.randbytes(random.randrange(3)) + raw[place + 1 :]
    return raw


def lines_in(raw: bytes) -> list[bytes]:
    """What newlines part, by hand."""
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [one.removesuffix(b"\r") for one in lines[: len(lines) - (not lines[-1])]]


@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 10_300), marks=pytest.mark.slow)]
)
def test_no_bytes_give_a_traceback_or_a_pair_that_is_shifted(tmp_path, seeds):
    num_read: Counter = Counter()
    for random in map(Random, seeds):
        raw, other = fuzzed(random), fuzzed(random)
        if random.random() < 0.4:
            other = raw
        for suffix in PACKERS:
            (tmp_path / f"x{suffix}").write_bytes(raw)
        (tmp_path / "x.b").write_bytes(other)
        for name, pairs in readers(tmp_path).items():
            kept, is_whole = [], True
            try:
                kept.extend(pairs)
            except DataError as error:
                is_whole = False
                assert "\n" not in str(error)
            num_read[name] += is_whole and bool(kept)
            if name == "aligned":
                sides = [lines_in(raw), lines_in(other)]
                for line, *both in kept:
                    assert [one.encode() for one in both] == [side[line - 1] for side in sides]
                assert not is_whole or [len(kept)] * 2 == [*map(len, sides)]
            assert [one.line for one in kept] == sorted({one.line for one in kept})
            assert all("\n" not in one.source + one.target for one in kept)
    assert all(num_read.values()), num_read  # none is refused whatever it holds
