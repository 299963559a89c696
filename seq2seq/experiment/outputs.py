"""What commands leave behind: translations, scores, pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from seq2seq.config import to_tree
from seq2seq.data.text import ParallelText
from seq2seq.errors import RunError
from seq2seq.evaluation.heatmap import draw_heatmap
from seq2seq.evaluation.metrics import Score, all_scores
from seq2seq.evaluation.translator import Translator


def make_folder(folder: Path) -> None:
    """Makes a folder if need be. Raises RunError where nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}.") from None


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Writes UTF-8 lines that end with `\\n`. Raises RunError."""
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}.") from None


def score_split(
    translator: Translator, pairs: ParallelText, folder: Path, lowercase: bool
) -> list[Score]:
    """Translates and scores pairs; writes `hypotheses.txt` and `results.json` into a folder."""
    make_folder(folder)
    with tqdm(
        total=len(pairs), unit="sentence", desc="translating", leave=False, disable=None
    ) as bar:
        translations = translator.translate(pairs.source, bar.update)
    scores = all_scores(translations, pairs.target, lowercase=lowercase)
    write_lines(folder / "hypotheses.txt", translations)
    results = {
        "data": pairs.origin,
        "num_sentences": len(pairs),
        "search": to_tree(translator.search),
        "scores": [score.as_dict() for score in scores],
    }
    write_lines(folder / "results.json", [json.dumps(results, indent=2, ensure_ascii=False)])
    return scores


def draw_attention(translator: Translator, sentences: Sequence[str], folder: Path) -> list[Path]:
    """A picture of the attention for each sentence that is not blank, numbered by its line."""
    make_folder(folder)
    paths = []
    for number, sentence in enumerate(sentences, start=1):
        if found := translator.explain(sentence):
            path = folder / f"{number:04}.png"
            draw_heatmap(found.source_tokens, found.target_tokens, found.weights, path)
            paths.append(path)
    return paths
