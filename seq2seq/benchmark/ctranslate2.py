"""A Transformer in CTranslate2's format, to time its decoder beside ours on the same weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.errors import DependencyError, SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.models.decoders.transformer import TransformerDecoder
from seq2seq.models.encoders.transformer import TransformerEncoder
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.nn.attention.multi_head import MultiHeadAttention
from seq2seq.nn.positions.learned import LearnedPositions
from seq2seq.nn.positions.sinusoidal import SinusoidalPositions
from seq2seq.nn.self_attention import SelfAttention
from seq2seq.special_tokens import BOS, EOS, SPECIAL_TOKENS, UNK

MOST_POSITIONS = 512
ADDED = (SinusoidalPositions, LearnedPositions)
"""Positions that act by what they add to the embeddings, and by nothing else."""

Decode = Callable[[Sequence[Sequence[int]]], list[list[int]]]
"""From the ids of sources to those of their translations."""


def ctranslate2_decoder(
    translator: Translator, folder: Path, *, beam_size: int, num_threads: int
) -> Decode:
    """CTranslate2 with the weights of a translator, in float32.

    Args:
        translator: of a Transformer.
        folder: empty; where the model is written for CTranslate2.
        beam_size: 1 is greedy search.
        num_threads: for each batch.

    Raises:
        DependencyError: CTranslate2 is not here.
        SettingsError: the model has parts that CTranslate2 does not.
    """
    try:
        import ctranslate2
    except ImportError:
        raise DependencyError("This needs CTranslate2: pip install ctranslate2.") from None
    convert(translator, folder)
    peer = ctranslate2.Translator(
        str(folder), compute_type="float32", inter_threads=1, intra_threads=num_threads
    )
    names = [_name(one) for one in range(translator.tokenizers.source.vocabulary_size)]
    limit = translator.batch_size

    def decode(sources: Sequence[Sequence[int]]) -> list[list[int]]:
        found = peer.translate_batch(
            [[names[one] for one in ids] for ids in sources],
            beam_size=beam_size,
            length_penalty=1,
            max_batch_size=limit,
            max_decoding_length=2 * max(map(len, sources)) + 10,
        )
        numbers = {_name(one): one for one in range(len(SPECIAL_TOKENS))}
        return [
            [numbers[name] if name in numbers else int(name) for name in one.hypotheses[0]]
            for one in found
        ]

    return decode


def convert(translator: Translator, folder: Path) -> None:
    """Writes a Transformer's weights in CTranslate2's format. Raises SettingsError."""
    from ctranslate2.specs import TransformerSpec

    model = translator.model
    _check(model)
    assert isinstance(model, Seq2Seq)
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, TransformerEncoder) and isinstance(decoder, TransformerDecoder)
    heads = {_heads(one).num_heads for one in [*encoder.layers, *decoder.layers]}
    if len(heads) > 1:
        raise SettingsError("model.decoder.num_heads", "must be that of the encoder here.")
    layers = len(encoder.layers), len(decoder.layers)
    spec = TransformerSpec.from_config(layers, heads.pop(), pre_norm=True)
    _fill_side(spec.encoder, encoder, model.source_embedding, spec.encoder.embeddings[0])
    _fill_side(spec.decoder, decoder, model.target_embedding, spec.decoder.embeddings)
    for part, layer in zip(spec.encoder.layer, encoder.layers, strict=True):
        _fill_self(part.self_attention, layer.attention, layer.around_attention.norm)
        _fill_feed_forward(part.ffn, layer)
    for part, layer in zip(spec.decoder.layer, decoder.layers, strict=True):
        _fill_self(part.self_attention, layer.self_attention, layer.around_self_attention.norm)
        look: Any = layer.attention
        _fill_norm(part.attention.layer_norm, layer.around_attention.norm)
        _fill_linear(part.attention.linear[0], look.query)
        _fill_linear(part.attention.linear[1], look.key, look.value)
        _fill_linear(part.attention.linear[2], look.output)
        _fill_feed_forward(part.ffn, layer)
    _fill_linear(spec.decoder.projection, model.output)
    source, target = translator.tokenizers.source, translator.tokenizers.target
    spec.register_source_vocabulary([_name(one) for one in range(source.vocabulary_size)])
    spec.register_target_vocabulary([_name(one) for one in range(target.vocabulary_size)])
    names = {"unk_token": UNK, "bos_token": BOS, "eos_token": EOS, "decoder_start_token": BOS}
    for key, token in names.items():
        setattr(spec.config, key, SPECIAL_TOKENS[token])
    spec.validate()
    spec.save(str(folder))


def _check(model: nn.Module) -> None:
    """Raises SettingsError for a model that CTranslate2 has not."""
    parts = (model.encoder, model.decoder)
    fits = (
        isinstance(parts[0], TransformerEncoder)
        and isinstance(parts[1], TransformerDecoder)
        and all(isinstance(one.norm, nn.LayerNorm) for one in parts)
        and all(isinstance(one.attention, MultiHeadAttention) for one in parts[1].layers)
        and not any(getattr(one, "is_additive", False) for one in model.modules())
        and all(isinstance(one.positions, ADDED) for one in parts)
    )
    if not fits:
        raise SettingsError(
            "model",
            "is not what CTranslate2 has: a pre-norm Transformer with scaled dot-product attention "
            "and sinusoidal or learned positions.",
        )


def _name(token: int) -> str:
    """What CTranslate2 calls an id."""
    return SPECIAL_TOKENS[token] if token < len(SPECIAL_TOKENS) else str(token)


def _heads(layer: Any) -> MultiHeadAttention:
    attention: SelfAttention = getattr(layer, "self_attention", None) or layer.attention
    return attention.heads


def _numbers(tensor: Tensor) -> Any:
    return tensor.detach().float().contiguous().numpy()


def _fill_side(spec: Any, side: Any, embedding: nn.Embedding, place: Any) -> None:
    dim = embedding.weight.shape[1]
    place.weight = _numbers(embedding.weight)
    nothing = torch.zeros(1, side.positions.max_length or MOST_POSITIONS, dim)
    spec.position_encodings.encodings = _numbers(side.positions.add(nothing)[0])
    _fill_norm(spec.layer_norm, side.norm)


def _fill_self(spec: Any, attention: SelfAttention, norm: nn.LayerNorm) -> None:
    heads = attention.heads
    _fill_norm(spec.layer_norm, norm)
    _fill_linear(spec.linear[0], heads.query, heads.key, heads.value)
    _fill_linear(spec.linear[1], heads.output)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    _fill_norm(spec.layer_norm, layer.around_feed_forward.norm)
    _fill_linear(spec.linear_0, layer.feed_forward.widen)
    _fill_linear(spec.linear_1, layer.feed_forward.narrow)


def _fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _numbers(norm.weight), _numbers(norm.bias)


def _fill_linear(spec: Any, *layers: nn.Linear) -> None:
    """One layer, or several side by side."""
    spec.weight = _numbers(torch.cat([one.weight for one in layers]))
    spec.bias = _numbers(torch.cat([one.bias for one in layers]))
