"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

CONFIGS = Path(__file__).resolve().parents[1] / "configs"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Each test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture
def double_precision():
    """New tensors and modules are float64 inside the test."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder with Multi30k's files, where the environment names one."""
    folder = os.environ.get("SEQ2SEQ_MULTI30K")
    if not folder:
        pytest.skip("SEQ2SEQ_MULTI30K names no folder")
    return Path(folder)


def mask_of(lengths: list[int], width: int | None = None) -> torch.Tensor:
    """Bool (B, S), True at the first `lengths[b]` positions of row b."""
    return torch.arange(width or max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.fixture
def tiny_batch():
    """Three ragged pairs over a vocabulary of 20."""
    from seq2seq.data.batches import EncodedPairs

    pairs = EncodedPairs(
        source=[[5, 6, 7, 8, 9], [10], [11, 12, 13]], target=[[4, 5, 6], [7, 8, 9, 10, 11], [12]]
    )
    return pairs.batch([0, 1, 2])


@pytest.fixture
def tiny_model():
    """A small GRU model with additive attention over a vocabulary of 20, dropout off."""
    return build_tiny_model()


def build_tiny_model(vocabulary_size: int = 20):
    """A small GRU model with additive attention, dropout off."""
    from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
    from seq2seq.models.encoders.gru import GRUEncoderConfig
    from seq2seq.models.seq2seq import Seq2SeqConfig
    from seq2seq.nn.attention.additive import AdditiveAttentionConfig
    from seq2seq.nn.positions.none import NoPositionsConfig

    config = Seq2SeqConfig(
        embedding_dim=8,
        encoder=GRUEncoderConfig(hidden_dim=6),
        decoder=BahdanauDecoderConfig(hidden_dim=10),
        attention=AdditiveAttentionConfig(),
        positions=NoPositionsConfig(),
    )
    return config.build(vocabulary_size, vocabulary_size, is_joint=True).eval()
