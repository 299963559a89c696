"""Determiners, pronouns, prepositions, adverbs, conjunctions and modal verbs."""

from seq2seq.data.phrasebook.entries import (
    Adverb,
    Agreement,
    Case,
    Determiner,
    Modal,
    Pattern,
    Preposition,
    Pronoun,
)

THE = Determiner("the", "the", "d", Pattern.ARTICLE, is_definite=True)
THIS = Determiner("this", "these", "dies", Pattern.FULL, is_definite=True)
EVERY = Determiner("every", "", "jed", Pattern.FULL, is_definite=True)
MY = Determiner("my", "my", "mein", Pattern.GAPPED, is_definite=True, is_possessive=True)
YOUR = Determiner("your", "your", "dein", Pattern.GAPPED, is_definite=True, is_possessive=True)
HIS = Determiner("his", "his", "sein", Pattern.GAPPED, is_definite=True, is_possessive=True)
OUR = Determiner("our", "our", "unser", Pattern.GAPPED, is_definite=True, is_possessive=True)
A = Determiner("a", "", "ein", Pattern.GAPPED)
NO = Determiner("no", "no", "kein", Pattern.GAPPED)
MANY = Determiner("", "many", "viel", Pattern.PARALLEL)
SOME = Determiner("", "some", "einig", Pattern.PARALLEL)
TWO = Determiner("", "two", "zwei", Pattern.FIXED)
THREE = Determiner("", "three", "drei", Pattern.FIXED)
BARE = Determiner("", "", "", Pattern.FIXED)

I = Pronoun("I", "me", ("ich", "mich", "mir"), Agreement.FIRST)  # noqa: E741
YOU = Pronoun("you", "you", ("du", "dich", "dir"), Agreement.SECOND)
HE = Pronoun("he", "him", ("er", "ihn", "ihm"), Agreement.THIRD)
SHE = Pronoun("she", "her", ("sie", "sie", "ihr"), Agreement.THIRD)
IT = Pronoun("it", "it", ("es", "es", "ihm"), Agreement.THIRD)
WE = Pronoun("we", "us", ("wir", "uns", "uns"), Agreement.PLURAL)
THEY = Pronoun("they", "them", ("sie", "sie", "ihnen"), Agreement.PLURAL)

PREPOSITIONS = {
    preposition.source: preposition
    for preposition in (
        Preposition("in", "in", Case.DATIVE),
        Preposition("on", "auf", Case.DATIVE),
        Preposition("at", "an", Case.DATIVE),
        Preposition("under", "unter", Case.DATIVE),
        Preposition("behind", "hinter", Case.DATIVE),
        Preposition("beside", "neben", Case.DATIVE),
        Preposition("in front of", "vor", Case.DATIVE),
        Preposition("with", "mit", Case.DATIVE),
        Preposition("to", "zu", Case.DATIVE),
        Preposition("into", "in", Case.ACCUSATIVE),
        Preposition("through", "durch", Case.ACCUSATIVE),
        Preposition("across", "über", Case.ACCUSATIVE),
        Preposition("for", "für", Case.ACCUSATIVE),
        Preposition("without", "ohne", Case.ACCUSATIVE),
    )
}

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}
"""Preposition and definite article that become one German word."""

_REPEATED = (
    Adverb("every day", "jeden Tag", allows_negation=False),
    Adverb("every week", "jede Woche", allows_negation=False),
)
PAST_TIMES = (
    Adverb("yesterday", "gestern"),
    Adverb("recently", "neulich", allows_negation=False),
    Adverb("last week", "letzte Woche"),
    Adverb("last year", "letztes Jahr"),
    *_REPEATED,
)
PRESENT_TIMES = (
    Adverb("today", "heute"),
    Adverb("now", "jetzt"),
    Adverb("in winter", "im Winter"),
    Adverb("in summer", "im Sommer"),
    *_REPEATED,
)
FUTURE_TIMES = (
    Adverb("tomorrow", "morgen"),
    Adverb("tonight", "heute Abend"),
    Adverb("soon", "bald", allows_negation=False),
    Adverb("next week", "nächste Woche"),
    Adverb("next year", "nächstes Jahr"),
)

NEVER = Adverb("never", "nie")
FREQUENCIES = (
    Adverb("often", "oft"),
    Adverb("sometimes", "manchmal"),
    Adverb("usually", "meistens"),
    Adverb("rarely", "selten"),
    Adverb("always", "immer"),
    NEVER,
    Adverb("already", "schon"),
    Adverb("also", "auch"),
)

MANNERS = {
    adverb.source: adverb
    for adverb in (
        Adverb("quietly", "leise"),
        Adverb("loudly", "laut"),
        Adverb("cheerfully", "fröhlich"),
        Adverb("quickly", "schnell"),
        Adverb("slowly", "langsam"),
        Adverb("carefully", "vorsichtig"),
        Adverb("secretly", "heimlich"),
        Adverb("patiently", "geduldig"),
    )
}

LOCATIONS = (
    Adverb("here", "hier"),
    Adverb("there", "dort"),
    Adverb("outside", "draußen"),
    Adverb("upstairs", "oben"),
)

COMMENTS = (
    Adverb("perhaps", "vielleicht"),
    Adverb("unfortunately", "leider"),
    Adverb("luckily", "zum Glück"),
    Adverb("of course", "natürlich"),
)

WHERE = Adverb("where", "wo")
WHEN = Adverb("when", "wann")
WHY = Adverb("why", "warum")

BECAUSE = Adverb("because", "weil")
ALTHOUGH = Adverb("although", "obwohl")
IF = Adverb("if", "wenn")
THAT = Adverb("that", "dass")
WHETHER = Adverb("whether", "ob")
AND = Adverb("and", "und")
BUT = Adverb("but", "aber")

CAN = Modal(
    base="can",
    source_present=("can", "can", "can", "can"),
    target_present=("kann", "kannst", "kann", "können"),
    source_past=("could", "could", "could", "could"),
    target_past=("konnte", "konntest", "konnte", "konnten"),
)
WANT = Modal(
    base="want",
    source_present=("want", "want", "wants", "want"),
    target_present=("will", "willst", "will", "wollen"),
    source_past=("wanted", "wanted", "wanted", "wanted"),
    target_past=("wollte", "wolltest", "wollte", "wollten"),
    takes_to=True,
)
MAY = Modal("may", ("may", "may", "may", "may"), ("darf", "darfst", "darf", "dürfen"))
MUST = Modal(
    "must",
    ("must", "must", "must", "must"),
    ("muss", "musst", "muss", "müssen"),
    # "must not" is "darf nicht", and "muss nicht" is "need not"; so too with "no" and "never".
    can_be_negated=False,
)
SHOULD = Modal(
    "should",
    ("should", "should", "should", "should"),
    ("sollte", "solltest", "sollte", "sollten"),
)
WILL = Modal("will", ("will", "will", "will", "will"), ("werde", "wirst", "wird", "werden"))

PRESENT_MODALS = (CAN, MAY, MUST, SHOULD, WANT)
PAST_MODALS = (CAN, WANT)
