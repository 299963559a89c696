"""BLEU, chrF++ and TER with their signatures: the only module that imports sacrebleu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from seq2seq.errors import DataError

RESAMPLES = 1000
"""Of the bootstrap behind confidence intervals."""


@dataclass(frozen=True)
class Score:
    """One corpus-level figure.

    Attributes:
        name: `BLEU`, `chrF2++` or `TER`.
        value: 0 to 100 for BLEU and chrF; TER may pass 100.
        signature: sacrebleu's, with all that the figure depends on.
        interval: half width of the 95 % bootstrap interval, or None where it was not asked for.
        length_ratio: of all hypotheses to all references, in BLEU's tokens; other metrics: None.
    """

    name: str
    value: float
    signature: str
    interval: float | None = None
    length_ratio: float | None = None

    def __str__(self) -> str:
        width = "" if self.interval is None else f" ± {self.interval:.2f}"
        return f"{self.name} {self.value:.2f}{width}\n  {self.signature}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def bleu(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Corpus BLEU (Papineni et al. 2002) by sacrebleu's defaults: 13a, cased unless told so.

    Raises:
        DataError: there is no sentence to score.
    """
    return _score(BLEU(lowercase=lowercase, force=True), hypotheses, references)


def all_scores(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> list[Score]:
    """BLEU, chrF and TER (which always folds case) with intervals. Raises DataError like `bleu`."""
    return [
        _score(metric, hypotheses, references, RESAMPLES) for metric in _metrics(lowercase).values()
    ]


def p_values(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    test: Literal["bs", "ar"] = "bs",
    metrics: Sequence[str] = ("BLEU", "chrF", "TER"),
) -> dict[str, dict[str, float]]:
    """How probable a difference to the first system is where there is none, by metric and system.

    Paired bootstrap (`bs`, Koehn 2004) or approximate randomisation (`ar`, Riezler and Maxwell
    2005), as sacrebleu's `--paired-bs` and `--paired-ar` compute them; but 1 for a system that says
    the same, where the former would have it that no resample differs more: 0.001. Raises DataError
    where there is no sentence.
    """
    if not references:
        raise DataError("There is nothing to score: the text has no lines.")
    chosen = {name: one for name, one in _metrics(lowercase).items() if name in metrics}
    for metric in chosen.values():
        _compute_in_python(metric)
    paired = PairedTest(list(systems.items()), chosen, [references], test_type=test)
    _, found = paired()
    names: list[Any] = found.pop("System")
    first = list(systems[names[0]])
    same = {name for name in names[1:] if list(systems[name]) == first}
    return {
        metric: {
            name: 1.0 if name in same else float(result.p_value)
            for name, result in zip(names[1:], results[1:], strict=True)
        }
        for metric, results in cast(dict[str, list[Any]], found).items()
    }


def _metrics(lowercase: bool) -> dict[str, Metric]:
    return {
        "BLEU": BLEU(lowercase=lowercase, force=True),
        "chrF": CHRF(lowercase=lowercase, word_order=2),
        "TER": TER(),
    }


def chrf_of_one(text: str, reference: str) -> float:
    """chrF of a sentence."""
    return float(_SENTENCE_CHRF.sentence_score(text, [reference]).score)


def bleu_of_one(text: str, reference: str) -> float:
    """BLEU of a sentence, of the n-gram orders that it is long enough for."""
    return float(_SENTENCE_BLEU.sentence_score(text, [reference]).score)


_SENTENCE_CHRF, _SENTENCE_BLEU = CHRF(), BLEU(effective_order=True)


def _score(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str], resamples: int = 1
) -> Score:
    if not hypotheses:
        raise DataError("There is nothing to score: the text has no lines.")
    _compute_in_python(metric)
    found: Any = metric.corpus_score(hypotheses, [references], n_bootstrap=resamples)
    signature = metric.get_signature().format(short=False)
    interval = float(found._ci) if resamples > 1 else None
    ratio = float(found.ratio) if isinstance(metric, BLEU) else None
    return Score(found.name, float(found.score), signature, interval, ratio)


def _compute_in_python(metric: Metric) -> None:
    """Has a metric compute the scores of resamples from Python's numbers.

    From numpy 2's, some metrics make scores of two types, whose mean sacrebleu cannot take.
    """
    compute = metric._compute_score_from_stats

    def in_python(stats: Any) -> Any:
        return compute([one.item() if hasattr(one, "item") else one for one in stats])

    metric._compute_score_from_stats = in_python  # type: ignore[method-assign]
