import hashlib
import random
from collections import Counter

import pytest

from seq2seq.data.phrasebook import function_words as words
from seq2seq.data.phrasebook.clause import Clause, Order
from seq2seq.data.phrasebook.constituents import (
    TARGET_COMMA,
    Nominal,
    Phrase,
    adverbial,
    coordination,
    link,
    noun_phrase,
    personal_pronoun,
    prepositional,
    relative_pronoun,
    with_relative_clause,
)
from seq2seq.data.phrasebook.entries import (
    Adjective,
    Adverb,
    Case,
    Determiner,
    Noun,
    Pronoun,
    Slot,
    Verb,
)
from seq2seq.data.phrasebook.grammar import MAX_PAIRS, PhrasePair, draw, finish, generate
from seq2seq.data.phrasebook.inflection import adjective_form, determiner_form, noun_form
from seq2seq.data.phrasebook.lexicon import ADJECTIVES, NOUNS
from seq2seq.data.phrasebook.sentences import SentenceSampler
from seq2seq.data.phrasebook.verbs import BE, HAVE, VERBS
from seq2seq.errors import DataError

ALL_VERBS = tuple(verb for group in VERBS.values() for verb in group)
TODAY, YESTERDAY, OFTEN = words.PRESENT_TIMES[0], words.PAST_TIMES[0], words.FREQUENCIES[0]
ACCUSATIVE, DATIVE = Case.ACCUSATIVE, Case.DATIVE


@pytest.fixture(scope="module")
def corpus() -> list[PhrasePair]:
    return generate(22_000, seed=1)


def noun(source: str) -> Noun:
    return next(entry for entry in NOUNS if entry.singular == source)


def adjective(source: str) -> Adjective:
    return next(entry for entry in ADJECTIVES if entry.source == source)


def verb(source: str) -> Verb:
    return next(entry for entry in ALL_VERBS if f"{entry.base} {entry.particle}".strip() == source)


def nominal(
    determiner: Determiner,
    source: str,
    case: Case = Case.NOMINATIVE,
    *,
    described: str = "",
    is_plural: bool = False,
) -> Nominal:
    return noun_phrase(
        noun(source),
        determiner,
        case,
        is_plural=is_plural,
        adjective=adjective(described) if described else None,
    )


def pronoun(entry: Pronoun, case: Case = Case.NOMINATIVE) -> Nominal:
    return personal_pronoun(entry, case)


def place(preposition: str, determiner: Determiner, source: str) -> Phrase:
    entry = words.PREPOSITIONS[preposition]
    return prepositional(entry, nominal(determiner, source, entry.case))


def statement(clause: Clause) -> PhrasePair:
    return finish(clause.render(Order.STATEMENT), ".")


def question(clause: Clause) -> PhrasePair:
    return finish(clause.render(Order.QUESTION), "?")


def subordinate(conjunction: Adverb, subject: Nominal, verb: Verb, *objects: Nominal) -> Phrase:
    clause = Clause(front=adverbial(conjunction), subject=subject, verb=verb, objects=objects)
    return clause.render(Order.SUBORDINATE)


