"""Beam search, batched (Graves 2012; length normalisation as in Wu et al. 2016, section 7)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seq2seq.config import Between, Count, NonNegative
from seq2seq.errors import SettingsError
from seq2seq.models.interfaces import State, log_probabilities, select
from seq2seq.search.base import Rules, StepwiseConfig, best_continuations
from seq2seq.search.interfaces import Hypothesis, SearchableModel
from seq2seq.special_tokens import BOS, EOS, PAD


@dataclass(frozen=True, kw_only=True)
class BeamConfig(StepwiseConfig):
    """Keeps the K best unfinished hypotheses of each sentence.

    A finished hypothesis of n tokens, EOS counted, scores log-probability / n^`length_penalty`. A
    sentence is done when no live hypothesis could still enter its `n_best` finished ones.

    Attributes:
        beam_size: K.
        n_best: how many finished hypotheses are wanted. The best is the same for any number.
        length_penalty: 0 ranks by log-probability alone, which favours short output; 1 by the mean
            for each token; above 1 favours long output.
        coverage_penalty: the weight of Wu et al.'s coverage (equation 14), by which the K best
            finished hypotheses are ranked once more: it falls with each source token that all steps
            together have hardly looked at.
        num_groups: parts of the beam that choose one after another (Vijayakumar et al. 2018).
        diversity: what it costs a group to take a token, for each hypothesis of the groups before
            it that takes the same at this step. Finished hypotheses are ranked without that.
    """

    beam_size: Count = 5
    n_best: Count = 1
    length_penalty: Annotated[float, Between(0, 10)] = 1.0
    coverage_penalty: NonNegative = 0.0
    num_groups: Count = 1
    diversity: NonNegative = 0.0

    @property
    def num_found(self) -> int:
        return self.n_best

    def check(self) -> None:
        super().check()
        if self.n_best > self.beam_size:
            raise SettingsError(
                "n_best", f"must be at most beam_size ({self.beam_size}), but is {self.n_best}."
            )
        if self.beam_size % self.num_groups:
            raise SettingsError(
                "num_groups", f"of {self.num_groups} must divide beam_size ({self.beam_size})."
            )
        if (self.num_groups > 1) != (self.diversity > 0):
            raise SettingsError("num_groups", "above 1 and `diversity` above 0 need each other.")

    @torch.inference_mode()
    def __call__(
        self,
        model: SearchableModel,
        source: Tensor,
        source_mask: Tensor,
        prefixes: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        rules = Rules(self, model, source_mask, prefixes)
        state = model.start(model.encode(source, source_mask))
        # Siblings share what depends on the source alone.
        siblings = torch.arange(len(source), device=source.device)
        siblings = siblings.repeat_interleave(self.beam_size)
        state = State(state.fixed, select(state.moving, siblings))
        beams = _Beams(source, self)
        finished = [_Finished(self) for _ in source]
        while len(beams.rows):
            length = beams.tokens.shape[2] - 1  # of what each live hypothesis has said
            at_limit = rules.limits[beams.rows] <= length
            logits, state = model.step(beams.tokens[:, :, -1].flatten(), state)
            before = copy(beams)
            state = beams.advance(logits, rules, state)
            best = beams.take_finished(finished)
            # A log-probability only falls, and division helps it most at the greatest length.
            bounds = beams.totals.amax(dim=1)
            bounds = bounds / (rules.limits[beams.rows] + 1).double() ** self.length_penalty
            going = (bounds > best) & ~at_limit
            if not bool(going.all()):
                before.cut(finished, going)  # at the limit, or where nothing may come next
                state = beams.keep(going, state)
        if self.coverage_penalty:
            self._cover(model, source, source_mask, finished)
        return [one.hypotheses[: self.n_best] for one in finished]

    def normalised(self, log_probability: float, num_tokens: int) -> float:
        """What hypotheses are ranked by, but for coverage."""
        return float(log_probability / max(num_tokens, 1) ** self.length_penalty)

    def score(self, log_probability: float, num_tokens: int) -> float | None:
        if self.coverage_penalty:
            return None
        return self.normalised(log_probability, num_tokens)

    def _cover(
        self,
        model: SearchableModel,
        source: Tensor,
        source_mask: Tensor,
        finished: Sequence[_Finished],
    ) -> None:
        """Ranks the finished hypotheses of each sentence by what they have looked at, too."""
        if not model.attends:
            raise SettingsError("search.coverage_penalty", "needs a model with attention.")
        rows = [row for row, one in enumerate(finished) for _ in one.hypotheses]
        all_of_them = [found for one in finished for found in one.hypotheses]
        said = [source.new_tensor([BOS, *one.tokens]) for one in all_of_them]
        given = pad_sequence(said, batch_first=True, padding_value=PAD)
        steps = source.new_tensor([len(one.tokens) + one.is_complete for one in all_of_them])
        mask = source_mask[rows]
        weights = model.attention(source[rows], mask, given)
        is_step = torch.arange(given.shape[1], device=given.device) < steps.unsqueeze(1)
        looked = (weights.double() * is_step.unsqueeze(2)).sum(dim=1).clamp(1e-9, 1.0)
        covered = looked.log().masked_fill(~mask, 0.0).sum(dim=1)
        again = iter((self.coverage_penalty * covered).tolist())
        for one in finished:
            ranked = [found._replace(score=found.score + next(again)) for found in one.hypotheses]
            one.hypotheses = sorted(ranked, key=lambda found: -found.score)


class _Finished:
    """The best finished hypotheses of a sentence.

    Attributes:
        hypotheses: the best first.
    """

    def __init__(self, config: BeamConfig) -> None:
        self.num_wanted = config.beam_size if config.coverage_penalty else config.n_best
        self.hypotheses: list[Hypothesis] = []

    @property
    def least(self) -> float:
        """The score that another one must exceed."""
        if len(self.hypotheses) < self.num_wanted:
            return float("-inf")
        return self.hypotheses[-1].score

    def add(self, one: Hypothesis) -> None:
        """Takes one in if it is new and among the best; the first of equals stays first."""
        is_new = all(one.tokens != other.tokens for other in self.hypotheses)
        if one.score > self.least and is_new:
            insort(self.hypotheses, one, key=lambda found: -found.score)
            del self.hypotheses[self.num_wanted :]


class _Beams:
    """The live hypotheses of the sentences that are not done.

    Attributes:
        rows: (B,), which sentence each beam belongs to.
        tokens: (B, K, 1 + length), BOS first.
        totals: (B, K), log-probabilities; -inf where there is no hypothesis.
    """

    def __init__(self, source: Tensor, config: BeamConfig) -> None:
        self.config = config
        self.rows = torch.arange(len(source), device=source.device)
        self.tokens = source.new_full((len(source), config.beam_size, 1), BOS)
        self.totals = torch.full(
            self.tokens.shape[:2], float("-inf"), dtype=torch.float64, device=source.device
        )
        # All start equal: only the first of a group may branch.
        self.totals[:, :: config.beam_size // config.num_groups] = 0.0

    def advance(self, logits: Tensor, rules: Rules, state: State) -> State:
        """Keeps the K best continuations by logits (B K, V); the state moves along.

        EOS competes with all other tokens for a place.
        """
        num_rows, beam_size = self.totals.shape
        find = self._best if self.config.num_groups == 1 else self._best_by_groups
        self.totals, parents, words = find(logits, rules)
        history = self.tokens.gather(1, parents.unsqueeze(-1).expand(-1, -1, self.tokens.shape[-1]))
        self.tokens = torch.cat((history, words.unsqueeze(-1)), dim=-1)
        offsets = torch.arange(num_rows, device=parents.device).unsqueeze(1) * beam_size
        moving = select(state.moving, (parents + offsets).flatten())
        return State(state.fixed, moving)

    def _best(self, logits: Tensor, rules: Rules) -> tuple[Tensor, Tensor, Tensor]:
        """The totals of the best continuations, whose continuations they are, by what: (B, K)."""
        num_rows, beam_size = self.totals.shape
        # More than K continuations of one hypothesis cannot be among the best K.
        count = min(beam_size, logits.shape[1])
        gains, ids = best_continuations(logits, rules, *self._flat(), count)
        candidates = self.totals.unsqueeze(-1) + gains.view(num_rows, beam_size, count)
        totals, chosen = candidates.flatten(1).topk(beam_size, dim=1)
        return totals, chosen // count, ids.view(num_rows, -1).gather(1, chosen)

    def _best_by_groups(self, logits: Tensor, rules: Rules) -> tuple[Tensor, Tensor, Tensor]:
        """The same, group after group."""
        (num_rows, beam_size), num_tokens = self.totals.shape, logits.shape[1]
        scores = log_probabilities(logits).double()
        rules.forbid(scores, *self._flat())
        candidates = self.totals.unsqueeze(-1) + scores.view(num_rows, beam_size, num_tokens)
        taken = scores.new_zeros(num_rows, num_tokens)
        width, found = beam_size // self.config.num_groups, []
        for start in range(0, beam_size, width):
            of_group = candidates[:, start : start + width]
            liked = of_group - self.config.diversity * taken.unsqueeze(1)
            chosen = liked.flatten(1).topk(width, dim=1).indices
            totals, words = of_group.flatten(1).gather(1, chosen), chosen % num_tokens
            taken.scatter_add_(1, words, totals.isfinite().double())
            found.append((totals, start + chosen // num_tokens, words))
        totals, parents, words = (torch.cat(one, dim=1) for one in zip(*found, strict=True))
        return totals, parents, words

    def _flat(self) -> tuple[Tensor, Tensor]:
        """Which sentence each hypothesis belongs to (B K,), and what it has said."""
        return self.rows.repeat_interleave(self.totals.shape[1]), self.tokens.flatten(0, 1)

    def take_finished(self, finished: Sequence[_Finished]) -> Tensor:
        """Takes out the hypotheses that have just ended; what others must exceed by now (B,)."""
        ends = (self.tokens[:, :, -1] == EOS) & self.totals.isfinite()
        rows = self.rows.tolist()
        if bool(ends.any()):
            self._offer(finished, ends, is_complete=True)
            self.totals = self.totals.masked_fill(ends, float("-inf"))
        return self.totals.new_tensor([finished[row].least for row in rows])

    def cut(self, finished: Sequence[_Finished], going: Tensor) -> None:
        """Where nothing ended by itself, the best live hypotheses stand as they are."""
        empty = [not finished[row].hypotheses for row in self.rows.tolist()]
        cut = torch.tensor(empty, device=going.device) & ~going
        if bool(cut.any()):
            self._offer(finished, cut.unsqueeze(1) & self.totals.isfinite(), is_complete=False)

    def _offer(self, finished: Sequence[_Finished], which: Tensor, *, is_complete: bool) -> None:
        num_tokens = self.tokens.shape[2] - 1
        rows = self.rows[which.nonzero()[:, 0]].tolist()
        said = self.tokens[which][:, 1 : num_tokens + 1 - is_complete].tolist()
        for row, tokens, total in zip(rows, said, self.totals[which].tolist(), strict=True):
            score = self.config.normalised(total, num_tokens)
            finished[row].add(Hypothesis(tokens, total, score, is_complete))

    def keep(self, going: Tensor, state: State) -> State:
        """Drops the sentences that are done; the state moves along."""
        kept = going.nonzero().squeeze(1)
        beam_size = self.totals.shape[1]
        within = torch.arange(beam_size, device=kept.device)
        self.rows, self.tokens, self.totals = self.rows[kept], self.tokens[kept], self.totals[kept]
        hypotheses = (kept.unsqueeze(1) * beam_size + within).flatten()
        return State(select(state.fixed, kept), select(state.moving, hypotheses))
