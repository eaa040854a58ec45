"""Test every section of 'Two images' against NumPy, for every kind of model."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from streamlit.delta_generator import DeltaGenerator

from pages.lenses.two_images import activation_patching, pair_controls
from tests.files import png
from tests.messages import message
from tests.pages.conftest import OpenApp, captions, put_shipped, query_value
from tests.random_models import preset_model
from vitviz.analysis.image_changes import COPIES, locate_cells
from vitviz.data.datasets import load_dataset
from vitviz.data.drawings import FIRST
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.activation_patching import patch_tokens
from vitviz.probe.capture import capture

PAGE = "pages/lenses/two_images/page.py"
DIGITS = {"model": "preset:vit_digits", "image": "digits:3", "two_images__number": "7"}
PRESET = PRESETS["vit_digits"]
VIEWS = ("match", "colours", "patching", "uses")


def tokens_of(numbers: tuple[int, ...], layer: str) -> np.ndarray:
    """Return (images, patches, D) of test images in a layer of the preset."""
    images = prepare_batch(load_dataset("digits").test_images[list(numbers)], PRESET.preparation)
    return capture(create_model(PRESET.config, seed=0).eval(), images, (layer,))[layer][:, 1:].astype(float)


@pytest.mark.parametrize("centred", ["0", "1"])
def test_cosines_and_pairs_equal_numpy(open_app: OpenApp, centred: str) -> None:
    app = open_app(PAGE, **DIGITS, pin="0.3,0.7", two_images__layer="3", two_images__centred=centred)
    header, arrays = message(app, "two_images.match")
    assert header["layer"] == 3
    first, second = tokens_of((3, 7), "blocks.2")
    mean = np.concatenate([first, second]).mean(axis=0) if centred == "1" else 0
    first, second = ((x - mean) / np.linalg.norm(x - mean, axis=1, keepdims=True) for x in (first, second))
    expected = first @ second.T
    np.testing.assert_allclose(arrays["cosines"] / 32767, expected, atol=2e-5)
    pairs = [
        (i, j)
        for i, j in product(range(64), repeat=2)
        if expected[i].argmax() == j and expected[:, j].argmax() == i
    ]
    shown = [tuple(pair) for pair in arrays["pairs"].tolist()]
    assert sorted(shown) == pairs and shown[0] == max(pairs, key=lambda pair: expected[pair])
    assert f"{len(pairs)} of 64 patches have a mutual nearest neighbour in layer 3" in captions(app)


def test_the_caption_counts_the_patches_of_the_foreground(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, two_images__foreground="attention", two_images__share="0.3")
    found = re.search(r"(\d+) of (\d+) foreground patches have a mutual", captions(app))
    assert found is not None and int(found[1]) <= int(found[2]) < 64


def test_the_page_opens_on_the_strongest_pair_until_a_patch_is_pinned(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS)
    header, arrays = message(app, "two_images.match")
    x, y = map(float, header["pin"].split(","))
    assert int(y * 8) * 8 + int(x * 8) == arrays["pairs"][0][0]
    assert message(open_app(PAGE, **DIGITS, pin="0.3,0.7"), "two_images.match")[0]["pin"] == "0.300,0.700"


@pytest.mark.parametrize("kind", COPIES)
def test_the_caption_counts_the_patches_that_find_their_place_in_a_copy(open_app: OpenApp, kind: str) -> None:
    app = open_app(PAGE, **DIGITS, two_images__second=kind)
    _, arrays = message(app, "two_images.match")
    true = locate_cells(kind, (8, 8))
    near = [
        max(abs(best // 8 - place // 8), abs(best % 8 - place % 8)) <= 1
        for best, place in zip(arrays["cosines"].argmax(axis=1), true, strict=True)
        if place >= 0
    ]
    found = re.search(r"(\d+)\s% of the patches are most similar to their own copy", captions(app))
    assert found is not None and abs(int(found[1]) - 100 * np.mean(near)) <= 4  # eight bits decide ties


def test_training_changes_the_matches_and_the_caption_has_both(open_app: OpenApp, own_run: str) -> None:
    asked = {"model": f"run:{own_run}", "image": "digits:3", "two_images__lines": "5"}
    after = open_app(PAGE, **asked)
    before = open_app(PAGE, **asked, two_images__before="1")
    counts = [message(app, "two_images.match")[1]["pairs"].shape[0] for app in (after, before)]
    assert re.search(rf"(?m)^{counts[0]} of 16 .*\(before training: {counts[1]}\)", captions(after))
    assert re.search(rf"(?m)^{counts[1]} of 16 .*\(after training: {counts[0]}\)", captions(before))
    cosines = [message(app, "two_images.match")[1]["cosines"] for app in (after, before)]
    assert (cosines[0] != cosines[1]).any() and message(after, "two_images.match")[0]["count"] == 5


@pytest.mark.parametrize("fit", ["first", "both"])
def test_colours_are_the_principal_components_of_the_said_images(open_app: OpenApp, fit: str) -> None:
    app = open_app(PAGE, **DIGITS, two_images__view="colours", two_images__fit=fit, two_images__layer="2")
    header, arrays = message(app, "two_images.colours")
    first, second = tokens_of((3, 7), "blocks.1")
    fitted = first if fit == "first" else np.concatenate([first, second])
    _, lengths, axes = np.linalg.svd(fitted - fitted.mean(axis=0), full_matrices=False)
    for side, tokens in enumerate((first, second)):
        scores = (tokens - fitted.mean(axis=0)) @ axes[:3].T / (lengths[:3] / np.sqrt(len(fitted)))
        np.testing.assert_allclose(abs(arrays[f"values{side}"].T), abs(scores), atol=2e-3)
        red = 0.5 + arrays[f"values{side}"][0].reshape(8, 8) / 4
        np.testing.assert_allclose(arrays[f"colours{side}"][..., 0], np.rint(255 * red.clip(0, 1)), atol=1)
        assert (arrays[f"colours{side}"][..., 3] > 0).all()
    assert f"fitted on {'this image' if fit == 'first' else 'both images'}, explain" in captions(app)
    assert [frame["facts"][0][0] for frame in header["panels"]] == ["strongest direction (red)"] * 2


def test_colours_of_a_dataset_are_the_same_for_every_image(open_app: OpenApp) -> None:
    asked = {**DIGITS, "two_images__view": "colours", "two_images__fit": "set"}
    one, other = open_app(PAGE, **asked), open_app(PAGE, **(asked | {"two_images__number": "9"}))
    assert "fitted on 64 test images of Digits" in captions(one)
    (_, a), (_, b) = (message(app, "two_images.colours") for app in (one, other))
    assert np.array_equal(a["colours0"], b["colours0"]) and not np.array_equal(a["colours1"], b["colours1"])


@pytest.mark.parametrize("method", ["attention", "component"])
def test_the_background_is_clear_and_not_fitted(open_app: OpenApp, method: str) -> None:
    asked = {**DIGITS, "two_images__view": "colours", "two_images__foreground": method}
    app = open_app(PAGE, **asked)
    _, arrays = message(app, "two_images.colours")
    kept = [arrays[f"colours{side}"][..., 3].ravel() > 0 for side in (0, 1)]
    assert all(0 < mask.sum() < 64 for mask in kept)
    for side, mask in enumerate(kept):
        assert (np.isnan(arrays[f"values{side}"][0]) == ~mask).all()
    foreground = np.concatenate([arrays[f"values{side}"][:, mask] for side, mask in enumerate(kept)], axis=1)
    np.testing.assert_allclose(foreground.mean(axis=1), 0, atol=1e-3)
    np.testing.assert_allclose(foreground.std(axis=1), 1, atol=1e-3)
    assert "Foreground:" in captions(app) and "(foreground only)" in captions(app)


def test_the_map_of_heads_is_the_change_of_the_class_probability(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, two_images__view="patching")
    header, arrays = message(app, "two_images.patching")
    assert header["panels"][2]["grid"] == [4, 4] and arrays["values2"].shape == (1, 16)
    change = arrays["values2"][0]
    best = int(abs(change).argmax())
    caption = captions(app)
    assert f"head {best % 4 + 1} of layer {best // 4 + 1} by that of the first image" in caption
    found = re.search(r"by ([+−][\d.]+|0\.0) points", caption)
    assert found is not None
    assert float(found[1].replace("−", "-")) == pytest.approx(
        change[best], abs=0.0501
    )  # as its cell shows it


def test_a_long_computation_shows_its_progress_and_then_nothing(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []
    draw = DeltaGenerator.progress

    def record(place: DeltaGenerator, share: float, text: str) -> DeltaGenerator:
        shown.append(share)
        return draw(place, share, text)

    monkeypatch.setattr(DeltaGenerator, "progress", record)
    monkeypatch.setattr(activation_patching, "QUICK_S", -1.0)
    asked = {"two_images__view": "patching", "two_images__part": "token", "two_images__number": "11"}
    app = open_app(PAGE, **DIGITS | asked)
    assert shown == [32 / 65, 64 / 65] and not app.main.get("progress")


def test_the_map_of_tokens_covers_the_second_image_and_the_prefix(open_app: OpenApp) -> None:
    asked = {"two_images__view": "patching", "two_images__part": "token", "two_images__layer": "2"}
    app = open_app(PAGE, **DIGITS, **asked, two_images__target="second")
    header, arrays = message(app, "two_images.patching")
    assert [frame["grid"] for frame in header["panels"]] == [[1, 1], [1, 1], [8, 8]]
    model = preset_model("vit_digits")
    images = prepare_batch(load_dataset("digits").test_images[[3, 7]], model.preparation)
    donor, alone = model.probabilities(capture(model.model, images, record=False).logits)
    patched = model.probabilities(patch_tokens(model, *images, 2))
    moved = 100 * (patched[:, alone.argmax()] - alone.max())
    np.testing.assert_allclose(arrays["values1"][0], moved[:1], atol=1e-3)
    np.testing.assert_allclose(arrays["values2"][0], moved[1:], atol=1e-3)
    shown, other = (f"{100 * share:.1f} %" for share in (donor[alone.argmax()], alone.max()))
    assert f"(first image: {shown})" in captions(app) and shown != other


@pytest.mark.parametrize("direction", ["first", "second"])
def test_the_logit_difference_starts_at_the_image_that_receives_parts(
    open_app: OpenApp, no_shipped_checkpoints: Path, direction: str
) -> None:
    asked = {"two_images__view": "patching", "two_images__target": "difference"}
    put_shipped(no_shipped_checkpoints, "digits_vit")  # untrained models predict one class
    link = asked | {"model": "checkpoint:digits_vit", "image": "digits:3", "two_images__direction": direction}
    app = open_app(PAGE, **link)
    header, arrays = message(app, "two_images.patching")
    changes, values = arrays["values2"]
    start = 0 if direction == "first" else 1
    np.testing.assert_allclose(values - changes, start, atol=1e-6)
    best = float(values[abs(changes).argmax()])
    assert f"becomes {best:.2f}".replace("-", "−") in captions(app)
    assert [fact[0] for fact in header["panels"][2]["facts"]] == ["change", "logit difference"]
    app = open_app(PAGE, **link, two_images__part="token")
    donor, prefix, receiver = message(app, "two_images.patching")[0]["panels"]
    assert (prefix["title"], receiver["grid"]) == ("Prefix", [8, 8])
    assert ("Digits no. 3" in receiver["title"]) == (direction == "second")
    assert ("Digits no. 3" in donor["title"]) == (direction == "first")


def test_two_images_of_one_class_have_no_logit_difference(open_app: OpenApp) -> None:
    app = open_app(
        PAGE,
        **DIGITS | {"two_images__number": "3"},
        two_images__view="patching",
        two_images__target="difference",
    )
    assert "their logits do not differ" in captions(app) and "points" in captions(app)


def test_segments_of_the_second_image_are_those_of_the_first(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, two_images__view="uses", two_images__segments="3", two_images__layer="2")
    header, arrays = message(app, "two_images.uses")
    labels = [arrays[f"values{frame}"][0].astype(int) for frame in (1, 2)]
    assert set(labels[0]) == {1, 2, 3} and set(labels[1]) <= {1, 2, 3}
    first, second = tokens_of((3, 7), "blocks.1")
    centres = np.stack([first[labels[0] == label].mean(axis=0) for label in (1, 2, 3)])
    for tokens, label in ((first, labels[0]), (second, labels[1])):
        nearest = np.array([[((t - c) ** 2).sum() for c in centres] for t in tokens]).argmin(axis=1) + 1
        assert (nearest == label).all()
    assert len(header["panels"]) == 3
    kept = arrays["colours0"][..., 3].ravel() > 0
    weights = arrays["values0"][0]
    assert weights.sum() == pytest.approx(100, abs=1e-3)
    assert 60 <= weights[kept].sum() + 1e-3 and weights[kept].min() >= weights[~kept].max()
    # One patch less would hold less than the share.
    assert weights[kept].sum() - weights[kept].min() < 60
    text = "\n".join(markdown.value for markdown in app.main.markdown)
    for use in ("Detection", "Segmentation", "Video", "Multimodal", "CLIP"):
        assert re.search(rf"\*\*{use}.*arxiv\.org", text), use


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "model", ["preset:deit_digits", "preset:swin_digits", "preset:hybrid_cifar10", "preset:cnn_digits"]
)
def test_every_kind_of_model_opens_every_section_or_says_why_not(
    open_app: OpenApp, model: str, view: str
) -> None:
    app = open_app(PAGE, **DIGITS | {"model": model}, two_images__view=view)
    assert not app.main.error
    if view == "patching" and "cnn" in model:
        assert "no attention between patches" in app.main.info[0].value
    else:
        message(app, f"two_images.{view}")


def test_the_second_image_starts_in_the_same_class_and_for_patching_in_another(open_app: OpenApp) -> None:
    labels = load_dataset("digits").test_labels
    assert labels is not None
    for view, same in (("match", True), ("patching", False)):
        app = open_app(PAGE, model="preset:vit_digits", image="digits:3", two_images__view=view)
        number = int(query_value(app, "two_images.number"))
        assert number != 3 and (labels[number] == labels[3]) is np.bool_(same)
    assert pair_controls.find_partner(np.array([1, 2, 1, 1]), 3, True) == 0
    assert pair_controls.find_partner(np.array([1, 1]), 0, False) == 1
    assert pair_controls.find_partner(None, 0, True) == 1 and pair_controls.find_partner(None, -1, True) == 0


def test_a_drawing_is_the_second_image_and_stays_on_offer(open_app: OpenApp) -> None:
    drawing = f"drawing:{FIRST}"
    app = open_app(PAGE, **DIGITS, two_images__second=drawing)
    assert query_value(app, "two_images.second") == drawing
    header, arrays = message(app, "two_images.match")
    assert header["panels"][1]["title"] == "A drawing" and arrays["cosines"].shape == (64, 64)
    assert message(app, "two_images.pad")[0]["strokes"] == FIRST
    app.main.selectbox(key="two_images.second").set_value("flip").run()
    assert "Your drawing" in app.main.selectbox(key="two_images.second").options
    app = open_app(PAGE, **DIGITS, two_images__second="drawing:not a drawing!")
    assert query_value(app, "two_images.second") == "test"


def test_an_uploaded_second_image_is_shown_and_removed_with_its_session(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_tiny_16", image="sample:cat")
    assert query_value(app, "two_images.second") == "crop"
    app.main.file_uploader[0].upload("red.png", png(), "image/png").run()
    assert not app.exception, app.exception
    second = query_value(app, "two_images.second")
    assert second.startswith("upload:")
    assert message(app, "two_images.match")[0]["panels"][1]["title"] == "Your image"
    guest = open_app(
        PAGE, model="preset:vit_tiny_16", image="sample:cat", two_images__second="upload:" + "x" * 22
    )
    assert query_value(guest, "two_images.second") == "crop"


def test_a_model_without_maps_is_replaced_by_one_that_has_them(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_e", image="digits:3")
    assert any("is shown instead" in text.value for text in app.sidebar.caption)