# Links as in Pharaoh's format, source position first.
HAND_CHECKED = {
    "verb second behind an adverb, weak and mixed endings": lambda: (
        statement(
            Clause(
                front=adverbial(TODAY),
                subject=nominal(words.THE, "man", described="old"),
                verb=verb("see"),
                objects=(nominal(words.A, "dog", ACCUSATIVE, described="small"),),
            )
        ),
        "Today the old man sees a small dog.",
        "Heute sieht der alte Mann einen kleinen Hund.",
        "0-0 1-2 2-3 3-4 4-1 5-5 6-6 7-7 8-8",
    ),
    "past of a verb with separable prefix and a weak noun": lambda: (
        statement(
            Clause(
                subject=pronoun(words.I),
                verb=verb("call"),
                is_past=True,
                objects=(nominal(words.MY, "neighbor", ACCUSATIVE, described="old"),),
                time=adverbial(YESTERDAY),
            )
        ),
        "I called my old neighbor yesterday.",
        "Ich habe gestern meinen alten Nachbarn angerufen.",
        "0-0 1-1 1-6 2-3 3-4 4-5 5-2 6-7",
    ),
    "separated prefix, do-support, and denial behind object and time": lambda: (
        statement(
            Clause(
                subject=nominal(words.THE, "farmer"),
                verb=verb("pick up"),
                is_negated=True,
                objects=(nominal(words.HIS, "daughter", ACCUSATIVE),),
                time=adverbial(TODAY),
            )
        ),
        "The farmer does not pick up his daughter today.",
        "Der Bauer holt seine Tochter heute nicht ab.",
        # does: holt; not: nicht; pick and up: holt, ab
        "0-0 1-1 2-2 3-6 4-2 4-7 5-2 5-7 6-3 7-4 8-5 9-8",
    ),
    "a pronoun between verb and particle": lambda: (
        statement(
            Clause(
                subject=pronoun(words.SHE),
                verb=verb("pick up"),
                objects=(pronoun(words.HE, ACCUSATIVE),),
            )
        ),
        "She picks him up.",
        "Sie holt ihn ab.",
        "0-0 1-1 1-3 2-2 3-1 3-3 4-4",
    ),
    "perfect with sein, and a contraction": lambda: (
        statement(
            Clause(
                subject=nominal(words.BARE, "child", is_plural=True),
                verb=verb("run"),
                is_past=True,
                complement=place("into", words.THE, "house"),
            )
        ),
        "Children ran into the house.",
        "Kinder sind ins Haus gelaufen.",
        "0-0 1-1 1-4 2-2 3-2 4-3 5-5",
    ),
    "modal question, dative pronoun before a full subject": lambda: (
        question(
            Clause(
                subject=nominal(words.THIS, "woman"),
                verb=verb("give"),
                modal=words.WANT,
                objects=(
                    pronoun(words.I, DATIVE),
                    nominal(words.THREE, "apple", ACCUSATIVE, described="good", is_plural=True),
                ),
            )
        ),
        "Does this woman want to give me three good apples?",
        "Will mir diese Frau drei gute Äpfel geben?",
        # does, want, to: will
        "0-0 1-2 2-3 3-0 4-0 5-7 6-1 7-4 8-5 9-6 10-8",
    ),
    "known before new, place between them": lambda: (
        statement(
            Clause(
                subject=nominal(words.OUR, "mother"),
                verb=verb("give"),
                objects=(
                    nominal(words.THE, "child", DATIVE, is_plural=True),
                    nominal(words.SOME, "pear", ACCUSATIVE, described="fresh", is_plural=True),
                ),
                adjuncts=place("in", words.THE, "garden"),
            )
        ),
        "Our mother gives the children some fresh pears in the garden.",
        "Unsere Mutter gibt den Kindern im Garten einige frische Birnen.",
        "0-0 1-1 2-2 3-3 4-4 5-7 6-8 7-9 8-5 9-5 10-6 11-10",
    ),
    "verb last, a reason in the past": lambda: (
        statement(
            Clause(
                subject=pronoun(words.WE),
                verb=verb("sleep"),
                trailing=TARGET_COMMA
                + Clause(
                    front=adverbial(words.BECAUSE),
                    subject=nominal(words.THE, "student", described="tired"),
                    verb=verb("turn off"),
                    is_past=True,
                    objects=(nominal(words.THE, "lamp", ACCUSATIVE),),
                ).render(Order.SUBORDINATE),
            )
        ),
        "We sleep because the tired student turned off the lamp.",
        "Wir schlafen, weil der müde Student die Lampe ausgeschaltet hat.",
        # the German comma is linked to nothing; turned: ausgeschaltet, hat; off: ausgeschaltet
        "0-0 1-1 2-3 3-4 4-5 5-6 6-9 6-10 7-9 8-7 9-8 10-11",
    ),
    "a condition ahead, with a prefix that stays on": lambda: (
        statement(
            Clause(
                front=subordinate(words.IF, pronoun(words.YOU), verb("get up")) + link(",", ","),
                subject=nominal(words.THE, "dog"),
                verb=verb("follow"),
                modal=words.WILL,
                objects=(pronoun(words.YOU, DATIVE),),
            )
        ),
        "If you get up, the dog will follow you.",
        "Wenn du aufstehst, wird dir der Hund folgen.",
        "0-0 1-1 2-2 3-2 4-3 5-6 6-7 7-4 8-8 9-5 10-9",
    ),
    "relative clause to the subject, and kein": lambda: (
        statement(
            Clause(
                subject=with_relative_clause(
                    nominal(words.THE, "guest", is_plural=True),
                    Clause(
                        front=relative_pronoun(noun("guest"), True, DATIVE).phrase,
                        subject=pronoun(words.I),
                        verb=verb("listen to"),
                    ).render(Order.SUBORDINATE),
                ),
                verb=HAVE,
                objects=(nominal(words.NO, "key", ACCUSATIVE),),
            )
        ),
        "The guests whom I listen to have no key.",
        "Die Gäste, denen ich zuhöre, haben keinen Schlüssel.",
        "0-0 1-1 2-3 3-4 4-5 5-5 6-7 7-8 8-9 9-10",
    ),
    "relative clause to the object, behind the separated prefix": lambda: (
        statement(
            Clause(
                subject=pronoun(words.HE),
                verb=verb("bring along"),
                objects=(nominal(words.A, "book", ACCUSATIVE),),
                trailing=TARGET_COMMA
                + Clause(
                    subject=relative_pronoun(noun("book"), False, Case.NOMINATIVE),
                    verb=BE,
                    complement=link("boring", "langweilig"),
                ).render(Order.SUBORDINATE),
            )
        ),
        "He brings along a book which is boring.",
        "Er bringt ein Buch mit, das langweilig ist.",
        "0-0 1-1 1-4 2-1 2-4 3-2 4-3 5-6 6-8 7-7 8-9",
    ),
    "two subjects, an adverb of frequency, strong endings": lambda: (
        statement(
            Clause(
                subject=coordination(nominal(words.MY, "uncle"), nominal(words.THE, "aunt")),
                verb=verb("drink"),
                middle=adverbial(OFTEN),
                objects=(nominal(words.BARE, "coffee", ACCUSATIVE, described="cold"),),
            )
        ),
        "My uncle and the aunt often drink cold coffee.",
        "Mein Onkel und die Tante trinken oft kalten Kaffee.",
        "0-0 1-1 2-2 3-3 4-4 5-6 6-5 7-7 8-8 9-9",
    ),
    "cannot, and a preposition of three words": lambda: (
        statement(
            Clause(
                subject=nominal(words.YOUR, "horse"),
                verb=verb("stand"),
                modal=words.CAN,
                is_negated=True,
                adjuncts=place("in front of", words.THE, "school"),
            )
        ),
        "Your horse cannot stand in front of the school.",
        "Dein Pferd kann nicht vor der Schule stehen.",
        "0-0 1-1 2-2 2-3 3-7 4-4 5-4 6-4 7-5 8-6 9-8",
    ),
    "a question word, and a subject that goes ahead of a known object": lambda: (
        question(
            Clause(
                front=adverbial(words.WHY),
                subject=pronoun(words.THEY),
                verb=verb("read"),
                is_past=True,
                objects=(nominal(words.THIS, "letter", ACCUSATIVE),),
            )
        ),
        "Why did they read this letter?",
        "Warum haben sie diesen Brief gelesen?",
        "0-0 1-1 2-2 3-5 4-3 5-4 6-6",
    ),
}


