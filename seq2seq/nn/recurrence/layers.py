"""torch's GRU and LSTM on a CPU, faster: one operation for all steps of both directions.

Under autograd each step of a packed sequence sums into the weights' gradients, and pads its own to
the whole length, so that time grows with the square of the length. Here the backward pass is
written out: the weights' gradients are one product after the last step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from seq2seq.nn.recurrence.base import sigmoid_backward, tanh_backward


def recur(network: nn.GRU | nn.LSTM, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """What a network makes of sequences that are padded at their ends.

    Args:
        network: L layers of K directions, D wide, with biases.
        inputs: (B, S, E).
        lengths: int (B,), at least 1.

    Returns:
        The last layer's states (B, S, K D), zero at padding, and those after the last token that
        each direction read (B, K D). Both are computed in the precision of the weights.
    """
    with torch.autocast("cpu", enabled=False):
        return _recur(network, inputs.to(network.weight_hh_l0.dtype), lengths)


def _recur(network: nn.GRU | nn.LSTM, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    num_directions = 2 if network.bidirectional else 1
    layer = _lstm_layer if isinstance(network, nn.LSTM) else _gru_layer
    real = torch.arange(inputs.shape[1], device=inputs.device) < lengths.unsqueeze(1)
    padding = _both_ways(real, num_directions).logical_not_()
    states = inputs
    for index in range(network.num_layers):
        if index:
            states = functional.dropout(states, network.dropout, network.training)
        weights = network.all_weights[index * num_directions : (index + 1) * num_directions]
        stacked = [torch.stack(of_directions) for of_directions in zip(*weights, strict=True)]
        forwards, *backwards = layer(_both_ways(states, num_directions), padding, stacked).unbind()
        found = [forwards, *(one.flip(0) for one in backwards)]
        states = torch.cat(found, dim=-1).transpose(0, 1) * real.unsqueeze(-1)
    last = [states[torch.arange(len(states), device=states.device), lengths - 1]]
    if num_directions == 2:
        dim = network.hidden_size
        last = [last[0][:, :dim], states[:, 0, dim:]]
    return states, torch.cat(last, dim=-1)


def _both_ways(rows: Tensor, num_directions: int) -> Tensor:
    """(B, S, ...) as each direction reads it: (K, S, B, ...)."""
    return torch.stack((rows, rows.flip(1))[:num_directions]).transpose(1, 2)


def _gates(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The share of the inputs (K, S, B, E) in the gates (K, S, B, G D)."""
    gates = torch.baddbmm(bias.unsqueeze(1), inputs.flatten(1, 2), weight.transpose(1, 2))
    return gates.view(*inputs.shape[:3], -1)


# A padded step is held shut: the gate that keeps the state is 1, so that backwards the state is
# zero up to the last token. Such gates have no gradient, so autograd need not know.


def _gru_layer(inputs: Tensor, padding: Tensor, weights: list[Tensor]) -> Tensor:
    """(K, S, B, E) to states (K, S, B, D)."""
    input_weight, state_weight, input_bias, state_bias = weights
    gates = _gates(inputs, input_weight, input_bias)
    with torch.no_grad():
        update = gates.chunk(3, dim=-1)[1]
        update.masked_fill_(padding.unsqueeze(-1), float("inf"))
    apply: Any = _GRU.apply
    states: Tensor = apply(gates, state_weight, state_bias)
    return states


def _lstm_layer(inputs: Tensor, padding: Tensor, weights: list[Tensor]) -> Tensor:
    """(K, S, B, E) to states (K, S, B, D)."""
    input_weight, state_weight, input_bias, state_bias = weights
    gates = _gates(inputs, input_weight, input_bias + state_bias)
    with torch.no_grad():
        enter, forget, _, _ = gates.chunk(4, dim=-1)
        enter.masked_fill_(padding.unsqueeze(-1), float("-inf"))
        forget.masked_fill_(padding.unsqueeze(-1), float("inf"))
    apply: Any = _LSTM.apply
    states: Tensor = apply(gates, state_weight)
    return states


