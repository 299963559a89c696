"""Unknown words in a translation, replaced by what the decoder looked at (Luong et al. 2015b).

The model writes <unk> for what its vocabulary does not hold; names and numbers are mostly copied,
and a lexicon may say how other words are translated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from seq2seq.data.text import lines_of
from seq2seq.errors import DataError
from seq2seq.evaluation.translator import Translator
from seq2seq.search.interfaces import Hypothesis
from seq2seq.special_tokens import SPECIAL_TOKENS, UNK


def read_lexicon(path: Path) -> dict[str, str]:
    """Source words and their translations, TAB between them, one pair a line. Raises DataError."""
    lexicon: dict[str, str] = {}
    for number, line in enumerate(lines_of(path), start=1):
        source, tab, target = line.partition("\t")
        if not (tab and source and target):
            raise DataError(f"{path}, line {number} is not a word, a TAB and its translation.")
        lexicon.setdefault(source, target)
    return lexicon


def replaced(
    translator: Translator,
    sentence: str,
    source: Sequence[int],
    hypothesis: Hypothesis,
    translation: str,
    lexicon: Mapping[str, str],
) -> str:
    """A translation with the source word at the peak of the attention in place of each <unk>.

    Args:
        translator: whose hypothesis it is.
        sentence: what was translated ...
        source: ... and its ids.
        hypothesis: of these ids ...
        translation: ... and its text.
        lexicon: what to write instead of some source words.
    """
    *between, rest = translation.split(SPECIAL_TOKENS[UNK])
    places = [place for place, one in enumerate(hypothesis.tokens) if one == UNK]
    if not places or len(places) != len(between):
        return translation
    weights = translator.attention(source, hypothesis.tokens)
    words = translator.tokenizers.source.surfaces(sentence)
    seen = [words[int(weights[place].argmax())] for place in places]
    written = (lexicon.get(word, word) for word in seen)
    return "".join(part + word for part, word in zip(between, written, strict=True)) + rest
