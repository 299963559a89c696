"""What the documents point to is there, and what they state twice is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = sorted(path.stem for path in (ROOT / "configs/experiment").glob("multi30k_*.yaml"))
SCORE = re.compile(r"\d\d\.\d\d ± \d\.\d\d")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", MEASURED)
def test_a_run_states_its_score_and_the_readme_the_same(name):
    header = (ROOT / f"configs/experiment/{name}.yaml").read_text(encoding="utf-8")
    (score,) = SCORE.findall(header)
    (row,) = [line for line in README.splitlines() if f"`experiment={name}`" in line]
    assert score in row
