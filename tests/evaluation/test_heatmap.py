"""Attention pictures: written whatever the tokens are."""

from __future__ import annotations

import warnings

import matplotlib.image
import pytest
import torch

from seq2seq.evaluation.heatmap import draw_heatmap

ODD = [
    *("$", "a$b$c", "$x^{2", "_", "^", "\\frac", "\\$", "{", "%", "#", "&", "~"),
    *("漢字", "Größe", "🚲", "\t", "\xa0", "", "▁"),
]


def drawn(path, source, target):
    weights = torch.rand(len(target), len(source)).softmax(-1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_heatmap(source, target, weights, path)
    return matplotlib.image.imread(path)


@pytest.mark.parametrize(("num_source", "num_target"), [(1, 1), (5, 3), (3, 30)])
def test_a_picture_grows_with_its_sentences(tmp_path, num_source, num_target):
    path = tmp_path / "0001.png"
    picture = drawn(path, ["source"] * num_source, ["target"] * num_target)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    height, width = picture.shape[:2]
    assert height >= num_target * 40 and width >= num_source * 40


def test_dark_is_where_it_looked(tmp_path):
    path = tmp_path / "picture.png"
    draw_heatmap(list("abcdef"), list("uvwxyz"), torch.eye(6), path)
    picture = torch.from_numpy(matplotlib.image.imread(path)[..., :3])
    darkest = torch.tensor([0x08, 0x30, 0x6B]) / 255  # the end of matplotlib's Blues
    dark = (picture - darkest).abs().sum(-1) < 0.02
    cells = dark[:, : dark.shape[1] * 3 // 4].nonzero()  # the colour bar stands to the right
    assert len(cells) > 6 * 40 * 40
    assert torch.corrcoef(cells.T.double())[0, 1] > 0.9


def test_odd_tokens_neither_raise_nor_warn(tmp_path, capfd):
    path = tmp_path / "odd.png"
    picture = drawn(path, ODD, ODD[::-1])
    assert picture.shape[0] > 100
    assert capfd.readouterr() == ("", "")


def test_a_dollar_is_shown_as_it_is(tmp_path):
    with_dollars = drawn(tmp_path / "one.png", ["$_$"], ["x"])  # no valid formula
    without = drawn(tmp_path / "other.png", ["_"], ["x"])
    assert with_dollars.shape != without.shape or (with_dollars != without).any()


def test_long_words_leave_the_cells_as_they_are(tmp_path):
    short = drawn(tmp_path / "short.png", ["a", "b"], ["x", "<eos>"])
    long = drawn(
        tmp_path / "long.png", ["Donaudampfschifffahrtsgesellschaft", "b"], ["w" * 5000, "."]
    )
    assert short.shape[0] + 100 < long.shape[0] < 1000
    assert short.shape[1] + 100 < long.shape[1] < 1000


def test_a_very_long_sentence_still_fits_a_picture(tmp_path):
    picture = drawn(tmp_path / "long.png", ["word"] * 200, ["Wort"] * 2)
    assert 60 * 120 < picture.shape[1] < 65 * 120
