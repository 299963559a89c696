"""The verbs, grouped by what they take beside a subject, each given by its principal parts."""

from seq2seq.data.phrasebook.entries import Forms, Frame, Kind, Verb
from seq2seq.data.phrasebook.function_words import MANNERS
from seq2seq.data.phrasebook.lexicon import GOODS, LIVING

_PEOPLE = (Kind.PERSON,)
_BEASTS = (Kind.ANIMAL,)
_TEXTS = (Kind.TEXT,)
_CLOTHES = (Kind.CLOTHES,)
_DEVICES = (Kind.DEVICE,)
_ROOMS = (Kind.ROOM,)
_TALES = (Kind.TALE,)
_DRINKS = (Kind.DRINK,)
_FOOD = (Kind.FOOD,)
_MACHINES = (Kind.DEVICE, Kind.VEHICLE)
_CLOSABLE = (Kind.OPENING, Kind.CONTAINER)
_WASHABLE = (Kind.CLOTHES, Kind.VEHICLE, Kind.ANIMAL)
_PORTABLE = (Kind.TEXT, Kind.CONTAINER, Kind.ITEM)
_BELONGINGS = (*_PORTABLE, Kind.CLOTHES)
_SUPPLIES = (*_PORTABLE, Kind.FOOD)
_THINGS = (*GOODS, Kind.FOOD)
_SIGHTS = (*LIVING, Kind.ITEM, Kind.PLACE)

_VOICE = "quietly loudly cheerfully"
_CARE = "quickly slowly carefully secretly patiently"
_PACE = "quickly slowly"
_MOVE = "quickly slowly carefully secretly"


