"""German declension: endings are looked up by case and slot (gender, or plural)."""

from seq2seq.data.phrasebook.entries import Adjective, Case, Determiner, Noun, Pattern, Slot

#                 masculine neuter feminine plural
_FULL_ENDINGS = (
    ("er", "es", "e", "e"),  # nominative
    ("en", "es", "e", "e"),  # accusative
    ("em", "em", "er", "en"),  # dative
)
_WEAK_ENDINGS = (
    ("e", "e", "e", "en"),
    ("en", "e", "e", "en"),
    ("en", "en", "en", "en"),
)
_ARTICLES = (
    ("der", "das", "die", "die"),
    ("den", "das", "die", "die"),
    ("dem", "dem", "der", "den"),
)
_RELATIVE_PRONOUNS = (*_ARTICLES[:2], ("dem", "dem", "der", "denen"))
# Where "ein" and its like go without an ending: ein Mann, ein Kind.
_GAPS = (
    (Case.NOMINATIVE, Slot.MASCULINE),
    (Case.NOMINATIVE, Slot.NEUTER),
    (Case.ACCUSATIVE, Slot.NEUTER),
)


def determiner_form(determiner: Determiner, case: Case, slot: Slot) -> str:
    """The declined determiner; empty for a bare noun."""
    if determiner.pattern is Pattern.ARTICLE:
        return _ARTICLES[case][slot]
    if determiner.pattern is Pattern.FIXED:
        return determiner.stem
    if determiner.pattern is Pattern.GAPPED and (case, slot) in _GAPS:
        return determiner.stem
    return determiner.stem + _FULL_ENDINGS[case][slot]


def adjective_form(adjective: Adjective, determiner: Determiner, case: Case, slot: Slot) -> str:
    """The declined adjective: it shows case and gender itself where the determiner does not."""
    is_shown = determiner.pattern in (Pattern.ARTICLE, Pattern.FULL) or (
        determiner.pattern is Pattern.GAPPED and (case, slot) not in _GAPS
    )
    endings = _WEAK_ENDINGS if is_shown else _FULL_ENDINGS
    return adjective.stem + endings[case][slot]


def noun_form(noun: Noun, case: Case, is_plural: bool) -> str:
    """The declined noun: der Junge but den Jungen, die Kinder but den Kindern."""
    if not is_plural:
        is_oblique = case is not Case.NOMINATIVE
        return noun.target_plural if noun.weak and is_oblique else noun.target_singular
    takes_n = case is Case.DATIVE and not noun.target_plural.endswith(("n", "s"))
    return noun.target_plural + "n" if takes_n else noun.target_plural


def relative_pronoun_form(case: Case, slot: Slot) -> str:
    """The article again, but for "denen"."""
    return _RELATIVE_PRONOUNS[case][slot]
