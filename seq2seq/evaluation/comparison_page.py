"""A comparison as a page: one HTML file with nothing outside it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from html import escape

from seq2seq.evaluation.comparison import Changed, Comparison, Group

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1b1b; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.gain { display: inline-block; position: relative; width: 12rem; height: .8rem;
        background: linear-gradient(#aaa, #aaa) center / 1px 100% no-repeat; }
.gain span { position: absolute; height: 100%; }
.up { background: #2a7d46; left: 50%; } .down { background: #b3432b; right: 50%; }
article { border-left: 4px solid #bbb; padding: .2rem 1rem; margin: 1.2rem 0; }
article.better { border-color: #2a7d46; } article.worse { border-color: #b3432b; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: .3rem 0; }
dt { color: #666; } dd { margin: 0; overflow-wrap: anywhere; }
mark { background: #ffe9a8; color: inherit; } footer { color: #666; }
code { font-size: .85rem; overflow-wrap: anywhere; }
"""


NAMES = ("one", "other")
"""What the systems are called below their full names, as in the command that compares them."""
WIDEST = 10
"""Points of BLEU that fill half of the place for a gain."""


def page(found: Comparison) -> str:
    """The whole page."""
    one, other = map(escape, found.names)
    parts = [
        "<h1>Two systems on the same sentences</h1>",
        f"<dl><dt>{NAMES[0]}</dt><dd>{one}</dd><dt>{NAMES[1]}</dt><dd>{other}</dd></dl>",
        f"<p>{found.num_sentences:,} sentences, {found.num_equal:,} of them translated alike.</p>",
        _scores(found),
        *(_groups(kind, groups) for kind, groups in found.groups.items()),
        f"<h2>The {len(found.changed)} sentences that changed most</h2>",
        *(_changed(one) for one in found.changed),
        "<footer>",
        *(f"<p><code>{escape(one.signature)}</code></p>" for one in found.scores[0]),
        "</footer>",
    ]
    title = f"<title>{one} and {other}</title>"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8">{title}<style>{STYLE}</style>'
    width = '<meta name="viewport" content="width=device-width">'
    return "\n".join([head + width, *parts, "</html>"])


def _scores(found: Comparison) -> str:
    rows = [
        (
            first.name,
            f"{first.value:.2f} ± {first.interval:.2f}",
            f"{second.value:.2f} ± {second.interval:.2f}",
            f"{second.value - first.value:+.2f}",
            f"{found.bootstrap[first.name]:.4f}",
            f"{found.randomisation[first.name]:.4f}",
        )
        for first, second in zip(*found.scores, strict=True)
    ]
    head = ("", *NAMES, "difference", "p, paired bootstrap", "p, randomisation")
    return f"<h2>Scores</h2>{_table(head, rows)}"


def _groups(kind: str, groups: Iterable[Group]) -> str:
    rows = []
    for one in groups:
        gain = one.other - one.one
        side = "up" if gain > 0 else "down"
        share = min(abs(gain) / WIDEST, 1) / 2
        bar = f'<span class="gain"><span class="{side}" style="width:{share:.1%}"></span></span>'
        cells = [one.name, f"{one.num_sentences:,}", f"{one.one:.2f}", f"{one.other:.2f}"]
        rows.append((*cells, f"{gain:+.2f}", bar))
    head = (kind, "sentences", *NAMES, "difference", "")
    return f"<h2>BLEU by {escape(kind)}</h2>{_table(head, rows, raw_last=True)}"


def _changed(one: Changed) -> str:
    first, second = _marked(one.one.split(), one.other.split())
    terms = [
        ("source", escape(one.source)),
        ("reference", escape(one.reference)),
        (NAMES[0], first),
        (NAMES[1], second),
    ]
    told = "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in terms)
    side = "better" if one.gain > 0 else "worse"
    return f'<article class="{side}">line {one.line}, chrF {one.gain:+.1f}<dl>{told}</dl></article>'


def _marked(one: list[str], other: list[str]) -> tuple[str, str]:
    """Both texts, the words marked that are not in the other at their place."""
    sides: tuple[list[str], list[str]] = ([], [])
    for kind, *ends in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        for side, words in zip(
            sides, (one[ends[0] : ends[1]], other[ends[2] : ends[3]]), strict=True
        ):
            text = escape(" ".join(words))
            if text:
                side.append(text if kind == "equal" else f"<mark>{text}</mark>")
    return " ".join(sides[0]), " ".join(sides[1])


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], *, raw_last: bool = False) -> str:
    """A table of texts; the last cells are HTML already where that is said."""
    lines = ["<table><tr>", *(f"<th>{escape(one)}</th>" for one in head), "</tr>"]
    for row in rows:
        cells = [escape(one) for one in row]
        if raw_last:
            cells[-1] = list(row)[-1]
        lines += ["<tr>", *(f"<td>{one}</td>" for one in cells), "</tr>"]
    return "".join([*lines, "</table>"])
