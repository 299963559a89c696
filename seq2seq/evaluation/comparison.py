"""Two systems on the same sentences: where they differ, and how surely."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from seq2seq.data.text import ParallelText
from seq2seq.evaluation.metrics import Score, all_scores, bleu, chrf_of_one, p_values

LENGTHS = (8, 11, 14, 18)
"""Words of a source: upper ends of the groups of lengths, but for the last."""
COUNTS = (0, 1, 5, 50)
"""In training, of the rarest word of a source: upper ends of the groups, but for the last."""
NEARNESSES = (0.5, 0.7, 0.9)
"""Shares of words in common with the nearest training source: upper ends, but for the last."""
NUM_CHANGED = 20
AT_ONCE = 128
"""Sources whose words are counted against all of training."""


@dataclass(frozen=True)
class Group:
    """Sentences that have something in common.

    Attributes:
        name: what it is.
        num_sentences: how many.
        one: BLEU of the first system there.
        other: BLEU of the second.
    """

    name: str
    num_sentences: int
    one: float
    other: float


@dataclass(frozen=True)
class Changed:
    """A sentence that the systems translate differently.

    Attributes:
        line: its number, from 1.
        source: the sentence.
        reference: the right translation.
        one: the first system's translation.
        other: the second's.
        gain: chrF of the second less that of the first.
    """

    line: int
    source: str
    reference: str
    one: str
    other: str
    gain: float


@dataclass(frozen=True)
class Comparison:
    """Two systems side by side.

    Attributes:
        names: of both.
        num_sentences: how many were compared.
        num_equal: translated alike.
        scores: of both: BLEU, chrF++, TER.
        bootstrap: p-value of each metric's difference by paired bootstrap.
        randomisation: the same by approximate randomisation.
        groups: BLEU of groups of sentences, by what groups them.
        changed: the sentences that changed most, the greatest change first.
    """

    names: tuple[str, str]
    num_sentences: int
    num_equal: int
    scores: tuple[list[Score], list[Score]]
    bootstrap: dict[str, float]
    randomisation: dict[str, float]
    groups: dict[str, list[Group]]
    changed: list[Changed]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def compare(
    names: tuple[str, str],
    translations: tuple[Sequence[str], Sequence[str]],
    pairs: ParallelText,
    training_sources: Sequence[str] | None,
    *,
    lowercase: bool = False,
) -> Comparison:
    """Compares two systems' translations of the same pairs.

    Args:
        names: of the systems.
        translations: N of each.
        pairs: N sources and references.
        training_sources: what the systems have seen; None where nobody knows.
        lowercase: BLEU and chrF fold case.
    """
    one, other = translations
    chances = [
        p_values({"one": one, "other": other}, pairs.target, lowercase=lowercase, test=test)
        for test in ("bs", "ar")
    ]
    bootstrap, randomisation = (
        {metric: of_systems["other"] for metric, of_systems in found.items()} for found in chances
    )
    kinds: dict[str, list[tuple[int, str]]] = {
        "words of the source": [_within(len(text.split()), LENGTHS) for text in pairs.source]
    }
    if training_sources is not None:
        kinds["rarest source word in training"] = rarity(pairs.source, training_sources)
        kinds["nearest source in training"] = nearness(pairs.source, training_sources)
    return Comparison(
        names,
        len(pairs),
        sum(first == second for first, second in zip(one, other, strict=True)),
        (
            all_scores(one, pairs.target, lowercase=lowercase),
            all_scores(other, pairs.target, lowercase=lowercase),
        ),
        bootstrap,
        randomisation,
        {kind: _groups(of_each, translations, pairs, lowercase) for kind, of_each in kinds.items()},
        _changed(translations, pairs),
    )


def _groups(
    of_each: Sequence[tuple[int, str]],
    translations: tuple[Sequence[str], Sequence[str]],
    pairs: ParallelText,
    lowercase: bool,
) -> list[Group]:
    """Sentences by their group, a group's place in the order and its name."""
    rows: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row, group in enumerate(of_each):
        rows[group].append(row)
    found = []
    for group in sorted(rows):
        references = [pairs.target[row] for row in rows[group]]
        one, other = (
            bleu([each[row] for row in rows[group]], references, lowercase=lowercase).value
            for each in translations
        )
        found.append(Group(group[1], len(rows[group]), one, other))
    return found


def _changed(
    translations: tuple[Sequence[str], Sequence[str]], pairs: ParallelText
) -> list[Changed]:
    found = [
        Changed(
            line, source, right, one, other, chrf_of_one(other, right) - chrf_of_one(one, right)
        )
        for line, (source, right, one, other) in enumerate(
            zip(pairs.source, pairs.target, *translations, strict=True), start=1
        )
        if one != other
    ]
    return sorted(found, key=lambda each: -abs(each.gain))[:NUM_CHANGED]


def _within(
    value: float, ends: Sequence[float], shown: Callable[[float], str] = str
) -> tuple[int, str]:
    """The group of a value, by the upper ends of all groups but the last."""
    for place, end in enumerate(ends):
        if value <= end:
            low = ends[place - 1] if place else None
            upper = f"up to {shown(end)}"
            return place, upper if low is None else f"above {shown(low)}, {upper}"
    return len(ends), f"above {shown(ends[-1])}"


def rarity(sources: Iterable[str], training: Iterable[str]) -> list[tuple[int, str]]:
    """How often each source's rarest word comes in training, as a group."""
    counts = Counter(word for text in training for word in _words(text))
    names = ["unseen", "once", "2 to 5 times", "6 to 50 times", "more often"]
    rarest = (min((counts[word] for word in _words(text)), default=0) for text in sources)
    places = [_within(count, COUNTS)[0] for count in rarest]
    return [(place, names[place]) for place in places]


def nearness(sources: Sequence[str], training: Sequence[str]) -> list[tuple[int, str]]:
    """How many words each source shares with the nearest training source (Dice), as a group."""
    ids: dict[str, int] = {}
    bags = [{ids.setdefault(word, len(ids)) for word in _words(text)} for text in training]
    known = torch.sparse_coo_tensor(
        torch.tensor([(row, word) for row, bag in enumerate(bags) for word in bag]).T,
        torch.ones(sum(map(len, bags))),
        (len(bags), len(ids)),
    ).coalesce()
    sizes = known.sum(dim=1).to_dense().unsqueeze(1)
    found = []
    for start in range(0, len(sources), AT_ONCE):
        sets = [set(_words(text)) for text in sources[start : start + AT_ONCE]]
        asked = torch.zeros(len(ids), len(sets))
        for column, words in enumerate(sets):
            asked[[ids[word] for word in words if word in ids], column] = 1.0
        shared = torch.sparse.mm(known, asked)
        total = sizes + torch.tensor([[float(len(words)) for words in sets]])
        found += (2 * shared / total.clamp(min=1)).amax(dim=0).tolist()
    return [_within(share, NEARNESSES, _percent) for share in found]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _words(text: str) -> list[str]:
    return text.lower().split()
