"""A GRU that looks at its source by additive attention before each step, as one operation.

The same numbers come out of the attention and the cell by themselves, step after step under
autograd, on any device. Here the backward pass is written out: it keeps nothing but what it needs,
and the weights' gradients are one product after the last step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.nn.recurrence.base import sigmoid_backward, softmax_backward, tanh_backward


def additive_gru(
    from_inputs: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    initial: Tensor,
    *,
    query: Tensor,
    score: Tensor,
    gates: Tensor,
    bias: Tensor,
    context_gates: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """All steps: states (B, T, D), contexts (B, T, M) and attention weights (B, T, S).

    They are computed in the precision of the weights.

    Args:
        from_inputs: (B, T, 3 D), the inputs' share of the gates: reset, update, new.
        keys: (B, S, A), projected.
        values: (B, S, M).
        mask: bool (B, S), True where it may look.
        initial: (B, D), the state before the first step.
        query: (A, D), from the state to what is compared with the keys.
        score: (A,), from what is compared to a score.
        gates: (3 D, D), the state's share of the gates ...
        bias: ... and its bias (3 D,).
        context_gates: (3 D, M), the context's share.
    """
    apply: Any = _AdditiveGRU.apply
    full = (one.to(query.dtype) for one in (from_inputs, keys, values))
    with torch.autocast("cpu", enabled=False):
        states, contexts, weights = apply(
            *full, mask, initial.to(query.dtype), query, score, gates, bias, context_gates
        )
    return states, contexts, weights


class _AdditiveGRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        from_inputs: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        initial: Tensor,
        query: Tensor,
        score: Tensor,
        gates: Tensor,
        bias: Tensor,
        context_gates: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        (num_rows, num_steps, _), (_, num_states, compared_dim) = from_inputs.shape, keys.shape
        dim, both = initial.shape[1], 2 * initial.shape[1]
        new = from_inputs.new_empty
        projection = torch.cat((query, gates)).t()  # of the state: to the query, to the gates
        bias = torch.cat((bias.new_zeros(compared_dim), bias))
        hidden, lowest = ~mask, torch.finfo(keys.dtype).min
        compared = new(num_steps, num_rows, num_states, compared_dim)
        looked = new(num_steps, num_rows, num_states)
        contexts = new(num_steps, num_rows, values.shape[2])
        states = new(num_steps + 1, num_rows, dim)
        states[0] = initial
        # Of the gates: reset and update, the new state, and the old state's share of the latter.
        opened, proposed, recalled = (new(num_steps, num_rows, width) for width in (both, dim, dim))
        from_state = new(num_rows, compared_dim + 3 * dim)
        for t, inputs in enumerate(from_inputs.unbind(1)):
            torch.addmm(bias, states[t], projection, out=from_state)
            asked, remembered = from_state.split((compared_dim, 3 * dim), 1)
            torch.add(keys, asked.unsqueeze(1), out=compared[t]).tanh_()
            scores = torch.mv(compared[t].flatten(0, 1), score).view(num_rows, num_states)
            torch.softmax(scores.masked_fill_(hidden, lowest), -1, out=looked[t])
            looked[t].masked_fill_(hidden, 0.0)
            torch.bmm(looked[t].unsqueeze(1), values, out=contexts[t].unsqueeze(1))
            entered = torch.addmm(inputs, contexts[t], context_gates.t())
            torch.add(entered[:, :both], remembered[:, :both], out=opened[t]).sigmoid_()
            reset, update = opened[t].chunk(2, 1)
            recalled[t] = remembered[:, both:]
            torch.addcmul(entered[:, both:], reset, recalled[t], out=proposed[t]).tanh_()
            torch.lerp(proposed[t], states[t], update, out=states[t + 1])
        ctx.save_for_backward(
            values, query, score, gates, context_gates,
            compared, looked, contexts, states, opened, proposed, recalled,
        )  # fmt: skip
        return states[1:].transpose(0, 1), contexts.transpose(0, 1), looked.transpose(0, 1)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(
        ctx: Any, d_states: Tensor, d_contexts: Tensor, d_looked: Tensor
    ) -> tuple[Tensor | None, ...]:
        (
            values, query, score, gates, context_gates,
            compared, looked, contexts, states, opened, proposed, recalled,
        ) = ctx.saved_tensors  # fmt: skip
        num_steps, num_rows, num_states, compared_dim = compared.shape
        dim, both = states.shape[2], 2 * states.shape[2]
        new = values.new_empty
        projection = torch.cat((query, gates))
        d_from_state = new(num_steps, num_rows, compared_dim + 3 * dim)
        d_entered = new(num_steps, num_rows, 3 * dim)
        d_context = new(num_steps, num_rows, values.shape[2])
        d_scores, d_keys = new(num_rows, num_states), torch.zeros_like(compared[0])
        d_compared = torch.empty_like(d_keys)
        d_score = torch.zeros_like(score)
        d_state = values.new_zeros(num_rows, dim)
        for t in reversed(range(num_steps)):
            d_state = d_state + d_states[:, t]
            (reset, update), new_state = opened[t].chunk(2, 1), proposed[t]
            d_reset, d_update, d_new = d_entered[t].chunk(3, 1)
            d_asked, d_open, d_recalled = d_from_state[t].split((compared_dim, both, dim), 1)
            kept = d_state * update
            tanh_backward(d_state - kept, new_state, d_new)
            sigmoid_backward(d_state * (states[t] - new_state), update, d_update)
            sigmoid_backward(d_new * recalled[t], reset, d_reset)
            d_open.copy_(d_entered[t, :, :both])
            torch.mul(d_new, reset, out=d_recalled)
            torch.addmm(d_contexts[:, t], d_entered[t], context_gates, out=d_context[t])
            d_looked_at = torch.bmm(values, d_context[t].unsqueeze(2)).squeeze(2) + d_looked[:, t]
            softmax_backward(d_looked_at, looked[t], d_scores)
            d_score.addmv_(compared[t].flatten(0, 1).t(), d_scores.flatten())
            # But for the factor `score`, which is the same for all.
            tanh_backward(d_scores.unsqueeze(2).expand_as(d_compared), compared[t], d_compared)
            d_keys += d_compared
            torch.mul(d_compared.sum(1), score, out=d_asked)
            d_state = torch.addmm(kept, d_from_state[t], projection)
        d_projection = d_from_state.flatten(0, 1).t() @ states[:-1].flatten(0, 1)
        d_query, d_gates = d_projection.split((compared_dim, 3 * dim))
        return (
            d_entered.transpose(0, 1),
            d_keys.mul_(score),
            torch.bmm(looked.permute(1, 2, 0), d_context.transpose(0, 1)),
            None,
            d_state,
            d_query,
            d_score,
            d_gates,
            d_from_state[..., compared_dim:].sum((0, 1)),
            d_entered.flatten(0, 1).t() @ contexts.flatten(0, 1),
        )
