"""Random clauses: a verb, what it needs, and some of what it may have beside."""

from enum import Enum

from seq2seq.data.phrasebook import function_words as words
from seq2seq.data.phrasebook.clause import Clause
from seq2seq.data.phrasebook.constituents import NOTHING, Nominal, Phrase, adverbial, link
from seq2seq.data.phrasebook.entries import Adverb, Agreement, Case, Frame, Kind, Modal, Verb
from seq2seq.data.phrasebook.noun_sampler import Moment, NounSampler, Subject
from seq2seq.data.phrasebook.verbs import VERBS

# A choice is uniform over a tuple; what should come often stands in it often.
_FRAMES = (
    *(Frame.TRANSITIVE,) * 42,
    *(Frame.INTRANSITIVE,) * 16,
    *(Frame.DITRANSITIVE,) * 11,
    *(Frame.DATIVE,) * 9,
    *(Frame.LOCATIVE,) * 6,
    *(Frame.MOTION,) * 7,
    *(Frame.COPULA,) * 7,
    *(Frame.WEATHER,) * 2,
)
_WITH_COMPANION = (Frame.INTRANSITIVE, Frame.LOCATIVE, Frame.MOTION)
_WITH_PATIENT = (Frame.TRANSITIVE, Frame.DITRANSITIVE)
_NOT_NEVER = tuple(adverb for adverb in words.FREQUENCIES if adverb is not words.NEVER)


class Denial(Enum):
    """How a clause is denied: not at all, by "not" (nicht), or by "no" (kein) with its object."""

    NONE = "none"
    NOT = "not"
    NO = "no"


