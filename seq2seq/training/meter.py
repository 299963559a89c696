"""How well and how fast training goes, for the person who watches."""

from __future__ import annotations


class Meter:
    """Loss of late and speed since the last validation.

    Attributes:
        recent_nll: moving mean of the negative log-likelihood of a target token, in nats.
    """

    def __init__(self) -> None:
        self.num_tokens = 0
        self.seconds = 0.0
        self.recent_nll = 0.0

    def add(self, nll: float, num_tokens: int, seconds: float) -> None:
        """One step's sum of negative log-likelihoods, its real target tokens, its wall-clock."""
        latest = nll / num_tokens
        self.recent_nll = latest if not self.num_tokens else 0.95 * self.recent_nll + 0.05 * latest
        self.num_tokens += num_tokens
        self.seconds += seconds

    @property
    def tokens_per_second(self) -> float:
        """Real target tokens a second, validation left out."""
        return self.num_tokens / max(self.seconds, 1e-9)
