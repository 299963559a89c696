"""BLEU, chrF and TER with their signatures: the only module that imports sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from seq2seq.errors import DataError

RESAMPLES = 1000
"""Of the bootstrap behind confidence intervals."""


@dataclass(frozen=True)
class Score:
    """One corpus-level figure.

    Attributes:
        name: `BLEU`, `chrF2` or `TER`.
        value: 0 to 100 for BLEU and chrF; TER may pass 100.
        signature: sacrebleu's, with all that the figure depends on.
        interval: half width of the 95 % bootstrap interval, or None where it was not asked for.
    """

    name: str
    value: float
    signature: str
    interval: float | None = None

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
    metrics = (BLEU(lowercase=lowercase, force=True), CHRF(lowercase=lowercase), TER())
    return [_score(metric, hypotheses, references, RESAMPLES) for metric in metrics]


def _score(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str], resamples: int = 1
) -> Score:
    if not hypotheses:
        raise DataError("There is nothing to score: the text has no lines.")
    compute = metric._compute_score_from_stats

    def in_python(stats: Any) -> Any:
        """The score of a resample from Python's numbers.

        From numpy 2's, some metrics make scores of two types, whose mean sacrebleu cannot take.
        """
        return compute([one.item() if hasattr(one, "item") else one for one in stats])

    metric._compute_score_from_stats = in_python  # type: ignore[method-assign]
    found: Any = metric.corpus_score(hypotheses, [references], n_bootstrap=resamples)
    signature = metric.get_signature().format(short=False)
    interval = float(found._ci) if resamples > 1 else None
    return Score(found.name, float(found.score), signature, interval)
