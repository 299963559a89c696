"""Phrases, made in both languages at once.

A phrase is two runs of tokens. Words that translate each other get the same link when they are
made, and keep it wherever they are moved; so a finished sentence knows its word alignment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from seq2seq.data.phrasebook.entries import (
    Adjective,
    Adverb,
    Agreement,
    Case,
    Determiner,
    Kind,
    Noun,
    Preposition,
    Pronoun,
    Slot,
)
from seq2seq.data.phrasebook.function_words import AND, CONTRACTIONS
from seq2seq.data.phrasebook.inflection import (
    adjective_form,
    determiner_form,
    noun_form,
    relative_pronoun_form,
)


# Tokens and phrases never change. To declare them frozen would make a corpus take a tenth longer.
@dataclass(slots=True, eq=False)
class Token:
    """A word in a sentence. Links are compared by identity alone."""

    text: str
    links: tuple[object, ...] = ()


@dataclass(slots=True, eq=False)
class Phrase:
    """A run of English tokens and the run of German tokens that says the same."""

    source: tuple[Token, ...] = ()
    target: tuple[Token, ...] = ()

    def __add__(self, other: "Phrase") -> "Phrase":
        return Phrase(self.source + other.source, self.target + other.target)


NOTHING = Phrase()
TARGET_COMMA = Phrase(target=(Token(","),))
"""The comma that German sets before a clause where English has none: it is linked to nothing."""


class Weight(IntEnum):
    """What decides the order of objects in German: pronouns come early, news late."""

    PRONOUN = 0
    DEFINITE = 1
    INDEFINITE = 2


@dataclass(frozen=True, slots=True)
class Nominal:
    """A noun phrase or pronoun in its case, with what verb and word order need to know of it."""

    phrase: Phrase
    agreement: Agreement
    weight: Weight


def link(source: str, target: str) -> Phrase:
    """Words for words: one by one if there are as many in both languages, else all with all."""
    sources, targets = source.split(), target.split()
    if len(sources) == len(targets):
        return one_by_one(sources, targets)
    shared = (object(),)
    return Phrase(
        tuple([Token(word, shared) for word in sources]),
        tuple([Token(word, shared) for word in targets]),
    )


def one_by_one(sources: Sequence[str], targets: Sequence[str]) -> Phrase:
    """The first word for the first, the second for the second, and so on."""
    links = [(object(),) for _ in sources]
    return Phrase(tuple(map(Token, sources, links)), tuple(map(Token, targets, links)))


def adverbial(adverb: Adverb) -> Phrase:
    """An adverb or conjunction."""
    return link(adverb.source, adverb.target)


def personal_pronoun(pronoun: Pronoun, case: Case) -> Nominal:
    """A pronoun in its case: I and ich, me and mich or mir."""
    source = pronoun.subject if case is Case.NOMINATIVE else pronoun.object
    return Nominal(link(source, pronoun.target[case]), pronoun.agreement, Weight.PRONOUN)


def noun_phrase(
    noun: Noun,
    determiner: Determiner,
    case: Case,
    *,
    is_plural: bool = False,
    adjective: Adjective | None = None,
) -> Nominal:
    """Determiner, adjective and noun, declined: "an old man", in the dative "einem alten Mann"."""
    slot = Slot.PLURAL if is_plural else noun.gender
    sources = [noun.plural if is_plural else noun.singular]
    targets = [noun_form(noun, case, is_plural)]
    if adjective is not None:
        sources.insert(0, adjective.source)
        targets.insert(0, adjective_form(adjective, determiner, case, slot))
    article = determiner.plural if is_plural else determiner.singular
    if article:
        takes_an = article == "a" and sources[0][0] in "aeiou"
        sources.insert(0, "an" if takes_an else article)
        targets.insert(0, determiner_form(determiner, case, slot))
    return Nominal(
        one_by_one(sources, targets),
        Agreement.PLURAL if is_plural else Agreement.THIRD,
        Weight.DEFINITE if determiner.is_definite else Weight.INDEFINITE,
    )


def relative_pronoun(noun: Noun, is_plural: bool, case: Case) -> Nominal:
    """The pronoun for `noun` at the head of a relative clause: whom and den, which and das."""
    if noun.kind is not Kind.PERSON:
        source = "which"
    else:
        source = "who" if case is Case.NOMINATIVE else "whom"
    target = relative_pronoun_form(case, Slot.PLURAL if is_plural else noun.gender)
    agreement = Agreement.PLURAL if is_plural else Agreement.THIRD
    return Nominal(link(source, target), agreement, Weight.PRONOUN)


def prepositional(preposition: Preposition, nominal: Nominal) -> Phrase:
    """Preposition and noun phrase; "in dem" becomes "im", which translates both "in" and "the"."""
    head = link(preposition.source, preposition.target)
    rest = nominal.phrase
    contracted = CONTRACTIONS.get((preposition.target, rest.target[0].text))
    if contracted is None:
        return head + rest
    token = Token(contracted, head.target[0].links + rest.target[0].links)
    return Phrase(head.source + rest.source, (token, *rest.target[1:]))


def coordination(first: Nominal, second: Nominal) -> Nominal:
    """Two nominals with "and" between them."""
    phrase = first.phrase + adverbial(AND) + second.phrase
    return Nominal(phrase, Agreement.PLURAL, max(first.weight, second.weight))


def with_relative_clause(nominal: Nominal, relative: Phrase) -> Nominal:
    """A nominal with a relative clause behind it, which German sets off by commas."""
    phrase = nominal.phrase + TARGET_COMMA + relative + TARGET_COMMA
    return Nominal(phrase, nominal.agreement, nominal.weight)
