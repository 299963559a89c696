"""Searches against exhaustive search and a plain beam, on a tiny vocabulary."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from conftest import build_tiny_model, mask_of

from seq2seq.errors import SettingsError
from seq2seq.models.interfaces import State
from seq2seq.search.base import StepwiseConfig, largest
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.search.interfaces import Hypothesis
from seq2seq.search.mbr import MBRConfig
from seq2seq.search.sampling import SamplingConfig
from seq2seq.special_tokens import BOS, EOS, PAD

LIMIT = 3


class TableModel:
    """Next-token probabilities by the last two tokens and the source: a model without a network."""

    max_length, attends = None, False

    def __init__(self, vocabulary_size: int = 7, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        size = (vocabulary_size,) * 4
        self.table = torch.randn(*size, generator=generator, dtype=torch.float64) * 2

    def encode(self, source, source_mask):
        return source[:, 0]

    def start(self, memory):
        return State(fixed=(memory,), moving=(torch.zeros_like(memory),))

    def step(self, tokens, state):
        memory = state.fixed[0].repeat_interleave(len(tokens) // len(state.fixed[0]))
        logits = self.table[memory, state.moving[0], tokens]
        return logits, State(state.fixed, (tokens,))


def total_of(model: TableModel, source: int, tokens) -> float:
    """The log-probability of some tokens after BOS."""
    history, total = [0, BOS], 0.0
    for token in tokens:
        logits = model.table[source, history[-2], history[-1]]
        total += float(logits.log_softmax(-1)[token])
        history.append(token)
    return total


def exhaustive(model: TableModel, source: int, length_penalty: float) -> list[Hypothesis]:
    """All complete hypotheses of at most LIMIT tokens, the best first."""
    words = [one for one in range(model.table.shape[-1]) if one > EOS]
    found = []
    for length in range(LIMIT + 1):
        for tokens in itertools.product(words, repeat=length):
            total = total_of(model, source, (*tokens, EOS))
            found.append(
                Hypothesis(list(tokens), total, total / (length + 1) ** length_penalty, True)
            )
    return sorted(found, key=lambda one: -one.score)


def plain_beam(model, source: int, config: BeamConfig, limit: int) -> list[Hypothesis]:
    """A beam as the paper has it, in lists, which never stops before the limit."""
    words = [one for one in range(model.table.shape[-1]) if one > BOS]
    width = config.beam_size // config.num_groups
    groups = [[((), 0.0)] for _ in range(config.num_groups)]
    finished, live = [], []
    for _ in range(limit + 1):
        live, taken, following = groups, [], []
        for group in groups:
            options = [
                ((*said, word), total + total_of(model, source, (*said, word)) - before)
                for said, total in group
                for before in [total_of(model, source, said)]
                for word in words
            ]
            options.sort(key=lambda one: -one[1] + config.diversity * taken.count(one[0][-1]))
            following.append(options[:width])
            taken += [said[-1] for said, _ in options[:width]]
        groups = []
        for group in following:
            for said, total in group:
                if said[-1] == EOS:
                    score = total / len(said) ** config.length_penalty
                    finished.append(Hypothesis(list(said[:-1]), total, score, True))
            groups.append([one for one in group if one[0][-1] != EOS])
    if not finished:
        for said, total in itertools.chain(*live):
            score = total / max(1, len(said)) ** config.length_penalty
            finished.append(Hypothesis(list(said), total, score, False))
    unique = {tuple(one.tokens): one for one in finished}
    return sorted(unique.values(), key=lambda one: -one.score)[: config.n_best]


SOURCE = torch.arange(3, 7)[:, None]
MASK = torch.ones_like(SOURCE, dtype=torch.bool)


def within(limit: int) -> dict[str, float]:
    """Settings by which translations have at most `limit` tokens."""
    return {"max_length_ratio": 0.0, "max_length_extra": limit}


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [one.tokens for one in found] == [one.tokens for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-9)
        assert one.is_complete == other.is_complete


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_equals_exhaustive_search(length_penalty, seed):
    model = TableModel(seed=seed)
    settings = {"beam_size": 64, "length_penalty": length_penalty, **within(LIMIT)}
    found = BeamConfig(n_best=7, **settings)(model, SOURCE, MASK)
    for row, hypotheses in zip(SOURCE[:, 0].tolist(), found, strict=True):
        assert_same(hypotheses, exhaustive(model, row, length_penalty)[:7])
    for one, several in zip(BeamConfig(**settings)(model, SOURCE, MASK), found, strict=True):
        assert one == several[:1]


@pytest.mark.parametrize("limit", [0, 1, 3, 9])
@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1, 0.0), (2, 1, 1, 0.0), (3, 3, 1, 0.0), (4, 2, 2, 0.5), (4, 4, 4, 1.5), (6, 3, 2, 9)],
)
@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 1.5])
def test_it_finds_what_a_plain_beam_finds_that_never_stops_early(shape, limit, length_penalty):
    beam_size, n_best, num_groups, diversity = shape
    config = BeamConfig(
        beam_size=beam_size,
        n_best=n_best,
        num_groups=num_groups,
        diversity=diversity,
        length_penalty=length_penalty,
        **within(limit),
    )
    for seed in range(4):
        model = TableModel(seed=seed)
        found = config(model, SOURCE, MASK)
        for row, hypotheses in zip(SOURCE[:, 0].tolist(), found, strict=True):
            assert_same(hypotheses, plain_beam(model, row, config, limit))


@pytest.mark.parametrize("limit", [0, 1, 4, 30])
def test_a_beam_of_one_equals_greedy(limit):
    for seed in range(10):
        model = TableModel(seed=seed)
        greedy = GreedyConfig(**within(limit))(model, SOURCE, MASK)
        beam = BeamConfig(beam_size=1, length_penalty=0.0, **within(limit))(model, SOURCE, MASK)
        for one, other in zip(greedy, beam, strict=True):
            assert_same(one, other)
            assert len(one[0].tokens) <= limit


# What may come next


EVERY = {
    "greedy": GreedyConfig(),
    "beam": BeamConfig(n_best=3),
    "flat beam": BeamConfig(length_penalty=0.3),
    "groups": BeamConfig(beam_size=4, n_best=4, num_groups=2, diversity=0.7),
    "samples": SamplingConfig(num_samples=3),
    "likely samples": SamplingConfig(num_samples=2, top_k=5, top_p=0.8, temperature=0.7),
    "risk": MBRConfig(candidates=BeamConfig(n_best=2)),
}
every = pytest.mark.parametrize("search", EVERY.values(), ids=EVERY)
stepwise = pytest.mark.parametrize(
    "search",
    [one for one in EVERY.values() if isinstance(one, StepwiseConfig)],
    ids=[name for name, one in EVERY.items() if isinstance(one, StepwiseConfig)],
)


def all_tokens(found: list[list[Hypothesis]]) -> list[list[int]]:
    return [one.tokens for hypotheses in found for one in hypotheses]


@stepwise
def test_translations_are_as_long_as_they_must_be(search):
    source, mask = torch.randint(3, 7, (5, 6)), mask_of([6, 1, 2, 3, 4])
    free, shortest = set(), 0
    for seed in range(5):
        model = TableModel(seed=seed)
        free |= {len(one) for one in all_tokens(search(model, source, mask))}
        long = replace(search, min_length_ratio=1.5, max_length_ratio=2.0, max_length_extra=1)
        for length, hypotheses in zip(mask.sum(1).tolist(), long(model, source, mask), strict=True):
            for one in hypotheses:
                assert -(-3 * length // 2) <= len(one.tokens) <= 2 * length + 1
                shortest = max(shortest, length)
    assert min(free) < 2 and shortest == 6  # it made a difference


@stepwise
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_sequence_comes_twice(search, size):
    def repeats(tokens: list[int]) -> int:
        windows = [tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1)]
        return len(windows) - len(set(windows))

    found, free = 0, 0
    for seed in range(8):
        model = TableModel(seed=seed)
        long = replace(search, min_length_ratio=8.0, max_length_ratio=8.0)
        free += sum(map(repeats, all_tokens(long(model, SOURCE, MASK))))
        one = replace(long, no_repeat_ngram=size)
        found += sum(map(repeats, all_tokens(one(model, SOURCE, MASK))))
    assert found == 0 < free


@stepwise
def test_where_nothing_may_come_next_it_ends(search):
    """All four words said once, the end too soon: nothing is left."""
    model = TableModel()
    strict = replace(search, no_repeat_ngram=1, min_length_ratio=9.0, max_length_ratio=9.0)
    for one in itertools.chain(*strict(model, SOURCE, MASK)):
        assert sorted(one.tokens) == [3, 4, 5, 6] and not one.is_complete
        assert one.log_probability > float("-inf")


@stepwise
def test_a_translation_opens_as_it_is_told_and_goes_on_by_itself(search):
    model = TableModel(seed=3)
    prefixes = torch.tensor([[5, 5, 6], [3, PAD, PAD], [PAD, PAD, PAD], [4, 4, PAD]])
    found = replace(search, **within(2))(model, SOURCE, MASK, prefixes)
    for row, told, hypotheses in zip(SOURCE[:, 0].tolist(), prefixes, found, strict=True):
        told = told[told != PAD].tolist()
        for one in hypotheses:
            assert one.tokens[: len(told)] == told
            assert len(one.tokens) <= max(2, len(told))
            ends = [EOS] if one.is_complete else []
            total = total_of(model, row, one.tokens + ends)
            assert one.log_probability == pytest.approx(total, abs=1e-9)
    (free,) = replace(search, **within(2))(model, SOURCE[2:3], MASK[2:3])
    assert found[2] == free


def test_what_the_rules_forbid_comes_when_it_is_told():
    (found,) = GreedyConfig(no_repeat_ngram=1)(
        TableModel(), SOURCE[:1], MASK[:1], torch.tensor([[4, 4, 4]])
    )
    assert found[0].tokens[:3] == [4, 4, 4]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"n_best": 6}, r"`n_best` must be at most beam_size \(5\), but is 6"),
        ({"num_groups": 2, "diversity": 1}, r"`num_groups` of 2 must divide beam_size \(5\)"),
        ({"num_groups": 5}, "`num_groups` above 1 and `diversity` above 0 need each other"),
        ({"min_length_ratio": 3}, "`min_length_ratio` of 3 must not be above max_length_ratio"),
        ({"diversity": 0.5}, "`num_groups` above 1 and `diversity` above 0 need each other"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, problem):
    with pytest.raises(SettingsError, match=problem):
        BeamConfig(**settings)


# Sampling


def test_samples_come_as_often_as_they_are_probable():
    model = TableModel(seed=1)
    for settings in ({}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.7}):
        search = SamplingConfig(num_samples=4000, **settings, **within(1))
        (found,) = search(model, SOURCE[:1], MASK[:1])
        chances = model.table[3, 0, BOS].log_softmax(-1)
        chances[[PAD, BOS]] = float("-inf")
        chances = (chances / settings.get("temperature", 1.0)).softmax(-1)
        order = chances.argsort(descending=True)
        if "top_k" in settings:
            chances[order[3:]] = 0
        if "top_p" in settings:
            kept = 1 + int((chances[order].cumsum(0) < 0.7).sum())
            assert 1 < kept < 5
            chances[order[kept:]] = 0
        chances /= chances.sum()
        counts = torch.zeros(7, dtype=torch.float64)
        for one in found:
            counts[one.tokens[0] if one.tokens else EOS] += 1
        deviations = (counts / 4000 - chances).abs() / (chances * (1 - chances) / 4000).sqrt()
        assert (counts[chances == 0] == 0).all()
        assert deviations[chances > 0].max() < 4


def test_samples_depend_on_seed_and_number_and_sentence_and_nothing_else():
    model = build_tiny_model()
    source, mask = torch.randint(4, 20, (2, 5)), mask_of([5, 5])
    found = all_tokens(SamplingConfig(num_samples=3)(model, source, mask))
    more = all_tokens(SamplingConfig(num_samples=5)(model, source, mask))
    assert found[:3] == more[:3] and found[3:] == more[5:8]
    other = all_tokens(SamplingConfig(num_samples=3, seed=2)(model, source, mask))
    assert len({tuple(one) for one in found + other}) > 6


# All searches


@every
def test_neighbours_order_and_padding_never_matter(search):
    model = build_tiny_model().double()
    source, mask = torch.randint(4, 20, (6, 5)), mask_of([5, 1, 2, 3, 4, 5])
    together = search(model, source, mask)
    wide = torch.cat((source, torch.randint(4, 20, (6, 3))), 1)
    padded = search(model, wide, torch.cat((mask, torch.zeros(6, 3, dtype=torch.bool)), 1))
    backwards = search(model, source.flip(0), mask.flip(0))[::-1]
    for row in range(6):
        length = int(mask[row].sum())
        (alone,) = search(model, source[row : row + 1, :length], mask[row : row + 1, :length])
        for other in (padded[row], backwards[row], alone):
            assert_same(other, together[row])


@every
def test_log_probabilities_are_those_of_a_teacher_forced_pass(search):
    model = build_tiny_model().double()
    source, mask = torch.randint(4, 20, (4, 5)), mask_of([5, 1, 2, 3])
    for row, hypotheses in enumerate(search(model, source, mask)):
        for found in hypotheses:
            ends = [EOS] if found.is_complete else []
            target = torch.tensor([[BOS, *found.tokens, *ends]])
            scores = model.scores(source[row : row + 1], mask[row : row + 1], target[:, :-1])
            total = scores[0].gather(1, target[0, 1:, None]).sum()
            assert found.log_probability == pytest.approx(float(total), abs=1e-9)


@pytest.mark.parametrize(
    "candidates", [GreedyConfig(), BeamConfig(), SamplingConfig(), EVERY["risk"]]
)
def test_least_risk_needs_several_candidates(candidates):
    with pytest.raises(SettingsError, match="`candidates` must be a search that finds several"):
        MBRConfig(candidates=candidates)


def test_only_a_beam_ranks_by_probability_and_length():
    assert BeamConfig(length_penalty=0.5).score(-6.0, 4) == -3.0
    assert GreedyConfig().score(-6.0, 4) is None
    assert BeamConfig(coverage_penalty=0.1).score(-6.0, 4) is None


def test_coverage_ranks_the_finished_by_what_they_have_looked_at():
    model = build_tiny_model().double()
    for parameter in model.decoder.attention.parameters():
        parameter.data *= 6  # so that it looks somewhere
    source, mask = torch.randint(4, 20, (5, 6)), mask_of([6, 3, 4, 5, 6])
    plain = BeamConfig(beam_size=4, n_best=4)
    moved = 0
    for row, (before, after) in enumerate(
        zip(
            plain(model, source, mask),
            replace(plain, n_best=2, coverage_penalty=0.3)(model, source, mask),
            strict=True,
        )
    ):
        length, scores = int(mask[row].sum()), {}
        for one in before:
            given = torch.tensor([[BOS, *one.tokens]])[:, : len(one.tokens) + one.is_complete]
            weights = model(source[row : row + 1], mask[row : row + 1], given).weights[0]
            covered = weights.sum(0)[:length].clamp(max=1).log().sum()
            scores[tuple(one.tokens)] = one.score + 0.3 * float(covered.detach())
        expected = sorted(scores, key=lambda said: -scores[said])
        assert [tuple(one.tokens) for one in after] == expected[:2]
        assert [one.score for one in after] == pytest.approx([scores[one] for one in expected[:2]])
        moved += expected[0] != tuple(before[0].tokens)
    assert moved
    with pytest.raises(SettingsError, match=r"`search\.coverage_penalty` needs a model with a"):
        replace(plain, coverage_penalty=0.3)(TableModel(), SOURCE, MASK)


def test_the_least_risk_is_that_of_the_text_that_most_others_are_like():
    search = MBRConfig(candidates=SamplingConfig(num_samples=5))
    texts = ["a b", "a b c", "x", "a b", "a c"]
    hypotheses = [Hypothesis([number], 0.0, 0.0, True) for number in range(5)]

    def common(one, other):
        return len(set(one.split()) & set(other.split()))

    ranked = search.rank(hypotheses, texts, {"chrf": common})
    assert [one.tokens[0] for one in ranked] == [1, 0, 4, 2]
    assert [one.score for one in ranked] == pytest.approx([9 / 5, 7 / 5, 6 / 5, 1 / 5])


@pytest.mark.parametrize("width", [3, 64, 65, 500, 8000])
def test_the_largest_of_a_row_are_those_of_topk(width):
    values = torch.randn(7, width)
    values[0] = float("-inf")
    values[1, : width // 2] = float("-inf")
    for count in (1, 2, 3):
        found, ids = largest(values, count)
        torch.testing.assert_close(found, values.topk(count).values, rtol=0, atol=0)
        torch.testing.assert_close(values.gather(1, ids), found, rtol=0, atol=0)
        assert all(len(set(row)) == count for row in ids.tolist())