@pytest.mark.parametrize("title", HAND_CHECKED)
def test_hand_checked(title: str) -> None:
    pair, source, target, links = HAND_CHECKED[title]()
    assert pair.source_text == source
    assert pair.target_text == target
    assert sorted(pair.alignment) == [
        tuple(map(int, pair_of_positions.split("-"))) for pair_of_positions in links.split()
    ]


@pytest.mark.parametrize(
    ("determiner", "source", "described", "is_plural", "expected"),
    [
        (words.THE, "dog", "small", False, "der kleine Hund|den kleinen Hund|dem kleinen Hund"),
        (words.A, "dog", "dark", False, "ein dunkler Hund|einen dunklen Hund|einem dunklen Hund"),
        (words.MY, "child", "young", False, "mein junges Kind|mein junges Kind|meinem jungen Kind"),
        (words.NO, "cat", "old", False, "keine alte Katze|keine alte Katze|keiner alten Katze"),
        (
            words.THIS,
            "boy",
            "tired",
            False,
            "dieser müde Junge|diesen müden Jungen|diesem müden Jungen",
        ),
        (words.BARE, "tea", "warm", False, "warmer Tee|warmen Tee|warmem Tee"),
        (words.BARE, "milk", "good", False, "gute Milch|gute Milch|guter Milch"),
        (words.THE, "goose", "white", True, "die weißen Gänse|die weißen Gänse|den weißen Gänsen"),
        (
            words.TWO,
            "car",
            "expensive",
            True,
            "zwei teure Autos|zwei teure Autos|zwei teuren Autos",
        ),
        (
            words.MANY,
            "house",
            "big",
            True,
            "viele große Häuser|viele große Häuser|vielen großen Häusern",
        ),
        (
            words.OUR,
            "friend",
            "rich",
            True,
            "unsere reichen Freunde|unsere reichen Freunde|unseren reichen Freunden",
        ),
    ],
)
def test_declension(
    determiner: Determiner, source: str, described: str, is_plural: bool, expected: str
) -> None:
    head, epithet = noun(source), adjective(described)
    slot = Slot.PLURAL if is_plural else head.gender
    declined = [
        " ".join(
            (
                determiner_form(determiner, case, slot),
                adjective_form(epithet, determiner, case, slot),
                noun_form(head, case, is_plural),
            )
        ).strip()
        for case in Case
    ]
    assert "|".join(declined) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("see", "sehe siehst sieht sehen"),
        ("read", "lese liest liest lesen"),
        ("eat", "esse isst isst essen"),
        ("find", "finde findest findet finden"),
        ("wash", "wasche wäschst wäscht waschen"),
        ("invite", "lade lädst lädt laden"),
        ("close", "schließe schließt schließt schließen"),
        ("dance", "tanze tanzt tanzt tanzen"),
        ("take", "nehme nimmst nimmt nehmen"),
        ("whisper", "flüstere flüsterst flüstert flüstern"),
        ("know", "weiß weißt weiß wissen"),
    ],
)
def test_conjugation(source: str, expected: str) -> None:
    assert " ".join(verb(source).target_present) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [("buy", "buys"), ("play", "plays"), ("carry", "carries"), ("wash", "washes"), ("go", "goes")],
)
def test_english_third_person(source: str, expected: str) -> None:
    assert verb(source).source_present[2] == expected


