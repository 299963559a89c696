"""What the tour's page says; fields in braces are numbers and words that were found."""

INTRODUCTION = """
# A tour of attention

A translation model reads a sentence, turns each of its words into a vector, and writes the
translation word by word. *Attention* answers one question before each word that is written: **which
words of the source matter now?** This page follows that question from one step in plain numbers to
the way in which a model without recurrence knows where a word stands.

`scripts/tour.py` wrote it, text, numbers and pictures: they are those of the checkpoints that it was
given. (`make tour` trains three and hands them over.)
"""

BY_HAND = """
## One step by hand

The source is *{source}*. We feed the model the beginning of the reference translation, *{written}*,
and ask it for the next word. The reference goes on with **{word}**.

What was written so far is summed up in the decoder's state, a vector of {query_dim} numbers. It serves
as the **query** q. (Bahdanau's decoder looks before it reads the last word, which joins after the look.)
Its first numbers are

```
q = [{query}, ...]
```

The encoder has left one vector h for each source word. These are the **keys** k with which the query
is compared. Here the comparison is `{formula}`{learned}, and gives each word a **score**. The softmax
turns scores into **weights**: raise e to each score, then divide by the sum, so that the weights are
positive and sum to one. (The largest score is subtracted first. That changes no weight, and no number
gets too large.)

| source word | score | score − largest | e to that | weight |
|---|---:|---:|---:|---:|
{rows}
| sum | | | {total:.4f} | {share:.4f} |

The **values** are the encoder's vectors h again. Their mean with these weights is the **context** c,
which for this step is all that the decoder learns of the source:

```
c = {mixture}
  = [{context}, ...]
```

With state, context and the last word in hand, the model gives the word **{word}** the probability
{probability:.1%}."""

NOT_BY_HAND = """
## One step by hand

The models that are shown here have several heads. Give `scripts/tour.py` a checkpoint with one, such
as one trained with `model/attention=additive`, and this section goes through a step with its numbers.
"""

HEATMAPS = """
## All steps at once

One row of weights for each word that is written makes a picture: the source along the top, the
translation down the side, dark where the model looked. {gold}

![Attention of the decoder over the source words, one picture for each model or head](attention.png)

Attentions differ in how a query and a key are compared:

- **Additive** attention (Bahdanau et al. 2015) has a small network for it, `v · tanh(W q + U k + b)`,
  whose v, W, U and b are learned.
- **Dot** attention (Luong et al. 2015) takes the product `q · k`. It has nothing to learn, so the
  encoder's and the decoder's states must come to lie in one space by themselves. **General**
  attention puts a learned matrix between them, `q · W k`.
- **Multi-head** attention (Vaswani et al. 2017) gives every head its own projection of queries, keys
  and values, and joins what they find. Heads need not agree, and no single one has to look like an
  alignment: what the decoder gets is their mixture.
"""

SINUSOIDS = """
## Where a word stands

Attention compares vectors and knows nothing of order: shuffle the source, and every word gets the
same weight as before. A recurrent encoder has order in its states, since each came out of the one
before. A self-attentive encoder must be *told*. It adds to the vector at position t the
**positional encoding**

```
p(t) = [sin(t w₀), cos(t w₀), sin(t w₁), cos(t w₁), ...]      wᵢ = 10000^(−2i/D)
```

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

```
sin((t + k) w) =   cos(k w) sin(t w) + sin(k w) cos(t w)
cos((t + k) w) = − sin(k w) sin(t w) + cos(k w) cos(t w)
```

so the pair (sin, cos) at t + k is the pair at t, turned by the angle k w, and t does not occur in
that angle. Put one such 2 × 2 rotation for each frequency on the diagonal of a matrix M(k). Then

```
p(t + k) = M(k) p(t)  for every t          M(a) M(b) = M(a + b)
```

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

A recurrent encoder takes one step after another. Self-attention handles all positions at once, and is
often called faster for that. But it also compares every position with every other, and that work
grows with the square of the length. Measured here: one forward and backward pass of one layer of
each, with states {dim} wide ({parameters}; self-attention with its feed-forward network),
{num_sentences} sentences at a time, on {machine}.

![Milliseconds against sentence length](timing.png)

| tokens | {names} |
|---:|{columns}
{rows}

{verdict} {growth}
"""
