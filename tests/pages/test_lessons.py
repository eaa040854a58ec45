"""Lessons on the pages: the panel, the link, and every stop of every shipped lesson done as it asks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.controls import session_keys
from pages.frame import glossary_terms, page
from pages.lessons.stop_finding import describe_answer
from pages.selection.subject import load_subject
from pages.stores import catalogue, lessons, registry, shared_cache
from tests.files import png
from tests.messages import message
from tests.pages.conftest import ROOT, Files, OpenApp, made, query_value
from tests.rows import rows
from vitviz.lessons.lesson import PLACEHOLDER, Lesson, Stop
from vitviz.lessons.lesson_file import read_lesson, write_lesson
from vitviz.lessons.task_checks import (
    ControlSet,
    FactReached,
    ImageChosen,
    ModelChosen,
    PageOpen,
    PredictionMade,
    RunProgress,
    StepInRange,
    TokenPinned,
)
from vitviz.lessons.weight_measures import ExplainedVariance
from vitviz.probe.capture import capture
from vitviz.probe.explanation_maps import predict_ablated
from vitviz.text import plain

SHIPPED = lessons.list_shipped(registry.BY_SLUG)
STOPS = [(name, number) for name, found in SHIPPED.items() for number in range(1, len(found.stops) + 1)]
FIRST = "fifteen"
VALUES = {
    "home.part": "block.2",
    "on_picture.guess": "shown",
    "data.guess": "shown",
}  # of controls without a number


@pytest.fixture(autouse=True)
def no_shipped_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use the shipped checkpoints, which lessons need."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("VITVIZ_LESSONS", raising=False)
    return ROOT / "checkpoints"


def lesson_query(app: AppTest) -> dict[str, str]:
    return {key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()}


def texts(app: AppTest) -> str:
    return "\n".join(node.value for node in [*app.markdown, *app.caption])


def in_sight(app: AppTest) -> str:
    """Return the page's text and the selected options of its lists."""
    return texts(app) + "\n".join(
        node.options[node.index] for node in app.selectbox if node.index is not None
    )


def done(app: AppTest) -> bool:
    return "**This shows:**" in texts(app)


def opened(open_app: OpenApp, name: str, number: int) -> tuple[AppTest, Stop]:
    """Return the app at a stop's full link, and the stop."""
    stop = SHIPPED[name].stops[number - 1]
    link = {**stop.link.values, "lesson": name, "stop": str(number)}
    return open_app(registry.BY_SLUG[stop.link.slug].path, **link), stop


def satisfy(app: AppTest, stop: Stop, own_run: str = "") -> AppTest:
    """Complete a stop's task, as far as its check can see."""
    check = stop.check
    if isinstance(check, PredictionMade):
        return guess(app, stop)
    changes: dict[str, str] = {}
    if isinstance(check, TokenPinned):
        rows = check.grid or 8
        place = (
            "0.930,0.930" if check.row is None else f"{(check.col - 0.5) / rows},{(check.row - 0.5) / rows}"
        )
        changes["pin"] = check.prefix or place
    elif isinstance(check, StepInRange):
        changes["step"] = str(check.at_most if check.at_least is None else check.at_least)
    elif isinstance(check, ImageChosen):
        changes["image"] = check.key or "digits:7"
    elif isinstance(check, ModelChosen):
        changes["model"] = check.key or "checkpoint:digits_swin"
    elif isinstance(check, ControlSet):
        changes[check.key] = (
            check.value
            or VALUES.get(check.key)
            or next(f"{v:g}" for v in (check.at_least, check.at_most, 2) if v is not None)
        )
    elif isinstance(check, FactReached):
        leave_out(app, check)
    elif isinstance(check, RunProgress):
        changes["live_lab.run"] = own_run  # it is done
    else:
        assert isinstance(check, PageOpen)
        app.switch_page(registry.BY_SLUG[check.slug].path)
    for key, value in changes.items():
        app.query_params[key] = value
    return app.run()


