"""A guess before the answer: what a section hides until there is one, and what it then says of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.lenses.on_your_image import kernels
from pages.questions.prediction_gate import ask_highest
from tests.messages import charts, count_by_row, message, read_race
from tests.pages.conftest import OpenApp, query_value
from vitviz.experiments.gradients import VARIANTS

DATA, HYBRIDS, PICTURE = (
    f"pages/{name}/page.py" for name in ("studies/data", "lenses/hybrids", "lenses/on_your_image")
)
STUDIES = "pages/studies/page.py"
DIGITS = {"model": "preset:vit_digits", "image": "digits:3"}
TWO = {
    "model": "preset:vit_digits",
    "image": "digits:3",
    "on_picture__models": "preset:cnn_digits,preset:vit_digits",
}
HYBRID = {"model": "preset:hybrid_cifar10", "image": "sample:cat"}


def text(app: AppTest) -> str:
    lines = [part.value for part in (*app.main.markdown, *app.main.caption)]
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")


def points(app: AppTest) -> dict[str, int]:
    """How many points every line has."""
    (figure,) = charts(app)
    return {line["name"]: len(line["y"]) for line in figure["data"] if line["mode"] == "lines+markers"}


def test_the_image_moves_once_a_model_is_guessed(open_app: OpenApp) -> None:
    app = open_app(PICTURE, on_picture__view="shift", **TWO)
    header, _ = message(app, "on_picture.moved")
    assert count_by_row(header) == [3] and not charts(app)
    assert header["panels"][0]["title"] == "Image"
    assert "Shift of" not in text(app)
    app.main.button_group(key="on_picture.moves.row").set_value("preset:vit_digits").run()
    header, _ = message(app, "on_picture.moved")
    assert count_by_row(header) == [3, 3] and query_value(app, "on_picture.moves")
    reported = text(app).partition("Probability that changes its class: ")[2]
    cnn, vit = (float(share) for share in re.findall(r"(\d+\.\d) %", reported)[:2])
    verdict = ": right" if vit >= cnn else ". Measured:"
    assert f"{vit:.1f} % of its probability changes class{verdict}" in text(app)
    app.slider(key="on_picture.shift_px").set_value(4).run()
    assert "Shift of 4 px" in text(app), "another shift does not hide what was guessed"


def test_a_head_s_other_weights_wait_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(PICTURE, on_picture__view="kernels", on_picture__second="5", **TWO)
    header, _ = message(app, "on_picture.head_maps")
    assert count_by_row(header) == [2, 1] and "Highest of" not in text(app)
    app = open_app(PICTURE, on_picture__view="kernels", on_picture__second="5", on_picture__stays="3", **TWO)
    header, _ = message(app, "on_picture.head_maps")
    assert count_by_row(header) == [2, 2]
    (mean,) = re.findall(r"mean: (\d+) %", text(app))
    assert f"the heads keep {mean} % of their weights" in text(app)


@pytest.mark.parametrize(("share", "right"), [(0.0, "0"), (0.26, "1"), (0.5, "2"), (0.8, "3"), (1.0, "3")])
def test_a_share_lies_in_one_quarter(share: float, right: str) -> None:
    assert [guess for guess in kernels.SHARES if "correct" in kernels.judge_prediction(share, guess)] == [
        right
    ]


def test_what_a_place_of_the_stem_reads_is_guessed_first(open_app: OpenApp) -> None:
    app = open_app(HYBRIDS, **HYBRID)
    assert "Outlined: one position" in text(app) and message(app, "hybrids.pipeline")[0]["strides"] == []
    app.main.button_group(key="hybrids.reads.row").set_value("9").run()
    assert "correct: 9 × 9 px." in text(app) and "of this hybrid sees 9 × 9 px" in text(app)
    assert message(app, "hybrids.pipeline")[0]["strides"] == [1, 2, 2]
    assert "Your prediction: 4 × 4 px. Computed: 9 × 9 px" in text(
        open_app(HYBRIDS, hybrids__reads="4", **HYBRID)
    )


def test_the_one_token_s_weight_is_guessed_first(open_app: OpenApp) -> None:
    app = open_app(HYBRIDS, hybrids__view="flat", **HYBRID)
    assert "changes no logit" not in text(app)
    app.main.button_group(key="hybrids.weight.row").set_value("1").run()
    assert "right. It is 1 in every layer." in text(app) and "changes no logit" in text(app)


def ask_number() -> None:
    """The script of a page that asks for a number before its answer."""
    from pages.controls import query_params
    from pages.questions.prediction_gate import Prediction
    from vitviz.lessons.question_kinds import Drag

    kind = Drag(0, 1000, 1, "heads", tolerance=0)
    with query_params.sync_address():
        Prediction("page.guess", "", "How many?", kind, lambda guess: f"You said {guess:g}.").is_answered()


def test_a_typed_number_is_predicted_and_stands_in_the_link() -> None:
    app = AppTest.from_function(ask_number, default_timeout=300).run()
    app.number_input(key="page.guess.row").set_value(12)
    app.button(key="page.guess.predict").click().run()
    assert not app.exception and "You said 12." in text(app) and query_value(app, "page.guess") == "12"
    linked = AppTest.from_function(ask_number, default_timeout=300)
    linked.query_params["page.guess"] = "1001"
    assert "You said" not in text(linked.run()), "no possible answer"
    linked.button(key="page.guess.skip").click().run()
    assert not linked.number_input and "You said" not in text(linked)


def test_the_highest_value_is_right_and_equals_are_level() -> None:
    asked = ask_highest("page.guess", "", "Which?", {"a": 0.5, "b": 0.7, "c": 0.69}, "{:.1f}".format)
    assert asked.judge(1.0).endswith("b, 0.7: right.") and asked.judge(2.0).endswith("c, 0.7: right.")
    assert asked.judge(0.0) == "Your prediction: a, 0.5. Measured: b, 0.7." and list(asked.right()) == [1, 2]


def test_options_not_shown_to_be_lower_are_right() -> None:
    values = {"a": 0.5, "b": 0.7, "c": 0.6}
    asked = ask_highest("page.guess", "", "Which?", values, "{:.1f}".format, leaders=("b", "c"))
    assert list(asked.right()) == [1, 2] and asked.judge(0.0) == "Your prediction: a, 0.5. Measured: b, 0.7."
    assert asked.judge(2.0).endswith(
        "c, 0.6. Measured: b, 0.7. No difference between the two is shown: right."
    )


def racers(app: AppTest, key: str) -> list[str]:
    """Whose curves and dots a race shows."""
    return [*read_race(*message(app, key))[0]]


def dots(app: AppTest, key: str) -> list[int]:
    """How many seeds a race shows of each model."""
    lines, points = read_race(*message(app, key))
    return [len(points[title]["x"]) if title in points else 0 for title in lines]


def test_a_hyperparameter_s_values_wait_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(STUDIES, **DIGITS, studies__study="hyperparameter", experiments__knob="optimizer")
    assert "points fewer than" not in text(app)
    row = app.main.button_group(key="experiments.knob_guess.row")
    named = [option.replace("\\", "") for option in row.options]
    assert named == ["AdamW", "Adam (L2)", "SGD", "Muon", "No difference shown", "Skip"]
    row.set_value("2").run()
    assert not app.exception and query_value(app, "experiments.knob_guess") == "2"
    answered = app.main.button_group(key="experiments.knob_guess.answer")
    assert answered.disabled and answered.value == "2"
    assert [option.replace("\\", "") for option in answered.options] == named, "the options stay"
    assert len(racers(app, "studies.hyperparameter.race")) == 4
    assert "Your prediction: SGD" in text(app) and "between SGD and AdamW" in text(app)
    app.main.selectbox(key="experiments.knob").set_value("depth").run()
    assert not any(dots(app, "studies.hyperparameter.race")), "another knob is another question"
    app.main.button_group(key="experiments.knob_guess.row").set_value("shown").run()
    assert not [row for row in app.main.get("button_group") if "knob_guess" in str(row.key)], (
        "a skipped one goes"
    )


def test_a_slip_s_cost_waits_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(STUDIES, **DIGITS, studies__study="bug", experiments__slip="reshape")
    assert dots(app, "studies.bug.race") == [10, 0]
    app.main.button_group(key="experiments.slip_guess.row").set_value("2").run()
    assert dots(app, "studies.bug.race") == [10, 10]
    assert re.search(r"Your prediction: raises it.*(no difference shown|lowers it)", text(app)), text(app)
    app.main.button_group(key="experiments.slip_set").set_value("shapes").run()
    assert dots(app, "studies.bug.race") == [10, 0], "another dataset is another question"


def test_the_norms_of_the_deep_models_wait_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(STUDIES, **DIGITS, studies__study="residuals")
    assert not any(f" in '{title}'" in text(app) for title in VARIANTS.values())
    app.main.button_group(key="experiments.gradient_guess.row").set_value("3").run()
    assert [*points(app)] == [*VARIANTS.values()] and "geometric mean over seeds" in text(app)


def test_what_each_norm_mixes_waits_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(STUDIES, **DIGITS, studies__study="norms")
    assert charts(app) and "under BatchNorm (" not in text(app)
    app.main.button_group(key="experiments.norm_guess.row").set_value("group").run()
    assert re.search("GroupNorm.*wrong.*BatchNorm", text(app)) and "under BatchNorm (" in text(app)


def test_what_positions_are_worth_waits_for_a_guess(open_app: OpenApp, no_shipped_checkpoints: Path) -> None:
    file = Path(__file__).parents[2] / "checkpoints" / "positions_race.json"
    (no_shipped_checkpoints / file.name).write_bytes(file.read_bytes())
    app = open_app(STUDIES, **DIGITS, studies__study="positions", positions__dataset="mnist")
    assert "best encoding (" not in text(app)
    app.main.button_group(key="experiments.positions_guess.row").set_value("25").run()
    race = json.loads(file.read_text())["races"]["mnist"]["runs"]
    reached = {run["positions"]: run["measured"]["accuracy"] for run in race}
    assert f"wrong. Measured: {100 * reached['none']:.1f} % without positions" in text(app)


def test_the_vits_of_the_cited_table_wait_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(DATA, **{"data.view": "papers"})
    assert {*points(app).values()} == {1} and "0.5 points above" not in text(app)
    app.main.button_group(key="data.papers_guess.row").set_value("ImageNet-21k").run()
    assert not app.exception and query_value(app, "data.papers_guess") == "ImageNet-21k"
    assert "JFT-300M" in text(app)
    assert max(points(app).values()) == 3 and "0.5 points above" in text(app)
