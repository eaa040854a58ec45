"""The filters page: tiles, reconstruction and the product of a patch, for every model family."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.classroom import class_question
from pages.lenses.filters import captions as sentences
from pages.lenses.filters import sources
from pages.lenses.filters.captions import describe_product
from pages.stores import catalogue, registry
from tests.messages import read_first_view
from tests.pages.conftest import OpenApp, captions, put_shipped, ship
from vitviz.analysis import filters
from vitviz.config import TrainConfig
from vitviz.data.datasets import load_dataset
from vitviz.lessons.weight_measures import EmbeddingShare, ExplainedVariance
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS, RGB_32, VIT_DIGITS
from vitviz.models.zoo import create_model

PAGE = "pages/lenses/filters/page.py"
ROOT = Path(__file__).parents[2]


def text(app: AppTest) -> str:
    boxes = (unescape(box.proto.body) for box in app.main.get("html"))
    return "\n".join([*(part.value for part in (*app.main.markdown, *app.main.info)), *boxes])


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
    shapes = PRESETS["vit_shapes"].config, TrainConfig(dataset="shapes"), RGB_32
    return ship(no_shipped_checkpoints, "test_vit", *shapes, states=snapshots)


def test_random_trained_and_film_stand_side_by_side(open_app: OpenApp, trained: str) -> None:
    app = open_app(PAGE, model=trained, image="sample:cat")
    found = read_first_view(app)
    assert [sheet["title"] for sheet in found[0]["sheets"]][1:3] == ["200 images of Shapes", "Random weights"]
    assert found[1]["tiles1"].shape == found[1]["tiles2"].shape == (1, 28, 4, 4, 3)
    assert found[1]["tiles0"].shape == (3, 28, 4, 4, 3)
    images = load_dataset("shapes").test_images[:200].transpose(0, 3, 1, 2) / 255
    data = np.concatenate([filters.cut_patches(image, 4) for image in images])
    expected = filters.principal_components(data, 28).explained
    np.testing.assert_allclose(found[1]["shares1"][0], expected, atol=1e-5)
    shares = found[1]["shares0"]
    assert shares[0].sum() < shares[2].sum()
    assert found[0]["frame"] == 2
    trained_model, random = captions(app).split("**Random")
    assert (
        "as rough as noise" in random and "the first seven are smooth on average (roughness" in trained_model
    )


def test_the_clearest_included_model_is_the_one_measured(no_shipped_checkpoints: Path) -> None:
    """cifar10_vit_p8 alone has slow waves: roughness 0.33; the digits ViT 0.54, noise about 1."""
    put_shipped(no_shipped_checkpoints, "digits_vit", "cifar10_vit", "cifar10_vit_p8", "mnist_vit")
    smoothness = {
        choice.key: sources.measure_smoothness(
            sources.load_filters(choice, choice.last_step).history.selected
        )
        for choice in catalogue.list_checkpoints()
    }
    smoothest = min(smoothness, key=lambda key: smoothness[key].head)
    assert smoothest == f"checkpoint:{registry.BY_SLUG['filters'].default}"
    assert [key for key, statistics in smoothness.items() if statistics.waves] == [smoothest]


@pytest.mark.parametrize(
    ("head", "kind"), [(0.79, "smoother than"), (0.31, "rougher than"), (0.519, "as rough as")]
)
def test_the_data_s_components_are_compared_with_those_of_e(head: float, kind: str) -> None:
    look, data = (filters.FilterStatistics(28, 1.0, rough, 1.0) for rough in (head, 0.52))
    text = sentences.explain_smoothness(look, data, "200 images")
    assert f"200 images, are {kind} those of E (roughness 0.52 and {head:.2f})" in text


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
    put_shipped(no_shipped_checkpoints, "cifar10_cnn")
    app = open_app(PAGE, model="checkpoint:cifar10_cnn", image="sample:cat")
    sentence = captions(app).split("**CIFAR-10 CNN**")[1].partition("**")[0]
    first, random = map(float, re.findall(r"first one explains ([\d.]+).%.*at most ([\d.]+)", sentence)[0])
    assert first == pytest.approx(31.4, abs=0.1) and random == pytest.approx(18, abs=3)
    assert "as rough as noise" not in sentence


def test_no_two_controls_have_one_name(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits")
    names = [part.label for part in (*app.main.selectbox, *app.main.get("button_group"), *app.main.toggle)]
    names += [block.proto.popover.label for block in app.main.get("popover")]
    assert len(set(names)) == len(names), names


def test_the_learned_change_excludes_the_initial_noise(open_app: OpenApp, trained: str) -> None:
    app = open_app(PAGE, model=trained, image="sample:cat", filters__kind="change")
    found = read_first_view(app)
    assert found[1]["tiles0"].shape == (2, 28, 4, 4, 3)
    assert found[0]["frame"] == 1 and len(found[0]["sheets"]) == 1
    # what was added lies in eight directions, and so does all of its variance
    assert found[1]["shares0"][1, :8].sum() == pytest.approx(1.0, abs=1e-3)


def test_tiles_are_the_components_of_the_weights(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", filters__count="7")
    found = read_first_view(app)
    weights = create_model(VIT_DIGITS, seed=0)
    expected, ends = filters.to_bytes(
        filters.principal_components(
            weights.get_parameter("patch_embed.proj.weight").detach().numpy(), 7
        ).maps
    )
    np.testing.assert_array_equal(found[1]["tiles0"][0], expected)
    np.testing.assert_allclose(found[1]["ends0"][0], ends, atol=1e-6)
    assert "random weights" in text(app)


def test_the_sum_of_shares_is_hidden_while_the_class_is_asked_for_it(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"model": "preset:vit_cifar10"}
    assert read_first_view(open_app(PAGE, **asked))[0]["summed"]
    monkeypatch.setattr(class_question, "is_hidden", lambda measure: isinstance(measure, ExplainedVariance))
    assert not read_first_view(open_app(PAGE, **asked))[0]["summed"]


def test_raw_and_grey(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", filters__kind="raw", filters__grey="1")
    found = read_first_view(app)
    assert found[1]["tiles0"].shape == (1, 28, 4, 4, 1)
    assert found[0]["word"] == "filter" and "shares0" not in found[0]["arrays"]
    grey = open_app(PAGE, model="preset:vit_digits")
    (toggle,) = (switch for switch in grey.main.toggle if switch.key == "filters.grey")
    assert toggle.disabled and "one channel" in toggle.help


def test_reconstruction_sends_three_bases_and_the_images_own_is_optimal(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", filters__view="express", image="sample:cat")
    found = read_first_view(app)
    own, best, waves = (found[1][f"error{i}"] for i in range(3))
    assert len(own) == len(best) == len(waves) == 49
    assert (best <= own + 1e-3).all() and (best <= waves + 1e-3).all()
    assert best[-1] < 1e-3 and waves[-1] < 1e-3
    basis, coefficients = found[1]["basis1"], found[1]["coefficients1"]
    rebuilt = found[1]["mean"] + coefficients @ basis
    shown = found[1]["shown"].transpose(2, 0, 1) / 255
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
def test_every_kind_of_model_has_its_image_or_a_reason(
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
