"""The words of the tour's page, around the numbers that were found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

from torch import Tensor

from seq2seq.tour.looks import Looks
from seq2seq.tour.timing import faster_at

INTRODUCTION = """
# A tour of attention

A translation model reads a sentence, turns each of its words into a vector, and writes the
translation word by word. *Attention* answers one question before each word that is written: **which
words of the source matter now?** This page follows that question from one step in plain numbers to
the way in which a model without recurrence knows where a word stands.

`make tour` wrote it, text, numbers and pictures: the figures are those of the checkpoints that were
trained on the machine at hand.
"""

BY_HAND = """
## One step by hand

The source is *{source}*. So far the model has written *{written}*, and it is about to write
**{word}**.

What it knows at this point is the decoder's state, a vector of {query_dim} numbers. It serves as
the **query**; its first numbers are

> q = [{query}, ...]

The encoder has left one vector for each source word. These are the **keys** with which the query
is compared. {comparison} The comparison gives each word a **score**. The softmax turns scores
into **weights**: raise e to each score, then divide by the sum, so that the weights are positive
and sum to one. (The largest score is subtracted first. That changes no weight, and no number gets
too large.)

| source word | score | score − largest | e to that | weight |
|---|---:|---:|---:|---:|
{rows}
| sum | | | {total:.4f} | {share:.4f} |

The **values** are the encoder's vectors again. Their mean with these weights is the **context**,
which for this step is all that the decoder learns of the source:

> c = {mixture}
>   = [{context}, ...]

With query and context in hand, the model gives the word **{word}** the probability
{probability:.1%}."""

HEATMAPS = """
## All steps at once

One row of weights for each word that is written makes a picture: the source along the top, the
translation down the side, dark where the model looked. {gold}

![Attention of the decoder over the source words, one picture for each model or head](attention.png)

- **Additive** attention (Bahdanau et al. 2015) compares query and key by a small network, v ·
  tanh(W q + U k).
- **Dot** attention (Luong et al. 2015) takes the product q · k. It has nothing to learn, so the
  encoder's and the decoder's states must come to lie in one space by themselves.
- **Multi-head** attention (Vaswani et al. 2017) gives every head its own projection of queries,
  keys and values, and joins what they find. Heads need not agree, and no single one has to look
  like an alignment: what the decoder gets is their mixture."""

SINUSOIDS = """
## Where a word stands

Attention compares vectors and knows nothing of order: shuffle the source, and every word gets the
same weight as before. A recurrent encoder has order in its states, since each came out of the one
before. A self-attentive encoder must be *told*. It adds to the vector at position t the
**positional encoding**

> p(t) = [sin(t w₀), cos(t w₀), sin(t w₁), cos(t w₁), ...],  wᵢ = 10000^(−2i/D)

![The sinusoidal matrix, and the binary numerals of the same positions](frequencies.png)

Binary numerals show what this is. Count upwards: the ones flip at every number, the twos at every
second, the fours at every fourth. Each digit is a square wave, half as fast as its neighbour, and
together they name every number. The encoding is the continuous twin: each pair of columns is a
wave, slower than its neighbour, and together they name every position, with values between −1 and
1 that a network can add and multiply."""

RELATIVE = """
## How a sinusoid carries relative position

Why waves, and why sine *and* cosine? Because then **a step of k positions is a rotation, and the
same one everywhere**. By the addition theorems

> sin((t + k) w) = cos(k w) sin(t w) + sin(k w) cos(t w)
> cos((t + k) w) = −sin(k w) sin(t w) + cos(k w) cos(t w)

so the pair (sin, cos) at t + k is the pair at t, turned by the angle k w, and t does not occur in
that angle. Put one such 2 × 2 rotation for each frequency on the diagonal of a matrix M(k). Then

> p(t + k) = M(k) p(t)  for every t,    M(a) M(b) = M(a + b)

A single matrix, which a layer can learn, says "three to the right" wherever it stands.

![Dot products against offset, and pairs turning on their circles](relative.png)

Above: rotations leave dot products as they are, so p(t) · p(t + k) depends on k alone; the curves
of three positions lie on each other. Below: three pairs, fast to slow, at positions 0, 5 and 10.
The arrows lead to the position three further on. Within a circle all arrows turn by the same
angle. (For the largest difference between p(t + k) and M(k) p(t), over all t to {length} and k to
{reach}, this run found {largest:.0e}.)

**Rotary encoding** (Su et al. 2021) makes a rule of it. It adds nothing to the vectors. It turns
each pair of a *query* at position m by m w and of a *key* at position n by n w. Their dot product
then depends on n − m and on nothing else:

![Scores of one query and one key at all positions](scores.png)

Both pictures show the score of the same query and the same key, with the query at position m and
the key at n. With added sinusoids the score also has parts that depend on m or n alone: the
picture has a grain, but no constant diagonals. With rotary encoding every diagonal is constant."""

TIMING = """
## Parallel, so faster?

A recurrent encoder takes one step after another. Self-attention handles all positions at once,
and is often called faster for that. But it also compares every position with every other, and
that work grows with the square of the length. Measured here: one forward and backward pass of one
layer of each, both {dim} wide, {num_sentences} sentences at a time, on {machine}.

![Milliseconds against sentence length](timing.png)

| tokens | {names} |
|---:|{columns}
{rows}

{verdict}
"""


def by_hand(looks: Looks, step: int, source: Sequence[str], target: Sequence[str]) -> str:
    """The section on one step, with its numbers; tokens are those of the pair."""
    scores, weights = looks.scores()[step].cpu(), looks.weights()[0, step].cpu()
    shifted = scores - scores.max()
    powers = shifted.exp()
    rows = [
        f"| {_cell(word)} | {score:.4f} | {low:.4f} | {power:.4f} | {weight:.4f} |"
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
    mixture = " + ".join(f"{weights[one]:.3f} h({_cell(source[one])})" for one in largest)
    is_additive = any(name.startswith("score") for name, _ in looks.attention.named_parameters())
    comparison = (
        "Additive attention compares by a small network: score = v · tanh(W q + U k + b)."
        if is_additive
        else "This model compares by a product of query and key."
    )
    return BY_HAND.format(
        source=" ".join(source),
        written=" ".join(target[:step]) or "nothing",
        word=target[step],
        query_dim=looks.queries.shape[-1],
        query=_numbers(looks.queries[0, step]),
        comparison=comparison,
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
    return HEATMAPS.format(gold=gold)


def relative(length: int, reach: int, largest: float) -> str:
    """The section on relative position, with the largest error of the rotation."""
    return RELATIVE.format(length=length, reach=reach, largest=largest)


def timing(
    seconds: Mapping[str, Mapping[int, float]], *, dim: int, num_sentences: int, machine: str
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
    return TIMING.format(
        dim=dim,
        num_sentences=num_sentences,
        machine=machine,
        names=" | ".join(seconds),
        columns="---:|" * len(seconds),
        rows="\n".join(rows),
        verdict=_verdict(lengths, faster_at(seconds, attentive, recurrent)),
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


def _cell(word: str) -> str:
    """A word that Markdown leaves as it is."""
    return word.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