def test_same_seed_same_pairs_everywhere() -> None:
    lines = "".join(
        f"{pair.source_text}\t{pair.target_text}\t{sorted(pair.alignment)}\n"
        for pair in generate(1_000, seed=1)
    )
    assert hashlib.sha256(lines.encode()).hexdigest() == (
        "05a8d9a78a477b86fbebddc94492f6e0508d49cab290880478d0e021846ef15c"
    )


def test_fewer_pairs_are_a_prefix(corpus: list[PhrasePair]) -> None:
    assert generate(50, seed=1) == corpus[:50]
    assert generate(50, seed=2) != corpus[:50]


def test_pairs_are_distinct_on_both_sides(corpus: list[PhrasePair]) -> None:
    assert len({pair.source_text for pair in corpus}) == len(corpus)
    assert len({pair.target_text for pair in corpus}) == len(corpus)


def test_translation_is_a_function_and_so_is_its_inverse() -> None:
    sampler = SentenceSampler(random.Random(3))
    translations: dict[str, str] = {}
    originals: dict[str, str] = {}
    for _ in range(50_000):
        pair = draw(sampler)
        assert translations.setdefault(pair.source_text, pair.target_text) == pair.target_text
        assert originals.setdefault(pair.target_text, pair.source_text) == pair.source_text


