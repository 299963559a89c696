"""Validation: perplexity as the objective sees it, BLEU as the final test does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.batching.base import BatchingConfig, epoch_generator
from seq2seq.data.text import ParallelText
from seq2seq.evaluation.metrics import Score, bleu
from seq2seq.evaluation.translator import Translator
from seq2seq.objectives.cross_entropy import CrossEntropyConfig


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
    ) -> None:
        self.pairs = pairs
        self.translator = translator
        self.encoded = EncodedPairs.encode(pairs, translator.tokenizers)
        self.batches = batching.plan(self.encoded.lengths, epoch_generator(0, 0))
        self.lowercase = lowercase
        self.num_samples = num_samples

    def __call__(self) -> Validation:
        """Scores all pairs."""
        translations = self.translator.translate(self.pairs.source)
        score = bleu(translations, self.pairs.target, lowercase=self.lowercase)
        triples = zip(self.pairs.source, self.pairs.target, translations, strict=True)
        step = max(1, len(self.pairs) // max(1, self.num_samples))
        samples = list(triples)[::step][: self.num_samples]
        return Validation(self._perplexity(self.batches), score, samples)

    def rehearse(self) -> None:
        """Decodes and scores a few pairs, so that what would fail at validation fails at once."""
        few = self.batches[:2]
        self._perplexity(few)
        chosen = [index for batch in few for index in batch][
            : 2 * self.translator.search.batch_size
        ]
        translations = self.translator.translate([self.pairs.source[index] for index in chosen])
        bleu(translations, [self.pairs.target[index] for index in chosen])

    @torch.inference_mode()
    def _perplexity(self, batches: list[list[int]]) -> float:
        model, objective = self.translator.model, CrossEntropyConfig(label_smoothing=0.0)
        was_training = model.training
        model.eval()
        nll, num_tokens = 0.0, 0
        for indices in batches:
            batch = self.encoded.batch(indices).to(self.translator.device)
            loss = objective(model, batch, 0)
            nll += float(loss.total)
            num_tokens += loss.num_tokens
        model.train(was_training)
        return math.exp(min(nll / max(num_tokens, 1), 700.0))
