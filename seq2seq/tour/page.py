"""The sections of the tour's page: its text with the numbers that were found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

from torch import Tensor

from seq2seq.nn.attention.base import ScoringAttention
from seq2seq.tour import text
from seq2seq.tour.looks import Looks
from seq2seq.tour.timing import faster_at


def by_hand(looks: Looks, step: int, source: Sequence[str], target: Sequence[str]) -> str:
    """The section on one step, with its numbers; tokens are those of the pair."""
    attention = looks.attention
    assert isinstance(attention, ScoringAttention)
    scores, weights = looks.scores()[step].cpu(), looks.weights()[0, step].cpu()
    shifted = scores - scores.max()
    powers = shifted.exp()
    rows = [
        f"| {_escaped(word)} | {score:.4f} | {low:.4f} | {power:.4f} | {weight:.4f} |"
        for word, score, low, power, weight in zip(
            source,
            scores.tolist(),
            shifted.tolist(),
            powers.tolist(),
            weights.tolist(),
            strict=True,
        )
    ]
    largest = weights.argsort(descending=True)[:3].tolist()
    mixture = " + ".join(f"{weights[one]:.3f} h({source[one]})" for one in largest)
    learned = ", with learned matrices" if "W" in attention.formula else ""
    return text.BY_HAND.format(
        source=_escaped(" ".join(source)),
        written=_escaped(" ".join(target[:step])) or "nothing",
        word=_escaped(target[step]),
        query_dim=looks.queries.shape[-1],
        query=_numbers(looks.queries[0, step]),
        formula=attention.formula,
        learned=learned,
        rows="\n".join(rows),
        total=float(powers.sum()),
        share=float(weights.sum()),
        mixture=mixture + (" + ..." if len(source) > len(largest) else ""),
        context=_numbers(looks.contexts()[step]),
        probability=float(looks.probabilities[step]),
    )


def heatmaps(*, has_gold: bool) -> str:
    """The section on the pictures of attention."""
    gold = (
        "The embedded corpus knows which word translates which: red frames mark these pairs."
        if has_gold
        else ""
    )
    return text.HEATMAPS.format(gold=gold)


def relative(length: int, reach: int, largest: float) -> str:
    """The section on relative position, with the largest error of the rotation."""
    return text.RELATIVE.format(length=length, reach=reach, largest=largest)


def timing(
    seconds: Mapping[str, Mapping[int, float]],
    *,
    dim: int,
    parameters: str,
    num_sentences: int,
    machine: str,
) -> str:
    """The section on speed: the first of two encoders is the recurrent one."""
    recurrent, attentive = seconds
    lengths = list(seconds[recurrent])
    rows = [
        f"| {length} | "
        + " | ".join(f"{1000 * one[length]:.1f} ms" for one in seconds.values())
        + " |"
        for length in lengths
    ]
    return text.TIMING.format(
        dim=dim,
        parameters=parameters,
        num_sentences=num_sentences,
        machine=machine,
        names=" | ".join(seconds),
        columns="---:|" * len(seconds),
        rows="\n".join(rows),
        growth=_growth(seconds, *lengths[-2:]) + _linear(seconds[attentive], *lengths[-2:]),
        verdict=_verdict(lengths, faster_at(seconds, attentive, recurrent)),
    )


def _growth(seconds: Mapping[str, Mapping[int, float]], long: int, longest: int) -> str:
    """How the times of the two greatest lengths compare."""
    took = (f"{name} takes {one[longest] / one[long]:.1f}" for name, one in seconds.items())
    grown = f"From {long} to {longest} tokens, {longest / long:.3g} times as many, "
    return grown + " times as long, ".join(took) + " times as long."


def _linear(times: Mapping[int, float], long: int, longest: int) -> str:
    """A remark where the time of self-attention does not grow with the square of the length yet."""
    if times[longest] / times[long] > 0.75 * (longest / long) ** 2:
        return ""
    return (
        " At these lengths most of its time still goes into its projections and its feed-forward "
        "network, which grow with the length alone."
    )


def _verdict(lengths: Sequence[int], won: Sequence[int]) -> str:
    """What the lengths at which self-attention was faster say."""
    quicker = ", ".join(map(str, won))
    if not won:
        return "Here self-attention was faster at none of these lengths."
    if len(won) == len(lengths):
        return "Here self-attention was faster at all of these lengths."
    slower = ", ".join(str(one) for one in lengths if one not in won)
    return (
        f"Here self-attention was faster for sentences of {quicker} tokens, and slower for "
        f"{slower}. “Parallel, so faster” holds where the steps that recurrence must take one by "
        "one cost more than the comparisons that self-attention makes on top."
    )


def whole(sections: Iterable[str]) -> str:
    """The page."""
    return "\n\n".join(dedent(one).strip() for one in sections) + "\n"


def _numbers(vector: Tensor) -> str:
    return ", ".join(f"{one:.2f}" for one in vector[:6].tolist())


def _escaped(word: str) -> str:
    """Words that Markdown leaves as they are."""
    return word.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
