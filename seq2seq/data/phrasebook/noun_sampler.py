"""Random noun phrases and adverbials: which words go together, and how often."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TypeVar

from seq2seq.data.phrasebook import function_words as words
from seq2seq.data.phrasebook.constituents import (
    Nominal,
    Phrase,
    adverbial,
    coordination,
    noun_phrase,
    personal_pronoun,
    prepositional,
)
from seq2seq.data.phrasebook.entries import Adjective, Case, Determiner, Kind, Noun, Owned, Pronoun
from seq2seq.data.phrasebook.function_words import PREPOSITIONS
from seq2seq.data.phrasebook.lexicon import ADJECTIVES, NOUNS

T = TypeVar("T")


class Moment(Enum):
    """When something happens; it decides on tense, modal verbs and adverbs of time."""

    PAST = "past"
    PRESENT = "present"
    FUTURE = "future"


_TIMES = {
    Moment.PAST: words.PAST_TIMES,
    Moment.PRESENT: words.PRESENT_TIMES,
    Moment.FUTURE: words.FUTURE_TIMES,
}

# A choice is uniform over a tuple; what should come often stands in it often.
_SINGULAR = (
    *(words.THE,) * 7,
    *(words.A,) * 6,
    *(words.THIS, words.THIS, words.MY, words.MY, words.YOUR, words.HIS, words.OUR),
)
_PLURAL = (
    *(words.THE,) * 5,
    *(words.THIS, words.MY, words.MY, words.YOUR, words.HIS, words.OUR),
    *(words.TWO, words.THREE, words.MANY, words.SOME, words.BARE, words.BARE),
)
_MASS = (
    *(words.BARE,) * 4,
    *(words.THE, words.THE, words.THIS, words.MY, words.YOUR, words.OUR),
)
_PAIRED = (words.THE, words.THE, words.MY, words.YOUR, words.HIS, words.OUR)

_ADJECTIVES = 0.35
"""How often a noun has one."""

_SUBJECT_PRONOUNS = (words.I, words.YOU, words.HE, words.SHE, words.WE, words.THEY)
# "sie" in the accusative is both her and them, so only the unmistakable pronouns are used there.
_OBJECT_PRONOUNS = {
    Case.ACCUSATIVE: (words.I, words.YOU, words.HE, words.WE),
    Case.DATIVE: _SUBJECT_PRONOUNS,
}
# Objects that would have to be reflexive: "I see me".
_SAME_PERSON = {"I": ("I", "we"), "we": ("I", "we"), "you": ("you",)}

_ADJECTIVES_OF: dict[Kind, tuple[Adjective, ...]] = {
    kind: tuple(adjective for adjective in ADJECTIVES if kind in adjective.kinds) for kind in Kind
}
_PLACES = tuple(noun for noun in NOUNS if noun.places)
_GOALS = tuple(noun for noun in NOUNS if noun.goals)


@cache
def _nouns_of(kinds: tuple[Kind, ...]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if noun.kind in kinds)


def _may_be_owned(noun: Noun, is_plural: bool) -> bool:
    return noun.owned is Owned.MANY or (noun.owned is Owned.ONE and not is_plural)


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject, and the word in it that objects of the same clause should not repeat."""

    nominal: Nominal
    noun: Noun | None = None
    pronoun: Pronoun | None = None


