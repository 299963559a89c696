"""From sentences to translations: one object that owns all that this takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from seq2seq.data.batches import pad
from seq2seq.errors import SettingsError
from seq2seq.evaluation.ensemble import Ensemble
from seq2seq.evaluation.metrics import bleu_of_one, chrf_of_one
from seq2seq.models.interfaces import wide
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.runtime import FP32, Precision, is_out_of_memory
from seq2seq.search.base import SearchConfig
from seq2seq.search.interfaces import Hypothesis, Utility
from seq2seq.special_tokens import BOS, EOS, SPECIAL_TOKENS, UNK
from seq2seq.tokenizers.base import TokenizerPair

Result = TypeVar("Result")
UTILITIES: dict[str, Utility] = {"chrf": chrf_of_one, "bleu": bleu_of_one}


@dataclass(frozen=True)
class Explanation:
    """A translation and where the decoder looked for each of its tokens.

    Attributes:
        text: the translation.
        source_tokens: S labels.
        target_tokens: T labels, the end mark last.
        weights: (T, S), each row a distribution over the source.
    """

    text: str
    source_tokens: list[str]
    target_tokens: list[str]
    weights: Tensor


class Translator:
    """A model with its tokenizers and a search.

    N sentences give N translations in their order, and a blank sentence gives a blank one without
    asking the model.

    Attributes:
        batch_size: sentences translated at a time; halved as often as memory does not suffice.
    """

    def __init__(
        self,
        model: Seq2Seq | Ensemble,
        tokenizers: TokenizerPair,
        search: SearchConfig,
        device: torch.device,
        precision: Precision = FP32,
    ) -> None:
        self.model = model
        self.tokenizers = tokenizers
        self.search = search
        self.device = device
        self.precision = precision
        self.batch_size = search.batch_size

    def translate(
        self, sentences: Sequence[str], on_progress: Callable[[int], object] | None = None
    ) -> list[str]:
        """The translations; `on_progress` hears how many sentences each finished batch had.

        Raises TypeError for one sentence by itself, which would be taken for a list of letters.
        """
        if isinstance(sentences, str):
            raise TypeError("translate takes a list of sentences: translate([sentence])")
        return self.texts(self.hypotheses(self.encode(sentences), on_progress))

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """The source ids of each sentence; a blank one has none."""
        encode = self.tokenizers.source.encode
        return [encode(one) if one.strip() else [] for one in sentences]

    def texts(self, hypotheses: Sequence[Hypothesis | None]) -> list[str]:
        """The sentences of hypotheses, each on one line; None gives a blank one."""
        decode = self.tokenizers.target.decode
        return ["" if one is None else decode(one.tokens).replace("\n", " ") for one in hypotheses]

    def hypotheses(
        self,
        sources: Sequence[Sequence[int]],
        on_progress: Callable[[int], object] | None = None,
    ) -> list[Hypothesis | None]:
        """The best hypothesis of each encoded source; None for an empty one."""
        found = self.n_best(sources, on_progress)
        return [best[0] if best else None for best in found]

    def n_best(
        self,
        sources: Sequence[Sequence[int]],
        on_progress: Callable[[int], object] | None = None,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        """All hypotheses of each encoded source, the best first; none for an empty one.

        Where `prefixes` are given, the translations open with these ids.
        """
        found: list[list[Hypothesis]] = [[] for _ in sources]
        # Sentences of one length share a batch; the longest go first, so that what does not fit
        # into memory shows at once.
        order = sorted(
            (index for index in range(len(sources)) if sources[index]),
            key=lambda index: -len(sources[index]),
        )
        if on_progress and len(order) < len(sources):
            on_progress(len(sources) - len(order))

        def search(chosen: Sequence[int]) -> list[list[Hypothesis]]:
            given = [*pad([sources[index] for index in chosen])]
            opening = [prefixes[index] for index in chosen] if prefixes else []
            if any(opening):
                given.append(pad(opening)[0])
            return self.search(self.model, *(one.to(self.device) for one in given))

        for chosen, batch in self._in_batches(order, search):
            for index, hypotheses in zip(chosen, batch, strict=True):
                found[index] = self._ranked(hypotheses)
            if on_progress:
                on_progress(len(chosen))
        return found

    def _ranked(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """A sentence's hypotheses, the best first by their texts where the search wants that."""
        if not self.search.ranks_texts:
            return hypotheses
        return self.search.rank(hypotheses, self.texts(hypotheses), UTILITIES)

    @torch.inference_mode()
    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """The log-probabilities of each token of encoded targets, EOS last.

        An empty source is read as one unknown token, since there must be something to look at.
        """
        found: list[list[float]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda index: -len(targets[index]))

        def some(chosen: Sequence[int]) -> list[list[float]]:
            ids, mask = pad([sources[index] or [UNK] for index in chosen])
            given, _ = pad([[BOS, *targets[index]] for index in chosen])
            wanted, _ = pad([[*targets[index], EOS] for index in chosen])
            parts = (one.to(self.device) for one in (ids, mask, given))
            scores = self.model.scores(*parts).gather(2, wanted.to(self.device).unsqueeze(2))
            rows: list[list[float]] = scores.squeeze(2).tolist()
            return rows

        for chosen, rows in self._in_batches(order, some):
            for index, row in zip(chosen, rows, strict=True):
                found[index] = row[: len(targets[index]) + 1]
        return found

    def _in_batches(
        self, order: Sequence[int], work: Callable[[Sequence[int]], list[Result]]
    ) -> Iterator[tuple[Sequence[int], list[Result]]]:
        """Some numbers at a time, and what is made of them; fewer where memory does not suffice."""
        start = 0
        with self.computing():
            while chosen := order[start : start + self.batch_size]:
                try:
                    done = work(chosen)
                except (RuntimeError, MemoryError) as error:
                    if len(chosen) == 1 or not is_out_of_memory(error):
                        raise
                    self.batch_size = (len(chosen) + 1) // 2
                    problem = f"Out of memory with {len(chosen)} sentences at a time"
                    print(f"{problem}: going on with {self.batch_size}.", file=sys.stderr)
                    continue
                start += len(chosen)
                yield chosen, done

    def explain(self, sentence: str) -> Explanation | None:
        """A translation with its attention; None for a blank sentence."""
        sources = self.encode([sentence])
        (best,) = self.hypotheses(sources)
        return None if best is None else self.explanation(sources[0], best)

    def explanation(self, source: Sequence[int], hypothesis: Hypothesis) -> Explanation:
        """Where the decoder looks as it writes a hypothesis of an encoded source.

        The weights come from one teacher-forced pass over it, so that they are right under any
        search.
        """
        labels = [*self.tokenizers.target.tokens(hypothesis.tokens), SPECIAL_TOKENS[EOS]]
        return Explanation(
            self.texts([hypothesis])[0],
            self.tokenizers.source.tokens(source),
            labels,
            self.attention(source, hypothesis.tokens),
        )

    def check_attends(self) -> None:
        """Raises SettingsError where the model has no attention to look at."""
        if not self.model.attends:
            raise SettingsError(
                "model.attention", "is none in this checkpoint: there is no attention to look at."
            )

    @torch.inference_mode()
    def attention(self, source: Sequence[int], target: Sequence[int]) -> Tensor:
        """The weights (T + 1, S) with which a pair of encoded sentences is decoded, EOS last.

        Raises SettingsError for a model without attention.
        """
        self.check_attends()
        ids, mask = pad([source])
        previous, _ = pad([[BOS, *target]])
        with self.computing() as model:
            parts = (one.to(self.device) for one in (ids, mask, previous))
            weights: Tensor = model.attention(*parts)[0].cpu()
        return wide(weights)

    @contextmanager
    def computing(self) -> Iterator[Seq2Seq | Ensemble]:
        """The model, without dropout and in the chosen precision; afterwards as it was."""
        was_training = self.model.training
        self.model.eval()
        try:
            with self.precision():
                yield self.model
        finally:
            self.model.train(was_training)
