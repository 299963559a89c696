"""Encoded pairs and vocabularies that are kept: the same as made anew, whatever happens."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import signal
import time
from dataclasses import replace

import pytest
from test_cleaning import Listed

from seq2seq.data import cache as cache_module
from seq2seq.data import encoding, store
from seq2seq.data.aligned import AlignedFiles
from seq2seq.data.batches import EncodedPairs
from seq2seq.data.cache import place_of, put_text
from seq2seq.data.mapped import read_pairs
from seq2seq.data.store import longest_of, pairs_by_epoch, sampled, stored
from seq2seq.data.vocabulary import Vocabulary, make_vocabulary, sample_of
from seq2seq.errors import DataError
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig

PAIRS = Listed(
    *((f"the {one} cat sees {one * 7}", f"die Katze {one} sieht {one * 3}") for one in range(200)),
    ("", "nothing"),
    ("a last one", "eine letzte"),
    ("\u200b", ""),
)
CONFIG = SubwordConfig(vocabulary_size=60)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path))
    for module in (store, encoding):
        monkeypatch.setattr(module, "CHUNK", 7)
    return tmp_path


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> Vocabulary:
    text, folder = PAIRS.as_text(), tmp_path_factory.mktemp("vocabulary")
    TokenizerPair.train(CONFIG, text.source, text.target).save(folder)
    return Vocabulary.load(CONFIG, folder)


@pytest.fixture
def another(vocabulary, tmp_path) -> Vocabulary:
    """One of which a file differs."""
    folder = tmp_path / "another"
    shutil.copytree(vocabulary.folder, folder)
    (folder / "note").touch()
    return replace(vocabulary, folder=folder)


def content(pairs: EncodedPairs):
    ids = ([one.tolist() for one in side] for side in (pairs.source, pairs.target))
    return [*ids, pairs.lines.tolist(), pairs.num_left_out, pairs.lengths.tolist()]


@pytest.fixture
def expected(vocabulary):
    return content(EncodedPairs.encode(PAIRS.as_text(), vocabulary.tokenizers))


def test_what_is_stored_is_what_is_encoded_and_is_found_again(
    cache, vocabulary, expected, monkeypatch
):
    assert content(stored(PAIRS, vocabulary)) == expected
    monkeypatch.setattr(encoding, "_encoded", None)  # not done again
    again = stored(PAIRS, vocabulary)
    assert content(again) == expected
    assert again.batch([3, 200]).target_mask.sum() == again.num_tokens([3, 200])
    assert [one.suffix for one in (cache / "encoded").iterdir()] == [""]


def test_other_pairs_and_other_vocabularies_have_other_places(cache, vocabulary, another, expected):
    stored(PAIRS, vocabulary)
    stored(PAIRS, another)
    assert len(stored(Listed(("the cat", "die Katze")), vocabulary)) == 1
    assert len([*(cache / "encoded").iterdir()]) == 3
    assert content(stored(PAIRS, vocabulary)) == expected


def damage(folder, how):
    if how == "cut":
        path = folder / "target_ids"
        path.write_bytes(path.read_bytes()[:-2])
    elif how == "gone":
        (folder / "lines").unlink()
    elif how == "index":
        (folder / "index.json").write_text("{", "utf-8")
    elif how == "objects":  # whose bytes would be taken for addresses
        about = json.loads((folder / "index.json").read_text("utf-8"))
        about["codes"]["source"], about["num_ids"]["source"] = "O", about["num_ids"]["source"] // 4
        (folder / "index.json").write_text(json.dumps(about), "utf-8")
    else:
        shutil.rmtree(folder)
        folder.mkdir()


@pytest.mark.parametrize("how", ["cut", "gone", "index", "objects", "empty"])
def test_what_is_not_whole_is_made_anew(cache, vocabulary, expected, how):
    stored(PAIRS, vocabulary)
    (folder,) = (cache / "encoded").iterdir()
    damage(folder, how)
    assert read_pairs(folder) is None
    assert content(stored(PAIRS, vocabulary)) == expected


def test_large_vocabularies_have_larger_numbers(cache, vocabulary):
    class Large(type(vocabulary.tokenizers.source)):
        @property
        def vocabulary_size(self):  # while it is made, what it is
            return 1 << 20 if hasattr(self, "_dropout") else super().vocabulary_size

        def encode(self, sentence):
            return [(one << 16) + 3 for one in super().encode(sentence)]

        def encode_all(self, sentences):
            return [self.encode(one) for one in sentences]

    usual = vocabulary.tokenizers
    pair = TokenizerPair(Large(usual.source._model), usual.target)
    found = stored(PAIRS, replace(vocabulary, tokenizers=pair))
    sizes = [side.values.dtype.itemsize for side in (found.source, found.target)]
    assert sizes == [4, 2]
    assert content(found) == content(EncodedPairs.encode(PAIRS.as_text(), pair))


def test_many_pairs_are_encoded_by_several_processes(cache, vocabulary, expected, monkeypatch):
    monkeypatch.setattr(encoding, "MANY", 21)
    monkeypatch.setattr(store.torch, "get_num_threads", lambda: 2)
    with monkeypatch.context() as patched:
        patched.setattr(encoding, "_encoded", None)  # not by this process
        assert content(stored(PAIRS, vocabulary)) == expected
    with pytest.raises(DataError, match="a process that tokenizes has died"):
        stored(PAIRS, replace(vocabulary, folder=cache / "gone"))
    assert len([*(cache / "encoded").iterdir()]) == 1


def test_a_store_that_is_cut_short_meanwhile_is_one_line(cache, vocabulary):
    found = stored(PAIRS, vocabulary)
    damage(*(cache / "encoded").iterdir(), "cut")
    assert found.target[0].tolist() == vocabulary.tokenizers.target.encode(PAIRS.given[0][1])
    with pytest.raises(DataError, match=r"target_ids was cut short meanwhile\. Start again"):
        content(found)


def test_nothing_to_learn_from_is_refused_and_leaves_nothing(cache, vocabulary):
    with pytest.raises(DataError, match="a test: no pair has text on both sides"):
        stored(Listed(("", "a"), ("b", "")), vocabulary)
    assert [*(cache / "encoded").iterdir()] == []


def test_a_cache_that_cannot_be_written_is_done_without(
    cache, vocabulary, expected, capsys, monkeypatch
):
    (cache / "file").touch()
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(cache / "file"))
    assert content(stored(PAIRS, vocabulary)) == expected
    assert "encoded cannot be written" in capsys.readouterr().err


def build(folder, started, together):
    """As a process of its own: slowly, so that it can be met and killed on its way."""
    vocabulary, encode = Vocabulary.load(CONFIG, folder), store.encode

    def slowly(*args):
        for chunk in encode(*args):
            started.set()
            time.sleep(0.02)
            yield chunk
        if together:
            together.wait(60)  # both have all, and neither has put it into its place

    store.encode, encoding.CHUNK = slowly, 7
    again = EncodedPairs.encode(PAIRS.as_text(), vocabulary.tokenizers)
    assert content(stored(PAIRS, vocabulary)) == content(again)


def test_a_kill_in_the_middle_and_two_at_once_leave_what_is_right(
    cache, vocabulary, another, expected
):
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    events = [context.Event() for _ in range(3)]
    runs = [
        context.Process(target=build, args=(vocabulary.folder, one, after))
        for one, after in zip(events, (None, together, together), strict=True)
    ]
    runs[0].start()
    assert events[0].wait(60)
    os.kill(runs[0].pid, signal.SIGKILL)
    runs[0].join(60)
    (part,) = (cache / "encoded").iterdir()
    assert part.suffix == ".part"
    for run in runs[1:]:
        run.start()
    for run in runs[1:]:
        run.join(120)
        assert run.exitcode == 0
    whole = [one for one in (cache / "encoded").iterdir() if one != part]
    assert len(whole) == 1 and content(read_pairs(whole[0])) == expected
    assert content(stored(PAIRS, vocabulary)) == expected
    old = time.time() - cache_module.SECONDS_KEPT - 1
    for one in (*part.iterdir(), part):
        os.utime(one, (old, old))
    stored(PAIRS, another)
    assert not part.exists()


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_nobody_asked_for_in_a_long_time_is_cleared_away(cache, is_folder):
    old = time.time() - cache_module.DAYS_UNUSED * 24 * 3600 - 1
    for kind, name in [("encoded", "unused"), ("encoded", "used"), ("multi30k", "train.en.gz")]:
        path = cache / kind / name
        path.mkdir(parents=True) if is_folder else put_text(path, "text")
        os.utime(path, (old, old))
    assert place_of("encoded", "used") == cache / "encoded" / "used"
    assert place_of("encoded", "new") == cache / "encoded" / "new"
    left = [one.relative_to(cache).as_posix() for one in cache.glob("*/*")]
    assert sorted(left) == ["encoded/used", "multi30k/train.en.gz"]


def test_a_full_disk_is_one_line_with_the_way_out(cache, vocabulary, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store, "write_pairs", full)
    with pytest.raises(
        DataError, match=r"\(No space left on device\)\. Make room .* SEQ2SEQ_CACHE"
    ):
        stored(PAIRS, vocabulary)
    assert [*(cache / "encoded").iterdir()] == []


def test_text_that_changes_while_it_is_encoded_is_not_kept(cache, vocabulary, tmp_path):
    paths = tmp_path / "source", tmp_path / "target"
    for path in paths:
        path.write_text("the cat\n" * 50, "utf-8")
    pairs = AlignedFiles(paths[:1], paths[1:])

    class Meanwhile(type(vocabulary.tokenizers.source)):
        def encode_all(self, sentences):
            paths[0].write_text("another\n" * 50, "utf-8")
            return super().encode_all(sentences)

    usual = vocabulary.tokenizers
    pair = TokenizerPair(Meanwhile(usual.source._model), usual.target)
    with pytest.raises(DataError, match="has changed while it was read"):
        stored(pairs, replace(vocabulary, tokenizers=pair))
    assert [*(cache / "encoded").iterdir()] == []


def test_sampled_pairs_are_cut_anew_each_epoch_and_leave_no_files(cache):
    text = PAIRS.as_text()
    config = SubwordConfig(vocabulary_size=60, sampling=0.5)
    pair = TokenizerPair.train(config, text.source, text.target)
    plain = EncodedPairs.encode(text, pair)
    of_epoch = pairs_by_epoch(PAIRS, plain, pair, seed=1)
    one, same, other = of_epoch(0), of_epoch(0), of_epoch(1)
    assert [*cache.iterdir()] == []  # a kill would leave none, either
    assert content(one) == content(same) != content(other)
    assert one.lines.tolist() == plain.lines.tolist()
    for left, right in zip(one.source, plain.source, strict=True):
        assert pair.source.decode(left.tolist()) == pair.source.decode(right.tolist())
    assert content(sampled(PAIRS, pair, 5)) != content(one)
    longest = longest_of(PAIRS, pair)
    assert 1 <= len(longest) <= 2
    assert (longest.lengths.max(axis=0) >= one.lengths.max(axis=0)).all()


def test_a_vocabulary_is_made_once(cache, tmp_path, monkeypatch):
    folders = [tmp_path / str(number) for number in range(4)]
    for one in folders:
        one.mkdir()
    make_vocabulary(CONFIG, PAIRS, folders[0])
    with monkeypatch.context() as patched:
        patched.setattr(TokenizerPair, "train", None)
        make_vocabulary(CONFIG, PAIRS, folders[1])
    digests = [Vocabulary.load(CONFIG, one).digest() for one in folders[:2]]
    assert digests[0] == digests[1]
    assert Vocabulary.load(SubwordConfig(vocabulary_size=61), folders[0]).digest() != digests[0]
    with monkeypatch.context() as patched:  # another release may cut otherwise
        patched.setattr("seq2seq.tokenizers.base.version", lambda name: "0")
        assert Vocabulary.load(CONFIG, folders[0]).digest() != digests[0]
    for path in (cache / "vocabularies").rglob("*.model"):
        path.write_bytes(b"damaged")
    make_vocabulary(CONFIG, PAIRS, folders[2])
    assert Vocabulary.load(CONFIG, folders[2]).digest() == digests[0]
    assert [one.suffix for one in (cache / "vocabularies").iterdir()] == [""]
    with pytest.raises(DataError, match="no pair has text on both sides"):
        make_vocabulary(CONFIG, Listed(("", "a"), ("b", "")), folders[3])


def test_large_corpora_are_sampled_evenly_and_in_order():
    pairs = Listed(*((str(one), "x") for one in range(1000)))
    some = sample_of(pairs, 100)
    assert some == sample_of(pairs, 100)
    lines = [one.line for one in some]
    assert lines == sorted(set(lines)) and len(lines) == 100
    assert 350 < sum(lines) / 100 < 650
    assert sample_of(pairs, 1000) == sample_of(pairs, 5000) == [*pairs]
