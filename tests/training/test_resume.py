"""Whole runs: a resumed one is the same run, a seed decides it, and it learns."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
import torch

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.batching.token_budget import TokenBudgetConfig
from seq2seq.data.text import ParallelText
from seq2seq.evaluation.translator import Translator
from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
from seq2seq.models.encoders.gru import GRUEncoderConfig
from seq2seq.models.seq2seq import Seq2SeqConfig
from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.objectives.decay import LinearDecay
from seq2seq.objectives.scheduled_sampling import ScheduledSamplingConfig
from seq2seq.optim.optimizers import AdamWConfig
from seq2seq.optim.schedules import CosineSchedule
from seq2seq.search.greedy import GreedyConfig
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig
from seq2seq.training.checkpoint import Checkpoint, save_checkpoint
from seq2seq.training.journal import Journal
from seq2seq.training.state import RunState
from seq2seq.training.trainer import Trainer, TrainingConfig
from seq2seq.training.validation import Validator

TEXT = ParallelText(
    ["the dog sees a cat", "a cat sees the dog", "the cat runs and runs", "a dog and a cat run",
     "dogs and cats see the sun", "the sun sees a dog run"],
    ["der Hund sieht eine Katze", "eine Katze sieht den Hund", "die Katze läuft und läuft",
     "ein Hund und eine Katze laufen", "Hunde und Katzen sehen die Sonne",
     "die Sonne sieht einen Hund laufen"],
    "here",
)  # fmt: skip
CPU = torch.device("cpu")


class Whole:
    """A run on `TEXT` with everything that draws random numbers, from objects made afresh."""

    model_config = Seq2SeqConfig(
        embedding_dim=12,
        tie="all",
        dropout=0.2,
        encoder=GRUEncoderConfig(hidden_dim=8, dropout=0.2),
        decoder=BahdanauDecoderConfig(hidden_dim=12, dropout=0.2),
        attention=AdditiveAttentionConfig(),
        positions=NoPositionsConfig(),
    )

    def __init__(self, folder, *, seed=1, resume=False, ask=lambda step: None, **config) -> None:
        torch.manual_seed(seed)
        checkpoint = Checkpoint.open(folder / "last") if resume else None
        if checkpoint:
            tokenizers = TokenizerPair.load(SubwordConfig(), checkpoint.tokenizer_folder)
        else:
            tokenizers = TokenizerPair.train(
                SubwordConfig(vocabulary_size=80), TEXT.source, TEXT.target
            )
        size = tokenizers.source.vocabulary_size
        self.model = config.pop("model", self.model_config).build(size, size, is_joint=True)
        optimizer = config.pop("optimizer", AdamWConfig(weight_decay=0.01))
        self.optimizer = optimizer.build(self.model.parameters())
        if checkpoint:
            checkpoint.load_weights(self.model)
            checkpoint.load_training(self.optimizer)
        state = self.state = checkpoint.state if checkpoint else RunState()
        batching = config.pop("batching", TokenBudgetConfig(max_sentences=1))
        self.translator = Translator(self.model, tokenizers, GreedyConfig(), CPU)
        sampling = ScheduledSamplingConfig(decay=LinearDecay(final=0.2))
        objective = config.pop("objective", sampling)

        def save(name):
            save_checkpoint(
                folder / name,
                model=self.model,
                tokenizers=tokenizers,
                settings={},
                state=state,
                optimizer=self.optimizer if name == "last" else None,
            )

        def asking(model, batch, progress):
            ask(state.step + 1)
            return objective(model, batch, progress)

        validator = Validator(TEXT, self.translator, batching, lowercase=False, num_samples=2)
        encoded = EncodedPairs.encode(TEXT, tokenizers)
        validator.rehearse(encoded)
        self.trainer = Trainer(
            TrainingConfig(**{"max_epochs": 4, "accumulation": 4, **config}),
            model=self.model,
            objective=asking,
            optimizer=self.optimizer,
            schedule=CosineSchedule(warmup_steps=3),
            batching=batching,
            pairs=encoded,
            validator=validator,
            state=state,
            journal=Journal(folder),
            save=save,
            seed=seed,
            device=CPU,
        )

    def run(self) -> Whole:
        self.stopped_by = self.trainer.run()
        return self

    def same_weights(self, other: Whole) -> bool:
        return all(map(torch.equal, self.model.parameters(), other.model.parameters()))


def without_time(record: dict) -> dict:
    """A record's parts that do not depend on the clock or on where the run was interrupted."""
    timed = {"seconds", "target_tokens_per_second"}
    return {name: value for name, value in record.items() if name not in timed}


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Whole:
    """A run that nothing interrupted; an epoch is two steps, the second of two batches."""
    folder = tmp_path_factory.mktemp("straight")
    whole = Whole(folder).run()
    whole.folder = folder
    return whole


def goes_on_like(straight: Whole, folder) -> bool:
    """Resumes the run in a folder; whether it ends where the straight one did."""
    torch.rand(5)
    resumed = Whole(folder, resume=True).run()
    assert resumed.stopped_by is None
    for one, other in zip(resumed.state.history, straight.state.history, strict=True):
        assert without_time(one) == without_time(other)
    for name, value in vars(straight.state).items():
        if name not in ("seconds", "history"):
            assert getattr(resumed.state, name) == value
    for name in ("best", "last"):
        files = [one / name / "weights.safetensors" for one in (straight.folder, folder)]
        assert files[0].read_bytes() == files[1].read_bytes()
    return resumed.same_weights(straight)


@pytest.mark.parametrize("stop_at", [1, 4, 5])
def test_a_run_that_was_stopped_ends_like_one_that_never_was(tmp_path, straight, stop_at):
    def ask(step):
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)

    stopped = Whole(tmp_path, ask=ask).run()
    assert stopped.stopped_by == signal.SIGTERM and stopped.state.step == stop_at
    assert not stopped.same_weights(straight)
    assert goes_on_like(straight, tmp_path)


def test_a_run_that_was_killed_goes_on_from_its_last_validation(tmp_path, straight):
    class Killed(BaseException):
        pass

    def ask(step):
        if step == 4:
            raise Killed

    with pytest.raises(Killed):
        Whole(tmp_path, ask=ask).run()
    assert Checkpoint.open(tmp_path / "last").state.step == 2
    assert goes_on_like(straight, tmp_path)


def test_the_same_seed_gives_the_same_weights_and_another_one_others(tmp_path):
    one, same, other = (Whole(tmp_path, seed=seed, max_epochs=2).run() for seed in (1, 1, 2))
    assert one.same_weights(same)
    assert not one.same_weights(other)


def test_it_overfits_a_handful_of_pairs(tmp_path):
    model = replace(
        Whole.model_config,
        embedding_dim=32,
        dropout=0.0,
        encoder=GRUEncoderConfig(hidden_dim=32, dropout=0.0),
        decoder=BahdanauDecoderConfig(hidden_dim=32, dropout=0.0),
    )
    run = Whole(
        tmp_path,
        model=model,
        optimizer=AdamWConfig(learning_rate=0.02),
        objective=CrossEntropyConfig(),
        max_epochs=60,
        accumulation=1,
        batching=TokenBudgetConfig(),
        validate_every_epochs=60,
    ).run()
    assert run.state.best_score == pytest.approx(100)
    assert run.translator.translate(TEXT.source) == TEXT.target
    assert run.state.history[-1]["validation_perplexity"] < 1.5
    metrics = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8")
    assert metrics.count("\n") == 1 and '"validation_bleu"' in metrics
