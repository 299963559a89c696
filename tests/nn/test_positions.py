"""Position encodings against the formulas of their papers, and what they promise."""

from __future__ import annotations

import cmath
import math

import pytest
import torch
from conftest import model_options

from seq2seq.config import from_tree
from seq2seq.errors import DataError, SettingsError
from seq2seq.models.decoders.transformer import TransformerDecoderConfig
from seq2seq.models.encoders.transformer import TransformerEncoderConfig
from seq2seq.nn.attention.base import masked_softmax
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
from seq2seq.nn.positions.alibi import ALiBiPositionsConfig
from seq2seq.nn.positions.base import PositionsConfig
from seq2seq.nn.positions.learned import LearnedPositionsConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.nn.positions.relative import RelativePositionsConfig
from seq2seq.nn.positions.rotary import RotaryPositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig, rotation, sinusoids
from seq2seq.nn.positions.t5 import T5PositionsConfig, buckets
from seq2seq.nn.self_attention import SelfAttention

OPTIONS = model_options("positions")
EXACTLY = {"rtol": 0, "atol": 1e-12}


def built(config: PositionsConfig, dim: int = 8, num_heads: int = 2, *, causal: bool = False):
    return config.build(dim, num_heads, causal=causal)


@pytest.fixture(params=OPTIONS.values(), ids=OPTIONS)
def config(request) -> PositionsConfig:
    return from_tree(request.param, PositionsConfig)


def everything(positions, embedded, heads, num_keys, start):
    """All that an encoding does with some positions, as one list of tensors."""
    weights = heads.new_ones(*heads.shape[:-1], num_keys)
    bias = positions.bias(heads, num_keys, start)
    return [
        positions.add(embedded, start),
        positions.rotate(heads, start),
        heads.new_zeros(1, heads.shape[-2], 1) if bias is None else bias,
        positions.add_to_contexts(heads, weights, start),
    ]


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("causal", [True, False])
def test_step_by_step_equals_all_at_once(config, causal):
    positions = built(config, causal=causal)
    for parameter in positions.parameters():
        torch.nn.init.normal_(parameter)
    embedded, heads = torch.randn(2, 5, 8), torch.randn(2, 2, 5, 4)
    at_once = everything(positions, embedded, heads, 5, 0)
    steps = [
        everything(positions, embedded[:, t : t + 1], heads[:, :, t : t + 1], 5, t)
        for t in range(5)
    ]
    for whole, parts in zip(at_once, zip(*steps, strict=True), strict=True):
        torch.testing.assert_close(torch.cat(parts, dim=-2), whole, **EXACTLY)
    nothing = everything(built(NoPositionsConfig()), embedded, heads, 5, 0)
    acts = not all(map(torch.equal, at_once, nothing))
    assert acts == config.encodes


@pytest.mark.usefixtures("double_precision")
def test_its_gradients_are_those_of_small_differences(config):
    recipe = MultiHeadAttentionConfig(num_heads=2)
    attention = SelfAttention(8, recipe, built(config))
    mask = torch.tensor([[[True, True, False]]])

    def contexts(states, *parameters):
        return attention(states, attention.project(states), mask)

    inputs = (torch.randn(1, 3, 8, requires_grad=True), *attention.parameters())
    assert torch.autograd.gradcheck(contexts, inputs)