def leave_out(app: AppTest, check: FactReached) -> None:
    """Ablate as many patches or heads as the stop's task requires."""
    count, key = int(check.at_least), "attention.ablate"
    patches = list(range(count)) if check.what == "patches_left_out" else []
    heads = [[0, head] for head in range(count)] if check.what == "heads_left_out" else []
    assert patches or heads, f"expected a known fact, received {check.what}"
    mark = message(app, key)[0]["mark"]
    app.session_state[key] = {"ablation": {"patches": patches, "heads": heads, "mark": mark}}


def guess(app: AppTest, stop: Stop) -> AppTest:
    """Answer the panel's question with the first option, the start of the scale, a number, or a patch."""
    nodes = [*app.get("button_group"), *app.slider, *app.number_input]
    fields = [node for node in nodes if str(node.key).startswith("lesson.") and node.key.endswith(".guess")]
    if not fields:
        app.session_state[f"lesson.{lesson_query(app)['lesson']}.{lesson_query(app)['stop']}.guess.said"] = 19
        app.run()
    elif fields[0].type == "button_group":
        fields[0].set_value("0").run()
    else:
        fields[0].set_value(fields[0].min).run()
    measure = next(button for button in app.button if str(button.key).endswith(".measure"))
    assert not measure.disabled
    return measure.click().run()


@pytest.mark.parametrize(
    ("name", "number"),
    rows(STOPS, lambda stop: stop[0] == FIRST),
    ids=[f"{name}-{number}" for name, number in STOPS],
)
def test_every_stop_shows_what_it_says_and_can_be_done(
    open_app: OpenApp, own_run: str, name: str, number: int
) -> None:
    app, stop = opened(open_app, name, number)
    assert not app.exception and not app.error
    assert {key: lesson_query(app).get(key) for key in stop.link.values} == dict(stop.link.values)
    assert (lesson_query(app)["lesson"], lesson_query(app)["stop"]) == (name, str(number))
    assert not done(app), "the task is done at the start"
    options = [node for node in app.get("button_group") if str(node.key).startswith("lesson.")]
    before = in_sight(app)
    app = satisfy(app, stop, own_run)
    assert not app.exception, [error.message for error in app.exception]
    assert done(app)
    if stop.question is not None and isinstance(stop.check, PredictionMade):
        assert {key: lesson_query(app).get(key) for key, _ in stop.question.proof} == dict(
            stop.question.proof
        )
        measured = [metric.value for metric in app.metric if metric.label == "Measured"]
        if options:
            answered = next(row for row in app.get("button_group") if str(row.key).endswith(".answer"))
            icons = [option.content_icon for option in answered.proto.options]
            right = icons.count(":material/check:")  # 'No difference shown' and what leads may both be right
            assert answered.disabled and answered.value == "0" and 1 <= right < len(icons)
            assert icons[0] in (":material/check:", ":material/close:") and not measured
        else:
            assert measured[0] not in before, "the page shows the answer in advance"


def test_the_lecture_goes_through_the_pages_in_their_order() -> None:
    """And through every page of a model, of training and beyond; the studies stand where they belong."""
    order = [entry.slug for entry in registry.PAGES if entry.group not in ("Class", "Start")]
    visited = list(dict.fromkeys(stop.link.slug for stop in SHIPPED["lecture"].stops))
    assert visited[0] == SHIPPED["lecture"].stops[-1].link.slug == "home"  # it ends where it began
    assert "studies" in visited and len(visited) >= len(order) - 1
    lenses = [slug for slug in visited[1:] if slug != "studies"]
    assert lenses == [slug for slug in order if slug in lenses]


def test_a_slider_is_no_guess_until_it_is_moved(open_app: OpenApp) -> None:
    number = next(
        number
        for number, stop in enumerate(SHIPPED[FIRST].stops, 1)
        if stop.question is not None and isinstance(stop.question.measure, ExplainedVariance)
    )
    app, _ = opened(open_app, FIRST, number)
    assert next(button for button in app.button if str(button.key).endswith(".measure")).disabled
    slider = next(node for node in app.slider if str(node.key).startswith("lesson."))
    app = slider.set_value(20.0).run()
    app = next(button for button in app.button if str(button.key).endswith(".measure")).click().run()
    assert next(metric.value for metric in app.metric if metric.label == "Your prediction").startswith("20.0")
    app = next(button for button in app.button if str(button.key).endswith(".again")).click().run()
    assert next(button for button in app.button if str(button.key).endswith(".measure")).disabled


