"""A folder that transformers saved goes through the app's upload; its own labels are read where a patch is hovered."""

from __future__ import annotations

import importlib
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from vitviz.config import Preparation
from vitviz.data.image_preprocessing import prepare
from vitviz.data.samples import load_sample
from vitviz.torchvision_fix import import_torchvision

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LABELS = ("alpaca", "badger", "cormorant", "dormouse", "echidna", "ferret", "gecko")


ROW, COL, SIDE = 4, 2, 8


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A transformers model of seven labels, and its `save_pretrained` folder with an image processor, as a zip."""
    import_torchvision()
    transformers = importlib.import_module("transformers")
    folder = tmp_path_factory.mktemp("mine") / "vit-pets"
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        image_size=64,
        patch_size=8,
        id2label=dict(enumerate(LABELS)),
        initializer_range=0.3,
    )
    model = transformers.ViTForImageClassification(config).eval()
    model.save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as zipped:
        for file in folder.iterdir():
            zipped.write(file, f"vit-pets/{file.name}")
    return model, path


def their_prediction(model: Any) -> tuple[str, float]:
    """transformers' class of the cat, and what its head gives that class for the patch that is hovered."""
    values = prepare(load_sample("cat"), Preparation(64, interpolation="bilinear", resize="squash")).input
    with torch.inference_mode():
        x = torch.tensor(values)[None]
        best = int(model(x).logits.argmax())
        patch = model.vit(x).last_hidden_state[0, 1 + SIDE * ROW + COL]
        return LABELS[best], float(model.classifier(patch).softmax(dim=-1)[best])


def test_a_hovered_patch_of_an_uploaded_folder_speaks_of_the_folders_own_class(
    open_page: Callable[..., Page], pets: tuple[Any, Path]
) -> None:
    model, archive = pets
    page = open_page("attention?image=sample:cat&attention.view=depth")
    page.get_by_role("button", name="Add a model").click()
    page.locator('[data-testid="stDialog"] input[type="file"]').last.set_input_files(archive)
    page.wait_for_url(re.compile("model=weights"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_count(0)  # the folder says everything: nothing is left to ask
    page.get_by_role("button", name="Add a model").click()
    expect(dialog).to_contain_text("images of 64 px, both sides resized, bilinear, crop 1, mean 0.5")
    expect(dialog.get_by_label("Labels, one per line")).to_have_value("\n".join(LABELS))
    dialog.get_by_role("button", name="Close").click()
    settle(page)
    label, probability = their_prediction(model)
    expect(
        page.get_by_text(f"Probability of {label} if the classifier head were applied to each patch")
    ).to_be_visible()
    last = page.locator("[data-component=heat_grid] .hg-panel").last
    frame = last.locator(".vv-frame")
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    assert box is not None
    frame.hover(position={"x": box["width"] * (COL + 0.5) / SIDE, "y": box["height"] * (ROW + 0.5) / SIDE})
    expect(last.locator(".hg-note")).to_have_text(re.compile(rf"{probability:.3f} · rank \d+ of 64"))