def test_sinusoids_follow_the_paper():
    table = sinusoids(50, 6, dtype=torch.float64)
    for t in (0, 1, 7, 49):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            assert float(table[t, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-12)
            assert float(table[t, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-12)


def test_one_rotation_carries_every_sinusoid_an_offset_further():
    dim = 64
    table = sinusoids(600, dim, dtype=torch.float64)
    for offset in (1, 7, 250):
        matrix = rotation(offset, dim)
        carried = table[: 600 - offset] @ matrix.T
        torch.testing.assert_close(carried, table[offset:], rtol=0, atol=1e-10)
        torch.testing.assert_close(
            matrix @ matrix.T, torch.eye(dim, dtype=torch.float64), rtol=0, atol=1e-10
        )
    for a, b in ((1, 2), (5, -3), (100, 41)):
        both = rotation(a, dim) @ rotation(b, dim)
        torch.testing.assert_close(both, rotation(a + b, dim), rtol=0, atol=1e-10)


@pytest.mark.usefixtures("double_precision")
def test_rotary_turns_pairs_as_complex_numbers():
    heads = torch.randn(2, 3, 5, 6)
    turned = built(RotaryPositionsConfig(), 18, 3).rotate(heads, start=4)
    for t in range(5):
        for i in range(3):
            turn = cmath.exp(1j * (4 + t) * 10000 ** (-2 * i / 6))
            for one, other in zip(
                heads[..., t, 2 * i : 2 * i + 2].reshape(-1, 2).tolist(),
                turned[..., t, 2 * i : 2 * i + 2].reshape(-1, 2).tolist(),
                strict=True,
            ):
                assert complex(*other) == pytest.approx(complex(*one) * turn, abs=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_a_rotary_score_depends_on_the_offset_alone():
    positions = built(RotaryPositionsConfig(), 8, 1)
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(m, n):
        return float((positions.rotate(query, m) * positions.rotate(key, n)).sum())

    for offset in (-7, 0, 3):
        for start in (10, 11, 500):
            assert score(start, start + offset) == pytest.approx(score(10, 10 + offset), abs=1e-10)
    assert score(10, 12) != pytest.approx(score(10, 13), abs=1e-3)


@pytest.mark.usefixtures("double_precision")
def test_relative_follows_the_paper():
    config = RelativePositionsConfig(clip_distance=2)
    attention = SelfAttention(8, MultiHeadAttentionConfig(num_heads=2), built(config))
    states, mask = torch.randn(1, 5, 8), torch.ones(1, 1, 5, dtype=torch.bool)
    found = attention(states, attention.project(states), mask)
    queries = attention.heads.queries(states)[0]
    keys, values = (one[0] for one in attention.heads.project(states))
    joined = torch.zeros(2, 5, 4)
    for h in range(2):
        for i in range(5):
            clipped = [max(-2, min(2, j - i)) + 2 for j in range(5)]
            scores = [
                queries[h, i] @ (keys[h, j] + attention.positions.keys[clipped[j]]) / math.sqrt(4)
                for j in range(5)
            ]
            weights = torch.stack(scores).softmax(-1)
            for j in range(5):
                value = values[h, j] + attention.positions.values[clipped[j]]
                joined[h, i] += weights[j] * value
    expected = attention.heads.output(joined.transpose(0, 1).flatten(1))
    torch.testing.assert_close(found[0], expected, **EXACTLY)


def test_alibi_falls_with_distance_at_the_papers_slopes():
    queries = torch.zeros(1, 8, 3, 2, dtype=torch.float64)
    bias = built(ALiBiPositionsConfig(), 16, 8).bias(queries, 6, start=2)
    slopes = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]  # section 3
    for h in range(8):
        for i in range(3):
            for j in range(6):
                assert float(bias[h, i, j]) == pytest.approx(-slopes[h] * abs(j - (2 + i)))


def bucket(offset: int, num_buckets: int, max_distance: int, causal: bool) -> int:
    """One offset's bucket, written from the description in the paper."""
    first = 0
    if not causal:
        num_buckets //= 2
        first = num_buckets if offset > 0 else 0
    distance = max(0, -offset) if causal else abs(offset)
    near = num_buckets // 2
    if distance < near:
        return first + distance
    share = math.log(distance / near) / math.log(max_distance / near)
    return first + min(num_buckets - 1, near + int(share * (num_buckets - near)))


@pytest.mark.parametrize("causal", [True, False])
def test_t5_buckets_are_single_then_grow_then_end(causal):
    offset = torch.arange(-300, 301)
    found = buckets(offset, 32, 128, causal=causal)
    expected = [bucket(one, 32, 128, causal) for one in offset.tolist()]
    assert found.tolist() == expected
    # Distance 0 is not after the query: the first bucket for keys after it stays empty.
    assert set(found.tolist()) == set(range(32)) - (set() if causal else {16})
    if causal:
        assert (found[offset >= 0] == 0).all()
    biases = built(T5PositionsConfig(), causal=causal)
    torch.nn.init.normal_(biases.biases)
    scores = biases.bias(torch.zeros(1, 2, 1, 4), 600, start=300)
    index = [bucket(j - 300, 32, 128, causal) for j in range(600)]
    torch.testing.assert_close(scores[:, 0], biases.biases[index].T)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("start", [0, 2])
def test_self_attention_turns_queries_and_keys(start):
    positions = built(RotaryPositionsConfig())
    attention = SelfAttention(8, MultiHeadAttentionConfig(num_heads=2), positions)
    states, mask = torch.randn(1, 5, 8), torch.ones(1, 1, 5, dtype=torch.bool)
    keys, values = attention.heads.project(states)
    queries = attention.heads.queries(states[:, start:])
    joined = []
    for i in range(5 - start):
        query = positions.rotate(queries[:, :, i : i + 1], start + i)
        turned = [positions.rotate(keys[:, :, j : j + 1], j) for j in range(5)]
        weights = torch.cat([(query * key).sum(-1) for key in turned], -1) / math.sqrt(4)
        joined.append(weights.softmax(-1).unsqueeze(-2) @ values)
    expected = attention.heads.join(torch.cat(joined, -2))
    found = attention(states[:, start:], attention.project(states), mask, start)
    torch.testing.assert_close(found, expected, **EXACTLY)


def test_a_decoder_looks_back_and_an_encoder_to_both_sides():
    recipe = MultiHeadAttentionConfig(num_heads=2)
    encoder = TransformerEncoderConfig(num_heads=2).build(8, T5PositionsConfig())
    decoder = TransformerDecoderConfig(num_heads=2).build(8, 8, recipe, T5PositionsConfig())
    assert not encoder.positions.causal
    assert decoder.positions.causal


def test_two_runs_on_two_threads_have_the_same_gradients():
    """Sums over many equal indices must not depend on which thread comes first."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for config in (RelativePositionsConfig(), T5PositionsConfig()):
            torch.manual_seed(0)
            recipe = MultiHeadAttentionConfig(num_heads=2)
            attention = SelfAttention(128, recipe, built(config, 128))
            states, mask = torch.randn(2, 60, 128), torch.ones(1, 1, 60, dtype=torch.bool)
            gradients = []
            for _ in range(5):
                attention.zero_grad()
                attention(states, attention.project(states), mask).square().sum().backward()
                gradients.append([one.grad.clone() for one in attention.positions.parameters()])
            for again in gradients[1:]:
                assert all(map(torch.equal, again, gradients[0]))
    finally:
        torch.set_num_threads(threads)


@pytest.mark.usefixtures("double_precision")
def test_biases_are_added_to_the_scores_of_the_fused_kernel():
    attention = SelfAttention(
        8, MultiHeadAttentionConfig(num_heads=2), built(ALiBiPositionsConfig())
    )
    states, mask = torch.randn(1, 5, 8), torch.tensor([[[True] * 4 + [False]]])
    found = attention(states, attention.project(states), mask)
    keys, values = attention.heads.project(states)
    queries = attention.heads.queries(states)
    scores = attention.heads.scores(queries, keys) + attention.positions.bias(queries, 5)
    weights = masked_softmax(scores, mask.unsqueeze(1))
    torch.testing.assert_close(found, attention.heads.join(weights @ values), **EXACTLY)


def test_learned_positions_end_somewhere():
    positions = built(LearnedPositionsConfig(max_length=4))
    positions.add(torch.randn(1, 4, 8))
    with pytest.raises(DataError, match=r"needs 5 positions, but .*max_length is 4\."):
        positions.add(torch.randn(1, 5, 8))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda: built(SinusoidalPositionsConfig(), 7, 1),
            r"embedding_dim` must be even .* but is 7",
        ),
        (
            lambda: built(RotaryPositionsConfig(), 6, 2),
            r"must be an even multiple of the 2 heads .* but is 6",
        ),
        (
            lambda: T5PositionsConfig(num_buckets=6),
            r"`num_buckets` must be a multiple of 4, but is 6",
        ),
        (
            lambda: T5PositionsConfig(num_buckets=32, max_distance=16),
            r"`max_distance` must be more than half of num_buckets \(32\), but is 16",
        ),
    ],
)
def test_what_cannot_work_is_refused(build, expected):
    with pytest.raises(SettingsError, match=expected):
        build()
