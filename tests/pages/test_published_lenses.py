"""Published weights stand beside trained and random ones in the lenses of filters and positions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest

from tests.messages import first_view, message, unpack
from tests.pages.conftest import OpenApp, captions, ship
from vitviz.analysis.attention import restore_rows
from vitviz.config import TrainConfig
from vitviz.models.file_download import weights_file
from vitviz.models.presets import PRESETS, RGB_32
from vitviz.models.pretrained_list import find
from vitviz.models.zoo import create_model
from vitviz.torchvision_fix import import_torchvision

DEIT = find("deit_tiny_patch16_224")
OURS = "checkpoint:test_vit"


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_shipped_checkpoints: Path) -> str:
    """A published model's file (random weights in the hub's own format) and a shipped checkpoint of two moments."""
    import_torchvision()  # timm needs it
    import timm

    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    target = weights_file(DEIT)
    target.parent.mkdir(parents=True)
    torch.manual_seed(0)
    state = timm.create_model("deit_tiny_patch16_224").state_dict()
    state["blocks.11.attn.qkv.weight"] *= 8  # without it every map is nearly uniform, and heads hardly differ
    save_file(state, target)
    states = {step: create_model(PRESETS["vit_shapes"].config, seed=step + 1).state_dict() for step in (0, 9)}
    shapes = PRESETS["vit_shapes"].config, TrainConfig(dataset="shapes"), RGB_32
    ship(no_shipped_checkpoints, "test_vit", *shapes, states=states, title="Ours")
    return f"pretrained:{DEIT.name}"


def header(app: AppTest) -> dict[str, Any]:
    return unpack(first_view(app))[0]


def test_filters_show_random_trained_and_published_side_by_side(open_app: OpenApp, weights: str) -> None:
    app = open_app("pages/lenses/filters/page.py", model=OURS, image="sample:cat", filters__cnn="nothing")
    assert app.main.selectbox(key="filters.beside").value == weights  # without being asked
    found = header(app)
    assert [sheet["title"] for sheet in found["sheets"]] == ["Ours", "Random weights", DEIT.title]
    assert found["arrays"]["tiles2"]["shape"] == [1, 28, 16, 16, 3]
    assert re.search(
        rf"\*\*{re.escape(DEIT.title)}\*\*: the first 28 components explain \d+\s%",
        captions(app),
    )


def test_a_published_model_has_its_random_twin_and_ours_beside_it(open_app: OpenApp, weights: str) -> None:
    app = open_app("pages/lenses/filters/page.py", model=weights, image="sample:cat", filters__cnn="nothing")
    assert [sheet["title"] for sheet in header(app)["sheets"]] == [DEIT.title, "Random weights", "Ours"]


def test_published_positions_stand_beside_ours_and_random_ones(open_app: OpenApp, weights: str) -> None:
    link = {"model": OURS, "image": "sample:cat", "positions__left": weights}
    app = open_app("pages/lenses/positions/page.py", **link)
    panels = header(app)["panels"]
    assert [panel["title"] for panel in panels] == [DEIT.title, "Learned"]
    assert [panel["grid"] for panel in panels] == [[14, 14], [8, 8]]
    beside = app.main.selectbox(key="positions.right")
    assert {"Random", DEIT.title} <= set(beside.options)
    random = open_app("pages/lenses/positions/page.py", **link, positions__right="random")
    assert [panel["title"] for panel in header(random)["panels"]] == [DEIT.title, "Random"]


@pytest.mark.slow
def test_a_sample_opens_on_the_head_of_a_photo_model_with_the_most_concentrated_map(
    open_app: OpenApp, weights: str
) -> None:
    app = open_app("pages/lenses/attention/page.py", model=weights, image="sample:cat")
    _, arrays = message(app, "attention.explorer")
    rows = restore_rows(arrays["layer_codes"], arrays["layer_max"])
    lines = rows[:, 0, 1:]  # of [CLS] in the last layer, by head
    strongest = np.sort(lines, axis=1)[:, -19:].sum(axis=1)  # a tenth of 196 patches
    assert np.diff(np.sort(strongest))[-1] > 0.01
    assert app.main.selectbox(key="attention.head").value == 1 + int(strongest.argmax())
