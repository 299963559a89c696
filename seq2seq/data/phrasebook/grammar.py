"""Sentence pairs without a download, with a word alignment that is right by construction."""

import random
from dataclasses import dataclass

from seq2seq.data.phrasebook.constituents import Phrase, Token, link
from seq2seq.data.phrasebook.sentences import SentenceSampler
from seq2seq.errors import DataError

MAX_PAIRS = 500_000
"""How many distinct pairs are promised. The grammar has more, but repeats itself more and more."""
MAX_TOKENS = 18
_MARKS = (",", ".", "?")


@dataclass(frozen=True)
class PhrasePair:
    """One sentence in both languages, as the tokens of the text.

    `alignment` holds 0-based links (source_position, target_position).
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]

    @property
    def source_text(self) -> str:
        return _detokenize(self.source)

    @property
    def target_text(self) -> str:
        return _detokenize(self.target)


def generate(num_pairs: int, seed: int) -> list[PhrasePair]:
    """Make `num_pairs` pairs, no two of which have the same source or the same target.

    The same seed gives the same pairs on every machine and Python.
    """
    if not 1 <= num_pairs <= MAX_PAIRS:
        raise DataError(
            f"`num_pairs` must be between 1 and {MAX_PAIRS} in the phrasebook, but is {num_pairs}."
        )
    sampler = SentenceSampler(random.Random(seed))
    pairs: list[PhrasePair] = []
    seen_sources: set[tuple[str, ...]] = set()
    seen_targets: set[tuple[str, ...]] = set()
    while len(pairs) < num_pairs:
        pair = draw(sampler)
        if pair.source in seen_sources or pair.target in seen_targets:
            continue
        seen_sources.add(pair.source)
        seen_targets.add(pair.target)
        pairs.append(pair)
    return pairs


def draw(sampler: SentenceSampler) -> PhrasePair:
    """One pair that is not too long; it may be one that was drawn before."""
    while True:
        phrase, mark = sampler.sentence()
        if max(len(phrase.source), len(phrase.target)) < MAX_TOKENS:
            return finish(phrase, mark)


def finish(phrase: Phrase, mark: str) -> PhrasePair:
    """Make a phrase a sentence: add the mark, capitalize, and read the alignment off the links."""
    phrase += link(mark, mark)
    source = _without_idle_commas(phrase.source)
    target = _without_idle_commas(phrase.target)
    positions: dict[object, list[int]] = {}
    for position, token in enumerate(target):
        for shared in token.links:
            positions.setdefault(shared, []).append(position)
    links = [
        (source_position, target_position)
        for source_position, token in enumerate(source)
        for shared in token.links
        for target_position in positions.get(shared, ())
    ]
    return PhrasePair(_capitalized(source), _capitalized(target), frozenset(links))


def _without_idle_commas(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Drop the comma that closes a German clause where another mark follows."""
    idle = [
        position
        for position, token in enumerate(tokens[:-1])
        if token.text == "," and tokens[position + 1].text in _MARKS
    ]
    for position in reversed(idle):
        tokens = tokens[:position] + tokens[position + 1 :]
    return tokens


def _capitalized(tokens: tuple[Token, ...]) -> tuple[str, ...]:
    first, *rest = [token.text for token in tokens]
    return (first[0].upper() + first[1:], *rest)


def _detokenize(tokens: tuple[str, ...]) -> str:
    text = " ".join(tokens)
    for mark in _MARKS:
        text = text.replace(" " + mark, mark)
    return text