def test_the_step_and_the_image_that_a_stop_asks_for_stand_in_its_panel(open_app: OpenApp) -> None:
    """On a phone and while presenting there is no sidebar to reach for."""
    stops = SHIPPED[FIRST].stops
    number = next(i for i, stop in enumerate(stops, 1) if isinstance(stop.check, StepInRange))
    app, _ = opened(open_app, FIRST, number)
    assert not done(app) and lesson_query(app)["step"] != "0"
    app.session_state["lesson.step"] = {"step": 17}  # no step of this model
    app.run()
    assert not done(app) and lesson_query(app)["step"] == stops[number - 1].link.values["step"]
    app.session_state["lesson.step"] = {"step": 0}
    app.run()
    assert done(app) and lesson_query(app)["step"] == "0"
    number = next(i for i, stop in enumerate(stops, 1) if isinstance(stop.check, ImageChosen))
    app, _ = opened(open_app, FIRST, number)
    assert not app.main.file_uploader, "the page itself is the pad on which the stop's digit is drawn"
    app, stop = opened(open_app, "lecture", len(SHIPPED["lecture"].stops))
    name, _, index = stop.link.values["image"].partition(":")
    app.button(key="lesson.picture").click().run()
    assert done(app) and lesson_query(app)["image"] == f"{name}:{int(index) + 1}"


def test_a_stop_that_asks_for_another_image_takes_ones_own(open_app: OpenApp) -> None:
    app, _ = opened(open_app, "lecture", len(SHIPPED["lecture"].stops))
    uploader = next(one for one in app.main.file_uploader if one.label == "Your image")
    app = uploader.upload("mine.png", b"no picture", "image/png").run()
    assert not done(app) and any("image" in one.value for one in app.warning)
    uploader = next(one for one in app.main.file_uploader if one.label == "Your image")
    app = uploader.upload("mine.png", png(), "image/png").run()
    assert done(app) and lesson_query(app)["image"].startswith("upload:")


def test_the_first_lessons_digit_hangs_on_few_patches() -> None:
    """[CLS] attends to a few patches, masking the four that stop 10 names takes the 8, and the drawn 8 is an 8."""
    by_name = {stop.title: stop for stop in SHIPPED[FIRST].stops}
    masked = by_name["Does the prediction depend on what [CLS] attends to?"]
    (choice,) = [one for one in catalogue.list_checkpoints() if one.key == masked.link.values["model"]]
    model = shared_cache.load_model(choice)

    def load(stop: Stop) -> np.ndarray:
        return shared_cache.prepare_image(stop.link.values["image"], choice.preparation, (0.5, 0.5)).input

    attention = capture(model.model, load(masked)[None]).attention()[-1, 0].mean(0)
    assert attention[0, 1:].max() > 0.2
    assert masked.task == "Mask the patches of column 3, rows 3 to 6."
    patches = [8 * (row - 1) + 2 for row in (3, 4, 5, 6)]
    before, after = (
        predict_ablated(model, load(masked), (), hidden, blanked=False) for hidden in ((), patches)
    )
    assert before.argmax() == 8 and after[8] < 0.1
    drawn = predict_ablated(model, load(by_name["Your own digit"]), (), (), blanked=False)
    assert drawn.argmax() == 8 and drawn[8] > 0.7


CLAIMS = (  # the lesson, the stop, what its sentence claims of the number before training, the number and the words
    (FIRST, 3, lambda before, now, words: abs(float(before)) < 0.1 < float(now)),
    (FIRST, 5, lambda before, now, words: now == "it changes"),
    (FIRST, 10, lambda before, now, words: "becomes more probable" in words),
    ("lecture", 6, lambda before, now, words: 2 * float(before[:-2]) < float(now[:-2])),
    ("positions", 1, lambda before, now, words: now == "it stays the same"),
    ("positions", 2, lambda before, now, words: now == "it changes"),
    ("positions", 7, lambda before, now, words: abs(float(before)) < 0.1 < float(now)),
    ("explanation", 2, lambda before, now, words: "in head 1" in words),
    ("explanation", 5, lambda before, now, words: before != now),
    ("explanation", 6, lambda before, now, words: "becomes more probable" not in words),
    ("explanation", 7, lambda before, now, words: "becomes more probable" not in words),
)


