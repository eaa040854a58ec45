"""Questions to a class: asked, answered once and anonymously, shown, measured."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from pages.classroom import class_question
from pages.questions import question_form
from pages.stores import classes as stored
from pages.stores import lessons, registry
from tests.messages import message
from tests.pages.classroom.helpers import LAB, code_of, learns, place, press, there, words
from tests.pages.conftest import OpenApp, opened_again, query_value
from vitviz.classes import question_store
from vitviz.classes.class_question import ClassQuestion, HistogramBar
from vitviz.lessons.lesson import Link, Question
from vitviz.lessons.measures import MEASURES
from vitviz.lessons.question_kinds import AnswerKind, Drag, Point
from vitviz.lessons.typed_tables import build_dataclass
from vitviz.text import FOREIGN

FIFTEEN = lessons.list_shipped(registry.BY_SLUG)["fifteen"]
WHERE = next(i for i, stop in enumerate(FIFTEEN.stops, 1) if stop.title == "What does [CLS] attend to?")
BRANCH = next(i for i, stop in enumerate(FIFTEEN.stops, 1) if stop.title == "Inside one block")


def at_stop(teacher: AppTest, number: int) -> AppTest:
    """Return the teacher's app at a stop of the first lesson, with an available model."""
    stop = FIFTEEN.stops[number - 1]
    teacher.switch_page(registry.BY_SLUG[stop.link.slug].path)
    query: dict[str, Any] = {**stop.link.values, "model": "preset:vit_digits", "step": "0"}
    query |= {"lesson": "fifteen", "stop": str(number)}
    return opened_again(teacher, teacher.session_state["_visit"], **query)


def notice(app: AppTest) -> str:
    """Return the notice for screen readers."""
    return "".join(each.proto.body for each in app.get("html") if 'class="class-new' in each.proto.body)


def test_a_class_answers_and_sees_what_is_measured(teacher: AppTest, open_app: OpenApp) -> None:
    first, second = learns(open_app, teacher), learns(open_app, teacher)
    teacher = press(at_stop(teacher, BRANCH), "Ask the class")
    for app, reported in (
        (teacher, "Question sent"),
        (first, "New question"),
        (second, "New question"),
    ):
        assert reported in notice(app if app is teacher else there(app.run()))
    number = question_store.load_question(stored.get_classes(), code_of(teacher)).number  # type: ignore[union-attr]
    for app, option in ((first, "0"), (second, "1")):
        assert "Ask the class" not in {button.label for button in app.button}
        app.button_group(key=f"class.guess.{number}").set_value(option).run()
        assert "Your answer" in words(press(app, "Submit answer")) and not notice(app)
    assert "2 answers, hidden" in words(teacher.run())
    assert question_store.load_question(stored.get_classes(), code_of(teacher)).tally == {}  # type: ignore[union-attr]
    press(teacher, "Show answers")
    assert "2 answers so far." in words(first.run()) and "hidden" not in words(first)
    press(teacher, "Measure and show")
    for app in (teacher, first.run()):
        assert not app.exception and "Measured:" in words(app) and "1 of 2 predicted it." in words(app)
    press(teacher, "End question")
    assert "Measured:" not in words(first.run())


def test_a_class_is_not_asked_about_a_whole_image_which_it_would_answer_on_a_crop(teacher: AppTest) -> None:
    teacher.switch_page("pages/lenses/attention/page.py")
    query = {"model": "preset:vit_shapes", "image": "sample:cat", "whole": "1"}
    teacher = press(opened_again(teacher, teacher.session_state["_visit"], **query), "Ask the class")
    assert any("turn off 'Whole image' first" in toast.value for toast in teacher.toast)
    assert question_store.load_question(stored.get_classes(), code_of(teacher)) is None


