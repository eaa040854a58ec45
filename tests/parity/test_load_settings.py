"""Settings of `vitviz.load` win over every publisher's files, or are a type error where the weights fix them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_config_keys import vit
from test_formats import FAMILIES, Draw, hf

import vitviz
from vitviz.models.pretrained_list import PretrainedError


@pytest.mark.parametrize("family", FAMILIES)
def test_every_setting_of_the_caller_wins_over_the_file_or_is_a_type_error(
    family: str, tmp_path: Path
) -> None:
    peer = FAMILIES[family](Draw(f"{family}given"), tmp_path)
    plain = vitviz.load(peer.folder)
    given = {"mean": (0.25,), "std": (0.5,), "interpolation": "nearest", "crop_pct": 0.5}
    opened = vitviz.load(peer.folder, **given)
    preparation, chans = opened.preparation, plain.config.in_chans
    assert (preparation.mean, preparation.std) == ((0.25,) * chans, (0.5,) * chans)
    assert (preparation.interpolation, preparation.crop_fraction) == ("nearest", 0.5)
    side = 2 * peer.side
    larger = vitviz.load(peer.folder, img_size=side)
    assert larger.config.image_size == larger.preparation.image_size == side
    assert larger.model(torch.zeros(1, chans, side, side)).isfinite().all()
    for name, field, value, native in (
        ("num_heads", "num_heads", 1, 1),
        ("act_layer", "activation", "relu", "relu"),
        ("global_pool", "readout", "avg", "mean"),
    ):
        try:
            changed = vitviz.load(peer.folder, **{name: value})
        except TypeError as error:
            assert name in str(error)
        else:
            assert getattr(changed.config, field, native) == native


def test_settings_of_the_caller_win_over_a_processors_file_or_are_refused(tmp_path: Path) -> None:
    vit(tmp_path)
    hf("ViTImageProcessor")(size={"height": 16, "width": 16}).save_pretrained(tmp_path)
    given = {
        "img_size": 32,
        "mean": (0.1, 0.2, 0.3),
        "std": (1.0,) * 3,
        "interpolation": "nearest",
        "crop_pct": 0.5,
    }
    opened = vitviz.load(tmp_path, **given)
    names = ("image_size", "mean", "std", "interpolation", "crop_fraction")
    assert [getattr(opened.preparation, name) for name in names] == [*given.values()]
    with pytest.raises(PretrainedError, match="num_heads 5"):
        vitviz.load(tmp_path, num_heads=5)
    with pytest.raises(TypeError, match="global_pool must be"):
        vitviz.load(tmp_path, global_pool="max")
    for source in (tmp_path, opened, opened.model.state_dict()):
        with pytest.raises(TypeError, match="step must be None for a model that is no vitviz checkpoint"):
            vitviz.load(source, step=3)


def test_what_a_swins_weights_fix_is_a_type_error(tmp_path: Path) -> None:
    shape = {"embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4, "image_size": 32}
    hf("SwinForImageClassification")(hf("SwinConfig")(**shape)).save_pretrained(tmp_path)
    for name, value in (("num_heads", 4), ("act_layer", "relu"), ("global_pool", "token")):
        with pytest.raises(TypeError, match=name):
            vitviz.load(tmp_path, **{name: value})