class ClauseSampler(NounSampler):
    """Draws clauses, not yet put in order."""

    def clause(
        self,
        moment: Moment,
        *,
        subject: Subject | None = None,
        front: Phrase = NOTHING,
        trailing: Phrase = NOTHING,
        asked: Adverb | None = None,
        is_question: bool = False,
        adverbials: float = 1.0,
        fronting: float = 0.0,
    ) -> Clause:
        """A clause of any sort.

        `adverbials` scales how many adverbials there are, `fronting` is how often one of them goes
        to the front, and `asked` is the question word there, if any.
        """
        frame, verb = self._verb(subject, asked)
        denial = self._denial(frame, is_question)
        if subject is None:
            subject = self._subject(frame, verb, is_question, denial)
        is_negated = denial is Denial.NOT
        has_operator = is_question or is_negated
        is_past, modal = self.tense(moment, verb, subject, denial, has_operator)
        objects = self._objects(frame, verb, subject, denial)
        complement = self._complement(frame, subject)
        middle = time = place = NOTHING
        is_timeless = verb.is_stative and frame is not Frame.COPULA
        if denial is Denial.NONE and asked is None and self.chance(0.15 * adverbials):
            may_deny = modal is None or modal.can_be_negated
            middle = adverbial(self.pick(words.FREQUENCIES if may_deny else _NOT_NEVER))
        elif asked is not words.WHEN and not is_timeless and self.chance(0.35 * adverbials):
            time = self.time(moment, denial is not Denial.NONE)
        adjuncts = self._adjuncts(frame, verb, subject, denial, adverbials)
        if asked is not words.WHERE and self._has_place(frame, verb, adverbials):
            place = self.place()
        if asked is not None:
            front = adverbial(asked)
        elif self.chance(fronting):
            if time.source:
                front, time = time, NOTHING
            elif place.source:
                front, place = place, NOTHING
            elif self.chance(0.5):
                front = adverbial(self.pick(words.COMMENTS))
        return Clause(
            subject=subject.nominal,
            verb=verb,
            is_past=is_past,
            modal=modal,
            is_negated=is_negated,
            objects=objects,
            complement=complement,
            front=front,
            middle=middle,
            adjuncts=adjuncts + place,
            time=time,
            trailing=trailing,
        )

    def plain_clause(
        self,
        moment: Moment,
        subject: Subject,
        verb: Verb,
        *objects: Nominal,
        front: Phrase = NOTHING,
        trailing: Phrase = NOTHING,
    ) -> Clause:
        """A clause without adverbials."""
        is_past, modal = self.tense(moment, verb, subject)
        return Clause(
            subject=subject.nominal,
            verb=verb,
            is_past=is_past,
            modal=modal,
            objects=objects,
            front=front,
            trailing=trailing,
        )

    def tense(
        self,
        moment: Moment,
        verb: Verb,
        subject: Subject,
        denial: Denial = Denial.NONE,
        has_operator: bool = False,
    ) -> tuple[bool, Modal | None]:
        """Whether the clause is in the past tense, and its modal verb if any."""
        if moment is Moment.FUTURE:
            return False, words.WILL
        has_modal = bool(verb.subjects) and not verb.is_stative and self.chance(0.25)
        if moment is Moment.PAST:
            is_third = subject.nominal.agreement is Agreement.THIRD
            if verb.hides_past and not is_third and not has_operator:
                # "They read" would have two translations, "they could read" has one.
                has_modal = True
            return True, self.pick(words.PAST_MODALS) if has_modal else None
        modal = self.pick(words.PRESENT_MODALS) if has_modal else None
        if modal is not None and denial is not Denial.NONE and not modal.can_be_negated:
            modal = None
        return False, modal

    def _verb(self, subject: Subject | None, asked: Adverb | None) -> tuple[Frame, Verb]:
        while True:
            frame = self.pick(_FRAMES)
            verb = self.pick(VERBS[frame])
            if subject and subject.noun and subject.noun.kind not in verb.subjects:
                continue
            if verb.is_stative and (asked is words.WHERE or asked is words.WHEN):
                continue
            # It would have to be "where to", wohin.
            if frame is Frame.MOTION and asked is words.WHERE:
                continue
            return frame, verb

    def _denial(self, frame: Frame, is_question: bool) -> Denial:
        roll = self._random()
        if is_question or roll > 0.17:
            return Denial.NONE
        if roll < 0.1:
            return Denial.NOT
        return Denial.NO if frame in _WITH_PATIENT else Denial.NONE

    def _subject(self, frame: Frame, verb: Verb, is_question: bool, denial: Denial) -> Subject:
        if frame is Frame.WEATHER:
            return self.pronoun_subject((words.IT,))
        if is_question and Kind.PERSON in verb.subjects and self.chance(0.25):
            return self.pronoun_subject((words.YOU,))
        return self.subject(
            verb.subjects,
            # "Every man does not" could mean two things.
            may_be_every=denial is Denial.NONE,
            # Or there would be a red car that is blue.
            may_be_described=frame is not Frame.COPULA,
        )

    def _objects(
        self, frame: Frame, verb: Verb, subject: Subject, denial: Denial
    ) -> tuple[Nominal, ...]:
        # "nicht" goes with known objects only; "not a dog" would be "kein Hund".
        is_known = denial is Denial.NOT
        if frame is Frame.DATIVE:
            return (self._object(verb, subject, Case.DATIVE, is_known),)
        if frame not in _WITH_PATIENT:
            return ()
        if denial is Denial.NO:
            noun = self.noun(verb.objects, unlike=subject.noun)
            patient = self.described(noun, words.NO, Case.ACCUSATIVE, self.number(noun))
        else:
            # "I show her books" would read as if the books were hers.
            may_be_bare = frame is Frame.TRANSITIVE
            patient = self._object(verb, subject, Case.ACCUSATIVE, is_known, may_be_bare)
        if frame is Frame.TRANSITIVE:
            return (patient,)
        return self.person_object(subject, Case.DATIVE, is_known=is_known), patient

    def _object(
        self, verb: Verb, subject: Subject, case: Case, is_known: bool, may_be_bare: bool = True
    ) -> Nominal:
        if Kind.PERSON in verb.objects and self.chance(0.3):
            return self.pronoun_object(subject, case)
        noun = self.noun(verb.objects, unlike=subject.noun)
        return self.nominal(
            noun,
            case,
            is_plural=self.number(noun),
            is_known=is_known,
            may_be_bare=may_be_bare,
        )

    def _complement(self, frame: Frame, subject: Subject) -> Phrase:
        if frame is Frame.MOTION:
            return self.direction()
        if frame is Frame.COPULA:
            adjective = self.adjective(subject.noun.kind if subject.noun else Kind.PERSON)
            return link(adjective.source, adjective.target)
        return NOTHING

    def _adjuncts(
        self, frame: Frame, verb: Verb, subject: Subject, denial: Denial, scale: float
    ) -> Phrase:
        """Manner, company, beneficiary, or none of them."""
        if verb.manners and denial is Denial.NONE and self.chance(0.2 * scale):
            return adverbial(self.pick(verb.manners))
        if frame in _WITH_COMPANION and self.chance(0.2 * scale):
            return self.companion(subject)
        if verb.is_benefactive and self.chance(0.25 * scale):
            return self.beneficiary(subject)
        return NOTHING

    def _has_place(self, frame: Frame, verb: Verb, scale: float) -> bool:
        if frame is Frame.LOCATIVE:
            return True
        return not (verb.is_stative or frame is Frame.MOTION) and self.chance(0.25 * scale)
