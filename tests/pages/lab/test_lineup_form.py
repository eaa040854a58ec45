"""Several models from the lab's form: put into a line-up, started as one run, told apart, and found again in a link."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.messages import read_race
from tests.pages.conftest import query_value
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, belongs, errors, start_button, view
from vitviz.config import CNNConfig, SwinConfig, ViTConfig
from vitviz.models.presets import GREY_32
from vitviz.text import FOREIGN
from vitviz.training import lineup
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

SEVERAL = {"live_lab__train": "several"}
PATCH_16 = 'digits_live~="Small"~patch_size=16~depth=1~embed_dim=16~num_heads=2~epochs=0.3~snapshots=3'
TWO = f"{PATCH_16};{PATCH_16.replace('Small', 'Slow')}~learning_rate=1e-6~batch_size=32"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run.create(tmp_path_factory.mktemp("trained"), lineup.run_config(lineup.decode(TWO), GREY_32))
    assert Session(run, device="cpu").perform().state == "done"
    return run


def press(app: AppTest, key: str) -> AppTest:
    app.main.button(key=f"live_lab.{key}").click().run()
    assert not app.exception, app.exception[0].message
    return app


def names(app: AppTest) -> list[str]:
    return [
        button.label.strip(FOREIGN)
        for button in app.main.button
        if (button.key or "").startswith("live_lab._out_")
    ]


def test_models_of_the_form_are_put_together_and_trained_in_one_run(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    app = open_app(PAGE, **SEVERAL)
    assert start_button(app).proto.disabled and not errors(app)
    assert "add at least 2 models" in start_button(app).proto.help
    press(app, "_add")
    app.main.number_input(key="live_lab.depth").set_value(3).run()
    press(app, "_add")
    app.main.selectbox(key="live_lab.family").set_value("cnn").run()
    press(app, "_add")
    assert names(app) == ["ViT", "ViT Blocks 3", "CNN"]
    shown = [caption.value.replace(FOREIGN, "") for caption in app.main.caption]
    assert any("3 models (ViT, ViT Blocks 3, CNN)" in words for words in shown)
    press(app, "_out_0")
    start_button(app).click().run()
    config = executor.orders[-1][1]
    assert isinstance(config, RunConfig) and config.name == "ViT Blocks 3, CNN"
    vit, cnn = (member.model for member in config.members)
    assert isinstance(vit, ViTConfig) and vit.depth == 3 and isinstance(cnn, CNNConfig) and cnn.in_chans == 1


def test_one_click_begins_with_three_families_and_the_link_holds_them(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    app = press(open_app(PAGE, **SEVERAL), "_ready")
    assert names(app) == ["ViT", "Swin", "CNN"] and not errors(app)
    again = open_app(PAGE, **SEVERAL, live_lab__lineup=query_value(app, "live_lab.lineup"))
    start_button(again).click().run()
    kinds = [type(member.model) for member in executor.orders[-1][1].members]
    assert kinds == [ViTConfig, SwinConfig, CNNConfig]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"dataset": "shapes"}, "share one dataset, here Digits"),
        ({"unit": "seconds"}, "must train for epochs"),
        ({"depth": "0"}, "Blocks must be an integer of at least 1"),
    ],
)
def test_a_model_that_does_not_fit_says_why(
    open_app: OpenApp, executor: FakeExecutor, values: dict[str, str], reason: str
) -> None:
    app = open_app(
        PAGE, **SEVERAL, live_lab__lineup=TWO, **{f"live_lab__{key}": v for key, v in values.items()}
    )
    add = app.main.button(key="live_lab._add")
    assert add.disabled and reason in add.help.replace("\\", "") and not start_button(app).proto.disabled


def test_a_hostile_link_is_an_empty_line_up_and_says_so(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, **SEVERAL, live_lab__lineup="digits_live~depth=0")
    assert names(app) == [] and "Blocks must be an integer" in app.main.warning[0].value.replace("\\", "")
    marked = 'digits_live~="[x](https://a.b)"'
    app = open_app(PAGE, **SEVERAL, live_lab__lineup=f"{marked};{marked}")
    assert not any("[x](" in part.value for part in app.main.caption) and "[x](" not in "".join(names(app))
    huge = "digits_live~embed_dim=8192~depth=4000"
    app = open_app(PAGE, **SEVERAL, live_lab__lineup=f"{huge};{huge}")
    assert errors(app) and start_button(app).proto.disabled


def test_its_models_are_seen_as_a_race_and_as_curves_on_every_axis(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run=run.id)
    lines, _ = read_race(*view(app, "race_view"))
    assert [*lines] == ["Small", "Slow"]
    app = open_app(PAGE, live_lab__run=run.id, live_lab__look="curves")
    header, arrays = view(app, "curves")
    assert [label["color"] for label in header["runs"]] == [line["line"]["color"] for line in lines.values()]
    assert [one["name"] for one in header["runs"]] == ["Small", "Slow"]
    assert {part["run"] for part in header["series"]} == {f"{run.id}/model_1", f"{run.id}/model_2"}
    steps = [member.status().step for member in run.members()]
    assert [int(arrays[name][0, -1]) for name in ("series0", "series2")] == steps and steps[0] != steps[1]
    seconds = arrays["series0"][2]
    assert (seconds > 0).all() and (seconds[1:] > seconds[:-1]).all()


def test_the_settings_of_such_a_run_are_copied_whole(
    open_app: OpenApp, run: Run, executor: FakeExecutor
) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    (copy,) = [button for button in app.main.button if button.label == "Copy settings"]
    copy.click().run()
    assert names(app) == ["Small", "Slow"]
    start_button(app).click().run()
    begun = executor.orders[-1][1]
    assert replace(begun, name="", owner="", lease_s=None) == replace(
        run.config(), name="", owner="", created=0.0
    )
