"""All studies: the gallery, the question before the answer, the drawers, and the addresses of earlier versions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import catalogue, moved_views, registry
from pages.studies.gallery import GROUPS, load_card
from pages.studies.renderer import build, build_columns
from pages.studies.study import StudyControl, list_studies
from tests.messages import message, place_arrays
from tests.pages.conftest import OpenApp
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.experiments.result_file import RESULTS
from vitviz.plots.chart import Chart
from vitviz.plots.hidden_curves import conceal, find_range, is_horizontal, shrink
from vitviz.plots.study_charts import RaceChart, draw_rows
from vitviz.text import split_sentence

PAGE = "pages/studies/page.py"
STUDIES = list_studies()


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped checkpoints, which some studies read."""
    monkeypatch.setattr(catalogue, "CHECKPOINTS", RESULTS.parent)


def open_study(open_app: OpenApp, name: str, **query: str) -> AppTest:
    app = open_app(PAGE, **{"studies.study": name, **query})
    assert not app.exception
    return app


def test_the_gallery_has_a_card_for_each_study(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert not app.exception
    links = {link.proto.label for link in app.main.get("page_link")}
    space = "\N{NO-BREAK SPACE}"
    assert {f"{study.question} :gray[{study.minutes}{space}min]" for study in STUDIES.values()} <= links


@pytest.mark.parametrize("name", list(STUDIES))
def test_a_study_opens_and_a_skipped_prediction_shows_its_caption(open_app: OpenApp, name: str) -> None:
    study = STUDIES[name]
    assert len(study.question.split()) <= 12
    app = open_study(open_app, name)
    rows = [group for group in app.main.get("button_group") if str(group.key).endswith(".row")]
    concealed = " ".join(caption.value for caption in app.main.caption)
    if not rows:
        return
    rows[0].set_value("shown").run()
    assert not app.exception
    assert "Predict, or skip" in concealed
    assert "Predict, or skip" not in " ".join(caption.value for caption in app.main.caption)


def test_the_page_s_link_in_the_menu_leads_back_to_the_gallery(open_app: OpenApp) -> None:
    app = open_study(open_app, "norms")
    app.query_params.clear()  # as a click in the menu
    assert not app.run().exception and app.main.title[0].value == "Studies"
    assert "studies.study" not in app.query_params


@pytest.mark.parametrize("name", list(STUDIES))
def test_an_example_builds_in_both_themes_without_a_page(name: str, shipped: None) -> None:
    study = STUDIES[name]
    if study.hook("sketch"):  # needs a session's model and image
        return
    for mode in ("light", "dark"):
        built = build(study, study.choose(draw=False), mode)  # type: ignore[arg-type]
        assert built.caption and built.numbers is not None
        assert len({len(column) for column in build_columns(built.numbers, built.view).values()}) == 1


@pytest.mark.parametrize(
    ("slug", "view", "study"),
    [(slug, view, study) for slug, views in moved_views.STUDIES.items() for view, study in views.items()],
)
def test_every_old_address_opens_its_study(slug: str, view: str, study: str) -> None:
    query = {"model": "checkpoint:digits_vit", f"{slug}.view": view, f"{slug}.dataset": "digits"}
    target, translated = moved_views.translate(slug, query)
    assert target == "studies" and study in STUDIES
    assert translated == {
        "studies.study": study,
        "model": "checkpoint:digits_vit",
        f"{slug}.dataset": "digits",
    }


def test_moved_pages_open_their_first_view_and_others_stay() -> None:
    assert moved_views.translate("data", {}) == ("studies", {"studies.study": "data_size"})
    assert moved_views.translate("data", {"data.view": "nonsense"})[1]["studies.study"] == "data_size"
    assert moved_views.translate("hybrids", {"hybrids.view": "stem"}) == ("hybrids", {"hybrids.view": "stem"})
    assert moved_views.translate("attention", {}) == ("attention", {})
    assert not set(moved_views.MOVED_PAGES) & set(registry.BY_SLUG)


def test_the_code_that_a_study_shows_is_found_by_its_name() -> None:
    for name, study in STUDIES.items():
        assert len(study.load_code()) == len(study.code) and all(map(callable, study.load_code())), name


def test_concealed_curves_are_one_band_from_the_lowest_to_the_highest() -> None:
    figure = Chart("light")
    figure.add("scatter", name="a", x=[1, 2, 4], y=[10.0, 20.0, 40.0], mode="lines")
    figure.add("scatter", name="b", x=[2, 3], y=[50.0, None], mode="lines+markers")
    figure.layout(xaxis={"title": {"text": "images"}})
    concealed = conceal(figure)
    drawn = {"data": concealed.traces, "layout": concealed.parts}
    legend = [trace for trace in drawn["data"] if trace.get("name")]
    assert [(trace["name"], trace["x"], trace["y"]) for trace in legend] == [
        ("a", [None], [None]),
        ("b", [None], [None]),
        ("range of all values", [1, 2, 4], [10, 50, 40]),
    ]
    low, high = drawn["data"][-2:]
    assert (low["x"], low["y"]) == ([1, 2, 4], [10, 20, 40]) and high["y"] == [10, 50, 40]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "images"
    assert "50" not in json.dumps(legend[:2])


def test_a_concealed_chart_tells_no_control_s_mean() -> None:
    rows = {"twin": {ALL: {0: 0.5, 1: 0.75}}, "student": {ALL: {0: 0.25, 1: 1.0}}}
    numbers = Numbers(dict(zip(rows, rows, strict=True)), rows, dict.fromkeys(rows, ()), images=9)
    figure = draw_rows(numbers, {"marked": "twin", "is_base": True}, "light")
    assert [62.5, 62.5] in [
        trace["x"] for trace in figure.traces if trace.get("line", {}).get("dash") == "dot"
    ]
    concealed = conceal(figure)
    (dots,) = concealed.traces
    twin, student = ([x for x, y in zip(dots["x"], dots["y"], strict=True) if y == row] for row in (0, 1))
    assert twin == student and "shapes" not in concealed.parts


def test_every_concealed_row_shows_the_values_of_all_rows() -> None:
    figure = Chart("light")
    figure.add("scatter", name="a", x=[90.0, 91.0], y=[0, 0.2], mode="markers", orientation="h")
    figure.add("scatter", name="b", x=[95.0], y=[1], mode="markers", orientation="h")
    dots = conceal(figure).traces[-1]
    assert (dots["x"], dots["y"]) == ([90, 91, 95, 90, 91, 95], [0, 0, 0, 1, 1, 1])


def test_the_range_covers_the_positions_that_all_curves_share() -> None:
    short = {"type": "scatter", "x": [2, 4], "y": [5.0, 7.0]}
    positions, low, high = find_range([{"type": "scatter", "x": [1, 3, 8], "y": [0.0, 2.0, 9.0]}, short])
    assert (positions, low.tolist(), high.tolist()) == ([2, 3, 4], [1, 2, 3.4], [5, 6, 7])


def test_bars_are_concealed_over_the_whole_range() -> None:
    names, low, high = find_range([{"type": "bar", "x": ["a", "b"], "y": [1.0, 3.0]}])
    assert (names, low.tolist(), high.tolist()) == (["a", "b"], [1, 1], [3, 3])


@pytest.mark.parametrize("name", list(STUDIES))
def test_a_card_shows_one_range_until_its_question_is_answered(name: str, shipped: None) -> None:
    study = STUDIES[name]
    load_card.clear()  # other tests' pages may lack the checkpoints
    hidden, shown = (load_card(name, is_open, study) for is_open in (True, False))
    assert hidden is not None and shown is not None
    if study.hook("sketch"):  # what it draws is no result
        assert hidden.traces
        return
    drawn = [trace for trace in hidden.traces if trace["x"] != [None]]
    assert all(trace["hoverinfo"] == "skip" for trace in hidden.traces)
    assert len(drawn) == (
        1 if is_horizontal(shown.traces) else 2
    )  # the values of all rows, or the range's ends
    assert "?" in [note["text"] for note in hidden.parts["annotations"]]
    assert sum(trace.get("hoverinfo") != "skip" for trace in shown.traces) >= 2


@pytest.mark.parametrize(("dataset", "count"), [("cifar10", 1), ("digits", 0)])
def test_the_card_marks_the_prediction_of_its_own_settings(
    open_app: OpenApp, dataset: str, count: int
) -> None:
    app = open_study(open_app, "data_size", **{"data.dataset": dataset})
    app.main.button_group(key="data.guess.row").set_value("vit").run()
    app.query_params.clear()
    app.run()
    assert [title.value for title in app.main.subheader] == [title for title, _ in GROUPS.values()]
    marks = [note.value for note in app.main.markdown if "Your prediction" in note.value]
    assert len(marks) == count and all(
        mark.startswith(":material/help: Your prediction: ViT, ") for mark in marks
    )


def test_a_guess_on_a_card_is_judged_there_and_its_study_opens_with_it(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.main.button_group(key="studies.card.data_size").set_value("vit").run()
    assert not app.exception and app.main.title[0].value == "Studies"
    (mark,) = [note.value for note in app.main.markdown if "Your prediction" in note.value]
    assert mark.startswith(":material/help: Your prediction: ViT, ")
    (link,) = [
        link.proto
        for link in app.main.get("page_link")
        if "studies.study=data_size" in link.proto.query_string
    ]
    assert "data.guess=vit" in link.query_string and "data.dataset=cifar10" in link.query_string


@pytest.mark.parametrize(
    ("name", "key", "guess"),
    [("norms", "experiments.norm_guess", "layer"), ("one_token", "hybrids.weight", "1")],
)
def test_a_sketched_card_asks_nothing_and_shows_the_answer_of_its_study(
    open_app: OpenApp, name: str, key: str, guess: str
) -> None:
    app = open_study(open_app, name)
    app.main.button_group(key=f"{key}.row").set_value(guess).run()
    app.query_params.clear()
    app.run()
    assert not app.exception and f"studies.card.{name}" not in {
        group.key for group in app.main.get("button_group")
    }
    assert len([note for note in app.main.markdown if "Your prediction" in note.value]) == 1
    (link,) = [
        link.proto for link in app.main.get("page_link") if f"studies.study={name}" in link.proto.query_string
    ]
    assert f"{key}={guess}" in link.query_string


@pytest.mark.parametrize("name", ["hyperparameter", "robustness"])
def test_a_guess_on_a_card_answers_its_study_alone(open_app: OpenApp, name: str) -> None:
    """Two hyperparameters' studies have one key; robustness asks a question of its own module."""
    app = open_app(PAGE)
    options = app.main.button_group(key=f"studies.card.{name}")
    options.set_value(options.options[0]).run()
    assert len([note for note in app.main.markdown if "Your prediction" in note.value]) == 1


def test_the_highest_of_tied_models_is_not_right_and_the_card_says_why(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.main.button_group(key="studies.card.faces").set_value("cnn").run()
    (mark,) = [note.value for note in app.main.markdown if "Your prediction" in note.value]
    assert mark.startswith(":material/close: Your prediction: CNN, ")
    assert mark.endswith("the highest mean, but no difference between the models is shown.")


def test_an_open_card_names_as_many_series_as_fit_and_none_at_a_line() -> None:
    figure = Chart("light")
    for place in range(6):
        figure.add("scatter", name=f"a long name {place}", x=[1, 10], y=[0.0, place], mode="lines+markers")
    hidden, shown = (shrink(figure, "Sizes", is_open) for is_open in (True, False))
    legend = [trace["name"] for trace in hidden.traces if trace.get("showlegend", True)]
    assert legend == ["a long name 0", "a long name 1", "a long name 2", "and 3 more"]
    assert hidden.parts["showlegend"] and not any("text" in trace["mode"] for trace in hidden.traces)
    assert not shown.parts["showlegend"] and {trace["mode"] for trace in shown.traces} == {
        "lines+markers+text"
    }


def test_an_open_card_of_many_rows_names_as_many_as_fit() -> None:
    figure = Chart("light")
    rows = [f"row {place}" for place in range(15)]
    figure.add("scatter", x=[0.0] * 15, y=[*range(15)], mode="markers", orientation="h")
    figure.layout(yaxis={"tickvals": [*range(15)], "ticktext": rows})
    names = shrink(figure, "Tables", True).parts["yaxis"]["ticktext"]
    assert [name for name in names if name] == rows[::2] and len(names) == 15


def test_no_legend_of_a_concealed_chart_acts() -> None:
    figure = Chart("light")
    figure.add("scatter", name="a", x=[0, 1], y=[0.0, 1.0], mode="lines")
    assert conceal(figure).parts["legend"]["itemclick"] is False


def test_a_concealed_race_sends_no_seed_and_no_curve(open_app: OpenApp) -> None:
    name = next(name for name, study in STUDIES.items() if _is_race(study))
    header, arrays = message(open_study(open_app, name), "race")
    (concealed,) = place_arrays(header["charts"], arrays)
    *lines, low, high = concealed["data"]
    assert lines and all(line["x"] == line["y"] == [None] for line in lines)
    assert all(np.array(low["y"]) <= np.array(high["y"])) and np.isfinite(low["y"]).all()


def _is_race(study: Any) -> bool:
    if study.name == "positions" or study.hook("sketch") or study.name == "hybrid_training":
        return False
    image = build(study, study.choose(draw=False)).figure
    return isinstance(image, RaceChart) and not image.known


def test_a_choice_takes_its_first_option_if_the_default_is_not_offered() -> None:
    first = StudyControl("page.a", "A", [1, 2], "a", default=3)
    last = StudyControl("page.b", "B", {1: [1, 10], 2: [5]}, "b", by="a", default={1: 10})
    study = replace(STUDIES["bug"], choices=(first, last))
    assert study.choose(draw=False) == {"a": 1, "b": 10}
    assert last.find_default({"a": 2}) == 5 and last.list_options({"a": 1}) == {1: "1", 10: "10"}


def test_a_text_is_split_after_its_first_sentence() -> None:
    assert split_sentence("It gains 1.5 points. 16 against 4: more. And so on.") == (
        "It gains 1.5 points.",
        "16 against 4: more. And so on.",
    )
    assert split_sentence("One sentence, e.g. this.") == ("One sentence, e.g. this.", "")


def test_the_recipes_of_the_lectures_are_one_click_from_their_live_training(open_app: OpenApp) -> None:
    app = open_study(open_app, "lecture_results", **{"studies.lecture_guess": "shown"})
    linked = " ".join(link.proto.query_string for link in app.main.get("page_link"))
    assert "live_lab.train=one" in linked and "live_lab.recipe=recipe_a" in linked
