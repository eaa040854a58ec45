"""Photos in the attention explorer: drawn and exported at their own resolution."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.messages import message, photo_of, read_panels
from tests.pages.conftest import Files, OpenApp, made
from tests.pages.test_attention import PAGE, capture_instead
from vitviz.training.run_directory import Run

COLOUR = "preset:vit_shapes"  # RGB, 32 px, 4 layers, reads from [CLS]
DEEPER = "preset:vit_cifar10"  # 6 layers
SIDE = 300  # of the cat's 300 × 451 px: the square in the middle
VIEWS = {
    "look": "attention.explorer",
    "methods": "attention.methods",
    "truth": "attention.twin",
    "depth": "attention.lens_maps",
    "ablate": "attention.ablate",
}


def opened(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


def read_photo(header: dict[str, Any]) -> dict[str, Any]:
    """Return the kind and size of a view's image, or of a heat grid's first one."""
    photo: dict[str, Any] = header["photos"][0] if "photos" in header else header["photo"]
    return photo


def cat() -> np.ndarray:
    from vitviz.data.samples import load_sample

    whole = load_sample("cat")
    left = round(
        8 * whole.shape[1] / 48
    )  # 451 px become 48 at the model's 32 px, and the middle 32 start at 8
    return whole[:SIDE, left : left + SIDE]


@pytest.mark.parametrize("view", VIEWS)
def test_maps_lie_on_the_model_s_input_and_the_photograph_is_a_toggle(open_app: OpenApp, view: str) -> None:
    app = open_app(PAGE, model=COLOUR, image="sample:cat", attention__view=view, attention__seen="0")
    header, arrays = message(app, VIEWS[view])
    assert read_photo(header) == {"kind": "image/jpeg", "px": [SIDE, SIDE]}
    shown = photo_of(arrays)
    assert np.abs(shown.astype(int) - cat()).mean() < 4  # what JPEG leaves of it
    assert len(arrays.get("photo", arrays.get("photo0"))) < 100_000
    seen = open_app(PAGE, model=COLOUR, image="sample:cat", attention__view=view)
    assert seen.query_params["attention.seen"] == ["1"] or seen.query_params["attention.seen"] == "1"
    header, arrays = message(seen, VIEWS[view])
    assert read_photo(header) == {"kind": "image/png", "px": [32, 32]}
    toggle = next(t for t in seen.toggle if t.key == "attention.seen")
    assert toggle.value and not toggle.disabled


def test_an_image_that_the_model_sees_as_it_is_has_no_other(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0")
    toggle = next(t for t in app.toggle if t.key == "attention.seen")
    assert toggle.disabled and toggle.help


def test_numbers_stay_those_of_the_patches(open_app: OpenApp) -> None:
    one = open_app(PAGE, model=COLOUR, image="sample:cat", attention__view="methods")
    other = open_app(
        PAGE,
        model=COLOUR,
        image="sample:cat",
        attention__view="methods",
        attention__smooth="1",
        attention__seen="1",
    )
    before, after = (message(app, "attention.methods") for app in (one, other))
    assert not before[0]["smooth"] and after[0]["smooth"]
    (*names, maps), (*names_after, maps_after) = read_panels(before), read_panels(after)
    np.testing.assert_array_equal(maps, maps_after)
    assert names == names_after


def test_the_exported_image_is_the_crop_wherever_the_map_is_zero(
    open_app: OpenApp, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    attn = np.zeros((4, 4, 65, 65), np.float32)
    attn[..., 1 + 8 * 2 + 5] = 1.0  # every token looks at one patch alone
    capture_instead(monkeypatch, attn)
    app = open_app(PAGE, model=COLOUR, image="sample:cat", pin="cls", attention__seen="0")
    app.session_state["attention.look.drawer.numbers"] = True
    app.run()
    kept = opened(made(files["View, PNG"]))
    assert kept.shape == (SIDE, SIDE, 3)
    changed = (kept != cat()).any(axis=2)
    patch = (slice(2 * SIDE // 8, -(-3 * SIDE // 8)), slice(5 * SIDE // 8, -(-6 * SIDE // 8)))
    assert changed[patch].mean() > 0.9
    changed[patch] = False
    assert not changed.any()


def test_methods_and_what_is_left_out_are_kept_at_the_crops_size(open_app: OpenApp, files: Files) -> None:
    app = open_app(PAGE, model=COLOUR, image="sample:cat", attention__view="methods", attention__seen="0")
    app.session_state["attention.methods.drawer.numbers"] = True
    app.run()
    images = [label for label in files if label.endswith("PNG")]
    assert len(images) == 6
    for label in images:
        assert opened(made(files[label])).shape == (SIDE, SIDE, 3)
    assert len(made(files["Maps, CSV"]).splitlines()) == 1 + 64
    app = open_app(PAGE, model=COLOUR, image="sample:cat", attention__view="ablate", attention__seen="0")
    app.session_state["attention.ablate"] = {"ablation": {"patches": [0], "heads": [], "mark": 1}}
    app.session_state["attention.ablate.drawer.numbers"] = True
    app.run()
    kept = opened(made(files["Image, PNG"]))
    assert (kept[:37, :37] == 128).all()
    np.testing.assert_array_equal(kept[38:], cat()[38:])


@pytest.mark.parametrize(
    ("model", "pin"),
    [(COLOUR, "cls"), ("preset:hybrid_cifar10", "0.500,0.500"), ("preset:swin_digits", "0.500,0.500")],
)
def test_the_first_query_is_what_the_answer_is_read_from(open_app: OpenApp, model: str, pin: str) -> None:
    app = open_app(PAGE, model=model, image="sample:cat")
    assert message(app, "attention.options")[0]["pin"] == pin and "pin" not in app.query_params
    chosen = open_app(PAGE, model=model, image="sample:cat", pin="0.100,0.100")
    assert chosen.query_params["pin"] in ("0.100,0.100", ["0.100,0.100"])


def test_the_last_layer_is_shown_until_another_is_chosen(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0")
    assert message(app, "attention.explorer")[0]["layer"] == 4
    app.sidebar.selectbox(key="model").set_value(DEEPER).run()
    assert message(app, "attention.explorer")[0]["layer"] == 6
    app.session_state["attention.layer"] = 2
    app.run()
    app.sidebar.selectbox(key="model").set_value("preset:vit_digits").run()
    assert message(app, "attention.explorer")[0]["layer"] == 2


@pytest.mark.parametrize("view", ["look", "methods", "ablate"])
def test_every_download_of_a_sessions_own_run_is_made_without_a_session(
    open_app: OpenApp, files: Files, trained: Path, own_run: str, view: str
) -> None:
    app = open_app(PAGE, model=f"run:{own_run}", image="digits:0", attention__view=view)
    app.session_state[f"attention.{view}.drawer.numbers"] = True
    app.run()
    assert files and ("Through training, WebP" in files) == (view == "look")
    for label, make in files.items():
        assert made(make), label
    if view == "look":
        with Image.open(io.BytesIO(made(files["Through training, WebP"]))) as film:
            assert film.width == 1280 and film.n_frames == len(Run(trained).snapshots()) > 1


def test_datasets_without_photos_exist() -> None:
    from pages.lenses.attention.captions import DATASETS_WITHOUT_PHOTOS
    from vitviz.data.datasets import DATASETS

    assert set(DATASETS_WITHOUT_PHOTOS) <= set(DATASETS)
