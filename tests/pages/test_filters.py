"""The filters page: tiles, reconstruction and the product of a patch, for every model family."""

from __future__ import annotations

import json
import re
import struct
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.classroom import class_question
from pages.frame import registry
from pages.lenses.filters import sources
from pages.lenses.filters.captions import describe_product
from pages.stores import catalogue
from tests.messages import first_view
from tests.pages.conftest import OpenApp
from vitviz.analysis import filters
from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import TrainConfig
from vitviz.lessons.weight_measures import EmbeddingShare, ExplainedVariance
from vitviz.models.abilities import abilities
from vitviz.models.presets import GREY_32, PRESETS, RGB_32, VIT_DIGITS
from vitviz.models.zoo import create_model

PAGE = "pages/lenses/filters/page.py"
ROOT = Path(__file__).parents[2]


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.main.caption)


def text(app: AppTest) -> str:
    boxes = (unescape(box.proto.body) for box in app.main.get("html"))
    return "\n".join([*(part.value for part in (*app.main.markdown, *app.main.info)), *boxes])


def payload(app: AppTest) -> tuple[dict[str, Any], bytes]:
    """(header, buffers) of the page's client view."""
    message = first_view(app)
    (length,) = struct.unpack_from("<I", message)
    return json.loads(message[4 : 4 + length]), message[4 + length :]


def array(found: tuple[dict[str, Any], bytes], name: str) -> np.ndarray:
    header, buffers = found
    entry = header["arrays"][name]
    count = int(np.prod(entry["shape"]))
    return np.frombuffer(buffers, entry["dtype"], count, entry["offset"]).reshape(entry["shape"])


@pytest.fixture
def trained(no_shipped_checkpoints: Path) -> str:
    """Save a checkpoint of three snapshots whose E turns from noise into cosine waves."""
    state = create_model(PRESETS["vit_shapes"].config, seed=1).state_dict()
    name = "patch_embed.proj.weight"
    noise = state[name].numpy().copy()
    waves = filters.dct_basis(3, 4, 8)
    mixing = np.random.default_rng(0).standard_normal((len(noise), 8)) * np.linspace(3, 1, 8)
    snapshots = {}
    for step, share in ((0, 0.0), (5, 0.2), (50, 1.0)):
        snapshots[step] = {key: tensor.clone() for key, tensor in state.items()}
        mixed = noise + share * np.einsum("dk,kcyx->dcyx", mixing, waves)
        snapshots[step][name] = state[name].new_tensor(mixed)
    checkpoint = Checkpoint(
        PRESETS["vit_shapes"].config,
        RGB_32,
        TrainConfig(dataset="shapes"),
        ("a", "b", "c", "d"),
        [],
        snapshots,
    )
    save_checkpoint(no_shipped_checkpoints / "test_vit.safetensors", checkpoint)
    return "checkpoint:test_vit"


def test_random_trained_and_film_stand_side_by_side(open_app: OpenApp, trained: str) -> None:
    app = open_app(PAGE, model=trained, image="sample:cat")
    found = payload(app)
    assert [sheet["title"] for sheet in found[0]["sheets"]][1] == "Random weights"
    assert array(found, "tiles1").shape == (1, 28, 4, 4, 3)
    assert array(found, "tiles0").shape == (3, 28, 4, 4, 3)
    shares = array(found, "shares0")
    assert shares[0].sum() < shares[2].sum()
    assert found[0]["frame"] == 2
    trained_model, random = captions(app).split("**Random")
    assert "as rough as noise" in random and "the first are smooth (roughness" in trained_model


@pytest.fixture
def plain_default(no_shipped_checkpoints: Path, trained: str) -> str:
    """Save the default model, whose filters are noise, beside the trained one with waves."""
    state = create_model(VIT_DIGITS, seed=1).state_dict()
    snapshots = {step: {name: tensor.clone() for name, tensor in state.items()} for step in (0, 9)}
    checkpoint = Checkpoint(
        VIT_DIGITS, GREY_32, TrainConfig(), tuple("0123456789"), [], snapshots, {"title": "A *digits* ViT"}
    )
    save_checkpoint(no_shipped_checkpoints / "test_digits.safetensors", checkpoint)
    return "checkpoint:test_digits"


def test_the_clearest_included_model_is_the_one_measured(no_shipped_checkpoints: Path) -> None:
    """cifar10_vit_p8 alone has slow waves: roughness 0.33; the digits ViT 0.54, noise about 1."""
    for name in ("digits_vit", "cifar10_vit", "cifar10_vit_p8", "mnist_vit"):
        (no_shipped_checkpoints / f"{name}.safetensors").symlink_to(
            ROOT / "checkpoints" / f"{name}.safetensors"
        )
    smoothness = {
        choice.key: sources.measure_smoothness(
            sources.load_filters(choice, choice.last_step).selected_weights
        )
        for choice in catalogue.list_checkpoints()
    }
    smoothest = min(smoothness, key=lambda key: smoothness[key].head)
    assert smoothest == f"checkpoint:{registry.BY_SLUG['filters'].default}"
    assert [key for key, statistics in smoothness.items() if statistics.waves] == [smoothest]


