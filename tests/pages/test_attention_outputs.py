"""What the attention page says of outputs that are no softmax of classes, and of attention pooling."""

from __future__ import annotations

from dataclasses import replace

import torch
from streamlit.testing.v1 import AppTest

from pages.selection import page_selection
from pages.stores import own_weights, registry
from pages.stores.model_choice import ModelChoice
from tests.messages import message
from tests.pages.conftest import OpenApp
from tests.pages.test_families_on_lenses import VIT
from vitviz.config import Preparation
from vitviz.models.formats.uploaded_weights import TemporaryFolder
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.text import plain

PAGE = "pages/lenses/attention/page.py"
START = "pages/start/page.py"


def add(**fields: object) -> str:
    """Return the key of a model with these fields whose head has weight 0 and the bias 2, 2, −2 (or 0.3)."""
    config = replace(VIT, **fields)  # type: ignore[arg-type]
    model = create_model(config, seed=0)
    bias = {1: [0.3], 3: [2.0, 2.0, -2.0]}.get(config.num_classes)
    if bias:
        torch.nn.init.zeros_(model.head.weight)  # type: ignore[union-attr, arg-type]
        model.head.bias.data = torch.tensor(bias)  # type: ignore[union-attr]
    names = ("beach", "dog", "sunset")[: config.num_classes] if bias else tuple("0123")
    loaded = LoadedModel(model, config, Preparation(32), names, "Mine", "photos", 0, repr(fields))
    return f"weights:{own_weights.STORE.add(own_weights.OpenedModel(loaded, 1, TemporaryFolder()), 'me')}"


def words(app: AppTest) -> str:
    assert not app.exception
    return " ".join(element.value for kind in (app.main.caption, app.main.markdown) for element in kind)


def test_several_labels_have_probabilities_of_their_own(open_app: OpenApp) -> None:
    app = open_app(PAGE, image="sample:cat", model=add(num_classes=3, class_output="sigmoid"))
    shown = next(caption for caption in app.main.caption if "sigmoid" in caption.value)
    assert shown.value == (
        "Above 50 %: beach, dog; every class has a probability of its own (a sigmoid);"
        " they share no total of 100 %."
    )
    assert "3 classes" in app.sidebar.caption[0].value


def test_one_label_is_the_probability_of_that_label(open_app: OpenApp) -> None:
    text = words(open_app(PAGE, image="sample:cat", model=add(num_classes=1, class_output="sigmoid")))
    assert "Above 50 %: beach; the probability of one label (a sigmoid)." in text


def test_a_regression_shows_its_value_and_no_bars(open_app: OpenApp) -> None:
    app = open_app(PAGE, image="sample:cat", model=add(num_classes=1, class_output="raw"))
    text = words(app)
    assert "Your own weights, 1 value;" in app.sidebar.caption[0].value
    assert "beach: 0.3" in text and "Value of the regression." in text
    assert "100 %" not in text and "sigmoid" not in text


def test_start_says_sigmoid_where_classes_share_no_total(open_app: OpenApp) -> None:
    key = add(num_classes=3, class_output="sigmoid")
    app = open_app(START, image="sample:cat", model=key, home__part="classes")
    header, _ = message(app, "home.map")
    assert (
        next(part for part in header["parts"] if part["id"] == "classes")["caption"]
        == "sigmoid of each logit"
    )
    assert "gives its 3 labels a probability for any image." in words(app)


def test_a_substitute_of_the_same_architecture_is_named_by_its_file() -> None:
    def choose(name: str, **fields: object) -> ModelChoice:
        config = replace(VIT, **fields)  # type: ignore[arg-type]
        return ModelChoice(name, "Mine", "", config, Preparation(32), "photos", (0,), file_name=f"{name}.zip")

    regression, labels = choose("age", num_classes=1, class_output="raw"), choose("labels", num_classes=3)
    choices = {choice.key: choice for choice in (regression, labels)}
    shown = page_selection.resolve_model(registry.BY_SLUG["home"], regression, choices)
    assert shown.value == "labels" and shown.reason.endswith(
        f"Mine ({plain('labels.zip')}) is shown instead."
    )


def test_attention_pooling_draws_its_query(open_app: OpenApp) -> None:
    plain = words(open_app(PAGE, image="sample:cat", model=add()))
    assert "learned query" not in plain
    app = open_app(PAGE, image="sample:cat", model=add(readout="map"))
    text = words(app)
    assert "Attention pooling: from its learned query" in text
    assert "On the mean of 2 heads, the patch in row" in text and "(uniform: 6.2\u00a0%)" in text
