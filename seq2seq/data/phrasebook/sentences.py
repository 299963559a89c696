"""Random sentences of every shape."""

from seq2seq.data.phrasebook import function_words as words
from seq2seq.data.phrasebook.clause import Clause, Order
from seq2seq.data.phrasebook.clause_sampler import ClauseSampler
from seq2seq.data.phrasebook.constituents import (
    TARGET_COMMA,
    Nominal,
    Phrase,
    adverbial,
    link,
    relative_pronoun,
    with_relative_clause,
)
from seq2seq.data.phrasebook.entries import Adverb, Case, Frame, Kind, Noun
from seq2seq.data.phrasebook.lexicon import LIVING
from seq2seq.data.phrasebook.noun_sampler import Moment, Subject
from seq2seq.data.phrasebook.verbs import ASK, HAVE, VERBS

_OBJECT_VERBS = tuple(
    (verb, case)
    for frame, case in ((Frame.TRANSITIVE, Case.ACCUSATIVE), (Frame.DATIVE, Case.DATIVE))
    for verb in VERBS[frame]
)
# What people do to things of each kind. "The men whom we had" would read like a pluperfect.
_HUMAN_ACTS = {
    kind: tuple(
        (verb, case)
        for verb, case in _OBJECT_VERBS
        if kind in verb.objects and Kind.PERSON in verb.subjects and verb is not HAVE
    )
    for kind in Kind
}
# With other subjects, German relative clauses do not always show who does what to whom.
_CLEAR_SUBJECTS = (words.I, words.YOU, words.HE, words.WE)
_MOMENTS = tuple(Moment)
_OPEN_MOMENTS = (Moment.PRESENT, Moment.FUTURE)
_QUESTION_MOMENTS = (Moment.PAST, Moment.PRESENT, Moment.PRESENT, Moment.FUTURE)
_RELATIVE_MOMENTS = {
    Moment.PAST: (Moment.PAST,),
    Moment.PRESENT: (Moment.PRESENT, Moment.PRESENT, Moment.PAST),
    Moment.FUTURE: (Moment.PRESENT, Moment.PAST),
}
_QUESTION_WORDS = (words.WHERE, words.WHEN, words.WHY)
_CONJUNCTIONS = (words.BECAUSE, words.BECAUSE, words.IF, words.IF, words.ALTHOUGH)


