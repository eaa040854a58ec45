"""Compare the feature maps and the caption of a shifted image with the models' own activations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pages.stores import catalogue, session, shared_cache
from tests.messages import message
from tests.pages.conftest import OpenApp
from tests.pages.test_on_your_image import MODELS, OPEN, PAGE, read_model_names
from vitviz.analysis.image_changes import shift


def compute_first_maps(shift_px: int) -> list[np.ndarray]:
    """Of the CNN and the ViT (2, rows, cols, D): the first map of a digit, and of the same digit moved."""
    choices = catalogue.list_models(session.UserSession("x" * 22))
    own = shared_cache.load_dataset("digits").test_images[3]
    pair = np.stack([own, shift(own, shift_px)])[..., :1]
    x = torch.tensor(pair.transpose(0, 3, 1, 2) / 255 - 0.5, dtype=torch.float32) / 0.5
    found = []
    for key, name in zip(MODELS.split(","), ("stem", "embedded"), strict=True):
        _, record = shared_cache.load_model(choices[key]).model(x, record=[name])
        values = record[name].detach()
        places = values.permute(0, 2, 3, 1) if name == "stem" else values[:, 1:].unflatten(1, (8, 8))
        found.append(places.double().numpy())
    return found


def measure_difference(a: np.ndarray, b: np.ndarray) -> float:
    spread = sum(((one - one.mean((0, 1))) ** 2).sum() for one in (a, b))
    return float((((a - b) ** 2).sum() / spread) ** 0.5)


@pytest.mark.parametrize("shift_px", [4, 8])
def test_equivariance_is_reported_of_what_is_drawn(open_app: OpenApp, shift_px: int) -> None:
    app = open_app(
        PAGE,
        on_picture__view="shift",
        on_picture__shift_px=str(shift_px),
        on_picture__depth="first",
        on_picture__moves="shown",
        **OPEN,
    )
    header, _ = message(app, "on_picture.moved")
    assert [row["title"] for row in header["rows"]] == read_model_names()
    words = [panel["note"] for panel in header["panels"][3:6]]
    assert words[0] == "8 × 8 positions"
    assert words[1] == ("1 cell to the right" if shift_px == 4 else "2 cells to the right")
    exact = []
    for i, (before, after) in enumerate(compute_first_maps(shift_px)):
        cols = before.shape[1]
        cells = shift_px * cols // 32
        move, stay = (
            measure_difference(after[:, cells:], before[:, :-cells]),
            measure_difference(after[:, cells:], before[:, cells:]),
        )
        assert (
            header["panels"][3 * i + 2]["note"]
            == f"all channels: {move:.2f}; from the unshifted map: {stay:.2f}"
        )
        rest = after[:, cells:] - before[:, :-cells]
        if np.abs(rest[cols // 4 : -cols // 4, cols // 4 : -cols // 4]).max() < 1e-5:
            exact.append(header["rows"][i]["title"])
    (text,) = [line.value for line in app.main.caption if line.value.startswith(f"Shift of {shift_px} px")]
    assert exact == read_model_names()[:1]
    assert f"the first map of {exact[0]} is exactly equivariant." in text.replace("\\", "")
