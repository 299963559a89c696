"""The translation command: lines in, as many lines out, in their order."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seq2seq.data.text import lines_of, sentences_of
from seq2seq.evaluation.alignment import peaks
from seq2seq.evaluation.translator import Translator
from seq2seq.evaluation.unknown import read_lexicon, replaced
from seq2seq.experiment.apply import load_checkpoints
from seq2seq.experiment.outputs import draw_attention, make_folder, writing
from seq2seq.experiment.settings import TranslateSettings
from seq2seq.experiment.streams import Window, check_output, input_lines, is_typed, windows_of
from seq2seq.search.interfaces import Hypothesis
from seq2seq.special_tokens import UNK

NUM_NAMED = 5
"""Lines that a remark names by their numbers."""


def translate(settings: TranslateSettings) -> int:
    """Translates lines: as many come out as go in, in their order."""
    check_output(settings)
    lines = input_lines(settings)
    prefixes = lines_of(Path(settings.prefix)) if settings.prefix else None
    windows = windows_of(lines, prefixes, smallest=1 if is_typed(settings) else 64)
    first = next(windows, None)  # what cannot be read shows before the model is loaded
    settings.runtime.start()
    translator = load_checkpoints(
        [settings.checkpoint, *settings.ensemble], settings.search, settings.runtime
    )
    if settings.heatmaps or settings.alignments or settings.replace_unknown:
        translator.check_attends()
    job = _Job(settings, translator)
    if settings.heatmaps:
        make_folder(Path(settings.heatmaps))
    path = Path(settings.output) if settings.output else None
    with writing(path) as write, tqdm(unit=" lines", desc="translating", disable=None) as bar:
        for window in chain([first] if first else [], windows):
            write(job.outputs(window, bar))
    for remark in job.remarks():
        print(remark, file=sys.stderr)
    return 0


class _Job:
    """How lines become lines, and what there is to say of them at the end."""

    def __init__(self, settings: TranslateSettings, translator: Translator) -> None:
        self.settings, self.translator = settings, translator
        self.lexicon = read_lexicon(Path(settings.lexicon)) if settings.lexicon else {}
        self.num_lines = self.num_unknown = self.num_pictures = self.num_long = 0
        self.long_lines: list[int] = []

    def outputs(self, window: Window, bar: Any) -> list[str]:
        """A line for each line of a window."""
        encode = self.translator.tokenizers.target.encode
        parts = [self._parts(line) for line in window.lines]
        flat = list(chain.from_iterable(parts))
        sources = self.translator.encode(flat)
        prefixes = None
        if window.prefixes:
            prefixes = [
                encode(prefix) if place == 0 else []
                for prefix, of_line in zip(window.prefixes, parts, strict=True)
                for place in range(len(of_line))
            ]
        self._look_at(window, parts, sources)
        found = self.translator.n_best(sources, bar.update, prefixes)
        self.num_lines += len(window.lines)
        bar.n = self.num_lines  # lines that were cut counted for each of their parts
        bar.refresh()
        if self.settings.heatmaps:
            best = [one[0] if one else None for one in found]
            self.num_pictures += draw_attention(
                self.translator, sources, best, Path(self.settings.heatmaps), window.start
            )
        lines, place = [], 0
        for number, of_line in enumerate(parts, start=window.start):
            these = slice(place, place + len(of_line))
            place = these.stop
            line = window.lines[number - window.start]
            lines.append(self._line(number, line, flat[these], sources[these], found[these]))
        return lines

    def _parts(self, line: str) -> list[str]:
        """A line as it is translated: whole, or a sentence at a time where it is long."""
        if not self.settings.split or len(self.translator.encode([line])[0]) <= self.settings.long:
            return [line]
        return sentences_of(line)

    def _look_at(
        self, window: Window, parts: Sequence[Sequence[str]], sources: Sequence[Sequence[int]]
    ) -> None:
        """Counts lines that hold what is unknown, or that are long."""
        numbers = (
            number for number, of_line in enumerate(parts, start=window.start) for _ in of_line
        )
        unknown, long = set(), set()
        for number, ids in zip(numbers, sources, strict=True):
            if UNK in ids:
                unknown.add(number)
            if len(ids) > self.settings.long:
                long.add(number)
        self.num_unknown += len(unknown)
        self.num_long += len(long)
        self.long_lines += sorted(long)[: NUM_NAMED - len(self.long_lines)]

    def _line(
        self,
        number: int,
        line: str,
        texts: Sequence[str],
        sources: Sequence[Sequence[int]],
        found: Sequence[Sequence[Hypothesis]],
    ) -> str:
        """What is written for a line, of the hypotheses of each of its parts."""
        each = [self._texts(*one) for one in zip(texts, sources, found, strict=True)]
        if self.settings.format == "text":
            return " ".join(one[0] for one in each if one)
        about: dict[str, Any] = {"line": number, "source": line}
        told = [
            {"source": text, **self._told(ids, written, hypotheses)}
            for text, ids, written, hypotheses in zip(texts, sources, each, found, strict=True)
        ]
        about |= {"parts": told} if len(told) > 1 else {**told[0], "source": line}
        return json.dumps(about, ensure_ascii=False)

    def _texts(self, text: str, source: Sequence[int], found: Sequence[Hypothesis]) -> list[str]:
        found = found if self.settings.format == "json" else found[:1]
        texts = self.translator.texts(found)
        if self.settings.replace_unknown:
            texts = [
                replaced(self.translator, text, source, one, translation, self.lexicon)
                for one, translation in zip(found, texts, strict=True)
            ]
        return texts

    def _told(
        self, source: Sequence[int], texts: Sequence[str], found: Sequence[Hypothesis]
    ) -> dict[str, Any]:
        """Hypotheses for JSON, the best first; of several with one text the best."""
        told: dict[str, dict[str, Any]] = {}
        for text, one in zip(texts, found, strict=True):
            if text in told:
                continue
            told[text] = {
                "text": text,
                "score": one.score,
                "log_probability": one.log_probability,
                "is_complete": one.is_complete,
                "tokens": self.translator.tokenizers.target.tokens(one.tokens),
            }
            if self.settings.alignments:
                weights = self.translator.attention(source, one.tokens)[:-1]
                links = sorted(peaks(weights), key=lambda link: link[::-1])
                told[text]["alignment"] = " ".join(f"{one}-{other}" for one, other in links)
        about: dict[str, Any] = {"translations": list(told.values())}
        if self.settings.alignments:
            about["source_tokens"] = self.translator.tokenizers.source.tokens(source)
        return about

    def remarks(self) -> Iterator[str]:
        """What there is to say at the end."""
        if self.num_unknown:
            yield (
                f"{self.num_unknown:,} of {self.num_lines:,} lines hold what the model's "
                "vocabulary does not: it reads <unk> there"
            )
        if self.num_long:
            named = ", ".join(map(str, self.long_lines))
            more = ", ..." if self.num_long > len(self.long_lines) else ""
            advice = "" if self.settings.split else "; split=true cuts them at sentence ends"
            yield (
                f"{self.num_long:,} of {self.num_lines:,} lines are longer than "
                f"{self.settings.long} tokens (lines {named}{more}){advice}"
            )
        if self.settings.heatmaps:
            yield f"{self.num_pictures} attention pictures are in {self.settings.heatmaps}"