def test_lengths(corpus: list[PhrasePair]) -> None:
    lengths = [len(pair.source) for pair in corpus]
    assert min(lengths) == 3
    assert max(max(lengths), *(len(pair.target) for pair in corpus)) <= 18
    assert 8 <= sum(lengths) / len(lengths) <= 10.5


def test_tokens_are_those_of_the_text(corpus: list[PhrasePair]) -> None:
    for pair in corpus:
        for tokens, text in ((pair.source, pair.source_text), (pair.target, pair.target_text)):
            spaced = text.replace(",", " ,").replace(".", " .").replace("?", " ?")
            assert tuple(spaced.split(" ")) == tokens
            assert all(tokens)
            assert text[0].isupper()


def test_all_words_are_aligned_but_german_commas(corpus: list[PhrasePair]) -> None:
    for pair in corpus:
        sources = {source for source, _ in pair.alignment}
        targets = {target for _, target in pair.alignment}
        assert sources == set(range(len(pair.source)))
        assert targets <= set(range(len(pair.target)))
        idle = set(range(len(pair.target))) - targets
        assert all(pair.target[position] == "," for position in idle)


def test_every_lexeme_is_frequent(corpus: list[PhrasePair]) -> None:
    counts = Counter(word for pair in corpus for word in {token.lower() for token in pair.source})
    pairs = Counter(
        (word, particle)
        for pair in corpus
        for particle in {"for", "up", "on", "off", "to", "along", "asleep"} & set(pair.source)
        for word in {token.lower() for token in pair.source}
    )
    numbers = {entry.singular: counts[entry.singular] + counts[entry.plural] for entry in NOUNS}
    numbers |= {entry.source: counts[entry.source] for entry in ADJECTIVES}
    for entry in ALL_VERBS:
        forms = {entry.base, *entry.source_present, *entry.source_past}
        numbers[f"{entry.base} {entry.particle}"] = sum(
            pairs[form, entry.particle] if entry.particle else counts[form] for form in forms
        )
    for group in (*vars(words).values(), tuple(words.MANNERS.values())):
        for entry in group if isinstance(group, tuple) else (group,):
            if isinstance(entry, Adverb):
                numbers[entry.source] = min(counts[word] for word in entry.source.split())
    assert {lexeme: count for lexeme, count in numbers.items() if count < 20} == {}


def test_held_out_pairs_have_hardly_any_unseen_words(corpus: list[PhrasePair]) -> None:
    for side in ("source", "target"):
        seen = {word for pair in corpus[:20_000] for word in getattr(pair, side)}
        held_out = [word for pair in corpus[20_000:] for word in getattr(pair, side)]
        assert sum(word not in seen for word in held_out) < 0.001 * len(held_out)


@pytest.mark.parametrize("num_pairs", [-1, 0, MAX_PAIRS + 1])
def test_impossible_number(num_pairs: int) -> None:
    message = f"`num_pairs` must be between 1 and 500000 in the phrasebook, but is {num_pairs}."
    with pytest.raises(DataError, match=message):
        generate(num_pairs, seed=1)
