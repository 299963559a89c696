"""What every tokenizer of the YAML folder keeps, with one vocabulary or with two."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from conftest import CONFIGS

from seq2seq.config import from_tree
from seq2seq.errors import DependencyError
from seq2seq.special_tokens import BOS, EOS, PAD, UNK
from seq2seq.tokenizers.base import TokenizerConfig, TokenizerPair

SOURCE = ["The dog sees a cat .", "a dog runs .", "the cat sees The dog , too ."] * 3
TARGET = ["Der Hund sieht eine Katze .", "ein Hund läuft .", "Größe und Übermut !"] * 3
NAMES = sorted(path.stem for path in (CONFIGS / "tokenizer").glob("*.yaml"))


@pytest.fixture(params=NAMES)
def config(request) -> TokenizerConfig:
    """The settings of one option."""
    tree = yaml.safe_load((CONFIGS / "tokenizer" / f"{request.param}.yaml").read_text("utf-8"))
    return from_tree(tree, TokenizerConfig)


def trained(config: TokenizerConfig) -> TokenizerPair:
    try:
        return TokenizerPair.train(config, SOURCE, TARGET)
    except DependencyError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("joint", [True, False])
def test_saved_and_loaded_it_gives_the_same_ids(tmp_path, config, joint):
    config = replace(config, joint=joint)
    pair = trained(config)
    assert pair.is_joint == joint
    pair.save(tmp_path)
    sides = ["joint"] if joint else ["source", "target"]
    assert sorted(one.name for one in tmp_path.iterdir()) == sides
    loaded = TokenizerPair.load(config, tmp_path)
    assert loaded.is_joint == joint
    for sentence in [*SOURCE, *TARGET, "something new"]:
        for side in ("source", "target"):
            one, other = getattr(loaded, side), getattr(pair, side)
            assert one.encode(sentence) == other.encode(sentence)
            assert one.decode(one.encode(sentence)) == other.decode(one.encode(sentence))
    knows_both = UNK not in pair.source.encode("Hund") + pair.target.encode("dog")
    assert knows_both == joint


def test_two_trainings_give_the_same_bytes(tmp_path, config):
    for name in ("one", "two"):
        trained(config).save(tmp_path / name)
    written = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert written
    for path in written:
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes()


def test_special_tokens_come_from_no_text_and_blanks_are_nothing(config):
    tokenizer = trained(config).source
    assert tokenizer.tokens([PAD, BOS, EOS, UNK]) == ["<pad>", "<bos>", "<eos>", "<unk>"]
    for sentence in [*SOURCE, "<pad> <bos> <eos> </s>", "<unk>", "漢字"]:
        assert not {PAD, BOS, EOS} & set(tokenizer.encode(sentence))
    for blank in ("", " ", "\t\u3000", "\xa0", "\u2028"):
        assert tokenizer.encode(blank) == []
    assert tokenizer.decode([]) == ""
    ids = tokenizer.encode("the dog sees")
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "the dog sees"