@pytest.mark.parametrize(("name", "number", "holds"), CLAIMS)
def test_what_a_stop_shows_is_true_of_its_numbers(
    name: str, number: int, holds: Callable[[str, str, str], bool]
) -> None:
    stop = SHIPPED[name].stops[number - 1]
    measure, link = stop.shown_measure, stop.link.values
    assert measure is not None
    choice = next(choice for choice in catalogue.list_checkpoints() if choice.key == link["model"])
    answers = [
        describe_answer(measure, load_subject(choice, step, link["image"], (0.5, 0.5)))
        for step in (0, choice.last_step)
    ]
    assert holds(answers[0][0], *answers[1])


def test_every_stop_shows_a_measured_number() -> None:
    for name, lesson in SHIPPED.items():
        for number, stop in enumerate(lesson.stops, 1):
            assert PLACEHOLDER.search(stop.shows), f"{name}, stop {number}"


@pytest.mark.parametrize(("name", "number"), [(FIRST, 8), ("lecture", 1)])  # two pages, two models
def test_a_bare_link_opens_the_stop(open_app: OpenApp, name: str, number: int) -> None:
    app = open_app(lesson=name, stop=str(number))
    stop = SHIPPED[name].stops[number - 1]
    assert app.session_state[session_keys.PAGE] == stop.link.slug
    assert {key: lesson_query(app)[key] for key in stop.link.values} == dict(stop.link.values)


def test_a_reload_shows_what_was_shown_and_keeps_the_stop(open_app: OpenApp) -> None:
    app = open_app(registry.BY_SLUG["block"].path, model="checkpoint:digits_vit", lesson=FIRST, stop="8")
    assert app.title[0].value == registry.BY_SLUG["block"].title
    assert lesson_query(app)["stop"] == "8"
    assert any("Back to this stop" in node.proto.label for node in app.main.get("page_link"))


@pytest.mark.parametrize(("number", "stop"), [("0", "1"), ("99", "11"), ("x", "1"), ("-3", "1"), ("٣", "1")])
def test_a_stop_that_there_is_not_is_the_nearest(open_app: OpenApp, number: str, stop: str) -> None:
    assert lesson_query(open_app(lesson=FIRST, stop=number))["stop"] == stop


@pytest.mark.parametrize("name", ["nonsense", "../fifteen", "class.x", "mine", "x" * 200, "a b"])
def test_a_missing_lesson_is_reported_until_the_notice_is_dismissed(open_app: OpenApp, name: str) -> None:
    app = open_app(lesson=name, stop="1")
    assert [warning.value.replace("\\", "") for warning in app.warning] == [
        "The lesson of this link is unavailable on this server."
    ]
    assert "lesson" not in lesson_query(app)
    assert len(app.run().warning) == 1
    assert not app.button(key="_lesson_gone.dismiss").click().run().warning


def test_without_a_lesson_there_is_no_panel(open_app: OpenApp) -> None:
    app = open_app()
    assert not any(str(button.key).startswith("lesson.") for button in app.button)
    assert not {"lesson", "stop"} & lesson_query(app).keys()


def test_leaving_takes_the_lesson_out_of_the_link_and_keeps_what_was_done(open_app: OpenApp) -> None:
    app, stop = opened(open_app, FIRST, 1)
    satisfy(app, stop)
    app.button(key="lesson.leave").click().run()
    assert not {"lesson", "stop"} & lesson_query(app).keys()
    app.query_params["lesson"] = FIRST
    app.run()
    assert lesson_query(app)["stop"] == "1" and done(app)


