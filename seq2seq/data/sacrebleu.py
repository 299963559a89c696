"""Test sets that sacrebleu has downloaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.aligned import AlignedFiles
from seq2seq.data.base import DataConfig, Pairs, Split
from seq2seq.errors import DataError


@dataclass(frozen=True, kw_only=True)
class SacrebleuConfig(DataConfig):
    """A test set by sacrebleu's name, from the folder where it keeps them.

    That is `$SACREBLEU`, or `~/.sacrebleu`. Nothing is downloaded: sacrebleu does that.

    Attributes:
        test_set: such as `multi30k/2016` or `wmt20`.
        languages: such as `en-de`.
    """

    test_set: str
    languages: str

    def pairs(self, split: Split) -> Pairs:
        if split != "test":
            raise DataError(f"{self.test_set} of sacrebleu is for tests: it has no {split} split.")
        folder = Path(os.environ.get("SACREBLEU") or Path.home() / ".sacrebleu") / self.test_set
        name = f"{self.test_set.replace('/', '_')}.{self.languages}"
        paths = [folder / f"{name}.{field}" for field in ("src", "ref")]
        for path in paths:
            if not path.is_file():
                command = f"sacrebleu -t {self.test_set} -l {self.languages} --echo ref"
                raise DataError(f"{path} is not there. `{command} > /dev/null` downloads it.")
        return AlignedFiles(paths[:1], paths[1:])