def test_random_patches_of_2_px_are_as_rough_as_noise(open_app: OpenApp) -> None:
    roughness = re.findall(
        r"as rough as noise \(roughness (\d\.\d\d)",
        captions(open_app(PAGE, model="preset:swin_digits", image="digits:3")),
    )
    assert roughness and [float(rough) for rough in roughness] == pytest.approx(
        [1] * len(roughness), abs=0.12
    )


def test_a_strong_first_component_is_compared_with_random_matrices_of_its_shape() -> None:
    random = sources.measure_random_share((24, 3, 3, 3))
    other_draws = np.random.default_rng(7).standard_normal((30, 24, 3, 3, 3))
    shares = [filters.principal_components(draw, 1).explained[0] for draw in other_draws]
    assert np.mean(shares) < random < 1.5 * max(shares)
    assert sources.measure_first_share(other_draws[0]) == pytest.approx(shares[0])


def test_a_trained_cnn_whose_kernels_have_structure_is_not_called_noise(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    name = "cifar10_cnn.safetensors"
    (no_shipped_checkpoints / name).symlink_to(ROOT / "checkpoints" / name)
    app = open_app(PAGE, model="checkpoint:cifar10_cnn", image="sample:cat")
    sentence = captions(app).replace("\\", "").split("**CIFAR-10 CNN**")[1].partition("**")[0]
    first, random = map(float, re.findall(r"first explains ([\d.]+).%.*at most ([\d.]+)", sentence)[0])
    assert first == pytest.approx(31.4, abs=0.1) and random == pytest.approx(18, abs=3)
    assert "as rough as noise" not in sentence


def test_no_two_controls_have_one_name(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits")
    names = [part.label for part in (*app.main.selectbox, *app.main.get("button_group"), *app.main.toggle)]
    names += [block.proto.popover.label for block in app.main.get("popover")]
    assert len(set(names)) == len(names), names


def test_the_learned_change_excludes_the_initial_noise(open_app: OpenApp, trained: str) -> None:
    app = open_app(PAGE, model=trained, image="sample:cat", filters__kind="change")
    found = payload(app)
    assert array(found, "tiles0").shape == (2, 28, 4, 4, 3)
    assert found[0]["frame"] == 1 and len(found[0]["sheets"]) == 1
    # what was added lies in eight directions, and so does all of its variance
    assert array(found, "shares0")[1, :8].sum() == pytest.approx(1.0, abs=1e-3)


def test_tiles_are_the_components_of_the_weights(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", filters__count="7")
    found = payload(app)
    weights = create_model(VIT_DIGITS, seed=0)
    expected, ends = filters.to_bytes(
        filters.principal_components(
            weights.get_parameter("patch_embed.proj.weight").detach().numpy(), 7
        ).maps
    )
    np.testing.assert_array_equal(array(found, "tiles0")[0], expected)
    np.testing.assert_allclose(array(found, "ends0")[0], ends, atol=1e-6)
    assert "random weights" in text(app)


def test_the_sum_of_shares_is_hidden_while_the_class_is_asked_for_it(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"model": "preset:vit_cifar10"}
    assert payload(open_app(PAGE, **asked))[0]["summed"]
    monkeypatch.setattr(class_question, "is_hidden", lambda measure: isinstance(measure, ExplainedVariance))
    assert not payload(open_app(PAGE, **asked))[0]["summed"]


def test_raw_and_grey(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", filters__kind="raw", filters__grey="1")
    found = payload(app)
    assert array(found, "tiles0").shape == (1, 28, 4, 4, 1)
    assert found[0]["word"] == "filter" and "shares0" not in found[0]["arrays"]
    grey = open_app(PAGE, model="preset:vit_digits")
    (toggle,) = (switch for switch in grey.main.toggle if switch.key == "filters.grey")
    assert toggle.disabled and "one channel" in toggle.help


def test_reconstruction_sends_three_bases_and_the_images_own_is_optimal(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", filters__view="express", image="sample:cat")
    found = payload(app)
    own, best, waves = (array(found, f"error{i}") for i in range(3))
    assert len(own) == len(best) == len(waves) == 49
    assert (best <= own + 1e-3).all() and (best <= waves + 1e-3).all()
    assert best[-1] < 1e-3 and waves[-1] < 1e-3
    basis, coefficients = array(found, "basis1"), array(found, "coefficients1")
    rebuilt = array(found, "mean") + coefficients @ basis
    shown = array(found, "shown").transpose(2, 0, 1) / 255
    patches = filters.cut_patches(shown, 4).reshape(64, -1)
    np.testing.assert_allclose(rebuilt * 0.5 + 0.5, patches, atol=1e-4)
    halves = re.findall(r"takes (\d+) components of the PCA [^;]* (\d+) of E;", captions(app))
    assert int(halves[0][0]) <= int(halves[0][1])


def test_e_is_marked_in_the_tree_and_multiplied(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, model="preset:vit_digits", filters__view="where", image="digits:3", filters__column="5"
    )
    page_text = text(app)
    (line,) = [line for line in page_text.splitlines() if "◀ E" in line]
    assert "64 × 1 × 4 × 4" in line
    assert "P²C · D = 4² · 1 · 64 = 1,024 weights" in page_text
    by_hand, model = re.findall(r"= \*\*([−\d.-]+)\*\*\..*?has ([−\d.-]+) in dimension 6", captions(app))[0]
    assert float(by_hand.replace("−", "-")) == pytest.approx(float(model.replace("−", "-")), abs=2e-4)


@pytest.mark.parametrize("model", ["preset:cnn_digits", "preset:hybrid_cifar10"])
def test_a_model_without_e_has_none_in_its_tree(open_app: OpenApp, model: str) -> None:
    app = open_app(PAGE, model=model, filters__view="where", image="digits:3")
    assert "stem" in text(app) and "◀ E" not in text(app)


@pytest.mark.parametrize("model", ["vit_digits", "swin_digits"])
def test_the_share_of_e_agrees_with_the_question(open_app: OpenApp, model: str) -> None:
    page_text = text(open_app(PAGE, model=f"preset:{model}", filters__view="where", image="digits:3"))
    (share,) = re.findall(
        r"([\d,]+) weights, ([\d.]+) % of the model's ([\d,]+)", page_text.replace("\xa0", " ")
    )
    made = create_model(PRESETS[model].config, seed=0)
    at: Any = SimpleNamespace(model=SimpleNamespace(config=made.config, model=made))
    found = EmbeddingShare().measure_answer(at).words.replace("\xa0", " ")
    assert found == f"E has {share[0]} of the model's {share[2]} parameters: {share[1]} %."


VIEWS = {
    "components": "filters.tiles",
    "express": "filters.rebuild",
    "where": "filters.by_hand",
}  # by its key
CNN, HYBRID, POOLED = (
    abilities(PRESETS[name].config) for name in ("cnn_digits", "hybrid_cifar10", "recipe_e")
)


@pytest.mark.parametrize(
    ("model", "view", "drawn", "word"),
    [
        ("cnn_digits", "components", True, "3 × 3 filters of its first convolution"),
        ("cnn_digits", "express", True, CNN.embedding.why_not),
        ("cnn_digits", "where", False, CNN.embedding.why_not),
        ("hybrid_cifar10", "components", True, "3 × 3 filters of its first convolution"),
        ("hybrid_cifar10", "express", True, HYBRID.embedding.why_not),
        ("hybrid_cifar10", "where", False, HYBRID.embedding.why_not),
        ("recipe_e", "components", True, POOLED.filters.why_not),
        ("recipe_e", "express", True, POOLED.embedding.why_not),
        ("recipe_e", "where", True, POOLED.filters.why_not),
        ("swin_digits", "components", True, "random weights"),
        ("swin_digits", "express", True, "`patches (256, 1, 2, 2)` `E (32, 1, 2, 2)`"),
        ("swin_digits", "where", True, "P²C · D = 2² · 1 · 32 = 128 weights"),
    ],
)
def test_every_kind_of_model_has_its_picture_or_a_reason(
    open_app: OpenApp, model: str, view: str, drawn: bool, word: str
) -> None:
    app = open_app(PAGE, model=f"preset:{model}", filters__view=view)
    shown = [part.proto.id for part in app.main.get("bidi_component") if part.proto.bytes]
    assert any(key.endswith(VIEWS[view]) for key in shown) == drawn, shown
    reason = word.removeprefix("This model")  # the sidebar names the model
    assert word in text(app) or any(reason in note.value for note in app.sidebar.caption)


def test_a_product_that_rounds_to_zero_has_no_sign() -> None:
    patch, weights = np.full((1, 1, 4), 0.01), np.array([[[[-0.001, 0.02, -0.04, 0.3]]]])
    product = filters.apply_filter(patch, weights, None, 0)
    text = describe_product(product, 0, 0, product.value, normalized=False)
    assert "-0" not in text and "− 0.0000" not in text
    assert " 0.0000 + 0.0002 − 0.0004 + 0.0030 + …" in text