def _third_person(base: str) -> str:
    if base.endswith(("s", "sh", "ch", "x", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeou":
        return base[:-1] + "ies"
    return base + "s"


def _target_present(infinitive: str, third: str) -> Forms:
    """Derive ich, and also du from the third person, as vowels may change: sieht, siehst."""
    stem = third[:-1]
    first = infinitive[:-1] if infinitive.endswith("en") else infinitive[:-1] + "e"
    second = stem + ("t" if stem.endswith(("s", "ß", "z")) else "st")
    return first, second, third, infinitive


def _verb(
    source: str,
    target: str,
    objects: tuple[Kind, ...] = (),
    manners: str = "",
    *,
    by: tuple[Kind, ...] = _PEOPLE,
    stative: bool = False,
    benefactive: bool = False,
    splits: bool = False,
    present: Forms | None = None,
) -> Verb:
    """Read principal parts, e.g. "get up, got" and "auf|stehen, steht, ist aufgestanden"."""
    base, _, particle = source.partition(", ")[0].partition(" ")
    past = source.partition(", ")[2]
    infinitive, third, participle = target.split(", ")
    prefix, _, stem = infinitive.rpartition("|")
    auxiliary, _, participle = participle.rpartition(" ")
    return Verb(
        base=base,
        particle=particle,
        source_present=(base, base, _third_person(base), base),
        source_past=(past, past, past, past),
        infinitive=prefix + stem,
        prefix=prefix,
        target_present=present or _target_present(stem, third),
        target_past=None,
        participle=participle,
        perfect_with_sein=auxiliary == "ist",
        subjects=by,
        objects=objects,
        manners=tuple(MANNERS[manner] for manner in manners.split()),
        is_stative=stative,
        is_benefactive=benefactive,
        splits_particle=splits,
    )


BE = Verb(
    base="be",
    particle="",
    source_present=("am", "are", "is", "are"),
    source_past=("was", "were", "was", "were"),
    infinitive="sein",
    prefix="",
    target_present=("bin", "bist", "ist", "sind"),
    target_past=("war", "warst", "war", "waren"),
    participle="gewesen",
    perfect_with_sein=True,
    subjects=tuple(Kind),
    is_stative=True,
)
HAVE = Verb(
    base="have",
    particle="",
    source_present=("have", "have", "has", "have"),
    source_past=("had", "had", "had", "had"),
    infinitive="haben",
    prefix="",
    target_present=("habe", "hast", "hat", "haben"),
    target_past=("hatte", "hattest", "hatte", "hatten"),
    participle="gehabt",
    perfect_with_sein=False,
    subjects=_PEOPLE,
    objects=(Kind.ANIMAL, *GOODS),
    is_stative=True,
)
ASK = _verb("ask, asked", "fragen, fragt, gefragt", _PEOPLE, "quietly patiently")

_TRANSITIVE = (
    HAVE,
    ASK,
    _verb("see, saw", "sehen, sieht, gesehen", (*_SIGHTS, *GOODS), by=LIVING),
    _verb("hear, heard", "hören, hört, gehört", LIVING, by=LIVING),
    _verb("find, found", "finden, findet, gefunden", (*_THINGS, Kind.ANIMAL), by=LIVING),
    _verb("look for, looked", "suchen, sucht, gesucht", (*LIVING, *GOODS), "secretly patiently"),
    _verb("love, loved", "lieben, liebt, geliebt", LIVING, stative=True),
    _verb("understand, understood", "verstehen, versteht, verstanden", _PEOPLE, stative=True),
    _verb("visit, visited", "besuchen, besucht, besucht", _PEOPLE, "secretly"),
    _verb("meet, met", "treffen, trifft, getroffen", _PEOPLE, "secretly"),
    _verb("greet, greeted", "grüßen, grüßt, gegrüßt", _PEOPLE, _VOICE),
    _verb("praise, praised", "loben, lobt, gelobt", LIVING, _VOICE),
    _verb("call, called", "an|rufen, ruft, angerufen", _PEOPLE, "secretly"),
    _verb("pick up, picked", "ab|holen, holt, abgeholt", _PEOPLE, splits=True),
    _verb("invite, invited", "ein|laden, lädt, eingeladen", _PEOPLE, "secretly"),
    _verb("bite, bit", "beißen, beißt, gebissen", LIVING, by=_BEASTS),
    _verb("chase, chased", "jagen, jagt, gejagt", _BEASTS, by=_BEASTS),
    _verb("devour, devoured", "fressen, frisst, gefressen", _FOOD, _PACE, by=_BEASTS),
    _verb("eat, ate", "essen, isst, gegessen", _FOOD, _MOVE),
    _verb("cook, cooked", "kochen, kocht, gekocht", _FOOD, _CARE, benefactive=True),
    _verb("drink, drank", "trinken, trinkt, getrunken", _DRINKS, _MOVE),
    _verb("read, read", "lesen, liest, gelesen", _TEXTS, "quietly loudly " + _CARE),
    _verb("write, wrote", "schreiben, schreibt, geschrieben", _TEXTS, _CARE, benefactive=True),
    _verb("draw, drew", "zeichnen, zeichnet, gezeichnet", _SIGHTS, _CARE, benefactive=True),
    _verb("buy, bought", "kaufen, kauft, gekauft", (*_THINGS, Kind.DRINK), benefactive=True),
    _verb("sell, sold", "verkaufen, verkauft, verkauft", _THINGS, "secretly"),
    _verb("take, took", "nehmen, nimmt, genommen", _SUPPLIES, _MOVE),
    _verb("carry, carried", "tragen, trägt, getragen", _PORTABLE, _CARE, benefactive=True),
    _verb("bring along, brought", "mit|bringen, bringt, mitgebracht", _SUPPLIES, "secretly"),
    _verb("steal, stole", "stehlen, stiehlt, gestohlen", _THINGS, _MOVE),
    _verb("lose, lost", "verlieren, verliert, verloren", _BELONGINGS),
    _verb("forget, forgot", "vergessen, vergisst, vergessen", (*_BELONGINGS, Kind.TALE)),
    _verb("wash, washed", "waschen, wäscht, gewaschen", _WASHABLE, _CARE),
    _verb(
        "repair, repaired", "reparieren, repariert, repariert", _MACHINES, _CARE, benefactive=True
    ),
    _verb("open, opened", "öffnen, öffnet, geöffnet", _CLOSABLE, _CARE),
    _verb("close, closed", "schließen, schließt, geschlossen", _CLOSABLE, _CARE),
    _verb("try on, tried", "an|probieren, probiert, anprobiert", _CLOTHES, _MOVE),
    _verb("turn on, turned", "ein|schalten, schaltet, eingeschaltet", _DEVICES, _MOVE),
    _verb("turn off, turned", "aus|schalten, schaltet, ausgeschaltet", _DEVICES, _MOVE),
    _verb("tidy up, tidied", "auf|räumen, räumt, aufgeräumt", _ROOMS, _MOVE),
)

_DATIVE = (
    _verb("help, helped", "helfen, hilft, geholfen", _PEOPLE, "secretly patiently"),
    _verb("thank, thanked", "danken, dankt, gedankt", _PEOPLE),
    _verb("answer, answered", "antworten, antwortet, geantwortet", _PEOPLE, "quietly " + _CARE),
    _verb("follow, followed", "folgen, folgt, ist gefolgt", LIVING, _MOVE, by=LIVING),
    _verb("trust, trusted", "vertrauen, vertraut, vertraut", _PEOPLE, stative=True),
    _verb("congratulate, congratulated", "gratulieren, gratuliert, gratuliert", _PEOPLE),
    _verb("listen to, listened", "zu|hören, hört, zugehört", LIVING, "secretly patiently"),
)

_DITRANSITIVE = (
    _verb("give, gave", "geben, gibt, gegeben", _THINGS, "secretly"),
    _verb("show, showed", "zeigen, zeigt, gezeigt", (*GOODS, Kind.ROOM), "secretly patiently"),
    _verb("send, sent", "schicken, schickt, geschickt", _PORTABLE, "secretly"),
    _verb("bring, brought", "bringen, bringt, gebracht", _SUPPLIES, _MOVE),
    _verb("lend, lent", "leihen, leiht, geliehen", GOODS, "secretly"),
    _verb("promise, promised", "versprechen, verspricht, versprochen", GOODS),
    _verb("offer, offered", "an|bieten, bietet, angeboten", _THINGS),
    _verb("tell, told", "erzählen, erzählt, erzählt", _TALES, "quietly cheerfully slowly secretly"),
)

_INTRANSITIVE = (
    _verb("sleep, slept", "schlafen, schläft, geschlafen", by=LIVING),
    _verb("laugh, laughed", "lachen, lacht, gelacht", (), _VOICE),
    _verb("cry, cried", "weinen, weint, geweint", (), "quietly loudly secretly"),
    _verb("sing, sang", "singen, singt, gesungen", (), _VOICE),
    _verb("dance, danced", "tanzen, tanzt, getanzt", (), "cheerfully slowly secretly"),
    _verb("play, played", "spielen, spielt, gespielt", (), _VOICE, by=LIVING),
    _verb("work, worked", "arbeiten, arbeitet, gearbeitet", (), _CARE),
    _verb("wait, waited", "warten, wartet, gewartet", (), "patiently", by=LIVING),
    _verb("whisper, whispered", "flüstern, flüstert, geflüstert"),
    _verb("jump, jumped", "springen, springt, ist gesprungen", by=LIVING),
    _verb("swim, swam", "schwimmen, schwimmt, ist geschwommen", (), _PACE, by=LIVING),
    _verb("get up, got", "auf|stehen, steht, ist aufgestanden", (), _MOVE, by=LIVING),
    _verb("wake up, woke", "auf|wachen, wacht, ist aufgewacht", (), "slowly", by=LIVING),
    _verb("fall asleep, fell", "ein|schlafen, schläft, ist eingeschlafen", (), _PACE, by=LIVING),
    _verb("arrive, arrived", "an|kommen, kommt, ist angekommen"),
)

# These do not go without a place,
_LOCATIVE = (
    _verb("live, lived", "wohnen, wohnt, gewohnt"),
    _verb("stay, stayed", "bleiben, bleibt, ist geblieben", by=LIVING),
    _verb("sit, sat", "sitzen, sitzt, gesessen", (), "patiently", by=LIVING),
    _verb("stand, stood", "stehen, steht, gestanden", (), "patiently", by=LIVING),
)

# and these not without a direction.
_MOTION = (
    _verb("go, went", "gehen, geht, ist gegangen", (), "slowly secretly", by=LIVING),
    _verb("run, ran", "laufen, läuft, ist gelaufen", (), _PACE, by=LIVING),
    _verb("come, came", "kommen, kommt, ist gekommen", (), "secretly", by=LIVING),
    _verb("walk, walked", "spazieren, spaziert, ist spaziert", (), "slowly"),
    _verb("hurry, hurried", "eilen, eilt, ist geeilt"),
)

# What somebody knows, says and so on is a clause.
_REPORTING = (
    _verb("know, knew", "wissen, weiß, gewusst", present=("weiß", "weißt", "weiß", "wissen")),
    _verb("believe, believed", "glauben, glaubt, geglaubt"),
    _verb("think, thought", "denken, denkt, gedacht"),
    _verb("say, said", "sagen, sagt, gesagt"),
    _verb("hope, hoped", "hoffen, hofft, gehofft"),
)

_WEATHER = (
    _verb("rain, rained", "regnen, regnet, geregnet", by=()),
    _verb("snow, snowed", "schneien, schneit, geschneit", by=()),
)

VERBS: dict[Frame, tuple[Verb, ...]] = {
    Frame.TRANSITIVE: _TRANSITIVE,
    Frame.DATIVE: _DATIVE,
    Frame.DITRANSITIVE: _DITRANSITIVE,
    Frame.INTRANSITIVE: _INTRANSITIVE,
    Frame.LOCATIVE: _LOCATIVE,
    Frame.MOTION: _MOTION,
    Frame.COPULA: (BE,),
    Frame.REPORTING: _REPORTING,
    Frame.WEATHER: _WEATHER,
}
