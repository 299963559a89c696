"""Attention against slow loops in float64 and against torch's own."""

from __future__ import annotations

import math

import pytest
import torch
from conftest import mask_of
from torch import nn
from torch.nn import functional

from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.attention.base import masked_softmax
from seq2seq.nn.attention.dot import DotAttentionConfig
from seq2seq.nn.attention.general import GeneralAttentionConfig
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
from seq2seq.nn.attention.none import NoAttentionConfig

MASK = mask_of([5, 2, 1]).unsqueeze(1)  # (B, 1, S)


def test_masked_softmax_is_zero_on_padding_and_one_in_sum_and_never_nan():
    scores = torch.randn(2, 3, 4)
    mask = torch.tensor([[True, True, False, False], [False] * 4]).unsqueeze(1)
    weights = masked_softmax(scores, mask)
    expected = scores[0, :, :2].exp() / scores[0, :, :2].exp().sum(-1, keepdim=True)
    torch.testing.assert_close(weights[0, :, :2], expected)
    assert (weights[0, :, 2:] == 0).all()
    assert (weights[1] == 0).all()


@pytest.mark.usefixtures("double_precision")
def test_additive_equals_a_loop_over_positions():
    attention = AdditiveAttentionConfig(hidden_dim=7).build(query_dim=4, memory_dim=6)
    query, memory = torch.randn(3, 2, 4), torch.randn(3, 5, 6)
    context, weights = attention(query, attention.project(memory, memory[:, 0]), MASK)
    for b in range(3):
        for t in range(2):
            scores = []
            for s in range(int(MASK[b].sum())):
                inside = attention.query.weight @ query[b, t]
                inside = inside + attention.key.weight @ memory[b, s] + attention.key.bias
                scores.append(float(attention.score.weight[0] @ torch.tanh(inside)))
            total = sum(math.exp(one) for one in scores)
            by_hand = torch.zeros(6)
            for s, score in enumerate(scores):
                torch.testing.assert_close(float(weights[b, t, s]), math.exp(score) / total)
                by_hand += math.exp(score) / total * memory[b, s]
            torch.testing.assert_close(context[b, t], by_hand, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_multi_head_equals_torch_with_the_same_weights():
    ours = MultiHeadAttentionConfig(num_heads=3).build(query_dim=12, memory_dim=8)
    theirs = nn.MultiheadAttention(12, 3, kdim=8, vdim=8, batch_first=True)
    with torch.no_grad():
        theirs.q_proj_weight.copy_(ours.query.weight)
        theirs.k_proj_weight.copy_(ours.key.weight)
        theirs.v_proj_weight.copy_(ours.value.weight)
        biases = (ours.query.bias, ours.key.bias, ours.value.bias)
        theirs.in_proj_bias.copy_(torch.cat(biases))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    query, memory = torch.randn(3, 4, 12), torch.randn(3, 5, 8)
    context, weights = ours(query, ours.project(memory), MASK)
    expected, expected_weights = theirs(query, memory, memory, key_padding_mask=~MASK.squeeze(1))
    torch.testing.assert_close(context, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(weights, expected_weights, rtol=0, atol=1e-12)
    queries, (keys, values) = ours.queries(query), ours.project(memory)
    fused = functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=MASK.unsqueeze(1)
    )
    torch.testing.assert_close(ours.join(fused), expected, rtol=0, atol=1e-12)
    heads = ours.head_weights(query, ours.project(memory), MASK)
    torch.testing.assert_close(heads.mean(dim=1), weights, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_additive_heads_equal_a_loop_over_heads_and_positions():
    ours = MultiHeadAttentionConfig(num_heads=3, scoring="additive").build(12, 8)
    query, memory = torch.randn(3, 2, 12), torch.randn(3, 5, 8)
    contexts, weights = ours(query, ours.project(memory), MASK)
    for b in range(3):
        length = int(MASK[b].sum())
        for t in range(2):
            joined, mean = [], torch.zeros(5)
            for h in range(3):
                rows = slice(4 * h, 4 * h + 4)
                head = ours.query.weight[rows] @ query[b, t] + ours.query.bias[rows]
                scores, values = [], []
                for s in range(length):
                    key = ours.key.weight[rows] @ memory[b, s] + ours.key.bias[rows]
                    scores.append(float(ours.score[h] @ torch.tanh(head + key)))
                    values.append(ours.value.weight[rows] @ memory[b, s] + ours.value.bias[rows])
                total = sum(math.exp(one) for one in scores)
                shares = [math.exp(one) / total for one in scores]
                joined.append(sum(w * v for w, v in zip(shares, values, strict=True)))
                mean[:length] += torch.tensor(shares) / 3
            by_hand = ours.output.weight @ torch.cat(joined) + ours.output.bias
            torch.testing.assert_close(contexts[b, t], by_hand, rtol=0, atol=1e-12)
            torch.testing.assert_close(weights[b, t], mean, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("scaled", [True, False])
def test_dot_products_equal_a_loop_over_positions(scaled):
    attention = DotAttentionConfig(scaled=scaled).build(6, 6)
    general = GeneralAttentionConfig().build(6, 6)
    query, states = torch.randn(1, 2, 6), torch.randn(1, 4, 6)
    mask = torch.ones(1, 1, 4, dtype=torch.bool)
    _, weights = attention(query, attention.project(states, states[:, 0]), mask)
    _, carried = general(query, general.project(states, states[:, 0]), mask)
    for t in range(2):
        scores = torch.stack([query[0, t] @ states[0, s] for s in range(4)])
        expected = (scores / math.sqrt(6) if scaled else scores).softmax(-1)
        torch.testing.assert_close(weights[0, t], expected, rtol=0, atol=1e-12)
        matrix = general.key.weight
        scores = torch.stack([query[0, t] @ matrix @ states[0, s] for s in range(4)])
        torch.testing.assert_close(carried[0, t], scores.softmax(-1), rtol=0, atol=1e-12)


def test_without_attention_the_context_is_the_summary_for_every_query():
    attention = NoAttentionConfig().build(query_dim=4, memory_dim=6)
    states, summary = torch.randn(3, 5, 6), torch.randn(3, 6)
    contexts, weights = attention(torch.randn(3, 2, 4), attention.project(states, summary), MASK)
    assert torch.equal(contexts, summary.unsqueeze(1).expand(3, 2, 6))
    assert torch.equal(weights, torch.zeros(3, 2, 5))
