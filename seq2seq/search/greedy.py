"""Greedy search: the most probable token at each step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.models.interfaces import log_probabilities, select
from seq2seq.search.base import Hypothesis, SearchableModel, SearchConfig
from seq2seq.special_tokens import BOS, EOS


@dataclass(frozen=True, kw_only=True)
class GreedyConfig(SearchConfig):
    """Takes the best next token; its score is the log-probability."""

    @torch.inference_mode()
    def __call__(
        self, model: SearchableModel, source: Tensor, source_mask: Tensor
    ) -> list[Hypothesis]:
        limits = self.length_limits(model, source_mask)
        state = model.start(model.encode(source, source_mask))
        rows = torch.arange(len(source), device=source.device)  # which sentences are still open
        previous = torch.full_like(rows, BOS)
        total = torch.zeros(len(source), dtype=torch.float64, device=source.device)
        tokens: list[list[int]] = [[] for _ in rows]
        complete = [False] * len(source)
        while len(rows):
            logits, state = model.step(previous, state)
            best, previous = log_probabilities(logits).max(dim=-1)
            # At its limit a sentence may still close; what it would rather say is cut.
            length = len(tokens[int(rows[0])])
            at_limit = limits[rows] <= length
            is_end = previous == EOS
            total[rows] += torch.where(at_limit & ~is_end, 0.0, best.double())
            ended, going = is_end.tolist(), ~(is_end | at_limit)
            for row, token, end, go_on in zip(
                rows.tolist(), previous.tolist(), ended, going.tolist(), strict=True
            ):
                complete[row] = end
                if go_on:
                    tokens[row].append(token)
            if not bool(going.all()):
                kept = going.nonzero().squeeze(1)
                rows, previous, state = rows[kept], previous[kept], select(state, kept)
        scores = total.tolist()
        return [Hypothesis(*parts) for parts in zip(tokens, scores, scores, complete, strict=True)]