class _GRU(torch.autograd.Function):
    """From the inputs' share of the gates (K, S, B, 3 D): reset, update, new."""

    @staticmethod
    def forward(ctx: Any, from_inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        (num_directions, num_steps, num_rows, _), dim = from_inputs.shape, weight.shape[2]
        both, new = 2 * dim, from_inputs.new_empty
        states = new(num_directions, num_steps + 1, num_rows, dim)
        states[:, 0] = 0.0
        opened = new(num_directions, num_steps, num_rows, both)
        proposed, recalled = (new(num_directions, num_steps, num_rows, dim) for _ in range(2))
        from_state = new(num_directions, num_rows, 3 * dim)
        for t in range(num_steps):
            entered, state = from_inputs[:, t], states[:, t]
            torch.baddbmm(bias.unsqueeze(1), state, weight.transpose(1, 2), out=from_state)
            opening = torch.add(entered[..., :both], from_state[..., :both], out=opened[:, t])
            reset, update = opening.sigmoid_().chunk(2, dim=-1)
            recalled[:, t] = from_state[..., both:]
            torch.addcmul(entered[..., both:], reset, from_state[..., both:], out=proposed[:, t])
            torch.lerp(proposed[:, t].tanh_(), state, update, out=states[:, t + 1])
        ctx.save_for_backward(weight, states, opened, proposed, recalled)
        return states[:, 1:]

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weight, states, opened, proposed, recalled = ctx.saved_tensors
        dim, both = weight.shape[2], 2 * weight.shape[2]
        d_from_inputs = opened.new_empty(*opened.shape[:3], 3 * dim)
        d_from_state = torch.empty_like(d_from_inputs)
        d_state = torch.zeros_like(states[:, 0])
        for t in reversed(range(opened.shape[1])):
            d_state = d_state + d_states[:, t]
            reset, update = opened[:, t].chunk(2, dim=-1)
            d_reset, d_update, d_new = d_from_inputs[:, t].chunk(3, dim=-1)
            kept = d_state * update
            tanh_backward(d_state - kept, proposed[:, t], d_new)
            sigmoid_backward(d_state * (states[:, t] - proposed[:, t]), update, d_update)
            sigmoid_backward(d_new * recalled[:, t], reset, d_reset)
            d_from_state[:, t, :, :both] = d_from_inputs[:, t, :, :both]
            torch.mul(d_new, reset, out=d_from_state[:, t, :, both:])
            d_state = torch.baddbmm(kept, d_from_state[:, t], weight)
        flat, before = d_from_state.flatten(1, 2), states[:, :-1].flatten(1, 2)
        return d_from_inputs, flat.transpose(1, 2) @ before, flat.sum(1)


class _LSTM(torch.autograd.Function):
    """From the inputs' share of the gates (K, S, B, 4 D): input, forget, new, output."""

    @staticmethod
    def forward(ctx: Any, from_inputs: Tensor, weight: Tensor) -> Tensor:
        (num_directions, num_steps, num_rows, _), dim = from_inputs.shape, weight.shape[2]
        new = from_inputs.new_empty
        states, cells = (new(num_directions, num_steps + 1, num_rows, dim) for _ in range(2))
        states[:, 0] = cells[:, 0] = 0.0
        gates = torch.empty_like(from_inputs)
        shown = new(num_directions, num_steps, num_rows, dim)
        for t in range(num_steps):
            all_gates = torch.baddbmm(
                from_inputs[:, t], states[:, t], weight.transpose(1, 2), out=gates[:, t]
            )
            all_gates[..., : 2 * dim].sigmoid_()
            all_gates[..., 2 * dim : 3 * dim].tanh_()
            all_gates[..., 3 * dim :].sigmoid_()
            enter, forget, proposed, out = all_gates.chunk(4, dim=-1)
            cell = torch.mul(forget, cells[:, t], out=cells[:, t + 1])
            torch.tanh(cell.addcmul_(enter, proposed), out=shown[:, t])
            torch.mul(out, shown[:, t], out=states[:, t + 1])
        ctx.save_for_backward(weight, states, cells, gates, shown)
        return states[:, 1:]

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor, Tensor]:
        weight, states, cells, gates, shown = ctx.saved_tensors
        d_gates = torch.empty_like(gates)
        d_cell, d_state = torch.zeros_like(cells[:, 0]), torch.zeros_like(states[:, 0])
        through = torch.empty_like(d_cell)
        for t in reversed(range(gates.shape[1])):
            d_state = d_state + d_states[:, t]
            enter, forget, proposed, out = gates[:, t].chunk(4, dim=-1)
            d_enter, d_forget, d_proposed, d_out = d_gates[:, t].chunk(4, dim=-1)
            tanh_backward(d_state * out, shown[:, t], through)
            d_cell = d_cell + through
            sigmoid_backward(d_state * shown[:, t], out, d_out)
            sigmoid_backward(d_cell * proposed, enter, d_enter)
            sigmoid_backward(d_cell * cells[:, t], forget, d_forget)
            tanh_backward(d_cell * enter, proposed, d_proposed)
            d_cell = d_cell * forget
            d_state = torch.bmm(d_gates[:, t], weight)
        before = states[:, :-1].flatten(1, 2)
        return d_gates, d_gates.flatten(1, 2).transpose(1, 2) @ before
