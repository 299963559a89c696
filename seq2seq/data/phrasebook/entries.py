"""What the lexicon is made of: grammatical features, and one frozen dataclass per part of speech.

"Source" is English and "target" is German, here as in the rest of the package.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, auto


class Kind(IntEnum):
    """What a noun stands for; verbs and adjectives say which kinds they go with."""

    PERSON = auto()
    ANIMAL = auto()
    TEXT = auto()
    TALE = auto()
    FOOD = auto()
    DRINK = auto()
    CLOTHES = auto()
    DEVICE = auto()
    VEHICLE = auto()
    OPENING = auto()
    CONTAINER = auto()
    ITEM = auto()
    ROOM = auto()
    PLACE = auto()


class Owned(Enum):
    """How many of a thing a person may call his own."""

    NONE = "none"
    ONE = "one"
    MANY = "many"


class Slot(IntEnum):
    """A column of the German declension tables: a gender, or plural, where gender is not seen."""

    MASCULINE = 0
    NEUTER = 1
    FEMININE = 2
    PLURAL = 3


class Case(IntEnum):
    """A row of the German declension tables."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2


class Agreement(IntEnum):
    """What a finite verb shows of its subject: I, you, he or she or it, and any plural."""

    FIRST = 0
    SECOND = 1
    THIRD = 2
    PLURAL = 3


class Pattern(Enum):
    """How a German determiner declines, and what that leaves to the adjective behind it."""

    ARTICLE = "der"
    FULL = "dieser"
    GAPPED = "ein"
    PARALLEL = "viele"
    FIXED = "zwei"


class Frame(IntEnum):
    """What a verb takes beside its subject."""

    TRANSITIVE = auto()  # an accusative
    DATIVE = auto()
    DITRANSITIVE = auto()  # dative and accusative
    INTRANSITIVE = auto()  # nothing
    LOCATIVE = auto()  # a place
    MOTION = auto()  # a direction
    COPULA = auto()  # an adjective
    REPORTING = auto()  # a clause
    WEATHER = auto()  # nothing, and the subject is "it"


Forms = tuple[str, str, str, str]
"""One form for each Agreement."""


@dataclass(frozen=True)
class Noun:
    """A noun. Mass nouns have no plural; weak nouns look like it outside the nominative."""

    singular: str
    plural: str
    gender: Slot
    target_singular: str
    target_plural: str
    kind: Kind
    weak: bool = False
    places: tuple[str, ...] = ()
    """The prepositions with which the noun says where something happens."""
    goals: tuple[str, ...] = ()
    """The prepositions with which it says where a movement goes."""
    owned: Owned = Owned.MANY

    @property
    def is_mass(self) -> bool:
        return not self.plural


@dataclass(frozen=True)
class Adjective:
    """An adjective; `stem` takes the German endings: teuer, but teur-es."""

    source: str
    target: str
    stem: str
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class Determiner:
    """A determiner; it lacks a number where the English form is empty. For a bare noun both are."""

    singular: str
    plural: str
    stem: str
    pattern: Pattern
    is_definite: bool = False
    is_possessive: bool = False


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun: English subject and object form, German form by Case."""

    subject: str
    object: str
    target: tuple[str, str, str]
    agreement: Agreement


@dataclass(frozen=True)
class Preposition:
    """A preposition and the case it governs in German."""

    source: str
    target: str
    case: Case


@dataclass(frozen=True)
class Adverb:
    """An adverb, adverbial phrase or conjunction."""

    source: str
    target: str
    allows_negation: bool = True


@dataclass(frozen=True)
class Verb:
    """A verb with everything that its forms and its company cannot be guessed from.

    `target_present` lacks the separable prefix, `infinitive` and `participle` contain it. Verbs
    without a `target_past` form their past with auxiliary and participle.
    """

    base: str
    particle: str
    source_present: Forms
    source_past: Forms
    infinitive: str
    prefix: str
    target_present: Forms
    target_past: Forms | None
    participle: str
    perfect_with_sein: bool
    subjects: tuple[Kind, ...]
    objects: tuple[Kind, ...] = ()
    manners: tuple[Adverb, ...] = ()
    is_stative: bool = False
    """A state, not an act: it has no place, time or beneficiary."""
    is_benefactive: bool = False
    """It can be done for someone."""
    splits_particle: bool = False
    """English puts a pronoun before the particle: "picks him up", but "looks for him"."""

    @property
    def hides_past(self) -> bool:
        """Whether past and present look alike in English, except with he, she and it: "I read"."""
        return self.source_past[Agreement.PLURAL] == self.base


@dataclass(frozen=True)
class Modal:
    """An auxiliary that takes an infinitive; some have no past."""

    base: str
    source_present: Forms
    target_present: Forms
    source_past: Forms | None = None
    target_past: Forms | None = None
    takes_to: bool = False
    can_be_negated: bool = True
