"""The model around encoder and decoder: what is dropped from its embeddings."""

from __future__ import annotations

import pytest
import torch
from conftest import build_tiny_model
from torch import nn

from seq2seq.models.interfaces import Memory


class Seen(nn.Module):
    """Notes what a part is given, and gives back what the model needs to go on."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part
        self.embedded: list[torch.Tensor] = []

    def forward(self, embedded: torch.Tensor, other: torch.Tensor | Memory):
        self.embedded.append(embedded.detach())
        return self.part(embedded, other)


@pytest.mark.parametrize("is_training", [True, False])
def test_token_dropout_takes_whole_tokens_on_both_sides_and_only_in_training(is_training):
    model = build_tiny_model(token_dropout=0.25, dropout=0.0).train(is_training)
    model.encoder, model.decoder = Seen(model.encoder), Seen(model.decoder)
    source, target = torch.randint(4, 20, (2, 50, 40))
    model(source, torch.ones_like(source, dtype=torch.bool), target)
    for seen, embedding, ids in (
        (model.encoder, model.source_embedding, source),
        (model.decoder, model.target_embedding, target),
    ):
        (embedded,) = seen.embedded
        is_gone = (embedded == 0).all(dim=-1)
        assert float(is_gone.float().mean()) == pytest.approx(0.25 * is_training, abs=0.04)
        scale = 1 / 0.75 if is_training else 1.0  # so that means stay what they are
        expected = scale * embedding(ids)
        assert torch.allclose(embedded[~is_gone], expected[~is_gone])
