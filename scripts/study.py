"""Trains each encoder with each attention at equal size and time: `python scripts/study.py`.

First the speed of each is measured, in rounds over all of them, so that a machine that is faster
at one time than at another is so for all; each is then trained for as many steps as it would do in
eight minutes. So what else runs meanwhile changes nothing. (A budget on the command line, such as
`training.max_steps=1000`, takes the place of all that.)

Settings on the command line go to every new run. Called again, it goes on where it was stopped. It
ends with a table of all runs on the terminal, and a picture of their validations beside them.
"""

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from statistics import median
from typing import NoReturn

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from seq2seq import load_translator

RUNS = Path("runs/study")
SPEEDS = RUNS / "speeds.json"
MINUTES, ROUNDS = 8, 5
TRAIN = Path(__file__).resolve().with_name("train.py")
BENCHMARK = TRAIN.with_name("benchmark.py")

SETTING = re.compile(r"(?!run_dir|resume|hydra)[+~\w./@]+=")

# What else brings each to the size of the others, within 5 %.
ENCODERS = {
    "gru": ["model.encoder.num_layers=2"],
    "transformer": ["model.encoder.num_layers=1", "model.encoder.feed_forward_dim=640"],
}
ATTENTIONS = {
    "none": [],
    "additive": ["model.attention.hidden_dim=128"],
    "dot": [],
    "general": [],
    "multi_head_additive": ["model.decoder.hidden_dim=224"],
    "multi_head": ["model.decoder.hidden_dim=224"],
}


def overrides(encoder: str, attention: str) -> list[str]:
    """The command line of a run, but for its folder."""
    chosen = [f"model/encoder={encoder}", f"model/attention={attention}"]
    return ["experiment=study", *chosen, *ENCODERS[encoder], *ATTENTIONS[attention]]


def run(script: Path, settings: list[str]) -> None:
    """Runs another script; where that fails, this one ends as it did."""
    if code := subprocess.run([sys.executable, str(script), *settings]).returncode:
        sys.exit(code)


def budgets(given: list[str]) -> dict[str, list[str]]:
    """What ends each run: nothing but its settings where these have a budget, else its steps."""
    names = {f"{one}-{other}": (one, other) for one, other in product(ENCODERS, ATTENTIONS)}
    if any(one.startswith("training.max_") for one in given):
        return {name: [] for name in names}
    found: dict[str, list[float]] = {name: [] for name in names}
    if SPEEDS.is_file():
        found = json.loads(SPEEDS.read_text("utf-8"))
    speed_run = RUNS / "speed"
    short = ["num_steps=20", "num_repeats=1", "compare_plain=false", f"run_dir={speed_run}"]
    for number, (name, parts) in product(range(ROUNDS), names.items()):
        if len(found[name]) <= number:  # not measured before a stop
            run(BENCHMARK, ["train", *overrides(*parts), *short, *given])
            speed = json.loads((speed_run / "benchmark.json").read_text("utf-8"))
            found[name].append(speed["tokens_per_second"] / speed["tokens_per_step"])
            part = SPEEDS.with_suffix(".part")
            part.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
            part.replace(SPEEDS)
    return {
        name: [
            "training.max_minutes=null",
            f"training.max_steps={round(60 * MINUTES * median(found[name]))}",
        ]
        for name in names
    }


def row(encoder: str, attention: str, folder: Path) -> str:
    """A finished run as a row of the table."""
    results = json.loads((folder / "test" / "results.json").read_text(encoding="utf-8"))
    bleu = results["scores"][0]
    last = json.loads((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    millions = load_translator(folder / "best").model.num_parameters / 1e6
    cells = [encoder, attention, f"{millions:.2f} M", f"{last['step']:,}", f"{last['epoch']:.1f}"]
    cells += [f"{last['train_nll']:.2f}", f"{last['validation_perplexity']:.2f}"]
    cells += [f"{last['validation_bleu']:.2f}", f"**{bleu['value']:.2f}** ± {bleu['interval']:.2f}"]
    return f"| {' | '.join(cells)} |"


def draw(path: Path) -> None:
    """Validation BLEU against epochs, a panel for each encoder."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(ENCODERS), sharex=True, sharey=True)
    for panel, encoder in zip(panels, ENCODERS, strict=True):
        for attention in ATTENTIONS:
            lines = (RUNS / f"{encoder}-{attention}" / "metrics.jsonl").read_text("utf-8")
            records = [json.loads(line) for line in lines.splitlines()]
            epochs = [record["epoch"] for record in records]
            scores = [record["validation_bleu"] for record in records]
            panel.plot(epochs, scores, marker="o", markersize=3, label=attention)
        panel.set(title=f"{encoder} encoder", xlabel="epochs")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("validation BLEU")
    figure.legend(*panels[0].get_legend_handles_labels(), title="attention", loc="outside right")
    figure.savefig(path, dpi=110)


def fail(problem: str) -> NoReturn:
    """Ends the program."""
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    if wrong := [one for one in sys.argv[1:] if not SETTING.match(one)]:
        fail(f"{wrong[0]!r} cannot go to every run. Settings are written KEY=VALUE.")
    rows, budget = [], budgets(sys.argv[1:])
    for encoder, attention in product(ENCODERS, ATTENTIONS):
        folder = RUNS / f"{encoder}-{attention}"
        if not (folder / "test" / "results.json").is_file():
            parts = [*overrides(encoder, attention), *budget[folder.name], *sys.argv[1:]]
            is_begun = (folder / "last").is_dir()
            run(TRAIN, [f"resume={folder}"] if is_begun else [*parts, f"run_dir={folder}"])
        try:
            rows.append(row(encoder, attention, folder))
        except (OSError, LookupError, ValueError) as error:
            fail(f"{folder} holds no result of a test that can be read ({error}).")
    print("| encoder | attention | parameters | steps | epochs | training NLL |", end="")
    print(" validation perplexity | validation BLEU | test BLEU |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    draw(RUNS / "study.png")
    print(f"picture: {RUNS / 'study.png'}", file=sys.stderr)
