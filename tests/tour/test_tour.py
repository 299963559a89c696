"""The tour: its numbers are those of the model, and its pictures and page are whole."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import pytest
import torch
from conftest import settings_of

from seq2seq import load_translator
from seq2seq.errors import CheckpointError, DataError, SettingsError
from seq2seq.experiment import TrainSettings, train
from seq2seq.nn.positions.rotary import RotaryPositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig
from seq2seq.tour import TourSettings, page, tour
from seq2seq.tour.attention_figures import draw_side_by_side
from seq2seq.tour.looks import look
from seq2seq.tour.position_figures import binary_numerals, score_matrix
from seq2seq.tour.timing import faster_at, time_encoders

DATA = [f"data.{split}_pairs={size}" for split, size in
        (("train", 300), ("validation", 5), ("test", 5))]  # fmt: skip
SIZES = ["model.embedding_dim=8", "model.encoder.hidden_dim=4", "model.decoder.hidden_dim=8"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Makes checkpoints, one for each attention or decoder that is asked for."""
    folder, threads = tmp_path_factory.mktemp("runs"), torch.get_num_threads()

    def make(*overrides: str) -> Path:
        run_dir = folder / "-".join(overrides).replace("/", "-").replace("=", "-")
        if not run_dir.exists():
            sizes = SIZES[: 2 if "model/decoder=transformer" in overrides else 3]
            base = [*DATA, *sizes, "tokenizer.vocabulary_size=120", "training.max_epochs=1"]
            where = [f"run_dir={run_dir}", "runtime.num_threads=1", "training.num_samples=0"]
            assert train(settings_of("train", TrainSettings, *base, *overrides, *where)) == 0
        return run_dir / "best"

    yield make
    torch.set_num_threads(threads)


def tour_settings(folder: Path, *checkpoints: Path, **changes) -> TourSettings:
    shown = ",".join(map(str, checkpoints))
    short = ["timing.lengths=[2,3]", "timing.num_sentences=2", "runtime.num_threads=1"]
    overrides = [f"checkpoints=[{shown}]", f"output_dir={folder}", *DATA, *short]
    return replace(settings_of("tour", TourSettings, *overrides), **changes)


def test_it_writes_a_page_with_all_its_pictures(tmp_path, trained):
    checkpoints = [trained(f"model/attention={one}") for one in ("additive", "dot", "multi_head")]
    assert tour(tour_settings(tmp_path, *checkpoints)) == 0
    text = (tmp_path / "README.md").read_text("utf-8")
    assert text.startswith("# A tour of attention\n")
    linked = set(re.findall(r"\]\((\w+\.png)\)", text))
    assert linked == {one.name for one in tmp_path.glob("*.png")} and len(linked) == 5
    assert not re.search(r"[{}]", text), "a number was not filled in"
    for name in linked:
        height, width = matplotlib.image.imread(tmp_path / name).shape[:2]
        assert min(height, width) > 300


def test_the_step_by_hand_is_the_models_own(tmp_path, trained):
    checkpoint = trained("model/attention=additive")
    assert tour(tour_settings(tmp_path, checkpoint)) == 0
    text = (tmp_path / "README.md").read_text("utf-8")
    rows = [
        [float(cell.replace("−", "-")) for cell in row.split("|")[2:6]]
        for row in re.findall(r"^\| [^\n]+\.\d{4} \|$", text, re.MULTILINE)
        if not row.startswith("| sum")
    ]
    translator = load_translator(checkpoint)
    pair = settings_of("tour", TourSettings, "checkpoints=[x]", *DATA).data.read("validation")
    source = translator.tokenizers.source.encode(pair.source[0])
    target = translator.tokenizers.target.encode(pair.target[0])
    weights = translator.attention(source, target)
    scores, powers = torch.tensor(rows)[:, 0], torch.tensor(rows)[:, 2]
    torch.testing.assert_close(powers, (scores - scores.max()).exp(), rtol=0, atol=2e-4)
    found = torch.tensor(rows)[:, 3]
    torch.testing.assert_close(found, powers / powers.sum(), rtol=0, atol=2e-4)
    assert any(torch.allclose(found, row, rtol=0, atol=1e-4) for row in weights)


def test_looks_are_what_the_decoder_saw(trained):
    source, target = [5, 6, 7, 8], [9, 10]
    for overrides in (("model/attention=multi_head",), ("model/decoder=luong",)):
        translator = load_translator(trained(*overrides))
        found = look(translator, source, target, "runs/mine/best")
        assert found.name == "mine"
        mean = found.weights().mean(dim=0)
        torch.testing.assert_close(mean, translator.attention(source, target))
        assert found.probabilities.shape == (3,)
    several = look(load_translator(trained("model/attention=multi_head")), source, target, "a/b")
    with pytest.raises(SettingsError, match="has several scores"):
        several.scores()


def test_one_head_or_several_are_drawn_and_told_apart(tmp_path, trained):
    checkpoint = trained("model/attention=multi_head")
    assert tour(tour_settings(tmp_path, checkpoint)) == 0
    assert "have several heads" in (tmp_path / "README.md").read_text("utf-8")


