"""What a decoder's attention was asked and answered, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from seq2seq.data.batches import pad
from seq2seq.errors import CheckpointError, SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.nn.attention.base import Attention, Projected, ScoringAttention
from seq2seq.special_tokens import BOS, EOS


@dataclass(frozen=True)
class Looks:
    """How a decoder looks at one source while it writes one target.

    Attributes:
        name: what to call the model.
        attention: the decoder's.
        queries: (1, T, Q).
        projected: keys and values of the source.
        mask: bool (1, 1, S).
        probabilities: (T,), of each target token as the model gives it; EOS last.
    """

    name: str
    attention: Attention
    queries: Tensor
    projected: Projected
    mask: Tensor
    probabilities: Tensor

    @torch.inference_mode()
    def weights(self) -> Tensor:
        """(H, T, S): each head by itself."""
        weights: Tensor = self.attention.head_weights(self.queries, self.projected, self.mask)[0]
        return weights

    @torch.inference_mode()
    def scores(self) -> Tensor:
        """(T, S), before the softmax. Raises SettingsError where there are several heads."""
        if not isinstance(self.attention, ScoringAttention):
            raise SettingsError("model.attention", "has several scores for a source position.")
        return self.attention.scores(self.queries, self.projected.keys)[0]

    @torch.inference_mode()
    def contexts(self) -> Tensor:
        """(T, C), C the width of a context."""
        contexts: Tensor = self.attention(self.queries, self.projected, self.mask)[0][0]
        return contexts


@torch.inference_mode()
def look(
    translator: Translator, source: Sequence[int], target: Sequence[int], checkpoint: str
) -> Looks:
    """Decodes an encoded pair by teacher forcing and keeps what passed through the attention.

    The name is that of the run that the checkpoint's folder lies in. Raises CheckpointError for a
    model without attention, and for one with an attention in each of many layers.
    """
    model = translator.model
    assert isinstance(model, Seq2Seq), "of one checkpoint"
    attention = getattr(model.decoder, "attention", None)
    if not isinstance(attention, Attention):
        raise CheckpointError(
            f"{checkpoint} has a decoder with an attention in each layer. The tour shows recurrent "
            "decoders, which have one."
        )
    if not attention.attends:
        raise CheckpointError(
            f"{checkpoint} was trained with model/attention=none: nothing to see."
        )
    asked: list[tuple[Tensor, Projected, Tensor]] = []
    handle = attention.register_forward_hook(lambda module, inputs, output: asked.append(inputs))
    ids, mask = pad([source])
    previous, _ = pad([[BOS, *target]])
    expected, _ = pad([[*target, EOS]])
    try:
        with translator.computing():
            decoded = model(*(one.to(translator.device) for one in (ids, mask, previous)))
            chances = model.project(decoded.hidden).softmax(-1).cpu()
    finally:
        handle.remove()
    _, projected, seen = asked[0]
    return Looks(
        Path(checkpoint).resolve().parent.name,
        attention,
        torch.cat([query for query, _, _ in asked], dim=1),
        projected,
        seen,
        chances[0].gather(-1, expected[0][:, None])[:, 0],
    )
