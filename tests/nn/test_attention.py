"""Attention against slow loops in float64 and against torch's own."""

from __future__ import annotations

import math

import pytest
import torch
from conftest import mask_of
from torch import nn

from seq2seq.errors import SettingsError
from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.attention.base import masked_softmax
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig

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
    context, weights = attention(query, attention.project(memory), MASK)
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
    fused = ours.contexts(query, ours.project(memory), MASK)
    torch.testing.assert_close(fused, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("recipe", [AdditiveAttentionConfig(), MultiHeadAttentionConfig()])
def test_padding_neither_matters_nor_is_looked_at(recipe):
    attention = recipe.build(8, 8)
    query, memory = torch.randn(3, 2, 8), torch.randn(3, 5, 8)
    context, weights = attention(query, attention.project(memory), MASK)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2))
    assert (weights.masked_select(~MASK.expand_as(weights)) == 0).all()
    memory[1, 2:] = 1e6
    again, _ = attention(query, attention.project(memory), MASK)
    torch.testing.assert_close(again, context)


@pytest.mark.parametrize("recipe", [AdditiveAttentionConfig(), MultiHeadAttentionConfig()])
def test_nothing_to_look_at_gives_no_nan(recipe):
    attention = recipe.build(8, 8)
    query, memory = torch.randn(1, 2, 8), torch.randn(1, 3, 8)
    mask = torch.zeros(1, 1, 3, dtype=torch.bool)
    context, weights = attention(query, attention.project(memory), mask)
    assert (weights == 0).all()
    assert context.isfinite().all()
    context.sum().backward()
    assert all(one.grad is None or one.grad.isfinite().all() for one in attention.parameters())
    if isinstance(recipe, MultiHeadAttentionConfig):
        assert attention.contexts(query, attention.project(memory), mask).isfinite().all()


def test_heads_must_divide_the_width():
    with pytest.raises(SettingsError, match="`num_heads` of 3 must divide the width 8"):
        MultiHeadAttentionConfig(num_heads=3).build(8, 8)
