"""Sequence-to-sequence translation: train, translate and judge attention models.

>>> import seq2seq
>>> translator = seq2seq.load_translator("runs/first/best")
>>> translator.translate(["The old man sees a dog."])
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2seq.experiment import load_translator

__version__ = "0.1.0"
__all__ = ["load_translator"]


def __getattr__(name: str) -> Any:
    # Loaded on demand, so that `import seq2seq.errors` does not import torch.
    if name == "load_translator":
        from seq2seq.experiment import load_translator

        return load_translator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
