"""Writes the tour: a page, its numbers and its pictures."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from seq2seq.config import Config, Count
from seq2seq.data.base import DataConfig
from seq2seq.data.embedded import PhrasebookConfig
from seq2seq.data.phrasebook.grammar import PhrasePair
from seq2seq.errors import DataError, SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment import apply, outputs
from seq2seq.models.encoders.base import EncoderConfig
from seq2seq.nn.attention.base import ScoringAttention
from seq2seq.nn.positions.base import PositionsConfig
from seq2seq.nn.positions.sinusoidal import rotation, sinusoids
from seq2seq.runtime import RuntimeConfig
from seq2seq.tour import page
from seq2seq.tour.attention_figures import draw_side_by_side
from seq2seq.tour.looks import Looks, look
from seq2seq.tour.position_figures import (
    draw_frequencies,
    draw_relative,
    draw_scores,
    draw_timing,
)
from seq2seq.tour.timing import time_encoders
from seq2seq.training.checkpoint import Checkpoint

SCORES_DIM = 16
"""Width of the query and the key whose scores are drawn."""


@dataclass(frozen=True, kw_only=True)
class EncoderTiming(Config):
    """What is compared in the tour's last section.

    Attributes:
        recurrent: one encoder.
        self_attentive: the other.
        positions: of the other.
        input_dim: width of the embeddings.
        lengths: of sentences, in tokens.
        num_sentences: at a time.
    """

    recurrent: EncoderConfig
    self_attentive: EncoderConfig
    positions: PositionsConfig
    input_dim: Count = 256
    lengths: tuple[Count, ...] = (5, 10, 20, 40, 80, 160, 320, 640)
    num_sentences: Count = 16


@dataclass(frozen=True, kw_only=True)
class TourSettings(Config):
    """What `tour` depends on.

    Attributes:
        checkpoints: folders; the first that has one head is taken for the step by hand.
        output_dir: folder for the page and its pictures.
        sentence: which pair of the validation split is shown, from 1.
        data: the corpus that the pair comes from.
        added: a position encoding that is added to vectors.
        rotary: one that turns queries and keys.
        timing: which encoders are timed, and how.
        runtime: device, threads, seed.
    """

    checkpoints: tuple[str, ...]
    output_dir: str
    sentence: Count = 1
    data: DataConfig
    added: PositionsConfig
    rotary: PositionsConfig
    timing: EncoderTiming
    runtime: RuntimeConfig

    def check(self) -> None:
        if not self.checkpoints:
            raise SettingsError(
                "checkpoints", "names none. Give at least one: checkpoints=[RUN/best]."
            )


def tour(settings: TourSettings) -> int:
    """Writes README.md and the pictures beside it."""
    device = settings.runtime.start()
    folder = Path(settings.output_dir)
    outputs.make_folder(folder)
    shown = _pair(settings)
    translators = [
        apply.load_checkpoint(Checkpoint.open(Path(one)), None, device)
        for one in settings.checkpoints
    ]
    sections = [page.INTRODUCTION, *_attention(translators, shown, folder)]
    draw_frequencies(folder / "frequencies.png")
    draw_relative(folder / "relative.png")
    encodings = {
        "sinusoids, added": settings.added.build(SCORES_DIM, 1, causal=False),
        "rotary": settings.rotary.build(SCORES_DIM, 1, causal=False),
    }
    draw_scores(encodings, folder / "scores.png")
    sections += [page.SINUSOIDS, page.relative(512, 64, _rotation_error(512, 64))]
    sections.append(_timing(settings.timing, device, folder))
    outputs.write_lines(folder / "README.md", page.whole(sections).splitlines())
    print(f"the tour is {folder / 'README.md'}", file=sys.stderr)
    return 0


@dataclass(frozen=True)
class Shown:
    """The pair that the tour shows; `phrase` is there where the corpus knows its alignment."""

    source: str
    target: str
    phrase: PhrasePair | None = None


def _pair(settings: TourSettings) -> Shown:
    """The chosen pair. Raises SettingsError where the split has not so many."""
    data, index = settings.data, settings.sentence - 1
    if isinstance(data, PhrasebookConfig):
        phrases = data.phrases("validation")
        shown = [Shown(one.source_text, one.target_text, one) for one in phrases[index : index + 1]]
    else:
        text = data.read("validation")
        both = zip(text.source, text.target, strict=True)
        shown = [Shown(*one) for one in list(both)[index : index + 1]]
    if not shown:
        raise SettingsError("sentence", f"is {settings.sentence}: the split has not so many.")
    return shown[0]


def _attention(translators: Sequence[Translator], shown: Shown, folder: Path) -> list[str]:
    """The sections on the attention of some models."""
    found, labels = [], []
    for translator in translators:
        source, target = translator.tokenizers.source, translator.tokenizers.target
        source_ids, target_ids = source.encode(shown.source), target.encode(shown.target)
        labels.append((source.tokens(source_ids), [*target.tokens(target_ids), "<eos>"]))
        found.append(look(translator, source_ids, target_ids))
    if any(one != labels[0] for one in labels):
        raise DataError(
            "The checkpoints cut this sentence otherwise than each other: show them one by one."
        )
    tokens, phrase = labels[0], shown.phrase
    has_gold = phrase is not None and (len(phrase.source), len(phrase.target) + 1) == (
        len(tokens[0]),
        len(tokens[1]),
    )
    panels = {title: weights for one in found for title, weights in _panels(one).items()}
    gold = phrase.alignment if phrase and has_gold else frozenset()
    draw_side_by_side(*tokens, panels, gold, folder / "attention.png")
    by_hand = [
        page.by_hand(one, _far_look(one), *tokens)
        for one in found
        if isinstance(one.attention, ScoringAttention)
    ]
    return [*by_hand[:1], page.heatmaps(has_gold=has_gold)]


def _panels(found: Looks) -> dict[str, Tensor]:
    """The weights (T, S) of each head, by a title."""
    kind = type(found.attention).__name__.removesuffix("Attention")
    kind = re.sub("(?<=[a-z])(?=[A-Z])", "-", kind).lower()
    heads = list(found.weights().cpu())
    if len(heads) == 1:
        return {kind: heads[0]}
    return {f"{kind}, head {number}": one for number, one in enumerate(heads, start=1)}


def _far_look(found: Looks) -> int:
    """The step whose word comes from furthest: where attention has most to do."""
    peaks = found.weights()[0, :-1].argmax(dim=-1).cpu()
    return int((peaks - torch.arange(len(peaks))).abs().argmax())


def _rotation_error(length: int, reach: int) -> float:
    """The largest difference between p(t + k) and M(k) p(t) at all of some positions."""
    table = sinusoids(length, 64, dtype=torch.float64)
    errors = [
        (table[:-offset] @ rotation(offset, 64).T - table[offset:]).abs().max()
        for offset in range(1, reach + 1)
    ]
    return float(max(errors))


def _timing(timing: EncoderTiming, device: torch.device, folder: Path) -> str:
    """The section on speed."""
    recurrent = timing.recurrent.build(timing.input_dim, timing.positions)
    attentive = timing.self_attentive.build(timing.input_dim, timing.positions)
    encoders = {"recurrence": recurrent, "self-attention": attentive}
    with tqdm(
        total=2 * len(timing.lengths), desc="timing encoders", leave=False, disable=None
    ) as bar:
        seconds = time_encoders(
            encoders,
            timing.lengths,
            input_dim=timing.input_dim,
            num_sentences=timing.num_sentences,
            device=device,
            on_progress=bar.update,
        )
    draw_timing(seconds, folder / "timing.png")
    machine = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{torch.get_num_threads()} {platform.machine()} CPU cores"
    )
    return page.timing(
        seconds,
        dim=recurrent.memory_dim,
        num_sentences=timing.num_sentences,
        machine=f"{machine}, torch {torch.__version__.partition('+')[0]}",
    )