def test_the_panel_follows_the_page_while_a_learner_is_asked(teacher: AppTest, open_app: OpenApp) -> None:
    """The order of Tab and of a phone's screen: question, class, page, lesson."""

    def find(app: AppTest, *starts: str) -> list[int]:
        texts = [part.value.replace(FOREIGN, "") for part in app.main.markdown]
        return [next(i for i, text in enumerate(texts) if text.startswith(start)) for start in starts]

    learner = learns(open_app, teacher)
    teacher = press(at_stop(teacher, BRANCH), "Ask the class")
    places = find(
        there(learner.run()), ":material/quiz:", ":material/co_present:", ":gray[", "**Inside one block**"
    )
    assert places == sorted(places)
    press(press(teacher, "Show answers"), "Measure and show")
    stop, question = find(learner.run(), "**Inside one block**", ":gray[")
    assert stop < question


def test_a_click_that_is_counted_twice_keeps_its_answer(
    teacher: AppTest, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = class_question._submit_answer
    monkeypatch.setattr(class_question, "_submit_answer", lambda *args: (submit(*args), submit(*args)))
    learner = learns(open_app, teacher)
    press(at_stop(teacher, BRANCH), "Ask the class")
    number = question_store.load_question(stored.get_classes(), code_of(teacher)).number  # type: ignore[union-attr]
    there(learner.run()).button_group(key=f"class.guess.{number}").set_value("0").run()
    assert "Your answer" in words(press(learner, "Submit answer"))


def ask_drag_or_point(teacher: AppTest, kind: AnswerKind) -> int:
    """Ask the class a question of its own link, and return the question's number."""
    question = ClassQuestion(
        prompt="How much?",
        kind=kind,
        measure=MEASURES["variance_held"](5),
        about="",
        model="preset:vit_digits",
        step=0,
        image="digits:0",
        crop=0.5,
        proof=Link("filters"),
    )
    return question_store.ask_question(stored.get_classes(), code_of(teacher), question)


class Cuts:
    """Interrupts a session's run at one of its messages; Streamlit then runs the script again with the same click."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.sent = 0, 0  # messages until the cut, 0 for none; messages of the run
        self._clicked: RerunData | None = None
        request, enqueue = LocalScriptRunner.request_rerun, ScriptRunContext.enqueue

        def remember(runner: LocalScriptRunner, data: RerunData) -> bool:
            self._clicked = data
            return request(runner, data)

        def cut(context: ScriptRunContext, message: ForwardMsg) -> None:
            self.sent, self.left = self.sent + 1, self.left - 1
            if self.left == 0:
                raise RerunException(self._clicked or RerunData())
            enqueue(context, message)

        monkeypatch.setattr(LocalScriptRunner, "request_rerun", remember)
        monkeypatch.setattr(ScriptRunContext, "enqueue", cut)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "moved", "answer"), [(Point((8, 8)), 19, 19.0), (Drag(0.0, 1.0, 0.01, "%"), 40.0, 0.4)]
)
def test_a_counted_answer_is_never_reported_as_lost(
    teacher: AppTest,
    open_app: OpenApp,
    monkeypatch: pytest.MonkeyPatch,
    kind: AnswerKind,
    moved: float,
    answer: float,
) -> None:
    """A run that is interrupted at any of its messages calls the click's callback again."""
    learner, cuts = learns(open_app, teacher), Cuts(monkeypatch)
    first, last = 1, 1
    while first <= last:
        number = ask_drag_or_point(teacher, kind)
        cuts.left = 0
        there(learner.run())
        learner.session_state[f"class.guess.{number}.said"] = moved
        learner.run()
        cuts.sent, cuts.left = 0, first
        press(learner, "Submit answer")
        last, first = max(last, cuts.sent - first), first + 1
        state = question_store.load_question(stored.get_classes(), code_of(teacher))
        assert state is not None and state.answers == 1 and place(learner).answers[number] == answer
        assert not learner.exception and not learner.toast, f"cut at message {first - 1} of {last}"
    assert last > 5


def test_where_it_looks_is_pointed_at(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    teacher = press(at_stop(teacher, WHERE), "Ask the class")
    there(learner.run())
    now = question_store.load_question(stored.get_classes(), code_of(teacher))
    assert now is not None
    header, arrays = message(learner, f"class.guess.{now.number}")
    assert header["takes"] and header["grid"] == [8, 8] and arrays["counts"].size == 0 and "photo" in arrays
    learner.session_state[f"class.guess.{now.number}.said"] = 19
    press(learner.run(), "Submit answer")
    press(teacher, "Measure and show")
    header, arrays = message(learner.run(), f"class.points.{now.number}")
    assert arrays["counts"].tolist() == [int(cell == 19) for cell in range(64)]
    assert header["own"] == 19 and 0 <= header["measured"] < 64 and not header["takes"]


def test_where_a_slider_stands_at_first_is_nobodys_answer(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    number = ask_drag_or_point(teacher, Drag(0.0, 1.0, 0.01, "%"))
    there(learner.run())
    button = next(each for each in learner.button if each.label == "Submit answer")
    assert button.disabled and "Drag the slider to your answer." in words(learner)
    press(learner.slider(key=f"class.guess.{number}").set_value(40.0).run(), "Submit answer")
    question_store.reveal_answers(stored.get_classes(), code_of(teacher), number)
    assert question_store.load_question(stored.get_classes(), code_of(teacher)).tally == {0.4: 1}  # type: ignore[union-attr]
    place(learner).answers[number] = ""  # given in an earlier session, as after a reload
    assert not learner.run().exception and "class-bars" in " ".join(
        str(each.proto) for each in learner.get("html")
    )


def fill_own(app: AppTest, name: str, **values: Any) -> AppTest:
    """Fill the form of the teacher's own question and ask it."""
    app.selectbox(key="class.own.measure").set_value(name).run()
    app.text_input(key="class.own.prompt").set_value("Which one?")
    fields = {node.key: node for node in (*app.text_input, *app.text_area, *app.number_input)}
    for field, value in values.items():
        fields[f"class.own.{name}.{field}"].set_value(value)
    return press(app, "Ask this question")


def test_a_teacher_asks_questions_of_ones_own(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    teacher = at_stop(teacher, BRANCH)
    for name, values, answer, reported in (
        ("choice", {"options": "a cat\na dog", "right": 2}, "1", "a dog"),
        ("number", {"value": 12.0, "unit": "heads"}, 12, "12 heads"),
        ("order", {"items": "one\ntwo"}, ["one", "two"], "one → two"),
        ("text", {"explanation": "No sum."}, "a\\*map", "No sum."),
        ("place", {"row": 2, "col": 3}, 10, "row 2, column 3"),
        ("place", {"patch": 11, "row": 0, "col": 0}, 10, "row 2, column 3"),
    ):
        fill_own(teacher, name, **values)
        state = question_store.load_question(stored.get_classes(), code_of(teacher))
        assert state is not None and state.question.prompt == "Which one?"
        key = f"class.guess.{state.number}"
        there(learner.run())
        if name == "place":
            learner.session_state[f"{key}.said"] = answer
        else:
            nodes = [
                *learner.get("button_group"),
                *learner.number_input,
                *learner.multiselect,
                *learner.text_input,
            ]
            next(node for node in nodes if node.key == key).set_value(answer)
        press(learner.run(), "Submit answer")
        press(teacher.run(), "Show the correct answer")
        assert reported in words(learner.run()) and not learner.exception and not teacher.exception
        if name == "text":
            assert "No text is shown yet." in words(learner) and "- a" not in words(learner)
            teacher.checkbox(key=f"class.text.{state.number}.{answer}").check().run()
            assert "- a*map" in words(learner.run())
        elif name != "place":
            assert "1 of 1" in words(learner)


def test_a_question_that_misses_something_is_not_asked(teacher: AppTest) -> None:
    teacher = fill_own(at_stop(teacher, BRANCH), "choice", options="only one")
    assert question_store.load_question(stored.get_classes(), code_of(teacher)) is None
    assert "different options" in teacher.toast[0].value


def test_every_measure_is_in_the_editor_with_a_valid_example() -> None:
    assert {*question_form.LABELS} == {"", *MEASURES}
    for name, measure in MEASURES.items():
        given = {field.name: question_form.get_example(name, field) for field in fields(measure)}
        assert build_dataclass(measure, given, name)


def test_a_proof_stays_with_the_kind_of_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Question("How many?", MEASURES["patch_count"](32, 4), (("patches.patch_px", "4"),))
    for name, proof in (("patch_count", asked.proof), ("text", ())):
        examples = {field.name: question_form.get_example(name, field) for field in fields(MEASURES[name])}
        entries = {f"form.{name}.{parameter}": value for parameter, value in examples.items()}
        state = {"form.measure": name, "form.prompt": "Which?", **entries}
        monkeypatch.setattr(question_form.st, "session_state", state)
        edited = question_form.read_form("form", asked)
        assert edited is not None and edited.proof == proof


def test_a_proof_that_is_the_pages_default_stays_hidden(teacher: AppTest, open_app: OpenApp) -> None:
    """A learner's page without a value, or with the proof's, keeps the value of when the class was asked."""
    learner = learns(open_app, teacher)
    stop = next(
        i for i, stop in enumerate(FIFTEEN.stops, 1) if stop.title == "What if the patches are shuffled?"
    )
    press(at_stop(teacher, stop), "Ask the class")
    teacher.switch_page(registry.BY_SLUG["attention"].path).run()  # the shared view has no value of it
    place(there(learner.run())).follows = False
    for value in ("", "100"):
        learner.switch_page(registry.BY_SLUG["patches"].path)
        learner.session_state["_kept"].pop("patches.shuffled", None)
        query = {"patches.view": "puzzle", "model": "preset:vit_digits", "image": "digits:3"}
        query |= {"patches.shuffled": value} if value else {}
        for key, text in query.items():
            learner.query_params[key] = text
        learner.run()
        assert not learner.exception and query_value(learner, "patches.shuffled") == "0", value


def test_who_reloads_answers_no_second_time(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    teacher = press(at_stop(teacher, BRANCH), "Ask the class")
    number = question_store.load_question(stored.get_classes(), code_of(teacher)).number  # type: ignore[union-attr]
    there(learner.run()).button_group(key=f"class.guess.{number}").set_value("1").run()
    press(learner, "Submit answer")
    place(learner).answers.clear()  # a session that knows nothing of it
    learner.run()
    assert "Submit answer" not in {button.label for button in learner.button}
    token = learner.session_state["_visit"].token
    assert not question_store.submit_answer(stored.get_classes(), code_of(teacher), number, token, 0)
    assert question_store.load_question(stored.get_classes(), code_of(teacher)).answers == 1  # type: ignore[union-attr]


def test_an_image_that_the_class_does_not_see_is_not_asked_about(
    teacher: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_question, "is_private", lambda value: True)
    teacher = at_stop(teacher, BRANCH)
    button = next(button for button in teacher.button if button.label == "Ask the class")
    assert button.disabled and "share your image" in button.help


def test_what_a_page_alone_computes_is_not_asked_of_the_class(teacher: AppTest, open_app: OpenApp) -> None:
    teacher.switch_page(registry.BY_SLUG["layers"].path)
    app = opened_again(teacher, teacher.session_state["_visit"], model="preset:vit_digits", step="0")
    assert app.main.button_group(key="layers.colours_guess.row")
    for page in (app, open_app(LAB)):  # the lab's user is in no class
        assert not [button for button in page.button if button.label == "Ask the class"]


def test_words_of_others_stay_text_in_the_histogram() -> None:
    html = class_question._format_histogram(
        [HistogramBar("<img src=x onerror=alert(1)>", 2, measured=True), HistogramBar("b", 0, own=True)],
        2,
        "measured",
    )
    assert (
        "<img" not in html and "&lt;img src=x onerror=alert(1)&gt; (measured)" in html and "b (yours)" in html
    )
    assert "width: 100.0%" in html and "width: 0.0%" in html
