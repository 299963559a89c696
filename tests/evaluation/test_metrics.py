"""Scores are those of sacrebleu's own command on the same files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from seq2seq.errors import DataError
from seq2seq.evaluation.metrics import all_scores, bleu, p_values

REFERENCES = [
    "A man in an orange hat is starring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "A girl in karate uniform breaking a stick with a front kick.",
    "Five people wearing winter jackets and helmets stand in the snow.",
    "ein Satz mit \u201eZeichen\u201c \u2028 im Inneren, 3,5 % & mehr",
    "page\x0cfeed and\x85next\xa0line",
    "",
    "  outer white space stays out of it \t",
]
HYPOTHESES = [
    "A man in an orange hat stares at something.",
    "A boston terrier runs on the green grass in front of the white fence.",
    "a girl in a karate uniform breaks a stick with a kick",
    "",
    "ein Satz mit \u201eZeichen\u201c \u2028 innen, 3,5% & mehr",
    "page\x0cfeed and\x85next line",
    "an output for nothing",
    "outer white space  stays out of it",
]
FOLDING = ["--lowercase", "--chrf-lowercase"]
OTHERS = {
    "copy": REFERENCES,
    "folded": [one.lower() for one in HYPOTHESES],
    "shorter": [one[: len(one) // 2] for one in HYPOTHESES],
}


def command_line(folder, options) -> list[dict]:
    """What `sacrebleu` prints as JSON about the hypotheses."""
    for name, lines in (("hypotheses", HYPOTHESES), ("references", REFERENCES)):
        with open(folder / name, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses"]
    shown = ["--confidence", "--format", "json", "--width", "9"]
    done = subprocess.run(
        [*command, "-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", *shown, *options],
        cwd=folder,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)


def stated(signature: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in signature.split("|"))


@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_equal_those_of_the_command_line(tmp_path, lowercase):
    theirs = command_line(tmp_path, FOLDING if lowercase else [])
    ours = all_scores(HYPOTHESES, REFERENCES, lowercase=lowercase)
    assert [score.name for score in ours] == [score["name"] for score in theirs]
    for score, other in zip(ours, theirs, strict=True):
        assert score.value == pytest.approx(other["score"], abs=1e-8)
        mine, their = stated(score.signature), stated(other["signature"])
        assert score.interval == pytest.approx(other["confidence_var"], abs=1e-5)
        assert mine == their
        folds = lowercase or score.name == "TER"  # which folds case by sacrebleu's default
        assert mine["case"] == ("lc" if folds else "mixed")
    alone = bleu(HYPOTHESES, REFERENCES, lowercase=lowercase)
    assert alone.value == ours[0].value
    assert alone.interval is None and "bs:" not in alone.signature


def test_equal_texts_score_100_and_others_0():
    best = all_scores(REFERENCES, REFERENCES)
    assert [round(score.value, 6) for score in best] == [100, 100, 0]
    worst = bleu(["x"] * 4, REFERENCES[:4])
    assert worst.value == 0


def test_resamples_of_nothing_but_blank_lines_have_an_interval():
    scores = all_scores(["", "a b", "c d e f"], ["", "a c", "c d e g"])
    assert all(0 <= one.interval < 100 for one in scores)


def test_a_score_stands_above_its_signature():
    score = all_scores(REFERENCES, REFERENCES)[0]
    assert str(score) == f"BLEU 100.00 ± 0.00\n  {score.signature}"
    assert "tok:13a" in score.signature and "version:" in score.signature
    assert str(bleu(REFERENCES, REFERENCES)).startswith("BLEU 100.00\n  nrefs:1|")
    for one in all_scores(REFERENCES, REFERENCES):  # numpy's scalars would not go into JSON
        assert json.loads(json.dumps(one.as_dict())) == one.as_dict()


def test_blank_scores_0_and_nothing_is_refused():
    assert [score.value for score in all_scores([""], [""])] == [0, 0, 0]
    for call in (bleu, all_scores):
        with pytest.raises(
            DataError, match=r"^There is nothing to score: the text has no lines\.$"
        ):
            call([], [])


# Its own JSON fails on numpy 2's numbers.
SACREBLEU = """import json
json.JSONEncoder.default = lambda self, number: float(number)
from sacrebleu.sacrebleu import main
main()"""


@pytest.mark.parametrize("test", ["bs", "ar"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_p_values_equal_those_of_the_command_line(tmp_path, test, lowercase):
    systems = {"hypotheses": HYPOTHESES, "same": [*HYPOTHESES], **OTHERS}
    for name, lines in {**systems, "references": REFERENCES}.items():
        (tmp_path / name).write_bytes("".join(one + "\n" for one in lines).encode())
    command = [sys.executable, "-c", SACREBLEU, "references", "-i", *systems, f"--paired-{test}"]
    options = ["-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "--format", "json"]
    done = subprocess.run(
        [*command, *options, *(FOLDING if lowercase else [])],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    theirs = {one["system"].split()[-1]: one for one in json.loads(done.stdout)}
    ours = p_values(systems, REFERENCES, lowercase=lowercase, test=test)
    assert list(ours) == ["BLEU", "chrF2++", "TER"]
    for metric, of_systems in ours.items():
        assert of_systems.pop("same") == 1.0  # theirs is the least there is
        for name, value in of_systems.items():
            assert value == pytest.approx(theirs[name][metric]["p_value"], abs=1e-9), metric
