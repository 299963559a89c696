"""The four special tokens and their ids, which every tokenizer obeys."""

from typing import Final

PAD: Final = 0
BOS: Final = 1
EOS: Final = 2
UNK: Final = 3

SPECIAL_TOKENS: Final = ("<pad>", "<bos>", "<eos>", "<unk>")
"""Their spellings, in the order of their ids."""
