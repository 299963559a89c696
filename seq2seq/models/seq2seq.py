"""The whole model: embeddings, encoder, decoder and the projection to the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from seq2seq.config import Config, Count, Dropout
from seq2seq.errors import SettingsError
from seq2seq.models.decoders.base import Decoder, DecoderConfig
from seq2seq.models.encoders.base import Encoder, EncoderConfig
from seq2seq.models.interfaces import Decoded, Memory, State, log_softmax
from seq2seq.nn.attention.base import AttentionConfig
from seq2seq.nn.positions.base import PositionsConfig


class Seq2Seq(nn.Module):
    """Owns everything that knows a vocabulary, so that tying is decided in one place."""

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        source_size: int,
        target_size: int,
        config: Seq2SeqConfig,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.source_embedding = nn.Embedding(source_size, config.embedding_dim)
        self.target_embedding = (
            self.source_embedding
            if config.tie == "all"
            else nn.Embedding(target_size, config.embedding_dim)
        )
        self.output = nn.Linear(decoder.hidden_dim, target_size)
        nn.init.zeros_(self.output.bias)
        for matrix in (self.source_embedding, self.target_embedding, self.output):
            nn.init.normal_(matrix.weight, std=matrix.weight.shape[1] ** -0.5)
        if config.tie != "none":
            self.output.weight = self.target_embedding.weight
        self.token_dropout = nn.Dropout1d(config.token_dropout)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Decoded:
        """A teacher-forced pass: ids (B, S) with mask, and target ids (B, T) that open with BOS."""
        embedded = self._embed(self.target_embedding, target)
        decoded: Decoded = self.decoder(embedded, self.encode(source, source_mask))
        return decoded

    def scores(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """The log-probabilities (B, T, V) of a teacher-forced pass, arguments as of `forward`."""
        decoded: Decoded = self(source, source_mask, target)
        return log_softmax(self.project(decoded.hidden))

    def attention(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """The weights (B, T, S) of a teacher-forced pass, arguments as of `forward`."""
        decoded: Decoded = self(source, source_mask, target)
        return decoded.weights

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        """Source ids (B, S) and their mask (B, S) to a memory."""
        memory: Memory = self.encoder(self._embed(self.source_embedding, source), source_mask)
        return memory

    def start(self, memory: Memory) -> State:
        """The decoder's state before the first target token."""
        return self.decoder.start(memory)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Ids (N,) of the previous tokens to logits (N, V) of the next, and the next state."""
        embedded = self._embed(self.target_embedding, tokens)
        hidden, state = self.decoder.step(embedded, state)
        return self.project(hidden), state

    def _embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        """Ids (...) to their vectors (..., E)."""
        embedded: Tensor = self.dropout(self.token_dropout(embedding(ids)))
        return embedded

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden vectors (..., R) to logits (..., V)."""
        logits: Tensor = self.output(hidden)
        return logits

    @property
    def attends(self) -> bool:
        """Whether the decoder looks at single source positions."""
        return self.decoder.attends

    @property
    def max_length(self) -> int | None:
        """The most tokens that the decoder can write, EOS not counted; None: any number."""
        return self.decoder.max_length

    @property
    def num_parameters(self) -> int:
        """Trained numbers; tied ones count once."""
        return sum(parameter.numel() for parameter in self.parameters())


@contextmanager
def _blaming(group: str) -> Iterator[None]:
    """Completes the key of a SettingsError that a part raises about a setting of its own."""
    try:
        yield
    except SettingsError as error:
        raise (error if error.key.startswith("model.") else error.under(group)) from None


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(Config):
    """The model's parts and the widths that they share.

    Attributes:
        embedding_dim: width of the embeddings on both sides.
        tie: which matrices are one: none, the target embedding and the output projection (Press and
            Wolf 2017), or these and the source embedding, which needs a joint vocabulary.
        dropout: on the embeddings.
        token_dropout: share of tokens on both sides whose whole embedding is zero in training (Gal
            and Ghahramani 2016, section 4.2; for small corpora Sennrich and Zhang 2019).
        encoder: reads the source.
        decoder: writes the target.
        attention: how the decoder looks at the encoder's states.
        positions: what encoders and decoders without recurrence are told about order.
    """

    embedding_dim: Count = 128
    tie: Literal["none", "target_output", "all"] = "none"
    dropout: Dropout = 0.1
    token_dropout: Dropout = 0.0
    encoder: EncoderConfig
    decoder: DecoderConfig
    attention: AttentionConfig
    positions: PositionsConfig

    def check(self) -> None:
        uses_positions = self.encoder.uses_positions or self.decoder.uses_positions
        if self.positions.encodes and not uses_positions:
            raise SettingsError(
                "positions", "has no effect on a recurrent model. Use model/positions=none."
            )

    def build(self, source_size: int, target_size: int, *, is_joint: bool) -> Seq2Seq:
        """The model for two vocabularies. Raises SettingsError where its parts do not fit."""
        if self.tie == "all" and not is_joint:
            raise SettingsError(
                "model.tie", "is all, which needs one vocabulary: set tokenizer.joint=true."
            )
        with _blaming("model.encoder"):
            encoder = self.encoder.build(self.embedding_dim, self.positions)
        with _blaming("model.decoder"):
            decoder = self.decoder.build(
                self.embedding_dim, encoder.memory_dim, self.attention, self.positions
            )
        if self.tie != "none" and decoder.hidden_dim != self.embedding_dim:
            raise SettingsError(
                "model.tie",
                f"is {self.tie}, which needs a decoder's read-out as wide as the embeddings "
                f"({self.embedding_dim}), but it is {decoder.hidden_dim}.",
            )
        return Seq2Seq(encoder, decoder, source_size, target_size, self)
