"""From sentences to translations: one object that owns all that this takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.data.batches import pad
from seq2seq.errors import SettingsError
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.runtime import FP32, Precision, is_out_of_memory
from seq2seq.search.base import Hypothesis, SearchConfig
from seq2seq.special_tokens import BOS, EOS, SPECIAL_TOKENS
from seq2seq.tokenizers.base import TokenizerPair


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
        model: Seq2Seq,
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
        found: list[Hypothesis | None] = [None] * len(sources)
        # Sentences of one length share a batch; the longest go first, so that what does not fit
        # into memory shows at once.
        order = sorted(
            (index for index in range(len(sources)) if sources[index]),
            key=lambda index: -len(sources[index]),
        )
        if on_progress and len(order) < len(sources):
            on_progress(len(sources) - len(order))
        with self.computing():
            start = 0
            while chosen := order[start : start + self.batch_size]:
                best = self._searched([sources[index] for index in chosen])
                if best is None:
                    self.batch_size = (len(chosen) + 1) // 2
                    problem = f"Out of memory with {len(chosen)} sentences at a time"
                    print(f"{problem}: going on with {self.batch_size}.", file=sys.stderr)
                    continue
                for index, hypothesis in zip(chosen, best, strict=True):
                    found[index] = hypothesis
                start += len(chosen)
                if on_progress:
                    on_progress(len(chosen))
        return found

    def _searched(self, sources: Sequence[Sequence[int]]) -> list[Hypothesis] | None:
        """The best hypotheses of a batch; None where it is too large for the memory."""
        ids, mask = pad(sources)
        try:
            return self.search(self.model, ids.to(self.device), mask.to(self.device))
        except (RuntimeError, MemoryError) as error:
            if len(sources) == 1 or not is_out_of_memory(error):
                raise
            return None

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
            decoded = model(ids.to(self.device), mask.to(self.device), previous.to(self.device))
        weights: Tensor = decoded.weights[0].to(model.output.weight.dtype).cpu()
        return weights

    @contextmanager
    def computing(self) -> Iterator[Seq2Seq]:
        """The model, without dropout and in the chosen precision; afterwards as it was."""
        was_training = self.model.training
        self.model.eval()
        try:
            with self.precision():
                yield self.model
        finally:
            self.model.train(was_training)
