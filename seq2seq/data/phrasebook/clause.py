"""The clause: one set of parts, put in order by the rules of each language."""

from dataclasses import dataclass
from enum import Enum

from seq2seq.data.phrasebook.constituents import NOTHING, Nominal, Phrase, Token, Weight, link
from seq2seq.data.phrasebook.entries import Forms, Modal, Verb
from seq2seq.data.phrasebook.verbs import BE, HAVE

_DO_PRESENT: Forms = ("do", "do", "does", "do")
_DO_PAST: Forms = ("did", "did", "did", "did")


class Order(Enum):
    """Where the finite verb goes in German: second, first, or last."""

    STATEMENT = "statement"
    QUESTION = "question"
    SUBORDINATE = "subordinate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause of which the parts are made but not yet arranged.

    The finite form of a verb and its meaning have a link each. "Does", "did" and auxiliaries bear
    the former; a separated prefix, an infinitive and a participle the latter; a plain "sees" both.
    """

    subject: Nominal
    verb: Verb
    is_past: bool = False
    modal: Modal | None = None
    is_negated: bool = False
    objects: tuple[Nominal, ...] = ()
    """In their English order: dative before accusative."""
    complement: Phrase = NOTHING
    """What the verb needs beside objects: a direction, or an adjective with "be"."""
    front: Phrase = NOTHING
    """An adverbial, question word, conjunction or relative pronoun ahead of all."""
    middle: Phrase = NOTHING
    """An adverb of the sort that stands before the verb in English: "often"."""
    adjuncts: Phrase = NOTHING
    time: Phrase = NOTHING
    trailing: Phrase = NOTHING
    """A clause behind all."""

    def render(self, order: Order) -> Phrase:
        finite, lexical = (object(),), (object(),)
        middle = link("not", "nicht") if self.is_negated else self.middle
        return Phrase(
            self._source(order, middle.source, finite, lexical),
            self._target(order, middle.target, finite, lexical),
        )

    def _source(
        self,
        order: Order,
        middle: tuple[Token, ...],
        finite: tuple[object],
        lexical: tuple[object],
    ) -> tuple[Token, ...]:
        is_question = order is Order.QUESTION
        operator, predicate = self._source_verb(is_question or self.is_negated, finite, lexical)
        subject = self.subject.phrase.source
        if is_question:
            start = operator + subject + middle
        elif self.is_negated and operator[0].text == "can":
            start = (*subject, Token("cannot", operator[0].links + middle[0].links))
        else:
            start = subject + operator + middle
        objects: tuple[Token, ...] = ()
        for nominal in self.objects:
            objects += nominal.phrase.source
        if self.verb.particle:
            particle = (Token(self.verb.particle, lexical),)
            has_pronoun = any(nominal.weight is Weight.PRONOUN for nominal in self.objects)
            is_split = self.verb.splits_particle and has_pronoun
            objects = objects + particle if is_split else particle + objects
        return (
            *self.front.source,
            *start,
            *predicate,
            *objects,
            *self.complement.source,
            *self.adjuncts.source,
            *self.time.source,
            *self.trailing.source,
        )

    def _source_verb(
        self, needs_operator: bool, finite: tuple[object], lexical: tuple[object]
    ) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """The operator, which "not" follows and questions put first; then the rest of the verb."""
        agreement, modal, verb = self.subject.agreement, self.modal, self.verb
        infinitive = Token(verb.base, lexical)
        do_form = Token((_DO_PAST if self.is_past else _DO_PRESENT)[agreement], finite)
        if modal is None:
            forms = verb.source_past if self.is_past else verb.source_present
            inflected = Token(forms[agreement], finite + lexical)
            if verb is BE:
                return (inflected,), ()
            return ((do_form,), (infinitive,)) if needs_operator else ((), (inflected,))
        modal_past = modal.source_past if self.is_past else None
        modal_form = Token((modal_past or modal.source_present)[agreement], finite)
        if not modal.takes_to:
            return (modal_form,), (infinitive,)
        marker = Token("to", finite)
        if needs_operator:
            return (do_form,), (Token(modal.base, finite), marker, infinitive)
        return (), (modal_form, marker, infinitive)

    def _target(
        self,
        order: Order,
        middle: tuple[Token, ...],
        finite: tuple[object],
        lexical: tuple[object],
    ) -> tuple[Token, ...]:
        verb, rest = self._target_verb(order, finite, lexical)
        front, subject = self.front.target, self.subject.phrase.target
        pronouns, field = self._target_field(middle)
        end = (*field, *rest)
        if order is Order.STATEMENT and not front:
            return (*subject, verb, *pronouns, *end, *self.trailing.target)
        # Behind verb or conjunction, pronouns come first: "heute sieht mich der Mann".
        is_short = self.subject.weight is Weight.PRONOUN
        start = (*subject, *pronouns) if is_short else (*pronouns, *subject)
        if order is Order.SUBORDINATE:
            return (*front, *start, *end, verb, *self.trailing.target)
        return (*front, verb, *start, *end, *self.trailing.target)

    def _target_field(
        self, middle: tuple[Token, ...]
    ) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """The pronouns among the objects, and the rest of what comes before the final verb."""
        by_weight: tuple[list[Token], list[Token], list[Token]] = ([], [], [])
        for nominal in self.objects:
            by_weight[nominal.weight].extend(nominal.phrase.target)
        pronouns, known, new = by_weight
        time = self.time.target
        # "nicht" denies all that stands before it, and so takes the time along.
        head = (*known, *time) if self.is_negated else (*time, *known)
        field = (*head, *middle, *self.adjuncts.target, *new, *self.complement.target)
        return tuple(pronouns), field

    def _target_verb(
        self, order: Order, finite: tuple[object], lexical: tuple[object]
    ) -> tuple[Token, tuple[Token, ...]]:
        """The finite verb, and what of the verb closes the clause."""
        agreement, modal, verb = self.subject.agreement, self.modal, self.verb
        past = (modal or verb).target_past if self.is_past else None
        if modal is not None:
            form = (past or modal.target_present)[agreement]
            return Token(form, finite), (Token(verb.infinitive, lexical),)
        if self.is_past and past is None:
            auxiliary = BE if verb.perfect_with_sein else HAVE
            participle = Token(verb.participle, lexical)
            return Token(auxiliary.target_present[agreement], finite), (participle,)
        form = (past or verb.target_present)[agreement]
        if not verb.prefix:
            return Token(form, finite + lexical), ()
        if order is Order.SUBORDINATE:
            return Token(verb.prefix + form, finite + lexical), ()
        return Token(form, finite + lexical), (Token(verb.prefix, lexical),)
