"""Multi-head self-attention that knows where tokens stand and can go on from what it has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import Config, Count, Dropout, NumLayers
from seq2seq.errors import SettingsError
from seq2seq.nn.attention.base import Projected, masked_softmax
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
from seq2seq.nn.positions.base import Positions, PositionsConfig


class SelfAttention(nn.Module):
    """States attend to each other, or to earlier ones whose keys and values were kept."""

    def __init__(self, dim: int, recipe: MultiHeadAttentionConfig, positions: Positions) -> None:
        super().__init__()
        self.heads = recipe.build(dim, dim)
        self.positions = positions

    def project(self, states: Tensor, start: int = 0) -> Projected:
        """Keys and values (B, H, T, E) of states (B, T, D) at positions `start`, `start` + 1 ..."""
        keys, values = self.heads.project(states)
        return Projected(self.positions.rotate(keys, start), values)

    def forward(
        self, states: Tensor, projected: Projected, mask: Tensor | None, start: int = 0
    ) -> Tensor:
        """The contexts (B, T, D) of states (B, T, D) at positions `start`, `start` + 1, ...

        Args:
            states: the queries.
            projected: keys and values of positions 0 to S - 1.
            mask: bool, True where a state may look; broadcast to (B, T, S). None: everywhere.
            start: position of the first query.
        """
        queries = self.positions.rotate(self.heads.queries(states), start)
        bias = self.positions.bias(queries, projected.keys.shape[-2], start)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # (B, 1, T, S)
        if self.heads.is_additive or self.positions.reads_weights:
            scores = self.heads.scores(queries, projected.keys)
            scores = scores if bias is None else scores + bias
            weights = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
            weights = self.heads.drop(weights)
            contexts = weights @ projected.values
            return self.heads.join(self.positions.add_to_contexts(contexts, weights, start))
        # torch's fused kernel. A row without a real position would be 0 / 0 there: it may look
        # everywhere, and nobody looks at it.
        if mask is None:
            mask = bias
        else:
            mask = mask | ~mask.any(dim=-1, keepdim=True)
            if bias is not None:
                mask = bias.masked_fill(~mask, torch.finfo(bias.dtype).min)
        contexts = functional.scaled_dot_product_attention(
            queries,
            *projected,
            attn_mask=mask,
            dropout_p=self.heads.dropout if self.training else 0.0,
        )
        return self.heads.join(contexts)


@dataclass(frozen=True, kw_only=True)
class SelfAttentiveConfig(Config):
    """What encoders and decoders made of self-attention have in common.

    Attributes:
        num_layers: L.
        num_heads: H of the self-attention; must divide the embeddings' width.
        scoring: how a head of the self-attention compares query and key.
        feed_forward_dim: width inside the feed-forward network.
        norm_first: layer norm before each part (pre-norm), which trains without a long warm-up, or
            after it as in the paper.
        dropout: on embeddings, on the self-attention's weights, inside the feed-forward, on each
            part's output.
    """

    num_layers: NumLayers = 3
    num_heads: Count = 4
    scoring: Literal["scaled_dot", "additive"] = "scaled_dot"
    feed_forward_dim: Count = 512
    norm_first: bool = True
    dropout: Dropout = 0.1

    def build_self_attentions(
        self, dim: int, positions: PositionsConfig, *, causal: bool
    ) -> list[SelfAttention]:
        """One for each layer. Raises SettingsError where these and the positions do not fit."""
        if dim % self.num_heads:
            raise SettingsError(
                "num_heads", f"of {self.num_heads} must divide model.embedding_dim, which is {dim}."
            )
        if positions.acts_in_products and self.scoring != "scaled_dot":
            raise SettingsError(
                "scoring",
                f"is {self.scoring}, but these positions act within a dot product: use "
                "scaled_dot, or other model/positions.",
            )
        recipe = MultiHeadAttentionConfig(
            num_heads=self.num_heads, scoring=self.scoring, dropout=self.dropout
        )
        each = positions.build_layers(self.num_layers, dim, self.num_heads, causal=causal)
        return [SelfAttention(dim, recipe, one) for one in each]