class NounSampler:
    """Draws noun phrases, and adverbials that contain them.

    All chance comes from `random()`, the one method whose values Python promises never to change.
    """

    def __init__(self, generator: random.Random) -> None:
        self._random = generator.random

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self._random() * len(options))]

    def noun(self, kinds: tuple[Kind, ...], unlike: Noun | None = None) -> Noun:
        nouns = _nouns_of(kinds)
        while True:
            noun = self.pick(nouns)
            if noun is not unlike:
                return noun

    def adjective(self, kind: Kind) -> Adjective:
        return self.pick(_ADJECTIVES_OF[kind])

    def nominal(
        self,
        noun: Noun,
        case: Case,
        *,
        is_plural: bool = False,
        is_known: bool = False,
        may_be_bare: bool = True,
        adjectives: float = _ADJECTIVES,
    ) -> Nominal:
        """A noun phrase around `noun`; one that is known has a definite determiner."""
        determiner = self.pick(_MASS if noun.is_mass else _PLURAL if is_plural else _SINGULAR)
        if (
            (is_known and not determiner.is_definite)
            or (determiner is words.BARE and not may_be_bare)
            or (determiner.is_possessive and not _may_be_owned(noun, is_plural))
        ):
            determiner = words.THE
        return self.described(noun, determiner, case, is_plural, adjectives)

    def described(
        self,
        noun: Noun,
        determiner: Determiner,
        case: Case,
        is_plural: bool = False,
        adjectives: float = _ADJECTIVES,
    ) -> Nominal:
        adjective = self.adjective(noun.kind) if self.chance(adjectives) else None
        return noun_phrase(noun, determiner, case, is_plural=is_plural, adjective=adjective)

    def number(self, noun: Noun) -> bool:
        """Whether `noun` is to be plural."""
        return not noun.is_mass and self.chance(0.25)

    def subject(
        self, kinds: tuple[Kind, ...], *, may_be_every: bool = True, may_be_described: bool = True
    ) -> Subject:
        if Kind.PERSON in kinds and self.chance(0.35):
            return self.pronoun_subject(_SUBJECT_PRONOUNS)
        noun = self.noun(kinds)
        if noun.kind is Kind.PERSON and self.chance(0.08):
            other = self.noun((Kind.PERSON,), unlike=noun)
            first, second = self._one_of_two(noun), self._one_of_two(other)
            return Subject(coordination(first, second), noun)
        if may_be_every and not noun.is_mass and self.chance(0.04):
            return Subject(self.described(noun, words.EVERY, Case.NOMINATIVE), noun)
        nominal = self.nominal(
            noun,
            Case.NOMINATIVE,
            is_plural=self.number(noun),
            may_be_bare=noun.is_mass,
            adjectives=_ADJECTIVES if may_be_described else 0.0,
        )
        return Subject(nominal, noun)

    def _one_of_two(self, noun: Noun) -> Nominal:
        determiner = self.pick(_PAIRED) if _may_be_owned(noun, False) else words.THE
        return noun_phrase(noun, determiner, Case.NOMINATIVE)

    def pronoun_subject(self, pronouns: Sequence[Pronoun]) -> Subject:
        pronoun = self.pick(pronouns)
        return Subject(personal_pronoun(pronoun, Case.NOMINATIVE), pronoun=pronoun)

    def pronoun_object(self, subject: Subject, case: Case) -> Nominal:
        excluded = _SAME_PERSON.get(subject.pronoun.subject, ()) if subject.pronoun else ()
        while True:
            pronoun = self.pick(_OBJECT_PRONOUNS[case])
            if pronoun.subject not in excluded:
                return personal_pronoun(pronoun, case)

    def person_object(self, subject: Subject, case: Case, is_known: bool = False) -> Nominal:
        if self.chance(0.4):
            return self.pronoun_object(subject, case)
        noun = self.noun((Kind.PERSON,), unlike=subject.noun)
        is_plural = self.number(noun)
        return self.nominal(noun, case, is_plural=is_plural, is_known=is_known, may_be_bare=False)

    def time(self, moment: Moment, is_denied: bool = False) -> Phrase:
        while True:
            adverb = self.pick(_TIMES[moment])
            if adverb.allows_negation or not is_denied:
                return adverbial(adverb)

    def place(self) -> Phrase:
        if self.chance(0.25):
            return adverbial(self.pick(words.LOCATIONS))
        noun = self.pick(_PLACES)
        return self._around(noun, self.pick(noun.places))

    def direction(self) -> Phrase:
        if self.chance(0.2):
            return self._around(self.noun((Kind.PERSON,)), "to")
        noun = self.pick(_GOALS)
        return self._around(noun, self.pick(noun.goals))

    def companion(self, subject: Subject) -> Phrase:
        preposition = PREPOSITIONS[self.pick(("with", "with", "without"))]
        if self.chance(0.7):
            return prepositional(preposition, self.person_object(subject, preposition.case))
        return self._around(self.noun((Kind.ANIMAL,), unlike=subject.noun), preposition.source)

    def beneficiary(self, subject: Subject) -> Phrase:
        preposition = PREPOSITIONS["for"]
        return prepositional(preposition, self.person_object(subject, preposition.case))

    def _around(self, noun: Noun, source: str) -> Phrase:
        preposition = PREPOSITIONS[source]
        is_plural = self.chance(0.1)
        nominal = self.nominal(
            noun,
            preposition.case,
            is_plural=is_plural,
            may_be_bare=False,
            adjectives=_ADJECTIVES / 2,
        )
        return prepositional(preposition, nominal)
