"""Test sets from sacrebleu's own folder."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from seq2seq.data.sacrebleu import SacrebleuConfig
from seq2seq.errors import DataError

DATA = SacrebleuConfig(test_set="multi30k/2016", languages="en-de")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The files as sacrebleu leaves them."""
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    folder = tmp_path / "multi30k" / "2016"
    folder.mkdir(parents=True)
    for field, lines in (("src", "A man.\nA dog.\n"), ("ref", "Ein Mann.\nEin Hund.\n")):
        (folder / f"multi30k_2016.en-de.{field}").write_text(lines, "utf-8")
    return tmp_path


def test_it_reads_what_sacrebleu_itself_reads(cache):
    found = DATA.read("test")
    assert (found.source, found.target) == (["A man.", "A dog."], ["Ein Mann.", "Ein Hund."])
    command = [sys.executable, "-m", "sacrebleu", "-t", "multi30k/2016", "-l", "en-de", "--echo"]
    for field, lines in (("src", found.source), ("ref", found.target)):
        said = subprocess.run([*command, field], capture_output=True, text=True, check=True)
        assert said.stdout.splitlines() == lines


def test_what_is_not_there_is_refused_with_the_way_to_get_it(cache):
    with pytest.raises(DataError, match=re.escape("-t multi30k/2016 -l en-cs --echo ref")):
        SacrebleuConfig(test_set="multi30k/2016", languages="en-cs").read("test")
    with pytest.raises(DataError, match="it has no train split"):
        DATA.read("train")
