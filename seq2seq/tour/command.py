"""Writes the tour: a page, its numbers and its pictures."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
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
from seq2seq.models.encoders.base import Encoder, EncoderConfig
from seq2seq.nn.attention.base import ScoringAttention
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig, rotation, sinusoids
from seq2seq.runtime import RuntimeConfig
from seq2seq.tour import page, text
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

LENGTH, REACH = 512, 64
"""Over how many positions, and up to which offset, the rotation is checked."""


@dataclass(frozen=True, kw_only=True)
class EncoderTiming(Config):
    """What is compared in the tour's last section.

    Attributes:
        recurrent: one encoder.
        self_attentive: the other, given sinusoidal positions; as wide as the first.
        input_dim: width of the embeddings.
        lengths: of sentences, in tokens.
        num_sentences: at a time.
    """

    recurrent: EncoderConfig
    self_attentive: EncoderConfig
    input_dim: Count = 256
    lengths: tuple[Count, ...] = (5, 10, 20, 40, 80, 160, 320, 640)
    num_sentences: Count = 16

    def check(self) -> None:
        if not self.lengths:
            raise SettingsError("lengths", "names none. Give at least one: lengths=[10].")


@dataclass(frozen=True, kw_only=True)
class TourSettings(Config):
    """What `tour` depends on.

    Attributes:
        checkpoints: folders; the first that has one head is taken for the step by hand.
        output_dir: folder for the page and its pictures.
        sentence: which pair of the validation split is shown, from 1.
        data: the corpus that the pair comes from.
        timing: which encoders are timed, and how.
        runtime: device, threads, seed.
    """

    checkpoints: tuple[str, ...]
    output_dir: str
    sentence: Count = 1
    data: DataConfig
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
    translators = {
        one: apply.load_checkpoint(Checkpoint.open(Path(one)), None, settings.runtime)
        for one in settings.checkpoints
    }
    encoders = _encoders(settings.timing)
    sections = [text.INTRODUCTION, *_attention(translators, shown, folder)]
    draw_frequencies(folder / "frequencies.png")
    draw_relative(folder / "relative.png")
    draw_scores(folder / "scores.png")
    sections += [text.SINUSOIDS, page.relative(LENGTH, REACH, _rotation_error(LENGTH, REACH))]
    sections.append(_timing(settings.timing, encoders, device, folder))
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
        pairs = data.read("validation")
        both = zip(pairs.source, pairs.target, strict=True)
        shown = [Shown(*one) for one in list(both)[index : index + 1]]
    if not shown:
        raise SettingsError("sentence", f"is {settings.sentence}: the split has not so many.")
    if not (shown[0].source.strip() and shown[0].target.strip()):
        raise SettingsError("sentence", f"is {settings.sentence}, a pair with a blank side.")
    return shown[0]


def _attention(translators: Mapping[str, Translator], shown: Shown, folder: Path) -> list[str]:
    """The sections on the attention of some models, by their checkpoints."""
    found, labels = [], []
    for checkpoint, translator in translators.items():
        source, target = translator.tokenizers.source, translator.tokenizers.target
        source_ids, target_ids = source.encode(shown.source), target.encode(shown.target)
        labels.append((source.tokens(source_ids), [*target.tokens(target_ids), "<eos>"]))
        found.append(look(translator, source_ids, target_ids, checkpoint))
    if any(one != labels[0] for one in labels):
        raise DataError(
            "The checkpoints cut this sentence otherwise than each other: show them one by one."
        )
    tokens, phrase = labels[0], shown.phrase
    has_gold = phrase is not None and (len(phrase.source), len(phrase.target) + 1) == (
        len(tokens[0]),
        len(tokens[1]),
    )
    panels = [panel for one in found for panel in _panels(one)]
    gold = phrase.alignment if phrase and has_gold else frozenset()
    draw_side_by_side(*tokens, panels, gold, folder / "attention.png")
    single = next((one for one in found if isinstance(one.attention, ScoringAttention)), None)
    by_hand = page.by_hand(single, _far_look(single), *tokens) if single else text.NOT_BY_HAND
    return [by_hand, page.heatmaps(has_gold=has_gold)]


def _panels(found: Looks) -> list[tuple[str, Tensor]]:
    """The weights (T, S) of each head with a title."""
    heads = list(found.weights().cpu())
    if len(heads) == 1:
        return [(found.name, heads[0])]
    return [(f"{found.name}, head {number}", one) for number, one in enumerate(heads, start=1)]


def _far_look(found: Looks) -> int:
    """The step whose word comes from furthest: where attention has most to do."""
    peaks = found.weights()[0, :-1].argmax(dim=-1).cpu()
    return int((peaks - torch.arange(len(peaks))).abs().argmax())


def _rotation_error(length: int, reach: int, dim: int = 128) -> float:
    """The largest difference between p(t + k) and M(k) p(t) at all of some positions."""
    table = sinusoids(length, dim, dtype=torch.float64)
    errors = [
        (table[:-offset] @ rotation(offset, dim).T - table[offset:]).abs().max()
        for offset in range(1, reach + 1)
    ]
    return float(max(errors))


def _encoders(timing: EncoderTiming) -> dict[str, Encoder]:
    """What is timed. Raises SettingsError where the two are not equally wide."""
    encoders = {}
    for name, key in (("recurrence", "recurrent"), ("self-attention", "self_attentive")):
        try:
            recipe: EncoderConfig = getattr(timing, key)
            encoders[name] = recipe.build(timing.input_dim, SinusoidalPositionsConfig())
        except SettingsError as error:
            raise error.under(f"timing.{key}") from None
    widths = [one.memory_dim for one in encoders.values()]
    if len(set(widths)) > 1:
        raise SettingsError(
            "timing", f"compares encoders {widths[0]} and {widths[1]} wide: make these equal."
        )
    return encoders


def _timing(
    timing: EncoderTiming, encoders: Mapping[str, Encoder], device: torch.device, folder: Path
) -> str:
    """The section on speed."""
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
        else f"an {platform.machine()} CPU with torch's threads set to {torch.get_num_threads()}"
    )
    return page.timing(
        seconds,
        dim=encoders["recurrence"].memory_dim,
        parameters=", ".join(
            f"{name} {sum(map(Tensor.numel, one.parameters())):,} parameters"
            for name, one in encoders.items()
        ),
        num_sentences=timing.num_sentences,
        machine=f"{machine}, torch {torch.__version__.partition('+')[0]}",
    )
