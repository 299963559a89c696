"""Settings of the training loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from seq2seq.config import Config, Count, NonNegativeInt, Positive
from seq2seq.errors import SettingsError
from seq2seq.training.keeper import KeepingConfig


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """The loop's budget and habits; training ends with the first budget that is spent.

    Attributes:
        max_epochs: passes over the training pairs.
        max_steps: optimizer steps.
        max_minutes: wall-clock, validations included but for the one that ends the run.
        validate_every_epochs: epochs between validations, unless `validate_every_steps` is given.
        validate_every_steps: optimizer steps between validations.
        patience: validations in a row without a better BLEU after which training ends; null never.
        accumulation: batches whose gradients make one step; their tokens count alike.
        max_gradient_norm: larger gradients are scaled down to this norm; null leaves them.
        max_skipped_steps: steps with a loss or gradient that is not finite that are passed over
            before such a step ends the run.
        compare_greedy: a beam's validation translates greedily, too, to tell search errors.
        num_samples: translations shown at each validation, and drawn at the end.
        keeping: when the run is saved, and what is kept.
    """

    max_epochs: Count | None = 5
    max_steps: Count | None = None
    max_minutes: Positive | None = None
    validate_every_epochs: Count = 1
    validate_every_steps: Count | None = None
    patience: Count | None = None
    accumulation: Count = 1
    max_gradient_norm: Positive | None = 1.0
    max_skipped_steps: NonNegativeInt = 0
    compare_greedy: bool = True
    num_samples: NonNegativeInt = 3
    keeping: KeepingConfig = field(default_factory=KeepingConfig)

    def check(self) -> None:
        if self.max_epochs is None and self.max_steps is None and self.max_minutes is None:
            raise SettingsError(
                "max_epochs", "is null like max_steps and max_minutes: training needs a budget."
            )
