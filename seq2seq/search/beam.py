"""Beam search, batched (Graves 2012; length normalisation as in Wu et al. 2016, section 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from seq2seq.config import Between, Count
from seq2seq.models.interfaces import State, log_probabilities, select
from seq2seq.search.base import Hypothesis, SearchableModel, SearchConfig
from seq2seq.special_tokens import BOS, EOS


@dataclass(frozen=True, kw_only=True)
class BeamConfig(SearchConfig):
    """Keeps the K best unfinished hypotheses of each sentence.

    A finished hypothesis of n tokens, EOS counted, scores log-probability / n^`length_penalty`. A
    sentence is done when no live hypothesis could still beat its best finished one.

    Attributes:
        beam_size: K.
        length_penalty: 0 ranks by log-probability alone, which favours short output; 1 by the mean
            for each token; above 1 favours long output.
    """

    beam_size: Count = 5
    length_penalty: Annotated[float, Between(0, 10)] = 1.0

    @torch.inference_mode()
    def __call__(
        self, model: SearchableModel, source: Tensor, source_mask: Tensor
    ) -> list[Hypothesis]:
        limits = self.length_limits(model, source_mask)
        state = model.start(model.encode(source, source_mask))
        state = select(state, _repeated(len(source), self.beam_size, source.device))
        best: list[Hypothesis | None] = [None] * len(source)
        beams = _Beams(source, self.beam_size)
        length = 0  # tokens in each live hypothesis
        while len(beams.rows):
            logits, state = model.step(beams.tokens[:, :, -1].flatten(), state)
            gains = log_probabilities(logits).double()
            at_limit = limits[beams.rows] <= length
            state = beams.advance(gains, state)
            length += 1
            self._finish(best, beams, length)
            if bool(at_limit.any()):
                self._cut(best, beams, at_limit, length)
            going = self._can_improve(best, beams, limits, length) & ~at_limit
            if not bool(going.all()):
                state = beams.keep(going, state)
        found = [one for one in best if one is not None]
        assert len(found) == len(best), "each sentence ends with a hypothesis"
        return found

    def _score(self, log_probability: float, length: int) -> float:
        return float(log_probability / max(length, 1) ** self.length_penalty)

    def _finish(self, best: list[Hypothesis | None], beams: _Beams, length: int) -> None:
        """Takes the hypotheses that have just ended out of their beams, and keeps the best."""
        ends = beams.tokens[:, :, -1] == EOS
        totals, winners = beams.totals.masked_fill(~ends, float("-inf")).max(dim=1)
        self._offer(best, beams, totals, winners, length, is_complete=True)
        beams.totals.masked_fill_(ends, float("-inf"))

    def _cut(
        self, best: list[Hypothesis | None], beams: _Beams, at_limit: Tensor, length: int
    ) -> None:
        """Where nothing ended by itself within the limit, the best live hypothesis stands.

        What it would say after the limit does not count.
        """
        is_open = [best[row] is None for row in beams.rows.tolist()]
        cut = at_limit & torch.tensor(is_open, device=at_limit.device)
        totals, winners = beams.previous_totals.max(dim=1)
        totals = totals.masked_fill(~cut, float("-inf"))
        self._offer(best, beams, totals, winners, length - 1, is_complete=False)

    def _offer(
        self,
        best: list[Hypothesis | None],
        beams: _Beams,
        totals: Tensor,
        winners: Tensor,
        length: int,
        is_complete: bool,
    ) -> None:
        """Keeps hypotheses that beat their sentence's best: totals (B,) in beams `winners` (B,)."""
        tokens = (beams.tokens if is_complete else beams.previous_tokens)[:, :, 1:]
        for position, (row, log_probability, winner) in enumerate(
            zip(beams.rows.tolist(), totals.tolist(), winners.tolist(), strict=True)
        ):
            score = self._score(log_probability, length)
            current = best[row]
            if log_probability > float("-inf") and (current is None or score > current.score):
                said = tokens[position, winner].tolist()
                said = said[:-1] if is_complete else said
                best[row] = Hypothesis(said, log_probability, score, is_complete)

    def _can_improve(
        self, best: list[Hypothesis | None], beams: _Beams, limits: Tensor, length: int
    ) -> Tensor:
        """Bool (B,): whether some live hypothesis may still beat the best finished one.

        A log-probability only falls from here, and division helps it most at the greatest length.
        """
        bounds: Tensor = (
            beams.totals.max(dim=1).values / (limits[beams.rows] + 1) ** self.length_penalty
        )
        scores = [one.score if (one := best[row]) else float("-inf") for row in beams.rows.tolist()]
        finished = torch.tensor(scores, dtype=bounds.dtype, device=bounds.device)
        return torch.gt(bounds, finished)


class _Beams:
    """The live hypotheses of the sentences that are not done.

    Attributes:
        rows: (B,), which sentence each beam belongs to.
        tokens: (B, K, length + 1), BOS first.
        totals: (B, K), log-probabilities; -inf where there is no hypothesis.
        previous_totals: as it was before the newest token.
        previous_tokens: likewise, of the same shape but for that token.
    """

    def __init__(self, source: Tensor, beam_size: int) -> None:
        self.rows = torch.arange(len(source), device=source.device)
        self.tokens = source.new_full((len(source), beam_size, 1), BOS)
        self.totals = torch.full(
            (len(source), beam_size), float("-inf"), dtype=torch.float64, device=source.device
        )
        self.totals[:, 0] = 0.0  # all beams start equal: only the first may branch
        self.previous_totals, self.previous_tokens = self.totals, self.tokens

    def advance(self, gains: Tensor, state: State) -> State:
        """Keeps the K best continuations by log-probabilities (B K, V); the state moves along.

        EOS competes with all other tokens for a place.
        """
        num_rows, beam_size = self.totals.shape
        vocabulary = gains.shape[-1]
        candidates = self.totals.unsqueeze(-1) + gains.view(num_rows, beam_size, vocabulary)
        self.previous_totals, self.previous_tokens = self.totals, self.tokens
        self.totals, chosen = candidates.flatten(1).topk(beam_size, dim=1)
        parents, words = chosen // vocabulary, chosen % vocabulary
        history = self.tokens.gather(1, parents.unsqueeze(-1).expand(-1, -1, self.tokens.shape[-1]))
        self.tokens = torch.cat((history, words.unsqueeze(-1)), dim=-1)
        offsets = torch.arange(num_rows, device=parents.device).unsqueeze(1) * beam_size
        moving = select(state.moving, (parents + offsets).flatten())
        return State(state.fixed, moving)  # siblings share what depends on the source alone

    def keep(self, going: Tensor, state: State) -> State:
        """Drops the sentences that are done; the state moves along."""
        beam_size = self.totals.shape[1]
        kept = going.nonzero().squeeze(1)
        flat = _repeated(len(kept), beam_size, kept.device)
        within = torch.arange(beam_size, device=kept.device).repeat(len(kept))
        self.rows, self.tokens, self.totals = self.rows[kept], self.tokens[kept], self.totals[kept]
        return select(state, kept[flat] * beam_size + within)


def _repeated(count: int, times: int, device: torch.device) -> Tensor:
    """0 0 0 1 1 1 2 2 2 ...: each of `count` rows `times` times."""
    return torch.arange(count, device=device).repeat_interleave(times)