def test_leaving_brings_back_the_selection_that_the_lesson_replaced(open_app: OpenApp) -> None:
    app = open_app(model="checkpoint:digits_vit", image="digits:8", pin="0.062,0.938")
    before = {key: query_value(app, key) for key in ("model", "step", "image", "pin")}
    app.query_params["lesson"], app.query_params["stop"] = FIRST, "1"
    app.query_params["model"], app.query_params["image"] = "checkpoint:digits_vit", "digits:3"
    app.run()
    assert lesson_query(app)["lesson"] == FIRST and query_value(app, "image") == "digits:3"
    app.button(key="lesson.leave").click().run()
    assert {key: query_value(app, key) for key in before} == before


def test_a_stop_s_words_come_before_its_page_runs(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may take seconds, and the panel narrows it: what comes late moves all of it."""
    order = []

    def spied(module: ModuleType, name: str) -> None:
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args: (order.append(name), real(*args))[1])

    spied(glossary_terms, "link_terms_verbatim")
    spied(page, "header")
    opened(open_app, FIRST, 2)
    assert order == ["link_terms_verbatim", "header"]


def test_a_guess_can_be_taken_back(open_app: OpenApp) -> None:
    app, stop = opened(open_app, FIRST, 2)
    guess(app, stop)
    next(button for button in app.button if str(button.key).endswith(".again")).click().run()
    assert any(str(button.key).endswith(".measure") for button in app.button)
    assert not app.metric and not any(str(row.key).endswith(".answer") for row in app.get("button_group"))


def test_the_last_stop_leads_on(open_app: OpenApp) -> None:
    def ways(app: AppTest) -> list[str]:
        return [node.proto.label for node in app.main.get("page_link")]

    app, stop = opened(open_app, FIRST, len(SHIPPED[FIRST].stops))
    assert "Other lessons and my answers" not in ways(app)
    assert "Other lessons and my answers" in ways(satisfy(app, stop))


def test_what_was_answered_is_taken_away_and_nothing_else(open_app: OpenApp, files: Files) -> None:
    app, stop = opened(open_app, FIRST, 2)
    guess(app, stop)
    app.switch_page(registry.BY_SLUG["lessons"].path).run()
    head, *rows = csv.reader(io.StringIO(made(files["My answers (CSV)"]).decode()))
    assert head == ["lesson or page", "stop", "question", "prediction", "measured", "subject"]
    assert stop.question is not None and len(rows) == 1
    title = SHIPPED[FIRST].title
    assert rows[0][:5] == [title, "2", stop.question.prompt, "0 patches", "256 patches"]


def test_what_a_page_asked_itself_is_taken_away_too(open_app: OpenApp, files: Files) -> None:
    """In a drawer, and above an image; a guess that is taken back is no answer."""
    app = open_app("pages/lenses/patches/page.py", model="preset:vit_digits", image="digits:0")
    app.session_state["patches.drawer.asks"] = True
    app.run()
    app.main.number_input(key="patches.asks.0.guess").set_value(4).run()
    next(node for node in app.button if str(node.key).endswith("asks.0.measure")).click().run()
    app.switch_page(registry.BY_SLUG["studies"].path)
    app.query_params["studies.study"] = "data_size"
    app.query_params["data.dataset"] = "digits"
    app.query_params["data.guess"] = "vit"
    app.run()
    app.switch_page(registry.BY_SLUG["lessons"].path).run()
    _, *rows = csv.reader(io.StringIO(made(files["My answers (CSV)"]).decode()))
    assert [row[:2] for row in rows] == [
        [registry.BY_SLUG[slug].title, ""] for slug in ("patches", "studies")
    ]
    assert rows[1][2].endswith("?") and rows[1][3] == "ViT"
    assert "ViT" in rows[1][4] and any(character.isdigit() for character in rows[1][4])


def test_a_lesson_of_the_operators_folder_is_opened_by_its_link(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        (lessons.SHIPPED / "fifteen.toml").read_text("utf-8").replace("A ViT in fifteen minutes", "*Week* 1")
    )
    (tmp_path / "week1.toml").write_text(text, "utf-8")
    (tmp_path / "broken.toml").write_text("title = 3", "utf-8")
    monkeypatch.setenv("VITVIZ_LESSONS", str(tmp_path))
    app = open_app(lesson="class.week1", stop="1")
    assert "\\*Week\\* 1" in texts(app)
    found = lessons.list_class_lessons(registry.BY_SLUG)
    assert isinstance(found["class.week1"], Lesson)
    assert found["class.broken"] == "the lesson, title: expected str, received int"


def mine(open_app: OpenApp) -> AppTest:
    """Return the page of lessons after a page was added to the user's own lesson."""
    app = open_app(registry.BY_SLUG["attention"].path, model="checkpoint:digits_vit", pin="cls")
    app.button(key="my_lesson.add").click().run()
    return app.switch_page(registry.BY_SLUG["lessons"].path).run()


def test_the_page_lists_what_is_shipped_and_opens_a_file(open_app: OpenApp) -> None:
    app = open_app(registry.BY_SLUG["lessons"].path)
    assert all(f"**{plain(found.title)}**" in texts(app) for found in SHIPPED.values())
    text = (
        (lessons.SHIPPED / "fifteen.toml").read_bytes().replace(b"A ViT in fifteen minutes", b"![x](y) <b>")
    )
    app.file_uploader[0].upload("a.toml", text, "application/toml").run()
    assert "**\\!\\[x\\]\\(y\\) \\<b\\>**" in texts(app)
    app.file_uploader[0].upload("b.toml", b"title = 3", "application/toml").run()
    assert "The lesson, title: expected str, received int" in app.warning[0].value.replace("\\", "")


def test_a_page_that_was_added_is_worded_and_kept(open_app: OpenApp) -> None:
    app = mine(open_app)
    assert not app.exception
    next(node for node in app.text_input if str(node.key).endswith(".1.title")).set_value("Where it *looks*")
    next(button for button in app.button if button.label == "Save stop").click().run()
    assert not app.exception and not app.warning
    (board,) = (
        node.proto.bytes for node in app.get("bidi_component") if node.proto.id.endswith("lessons.board")
    )
    assert b"Where it *looks*" in board
    links = [node.proto.query_string for node in app.main.get("page_link") if node.proto.label == "Open stop"]
    assert len(links) == 1 and "lesson=mine" in links[0] and "pin=cls" in links[0]


def test_what_is_no_stop_is_refused_and_the_old_one_stays(open_app: OpenApp) -> None:
    app = mine(open_app)
    next(node for node in app.text_input if str(node.key).endswith(".1.task")).set_value(" ")
    next(button for button in app.button if button.label == "Save stop").click().run()
    assert app.warning[0].value.replace("\\", "") == "Not saved: task is empty."


def test_the_last_stop_that_is_removed_ends_the_lesson(open_app: OpenApp) -> None:
    app = mine(open_app)
    next(button for button in app.button if button.label == "Remove stop").click().run()
    assert not app.exception
    assert "Your lesson is empty" in texts(app)


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("patch_count", {"image_px": 32, "patch_px": 4}, {"image_px": 32, "patch_px": 4}),
        ("choice", {"options": "a\nb\nc", "right": 3}, {"options": ("a", "b", "c"), "right": 3}),
        ("number", {"value": 2.5, "digits": 1, "tolerance": 0.5}, {"value": 2.5, "tolerance": 0.5}),
    ],
)
def test_a_question_of_every_kind_is_edited_and_written_to_the_file(
    open_app: OpenApp, name: str, fields: dict[str, object], expected: dict[str, object]
) -> None:
    app = mine(open_app)
    next(node for node in app.selectbox if str(node.key).endswith(".question.measure")).set_value(name).run()
    nodes = {str(node.key).rpartition("question.")[2]: node for node in (*app.text_input, *app.text_area)}
    nodes |= {str(node.key).rpartition("question.")[2]: node for node in app.number_input}
    nodes["prompt"].set_value("Which one?")
    for field, value in fields.items():
        nodes[f"{name}.{field}"].set_value(value)
    next(button for button in app.button if button.label == "Save stop").click().run()
    assert not app.exception and not app.warning
    lesson = lessons.get_shelf(app.session_state["_visit"]).own[lessons.MINE]
    question = lesson.stops[0].question
    assert question is not None and question.prompt == "Which one?"
    assert {key: getattr(question.measure, key) for key in expected} == expected
    assert read_lesson(write_lesson(lesson).encode(), registry.BY_SLUG) == lesson
