"""Multi30k: what it refuses, and the real files against their published sums."""

from __future__ import annotations

import gzip
import re

import pytest

from seq2seq.data import multi30k as module
from seq2seq.data.download import checksum
from seq2seq.data.multi30k import CHECKSUMS, Multi30kConfig
from seq2seq.errors import DataError, SettingsError


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_it_reads_a_folder_of_files_plain_or_gzip(tmp_path, suffix):
    for stem, number in (("train", 3), ("val", 2), ("test_2017_mscoco", 1)):
        for language in ("de", "fr"):
            raw = "".join(f"{language} {one}\n" for one in range(number)).encode()
            path = tmp_path / f"{stem}.{language}{suffix}"
            path.write_bytes(gzip.compress(raw) if suffix else raw)
    data = Multi30kConfig(source="fr", target="de", test_set="test_2017_mscoco", root=str(tmp_path))
    assert data.read("train").source == ["fr 0", "fr 1", "fr 2"]
    assert data.read("validation").target == ["de 0", "de 1"]
    assert (data.read("test").source, data.read("test").target) == (["fr 0"], ["de 0"])


def test_a_folder_without_the_files_is_refused(tmp_path):
    with pytest.raises(DataError) as refused:
        Multi30kConfig(root=str(tmp_path)).read("train")
    path = tmp_path / "train.en.gz"
    assert str(refused.value) == (
        f"{path} is not there. data.root must hold Multi30k's files: "
        "{train,val,test_2016_flickr}.{en,de}.gz."
    )


def test_without_a_folder_it_downloads_what_is_pinned(tmp_path, monkeypatch):
    asked = []

    def fetch(address, sha256, folder, advice):
        asked.append((address, sha256, folder, advice))
        path = tmp_path / address.rpartition("/")[2]
        path.write_bytes(gzip.compress(b"a line\n"))
        return path

    monkeypatch.setattr(module, "fetch", fetch)
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path))
    assert len(Multi30kConfig().read("validation")) == 1
    for (address, sha256, folder, advice), name in zip(
        asked, ("val.en.gz", "val.de.gz"), strict=True
    ):
        assert address.endswith(f"{module.COMMIT}/data/task1/raw/{name}")
        assert sha256 == CHECKSUMS[name]
        assert folder == tmp_path / "multi30k"
        assert "{train,val,test_2016_flickr}.{en,de}.gz" in advice and "data.root=" in advice


def test_languages_must_differ():
    with pytest.raises(SettingsError, match="`target` must differ from the source, but both are"):
        Multi30kConfig(source="fr", target="fr")


@pytest.mark.parametrize("test_set", ["test_2017_flickr", "test_2017_mscoco"])
@pytest.mark.parametrize("languages", [("cs", "en"), ("en", "cs")])
def test_there_is_no_czech_in_2017(test_set, languages):
    source, target = languages
    with pytest.raises(SettingsError, match=f"`test_set` is {test_set}, which has no cs"):
        Multi30kConfig(source=source, target=target, test_set=test_set)
    Multi30kConfig(source=source, target=target, test_set="test_2018_flickr")


def test_checksums_are_sha256_of_each_split_in_each_language():
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in CHECKSUMS.values())
    assert len(set(CHECKSUMS.values())) == len(CHECKSUMS) == 4 * 4 + 3 * 2
    assert re.fullmatch("[0-9a-f]{40}", module.COMMIT)


@pytest.mark.parametrize(
    ("source", "target"), [("en", "de"), ("de", "en"), ("en", "fr"), ("en", "cs")]
)
def test_the_real_corpus_has_its_known_size(multi30k, source, target):
    data = Multi30kConfig(source=source, target=target, root=str(multi30k))
    sizes = []
    for split in ("train", "validation", "test"):
        pairs = data.read(split)
        sizes.append(len(pairs))
        assert all(one.strip() for one in (*pairs.source, *pairs.target))
    assert sizes == [29_000, 1_014, 1_000]


def test_the_real_files_have_the_published_sums(multi30k):
    files = sorted(multi30k.glob("*.gz"))
    assert len(files) >= 12
    for path in files:
        assert checksum(path) == CHECKSUMS[path.name]


def test_the_first_pair_is_the_right_one(multi30k):
    pairs = Multi30kConfig(root=str(multi30k)).read("train")
    assert pairs.source[0] == "Two young, White males are outside near many bushes."
    assert pairs.target[0] == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
