"""Validation: perplexity as the objective sees it, BLEU as the final test does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, fields, replace

import torch

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.batching.base import BatchingConfig, Plan, epoch_generator
from seq2seq.data.text import ParallelText
from seq2seq.errors import RunDiverged
from seq2seq.evaluation.free_running import Counts, FreeRunning, diseases
from seq2seq.evaluation.metrics import Score, bleu
from seq2seq.evaluation.translator import Translator
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.processes import ALONE, Processes
from seq2seq.search.base import StepwiseConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.search.interfaces import Hypothesis


@dataclass(frozen=True)
class Validation:
    """What one validation found.

    Attributes:
        perplexity: exp of the mean unsmoothed negative log-likelihood of a token, EOS counted.
        bleu: of free-running translations.
        samples: some (source, reference, translation).
        report: what is odd about the translations.
        remarks: what that is known to mean, a line each.
    """

    perplexity: float
    bleu: Score
    samples: list[tuple[str, str, str]]
    report: FreeRunning | None = None
    remarks: list[str] = field(default_factory=list)


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
        compare_greedy: bool = False,
        processes: Processes = ALONE,
    ) -> None:
        self.pairs = pairs
        self.translator = translator
        self.encoded = EncodedPairs.encode(pairs, translator.tokenizers)
        self.batches = batching.plan(self.encoded.lengths, epoch_generator(0, 0))
        self.lowercase = lowercase
        self.greedy: Translator | None = None
        search = translator.search
        if compare_greedy and search.score(0.0, 1) is not None:
            assert isinstance(search, StepwiseConfig), "it goes from token to token"
            shared = {one.name: getattr(search, one.name) for one in fields(GreedyConfig)}
            self.greedy = Translator(
                translator.model,
                translator.tokenizers,
                GreedyConfig(**shared),
                translator.device,
                translator.precision,
            )
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
        perplexity, accuracy = self._forced(self.encoded, self.batches)  # refuses what diverged
        translator, sources = self.translator, self.processes.share(self.pairs.source)
        encoded = translator.encode(sources)
        found = translator.hypotheses(encoded, count)
        translations, score = self._scored(found)
        greedy_score, num_errors = None, 0
        if self.greedy:
            greedily = self.greedy.hypotheses(encoded)
            greedy_score = self._scored(greedily)[1].value
            num_errors = self._errors(found, greedily)
        counts = Counts(*self.processes.sum(*astuple(Counts.of(found, num_errors))))
        report = FreeRunning.of(counts, translations, score.length_ratio or 0.0, greedy_score)
        samples = [
            (self.pairs.source[index], self.pairs.target[index], translations[index])
            for index in self.shown
        ]
        remarks = list(diseases(report, score.value, accuracy, translations))
        return Validation(perplexity, score, samples, report, remarks)

    def _scored(self, mine: Sequence[Hypothesis | None]) -> tuple[list[str], Score]:
        """The texts of all processes' hypotheses, and their BLEU, as the first process finds it."""
        texts = self.processes.gather_texts(self.translator.texts(mine), len(self.pairs))
        score = Score("BLEU", 0.0, "")
        if self.processes.is_first:
            score = bleu(texts, self.pairs.target, lowercase=self.lowercase)
        value, ratio = self.processes.max(score.value, score.length_ratio or 0.0)
        return texts, replace(score, value=value, length_ratio=ratio)

    def _errors(
        self, found: Sequence[Hypothesis | None], greedily: Sequence[Hypothesis | None]
    ) -> int:
        """How often greedy search found what the search itself should have liked more."""
        rank = self.translator.search.score
        errors = 0
        for one, other in zip(found, greedily, strict=True):
            if one and other and one.is_complete and other.is_complete:
                mine, theirs = (
                    rank(each.log_probability, len(each.tokens) + 1) for each in (one, other)
                )
                assert mine is not None and theirs is not None, "greedy stands beside a beam only"
                errors += theirs > mine + 1e-6
        return errors

    def rehearse(self, training: EncodedPairs, test_sources: Sequence[str] = ()) -> None:
        """Goes once through all that validation does, and through the longest of all sentences.

        So what would fail in the middle of a run, at a validation or at a sentence that is too long
        for the model, fails before its first step.
        """
        for encoded in (training, self.encoded):
            longest = encoded.lengths.argmax(axis=0)
            self._forced(encoded, [longest])
        sources = self.translator.encode([*self.pairs.source, *test_sources])
        some = [*sources[: self.translator.search.batch_size], max(sources, key=len)]
        translations = self.translator.texts(self.translator.hypotheses(some))
        bleu(translations[:-1], self.pairs.target[: len(some) - 1])

    @torch.inference_mode()
    def _forced(self, pairs: EncodedPairs, batches: Plan) -> tuple[float, float]:
        """Perplexity, and the share of tokens that are right, under teacher forcing."""
        objective = CrossEntropyConfig(label_smoothing=0.0)
        nll, num_tokens, num_right = 0.0, 0.0, 0.0
        with self.translator.computing() as model:
            assert isinstance(model, Seq2Seq), "an ensemble learns nothing"
            for indices in self.processes.share(batches):
                batch = pairs.batch(indices).to(self.translator.device)
                loss = objective(model, batch, progress=0.0)
                nll += float(loss.total)
                num_tokens += loss.num_tokens
                num_right += float(loss.parts["correct"])
        nll, num_tokens, num_right = self.processes.sum(nll, num_tokens, num_right)
        if not math.isfinite(nll):
            raise RunDiverged(
                "The loss on the validation text is not finite. Earlier checkpoints are whole. "
                "Lower optimizer.learning_rate or training.max_gradient_norm."
            )
        return math.exp(min(nll / num_tokens, 700.0)), num_right / num_tokens
