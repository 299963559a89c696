"""What every attention of the YAML folder keeps."""

from __future__ import annotations

import pytest
import torch
from conftest import mask_of, model_options

from seq2seq.config import from_tree
from seq2seq.nn.attention.base import AttentionConfig

MASK = mask_of([5, 2, 1]).unsqueeze(1)  # (B, 1, S)
OPTIONS = model_options("attention")


@pytest.fixture(params=OPTIONS.values(), ids=OPTIONS)
def attention(request):
    return from_tree(request.param, AttentionConfig).build(8, 8).eval()


def looked(attention, query, states, mask=MASK):
    return attention(query, attention.project(states, states.mean(dim=1)), mask)


def test_weights_are_a_distribution_over_what_may_be_seen(attention):
    contexts, weights = looked(attention, torch.randn(3, 2, 8), torch.randn(3, 5, 8))
    assert contexts.shape == (3, 2, attention.context_dim) and weights.shape == (3, 2, 5)
    total = torch.full((3, 2), float(attention.attends))
    torch.testing.assert_close(weights.sum(-1), total)
    assert (weights >= 0).all()
    assert (weights.masked_select(~MASK.expand_as(weights)) == 0).all()


def test_each_query_may_see_something_else(attention):
    query, states = torch.randn(3, 5, 8), torch.randn(3, 5, 8)
    earlier = torch.ones(5, 5, dtype=torch.bool).tril().unsqueeze(0)
    _, weights = looked(attention, query, states, earlier & MASK)
    assert (weights.triu(diagonal=1) == 0).all()
    _, alone = looked(attention, query[:, 2:3], states[:, :3], MASK[..., :3])
    torch.testing.assert_close(weights[:, 2:3, :3], alone)


def test_what_stands_in_the_padding_does_not_matter(attention):
    query, states = torch.randn(3, 2, 8), torch.randn(3, 5, 8)
    projected = attention.project(states, states[:, 0])
    contexts, _ = attention(query, projected, MASK)
    states[1, 2:] = 1e6
    again, _ = attention(query, attention.project(states, states[:, 0]), MASK)
    torch.testing.assert_close(again, contexts)


def test_nothing_to_look_at_gives_no_nan(attention):
    mask = torch.zeros(1, 1, 3, dtype=torch.bool)
    contexts, weights = looked(attention, torch.randn(1, 2, 8), torch.randn(1, 3, 8), mask)
    assert (weights == 0).all()
    assert contexts.isfinite().all()
    contexts.sum().backward() if contexts.requires_grad else None
    assert all(one.grad is None or one.grad.isfinite().all() for one in attention.parameters())


@pytest.mark.usefixtures("double_precision")
def test_its_gradients_are_those_of_small_differences(attention):
    query = torch.randn(2, 2, 8, requires_grad=True)
    states = torch.randn(2, 3, 8, requires_grad=True)
    mask = mask_of([3, 2]).unsqueeze(1)

    def contexts_and_weights(query, states, *parameters):
        return looked(attention, query, states, mask)

    inputs = (query, states, *attention.parameters())
    assert torch.autograd.gradcheck(contexts_and_weights, inputs)
