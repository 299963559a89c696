"""Greedy search: the most probable token at each step."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seq2seq.search.base import Choice, OneByOneConfig, Rules, best_continuations


@dataclass(frozen=True, kw_only=True)
class GreedyConfig(OneByOneConfig):
    """Takes the best next token; its score is the log-probability."""

    def choice(self, rules: Rules, source: Tensor, source_mask: Tensor) -> Choice:
        def choose(logits: Tensor, numbers: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
            gains, ids = best_continuations(logits, rules, numbers, tokens, 1)
            return gains.squeeze(1), ids.squeeze(1)

        return choose
