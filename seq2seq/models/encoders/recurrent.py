"""The recurrent encoder (Cho et al. 2014; both ways: Bahdanau et al. 2015, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.config import Count, Dropout, NumLayers
from seq2seq.models.encoders.base import Encoder, EncoderConfig
from seq2seq.models.interfaces import Memory
from seq2seq.nn.cells import CellName, open_forget_gate
from seq2seq.nn.positions.base import PositionsConfig
from seq2seq.nn.recurrence.layers import recur


class RecurrentEncoder(Encoder):
    """Layers of GRUs or LSTMs; the states of both directions stand side by side."""

    def __init__(self, input_dim: int, config: RecurrentEncoderConfig) -> None:
        super().__init__()
        self.memory_dim = config.hidden_dim * (2 if config.bidirectional else 1)
        self.network = {"gru": nn.GRU, "lstm": nn.LSTM}[config.cell](
            input_dim,
            config.hidden_dim,
            config.num_layers,
            batch_first=True,
            dropout=config.dropout if config.num_layers > 1 else 0.0,
            bidirectional=config.bidirectional,
        )
        self.dropout = nn.Dropout(config.dropout)
        self.norm = nn.LayerNorm(self.memory_dim) if config.layer_norm else nn.Identity()
        for name, parameter in self.network.named_parameters():
            if "weight_hh" in name:
                for gate in parameter.split(config.hidden_dim):
                    nn.init.orthogonal_(gate)
            elif "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            elif "bias_hh" in name and config.cell == "lstm":
                open_forget_gate(parameter)

    def forward(self, embedded: Tensor, mask: Tensor) -> Memory:
        # On a GPU cuDNN is faster.
        run = recur if embedded.device.type == "cpu" else run_packed
        states, summary = run(self.network, embedded, mask.sum(dim=1).clamp(min=1))
        return Memory(self.dropout(self.norm(states)), mask, self.dropout(summary))


def run_packed(network: nn.GRU | nn.LSTM, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """What `recur` says, by the network itself.

    Packed, so that padding is never read: backwards it starts at the last real token.
    """
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, last = network(packed)
    padded, _ = pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])
    last = last[0] if isinstance(last, tuple) else last  # an LSTM's cell state stays inside
    return padded, torch.cat(tuple(last[-2 if network.bidirectional else -1 :]), dim=-1)


@dataclass(frozen=True, kw_only=True)
class RecurrentEncoderConfig(EncoderConfig):
    """The recurrent encoder.

    Attributes:
        cell: gru or lstm.
        hidden_dim: width of each direction.
        num_layers: L.
        bidirectional: reads backwards too, so that each state knows both sides of its token.
        layer_norm: normalises the states (Ba et al. 2016); the summary stays as it is.
        dropout: on the states, on the summary and between layers.
    """

    cell: CellName = "gru"
    hidden_dim: Count = 128
    num_layers: NumLayers = 1
    bidirectional: bool = True
    layer_norm: bool = False
    dropout: Dropout = 0.1

    def build(self, input_dim: int, positions: PositionsConfig) -> RecurrentEncoder:
        return RecurrentEncoder(input_dim, self)