class SentenceSampler(ClauseSampler):
    """Draws whole sentences."""

    def sentence(self) -> tuple[Phrase, str]:
        """A sentence without its final mark, and the mark."""
        roll = self._random()
        if roll < 0.45:
            clause = self.clause(self.pick(_MOMENTS), fronting=0.45)
            return clause.render(Order.STATEMENT), "."
        if roll < 0.60:
            return self.question(), "?"
        if roll < 0.75:
            return self.with_conjunction(), "."
        if roll < 0.83:
            return self.report()
        if roll < 0.88:
            return self.pair(), "."
        if roll < 0.95:
            return self.with_relative_to_subject(), "."
        return self.with_relative_to_object(), "."

    def question(self) -> Phrase:
        asked = self.pick(_QUESTION_WORDS) if self.chance(0.3) else None
        clause = self.clause(self.pick(_QUESTION_MOMENTS), is_question=True, asked=asked)
        return clause.render(Order.QUESTION)

    def with_conjunction(self) -> Phrase:
        """A main clause, with a clause of reason, condition or concession before or after it."""
        conjunction = self.pick(_CONJUNCTIONS)
        moment = main_moment = self.pick(_MOMENTS)
        if conjunction is words.IF:
            moment, main_moment = Moment.PRESENT, self.pick(_OPEN_MOMENTS)
        minor = self.subordinate(moment, conjunction)
        if self.chance(0.4):
            front = minor + link(",", ",")
            main = self.clause(main_moment, front=front, adverbials=0.3)
        else:
            trailing = TARGET_COMMA + minor
            main = self.clause(main_moment, trailing=trailing, adverbials=0.3, fronting=0.3)
        return main.render(Order.STATEMENT)

    def subordinate(self, moment: Moment, conjunction: Adverb) -> Phrase:
        clause = self.clause(moment, front=adverbial(conjunction), adverbials=0.3)
        return clause.render(Order.SUBORDINATE)

    def report(self) -> tuple[Phrase, str]:
        """What somebody knows, says, asks and so on, and the final mark."""
        is_past = self.chance(0.33)
        moment = Moment.PAST if is_past else self.pick(_MOMENTS)
        is_asking = self.chance(0.15)
        is_question = not is_asking and self.chance(0.15)
        is_negated = not is_asking and not is_question and self.chance(0.12)
        conjunction = words.WHETHER if is_asking else words.THAT
        clause = Clause(
            subject=self.subject((Kind.PERSON,), may_be_every=not is_negated).nominal,
            verb=ASK if is_asking else self.pick(VERBS[Frame.REPORTING]),
            is_past=is_past,
            is_negated=is_negated,
            trailing=TARGET_COMMA + self.subordinate(moment, conjunction),
        )
        if is_question:
            return clause.render(Order.QUESTION), "?"
        return clause.render(Order.STATEMENT), "."

    def pair(self) -> Phrase:
        """Two main clauses side by side."""
        moment = self.pick(_MOMENTS)
        first = self.clause(moment, adverbials=0.3).render(Order.STATEMENT)
        second = self.clause(moment, adverbials=0.3).render(Order.STATEMENT)
        if self.chance(0.5):
            return first + adverbial(words.AND) + second
        return first + link(",", ",") + adverbial(words.BUT) + second

    def with_relative_to_subject(self) -> Phrase:
        moment = self.pick(_MOMENTS)
        noun = self.noun(LIVING)
        is_plural = self.number(noun)
        head = self._head(noun, is_plural, Case.NOMINATIVE)
        relative = self.relative(noun, is_plural, self.pick(_RELATIVE_MOMENTS[moment]))
        subject = Subject(with_relative_clause(head, relative), noun)
        clause = self.clause(moment, subject=subject, adverbials=0.3, fronting=0.3)
        return clause.render(Order.STATEMENT)

    def with_relative_to_object(self) -> Phrase:
        # The relative clause goes to the end, and the main clause does without adverbials:
        # one could not tell to which of the two clauses they belong.
        moment = self.pick(_MOMENTS)
        verb, case = self.pick(_OBJECT_VERBS)
        subject = self.subject(verb.subjects)
        noun = self.noun(verb.objects, unlike=subject.noun)
        is_plural = self.number(noun)
        relative = self.relative(noun, is_plural, self.pick(_RELATIVE_MOMENTS[moment]))
        clause = self.plain_clause(
            moment,
            subject,
            verb,
            self._head(noun, is_plural, case),
            trailing=TARGET_COMMA + relative,
        )
        return clause.render(Order.STATEMENT)

    def _head(self, noun: Noun, is_plural: bool, case: Case) -> Nominal:
        # Without an adjective, or there would be many "small keys which were big".
        return self.nominal(noun, case, is_plural=is_plural, may_be_bare=False, adjectives=0.0)

    def relative(self, noun: Noun, is_plural: bool, moment: Moment) -> Phrase:
        """A relative clause in which `noun` is the subject or the object."""
        if self.chance(0.6):
            pronoun = relative_pronoun(noun, is_plural, Case.NOMINATIVE)
            clause = self.clause(moment, subject=Subject(pronoun, noun), adverbials=0.3)
            return clause.render(Order.SUBORDINATE)
        verb, case = self.pick(_HUMAN_ACTS[noun.kind])
        pronoun = relative_pronoun(noun, is_plural, case)
        subject = self.pronoun_subject(_CLEAR_SUBJECTS)
        clause = self.plain_clause(moment, subject, verb, front=pronoun.phrase)
        return clause.render(Order.SUBORDINATE)
