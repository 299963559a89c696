"""Trains each encoder with each attention at equal size and time: `python scripts/study.py`.

Settings on the command line go to every new run. Called again, it goes on where it was stopped. It
ends with a table of all runs on the terminal, and a picture of their validations beside them.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from seq2seq import load_translator

RUNS = Path("runs/study")
TRAIN = Path(__file__).resolve().with_name("train.py")

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


def row(encoder: str, attention: str, run: Path) -> str:
    """A finished run as a row of the table."""
    results = json.loads((run / "test" / "results.json").read_text(encoding="utf-8"))
    bleu = results["scores"][0]
    last = json.loads((run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    millions = load_translator(run / "best").model.num_parameters / 1e6
    cells = [encoder, attention, f"{millions:.2f} M", f"{last['epoch']:.1f}"]
    cells += [f"{last['train_nll']:.2f}", f"{last['validation_perplexity']:.2f}"]
    cells += [f"{last['validation_bleu']:.2f}", f"**{bleu['value']:.2f}** ± {bleu['interval']:.2f}"]
    return f"| {' | '.join(cells)} |"


def draw(path: Path) -> None:
    """Validation BLEU against minutes, a panel for each encoder."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(ENCODERS), sharey=True)
    for panel, encoder in zip(panels, ENCODERS, strict=True):
        for attention in ATTENTIONS:
            lines = (RUNS / f"{encoder}-{attention}" / "metrics.jsonl").read_text("utf-8")
            records = [json.loads(line) for line in lines.splitlines()]
            minutes = [record["seconds"] / 60 for record in records]
            scores = [record["validation_bleu"] for record in records]
            panel.plot(minutes, scores, marker="o", markersize=3, label=attention)
        panel.set(title=f"{encoder} encoder", xlabel="minutes")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("validation BLEU")
    panels[-1].legend(title="attention", loc="lower right")
    figure.savefig(path, dpi=110)


def fail(problem: str) -> NoReturn:
    """Ends the program."""
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    if wrong := [one for one in sys.argv[1:] if not SETTING.match(one)]:
        fail(f"{wrong[0]!r} cannot go to every run. Settings are written KEY=VALUE.")
    rows = []
    for encoder in ENCODERS:
        for attention in ATTENTIONS:
            run = RUNS / f"{encoder}-{attention}"
            if not (run / "test" / "results.json").is_file():
                command = [*overrides(encoder, attention), f"run_dir={run}", *sys.argv[1:]]
                if (run / "last").is_dir():
                    command = [f"resume={run}"]
                if code := subprocess.run([sys.executable, str(TRAIN), *command]).returncode:
                    sys.exit(code)
            try:
                rows.append(row(encoder, attention, run))
            except (OSError, LookupError, ValueError) as error:
                fail(f"{run} holds no result of a test that can be read ({error}).")
    print("| encoder | attention | parameters | epochs | training NLL |", end="")
    print(" validation perplexity | validation BLEU | test BLEU |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    draw(RUNS / "study.png")
    print(f"picture: {RUNS / 'study.png'}", file=sys.stderr)
