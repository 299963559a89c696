"""Scores given translations: how probable a model finds them, token by token."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from tqdm import tqdm

from seq2seq.data.aligned import read_parallel
from seq2seq.experiment.apply import load_checkpoint
from seq2seq.experiment.judge_settings import ScoreSettings
from seq2seq.experiment.outputs import check_writable, writing
from seq2seq.experiment.streams import check_not_read
from seq2seq.special_tokens import EOS, SPECIAL_TOKENS
from seq2seq.training.checkpoint import Checkpoint

AT_ONCE = 4096
"""Pairs, of which those of one length share a batch."""


def score(settings: ScoreSettings) -> int:
    """Writes a JSON object for each pair, and the whole text's perplexity to stderr."""
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    path = Path(settings.output) if settings.output else None
    if settings.output:
        check_writable(Path(settings.output))
        check_not_read(settings.output, settings.source, settings.target)
    pairs = read_parallel(Path(settings.source), Path(settings.target))
    settings.runtime.start()
    translator = load_checkpoint(checkpoint, None, settings.runtime)
    target = translator.tokenizers.target
    nll, num_tokens = 0.0, 0
    with writing(path) as write, tqdm(total=len(pairs), unit=" pairs", disable=None) as bar:
        for start in range(0, len(pairs), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            targets = [target.encode(one) for one in pairs.target[some]]
            found = translator.score(translator.encode(pairs.source[some]), targets)
            lines = []
            for number, (ids, scores) in enumerate(zip(targets, found, strict=True), start + 1):
                total = math.fsum(scores)
                nll, num_tokens = nll - total, num_tokens + len(scores)
                about = {
                    "line": number,
                    "log_probability": total,
                    "tokens": [*target.tokens(ids), SPECIAL_TOKENS[EOS]],
                    "log_probabilities": scores,
                }
                lines.append(json.dumps(about, ensure_ascii=False))
            write(lines)
            bar.update(len(lines))
    if num_tokens:
        mean = nll / num_tokens
        told = f"{len(pairs):,} pairs, {num_tokens:,} tokens: {mean:.4f} nats a token, perplexity "
        print(f"{told}{math.exp(min(mean, 700.0)):.2f}", file=sys.stderr)
    return 0
