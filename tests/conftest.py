"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

# The tests run beside each other, a process for each core: more threads would only wait. Set
# before torch is imported, and for the programs that the tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

pytest_plugins = ["small_runs"]
# What the tests keep is theirs; they and the programs that they start find it again.
CACHE = TemporaryDirectory(prefix="seq2seq-tests-")
os.environ["SEQ2SEQ_CACHE"] = CACHE.name
CONFIGS = Path(__file__).resolve().parents[1] / "configs"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Each test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture
def double_precision():
    """New tensors and modules are float64 inside the test."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder with Multi30k's files, where the environment names one."""
    folder = os.environ.get("SEQ2SEQ_MULTI30K")
    if not folder:
        pytest.skip("SEQ2SEQ_MULTI30K names no folder")
    return Path(folder)


def mask_of(lengths: list[int], width: int | None = None) -> torch.Tensor:
    """Bool (B, S), True at the first `lengths[b]` positions of row b."""
    return torch.arange(width or max(lengths)) < torch.tensor(lengths)[:, None]


def settings_of(config_name: str, settings_class, *overrides: str):
    """The settings that a command line composes."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    from seq2seq.config import from_tree

    with initialize_config_dir(version_base="1.3", config_dir=str(CONFIGS)):
        composed = compose(config_name, list(overrides))
    return from_tree(OmegaConf.to_container(composed, resolve=True), settings_class)


@torch.no_grad()
def copy_attention(ours, theirs: torch.nn.MultiheadAttention) -> None:
    """Gives torch's multi-head attention the weights of ours, whose widths are all one."""
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([one.weight for one in projections]))
    theirs.in_proj_bias.copy_(torch.cat([one.bias for one in projections]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@pytest.fixture
def tiny_batch():
    """Three ragged pairs over a vocabulary of 20."""
    from seq2seq.data.batches import EncodedPairs

    source = [[5, 6, 7, 8, 9], [10], [11, 12, 13]]
    target = [[4, 5, 6], [7, 8, 9, 10, 11], [12]]
    pairs = EncodedPairs.of(zip((1, 2, 3), source, target, strict=True))
    return pairs.batch([0, 1, 2])


@pytest.fixture
def tiny_model():
    """A small GRU model with additive attention over a vocabulary of 20, dropout off."""
    return build_tiny_model()


def build_tiny_model(vocabulary_size: int = 20, **settings):
    """A small GRU model with additive attention, dropout off; settings of the whole on request."""
    from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
    from seq2seq.models.encoders.recurrent import RecurrentEncoderConfig
    from seq2seq.models.seq2seq import Seq2SeqConfig
    from seq2seq.nn.attention.additive import AdditiveAttentionConfig
    from seq2seq.nn.positions.none import NoPositionsConfig

    config = Seq2SeqConfig(
        embedding_dim=8,
        encoder=RecurrentEncoderConfig(hidden_dim=6),
        decoder=BahdanauDecoderConfig(hidden_dim=10),
        attention=AdditiveAttentionConfig(),
        positions=NoPositionsConfig(),
        **settings,
    )
    return config.build(vocabulary_size, vocabulary_size, is_joint=True).eval()


# What the matrix of models is built with, so that every part fits every other.
SMALL = {
    "encoder": {"hidden_dim": 8, "num_layers": 2, "num_heads": 2, "feed_forward_dim": 12},
    "decoder": {"hidden_dim": 16, "num_layers": 2, "num_heads": 2, "feed_forward_dim": 12},
    "attention": {"num_heads": 2},
    "positions": {"clip_distance": 2, "max_length": 12, "num_buckets": 4, "max_distance": 3},
}


def model_options(group: str) -> dict[str, dict]:
    """The settings of each option of `configs/model/<group>`, as small as `SMALL` makes them."""
    import yaml

    folder = CONFIGS / "model" / group

    def read(name):
        tree = yaml.safe_load((folder / f"{name}.yaml").read_text("utf-8"))
        for one in tree.pop("defaults", []):
            if isinstance(one, str) and one != "_self_":
                tree = {**read(one), **tree}
        return tree

    def small(tree):
        return {key: SMALL[group].get(key, value) for key, value in tree.items()}

    return {path.stem: small(read(path.stem)) for path in sorted(folder.glob("*.yaml"))}


# Settings beside the options' own that change how a model computes.
VARIANTS = {
    "gru-bahdanau-additive-none": [("decoder", "cell", "lstm")],
    "gru-luong-additive-none": [("decoder", "cell", "gru"), ("decoder", "input_feeding", False)],
    "transformer-transformer-multi_head-sinusoidal": [
        ("encoder", "norm_first", False),
        ("decoder", "norm_first", False),
        ("encoder", "scoring", "additive"),
        ("decoder", "scoring", "additive"),
    ],
    "transformer-transformer-multi_head-t5": [("decoder", "scoring", "additive")],
}


def every_model():
    """Each encoder with each attention, decoder and position encoding that the YAML folders offer.

    Pairs of (name, Seq2SeqConfig), with variants of some. Combinations that refuse themselves are
    left out.
    """
    import itertools

    from seq2seq.config import from_tree
    from seq2seq.errors import SettingsError
    from seq2seq.models.seq2seq import Seq2SeqConfig

    groups = ("encoder", "decoder", "attention", "positions")
    for chosen in itertools.product(*(model_options(group).items() for group in groups)):
        parts = {group: tree for group, (_, tree) in zip(groups, chosen, strict=True)}
        try:
            model = from_tree({"embedding_dim": 16, **parts}, Seq2SeqConfig)
            model.build(8, 8, is_joint=True)
        except SettingsError:
            continue
        name = "-".join(name for name, _ in chosen)
        yield name, model
        for group, key, value in VARIANTS.get(name, []):
            part = {**parts[group], key: value}
            tree = {"embedding_dim": 16, **parts, group: part}
            yield f"{name}-{group}.{key}={value}", from_tree(tree, Seq2SeqConfig)


def covering_models():
    """Those of `every_model` that have the usual attention or the usual positions beside another.

    So each encoder and decoder is there with each attention and with each encoding; all pairs of
    these are too many for most tests.
    """
    from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
    from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig

    usual = (MultiHeadAttentionConfig, SinusoidalPositionsConfig)
    for name, config in every_model():
        is_usual = isinstance(config.attention, usual) or isinstance(config.positions, usual)
        if is_usual or not config.positions.encodes:
            yield name, config
