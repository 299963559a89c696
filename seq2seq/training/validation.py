"""Validation: perplexity as the objective sees it, BLEU as the final test does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.batching.base import BatchingConfig, epoch_generator
from seq2seq.data.text import ParallelText
from seq2seq.errors import RunError
from seq2seq.evaluation.metrics import Score, bleu
from seq2seq.evaluation.translator import Translator
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.processes import ALONE, Processes


@dataclass(frozen=True)
class Validation:
    """What one validation found.

    Attributes:
        perplexity: exp of the mean unsmoothed negative log-likelihood of a token, EOS counted.
        bleu: of free-running translations.
        samples: some (source, reference, translation).
    """

    perplexity: float
    bleu: Score
    samples: list[tuple[str, str, str]]


class Validator:
    """Scores a model on pairs that it does not learn from."""

    def __init__(
        self,
        pairs: ParallelText,
        translator: Translator,
        batching: BatchingConfig,
        *,
        lowercase: bool,
        num_samples: int,
        processes: Processes = ALONE,
    ) -> None:
        self.pairs = pairs
        self.translator = translator
        self.encoded = EncodedPairs.encode(pairs, translator.tokenizers)
        self.batches = batching.plan(self.encoded.lengths, epoch_generator(0, 0))
        self.lowercase = lowercase
        self.processes = processes
        step = max(1, len(pairs) // max(1, num_samples))
        self.shown = range(0, len(pairs), step)[:num_samples]

    def __call__(self, tell: Callable[[str], object] = lambda text: None) -> Validation:
        """Scores all pairs; `tell` hears how far it is."""
        num_done = 0

        def count(num_sentences: int) -> None:
            nonlocal num_done
            num_done += num_sentences * self.processes.size
            tell(f"validating {min(num_done, len(self.pairs)):,} of {len(self.pairs):,}")

        tell("validating ...")
        perplexity = self._perplexity(self.encoded, self.batches)  # refuses a model that diverged
        mine = self.translator.translate(self.processes.share(self.pairs.source), count)
        translations = self.processes.gather_texts(mine, len(self.pairs))
        if self.processes.is_first:
            score = bleu(translations, self.pairs.target, lowercase=self.lowercase)
        else:
            score = Score("BLEU", 0.0, "")
        score = replace(score, value=self.processes.max(score.value)[0])
        samples = [
            (self.pairs.source[index], self.pairs.target[index], translations[index])
            for index in self.shown
        ]
        return Validation(perplexity, score, samples)

    def rehearse(self, training: EncodedPairs, test_sources: Sequence[str] = ()) -> None:
        """Goes once through all that validation does, and through the longest of all sentences.

        So what would fail in the middle of a run, at a validation or at a sentence that is too long
        for the model, fails before its first step.
        """
        for encoded in (training, self.encoded):
            longest = [
                max(range(len(one)), key=lambda row: len(one[row]))
                for one in (encoded.source, encoded.target)
            ]
            self._perplexity(encoded, [longest])
        sources = self.translator.encode([*self.pairs.source, *test_sources])
        some = [*sources[: self.translator.search.batch_size], max(sources, key=len)]
        translations = self.translator.texts(self.translator.hypotheses(some))
        bleu(translations[:-1], self.pairs.target[: len(some) - 1])

    @torch.inference_mode()
    def _perplexity(self, pairs: EncodedPairs, batches: list[list[int]]) -> float:
        objective = CrossEntropyConfig(label_smoothing=0.0)
        nll, num_tokens = 0.0, 0.0
        with self.translator.computing() as model:
            for indices in self.processes.share(batches):
                batch = pairs.batch(indices).to(self.translator.device)
                loss = objective(model, batch, progress=0.0)
                nll += float(loss.total)
                num_tokens += loss.num_tokens
        nll, num_tokens = self.processes.sum(nll, num_tokens)
        if not math.isfinite(nll):
            raise RunError(
                "The loss on the validation text is not finite. Earlier checkpoints are whole. "
                "Lower optimizer.learning_rate or training.max_gradient_norm."
            )
        return math.exp(min(nll / num_tokens, 700.0))