@pytest.mark.parametrize("num_panels", [1, 4, 6])
def test_panels_show_their_weights_with_gold_frames_and_nothing_else(tmp_path, num_panels):
    path = tmp_path / "picture.png"
    panels = [(f"panel {number}", torch.zeros(3, 4)) for number in range(num_panels)]
    draw_side_by_side(list("abcd"), list("xyz"), panels, {(3, 0)}, path)
    picture = torch.from_numpy(matplotlib.image.imread(path)[..., :3])
    red = (picture - torch.tensor([0xD6, 0x27, 0x28]) / 255).abs().sum(-1) < 0.1
    rows, columns = red.nonzero().T
    height, width = red.shape
    last_column = min(num_panels, 3) - 1
    share = (columns.float() / width * (last_column + 1)) % 1
    assert len(rows) > 100 * num_panels
    assert share.median() > 0.6, "the frame stands at the last source word"
    in_first_row = rows.float() < height / (2 if num_panels > 3 else 1)
    assert (rows[in_first_row].float().mean() / height) < 0.6
    dark = (picture.sum(-1) < 0.5).float().mean()
    assert dark < 0.05


def test_what_has_no_attention_to_show_is_refused(tmp_path, trained):
    refusals = {"model/attention=none": "nothing to see", "model/decoder=transformer": "each layer"}
    for override, expected in refusals.items():
        with pytest.raises(CheckpointError, match=expected):
            tour(tour_settings(tmp_path, trained(override)))
    checkpoint = trained("model/attention=additive")
    with pytest.raises(SettingsError, match="`sentence` is 6: the split has not so many"):
        tour(tour_settings(tmp_path, checkpoint, sentence=6))
    with pytest.raises(SettingsError, match="`checkpoints` names none"):
        tour_settings(tmp_path)
    other = trained("tokenizer.vocabulary_size=90")
    with pytest.raises(DataError, match="cut this sentence otherwise"):
        tour(tour_settings(tmp_path, checkpoint, other))
    settings = tour_settings(tmp_path, checkpoint)
    before = sorted(tmp_path.iterdir())
    for width, expected in (
        (128, "`timing` compares encoders 256 and 128 wide: make these equal"),
        (255, "`timing.self_attentive.num_heads` of 4 must divide"),
    ):
        narrow = replace(settings.timing, input_dim=width)
        with pytest.raises(SettingsError, match=expected):
            tour(replace(settings, timing=narrow))
    assert sorted(tmp_path.iterdir()) == before


def test_binary_numerals_count():
    digits = binary_numerals(32, 5)
    assert [sum(bit << place for place, bit in enumerate(row)) for row in digits.tolist()] == list(
        range(32)
    )


def test_only_rotary_scores_depend_on_the_offset_alone():
    query, key = torch.randn(2, 16).double()

    def spread(config):
        positions = config.build(16, 1, causal=False)
        scores = score_matrix(positions, query, key, 12)
        return max(float(scores.diagonal(one).std()) for one in range(-9, 10))

    assert spread(RotaryPositionsConfig()) < 1e-10
    assert spread(SinusoidalPositionsConfig()) > 0.1


def test_no_lengths_are_refused():
    with pytest.raises(SettingsError, match=r"lengths` names none\. Give at least one"):
        settings_of("tour", TourSettings, "checkpoints=[x]", "timing.lengths=[]")


def test_timing_measures_every_encoder_at_every_length():
    timing = settings_of("tour", TourSettings, "checkpoints=[x]").timing
    positions = SinusoidalPositionsConfig()
    encoders = {
        "one": timing.recurrent.build(8, positions),
        "other": timing.self_attentive.build(8, positions),
    }
    seconds = time_encoders(
        encoders, [2, 5], input_dim=8, num_sentences=2, device=torch.device("cpu")
    )
    assert list(seconds) == ["one", "other"]
    assert all(list(one) == [2, 5] and min(one.values()) > 0 for one in seconds.values())


def test_the_verdict_says_who_was_faster_where():
    seconds = {"recurrence": {5: 1.0, 10: 2.0}, "self-attention": {5: 0.5, 10: 3.0}}
    assert faster_at(seconds, "self-attention", "recurrence") == [5]
    about = {"dim": 8, "parameters": "few", "num_sentences": 2, "machine": "a machine"}
    assert "faster for sentences of 5 tokens, and slower for 10." in page.timing(seconds, **about)
    grown = "2 times as many, recurrence takes 2.0 times as long, self-attention takes 6.0 times as"
    assert f"From 5 to 10 tokens, {grown} long." in page.timing(seconds, **about)
    seconds["self-attention"][10] = 1.0
    assert "faster at all of these lengths" in page.timing(seconds, **about)
    seconds["self-attention"] = {5: 9.0, 10: 9.0}
    assert "faster at none of these lengths" in page.timing(seconds, **about)
