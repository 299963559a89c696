"""The end of a training: the test, pictures, and where everything is."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from seq2seq.data.text import ParallelText
from seq2seq.errors import CheckpointError
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.apply import about_checkpoint
from seq2seq.experiment.average import average_into, kept
from seq2seq.experiment.outputs import described, draw_attention, score_split
from seq2seq.experiment.settings import TrainSettings
from seq2seq.training.checkpoint import Checkpoint
from seq2seq.training.journal import Journal, duration
from seq2seq.training.keeper import KeepingConfig
from seq2seq.training.validation import Validator


def conclude(
    settings: TrainSettings,
    run_dir: Path,
    translator: Translator,
    validator: Validator,
    test: ParallelText | None,
    journal: Journal,
) -> None:
    """Tests the best checkpoint, draws its attention, and says where everything is."""
    best = Checkpoint.open(run_dir / "best")
    journal.say(
        f"\nbest validation BLEU {best.state.best_score:.2f} at step {best.state.best_step:,}, "
        f"after {duration(best.state.seconds)}"
    )
    tested = _averaged(settings.training.keeping, run_dir, best, translator, validator, journal)
    tested.load_weights(translator.model)
    if test is not None:
        scores = score_split(
            translator,
            test,
            run_dir / "test",
            lowercase=settings.lowercase_scores,
            about=about_checkpoint(tested),
        )
        for score in scores:
            print(f"test {score}")
        print(f"  search: {described(settings.search)}{translator.precision.remark}")
        journal.say(f"test translations and scores\n    {run_dir / 'test'}")
    num_pictures = 0
    if translator.model.attends:
        sources = translator.encode([validator.pairs.source[index] for index in validator.shown])
        hypotheses = translator.hypotheses(sources)
        num_pictures = draw_attention(translator, sources, hypotheses, run_dir / "attention")
    journal.say(f"checkpoints\n    {run_dir / 'best'}\n    {run_dir / 'last'}")
    if num_pictures:
        journal.say(f"attention pictures\n    {run_dir / 'attention'}")
    journal.say("translate with")
    command = f"python scripts/translate.py checkpoint={quote(str(tested.folder))}"
    journal.say(f"    {command} < INPUT > OUTPUT")


def _averaged(
    keeping: KeepingConfig,
    run_dir: Path,
    best: Checkpoint,
    translator: Translator,
    validator: Validator,
    journal: Journal,
) -> Checkpoint:
    """The average that was asked for, where it is better on validation than the best."""
    if keeping.average is None:
        return best
    try:
        checkpoints = kept(run_dir, keeping.average, getattr(keeping, f"num_{keeping.average}"))
    except CheckpointError as error:  # of before a resume that first asked for an average
        journal.say(f"no average: {error}")
        return best
    average_into(run_dir / "average", checkpoints)
    average = Checkpoint.open(run_dir / "average")
    average.load_weights(translator.model)
    found = validator()
    is_better = best.state.best_score is None or found.bleu.value > best.state.best_score
    steps = ", ".join(f"{one.state.step:,}" for one in checkpoints)
    journal.say(
        f"average of the {keeping.average} {len(checkpoints)} (steps {steps}): "
        f"valid ppl {found.perplexity:.2f}  BLEU {found.bleu.value:.2f}"
        f"{'  (better, so it is tested)' if is_better else ''}"
    )
    return average if is_better else best
