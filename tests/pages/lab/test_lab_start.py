"""The live lab before its first run: what the form says, and what a start hands over."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.frame import run_start
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, start_button
from vitviz.config import ViTConfig
from vitviz.training.presets import TRAINING_PRESETS


def test_an_empty_lab_says_what_to_do(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE)
    assert app.title[0].value == "Live lab"
    assert "Start training" in app.main.info[0].value
    assert not start_button(app).proto.disabled
    model = TRAINING_PRESETS["digits_live"].model
    assert isinstance(model, ViTConfig)
    words = f"patches of {model.patch_size} px, width {model.embed_dim}, {model.depth} layers"
    assert any(words in caption.value for caption in app.main.caption)


def test_a_recipe_sets_every_control(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE)
    app.main.selectbox(key="live_lab.recipe").set_value("shapes_vit_nopos").run()
    assert not app.exception
    assert app.main.selectbox(key="live_lab.dataset").value == "shapes"
    assert app.main.selectbox(key="live_lab.positions").value == "none"
    assert app.main.number_input(key="live_lab.length").value == 10


def test_start_hands_over_what_the_controls_say(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, live_lab__depth="5", live_lab__positions="none")
    start_button(app).click().run()
    assert not app.exception, app.exception[0].message
    ((order, config),) = executor.orders
    assert order == "start"
    assert (config.model.depth, config.model.positions, config.name) == (5, "none", "Digits, live")
    assert config.owner and config.lease_s
    (progress,) = app.main.get("progress")
    assert "position 2" in progress.proto.text
    start_button(app).click().run()  # of three quick clicks the second and the third find this run
    assert len(executor.orders) == 1
    assert any("being trained with these settings already" in warning.value for warning in app.main.warning)
    app.main.number_input(key="live_lab.seed").set_value(7).run()
    start_button(app).click().run()
    assert [order[1].name for order in executor.orders] == ["Digits, live", "Digits, live 2"]


def test_a_click_that_is_served_twice_starts_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under load two runs were seen waiting after one click: two runs of the script may serve it at once."""
    monkeypatch.setattr(run_start.st, "session_state", {})
    started: list[int] = []
    for click in (0, 0, 1):  # the last on the button as it is drawn again
        run_start.serve_click(click, lambda click=click: started.append(click))
    assert started == [0, 1]


def form_of(app: AppTest) -> dict[str, str]:
    """What the link says of the recipe; AppTest gives values as text or as lists of it."""
    returned = {key: value if isinstance(value, str) else value[0] for key, value in app.query_params.items()}
    return {key: value for key, value in returned.items() if key.startswith("live_lab.")}


def test_the_link_says_what_differs_from_the_recipe(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, live_lab__recipe="shapes_vit_nopos", live_lab__depth="3", live_lab__seed="x")
    expected = {"live_lab.recipe": "shapes_vit_nopos", "live_lab.depth": "3"}
    assert form_of(app) == expected
    app.main.number_input(key="live_lab.seed").set_value(7).run()
    assert form_of(app) == {**expected, "live_lab.seed": "7"}
    app.main.number_input(key="live_lab.batch_size").set_value(16).run()
    app.main.number_input(key="live_lab.seed").set_value(0).run()
    assert form_of(app) == {**expected, "live_lab.batch_size": "16"}


def test_no_link_asks_for_what_the_forms_family_lacks(open_app: OpenApp, executor: FakeExecutor) -> None:
    """A new session completes a link by its recipe's values, also those of teachers, which only a DeiT's form draws."""
    app = open_app(PAGE, live_lab__recipe="digits_live", live_lab__depth="5")
    assert not any("This link asks for" in warning.value for warning in app.main.warning)
    linked = open_app(PAGE, live_lab__recipe="digits_live", live_lab__distillation="hard")
    assert any("asks for distillation 'hard'" in warning.value for warning in linked.main.warning)


def test_a_link_that_leaves_a_setting_out_means_the_recipes(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    app = open_app(PAGE, live_lab__recipe="digits_live", live_lab__depth="5")
    app.session_state["_superseded"] = []
    app.query_params.clear()
    app.query_params["live_lab.recipe"] = "shapes_vit_nopos"
    app.query_params["live_lab.depth"] = "5"
    app.run()
    assert app.main.number_input(key="live_lab.depth").value == 5
    app.query_params.clear()
    app.query_params["live_lab.recipe"] = "shapes_vit_nopos"
    app.run()
    model = TRAINING_PRESETS["shapes_vit_nopos"].model
    assert isinstance(model, ViTConfig)
    assert app.main.number_input(key="live_lab.depth").value == model.depth
