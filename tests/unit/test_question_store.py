"""A class's question: one answer each, counted, and by whom nowhere; histograms and summaries by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vitviz.classes import question_store
from vitviz.classes.class_question import (
    ClassQuestion,
    HistogramBar,
    build_histogram,
    describe_answers,
    parse_measured_answer,
    parse_question,
    serialize_measured_answer,
)
from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import NAME, ClassError
from vitviz.classes.question_store import WrittenAnswer
from vitviz.csv_table import csv_text
from vitviz.lessons.lesson import Link
from vitviz.lessons.measures import MEASURES
from vitviz.lessons.question_kinds import (
    CORRECT_ANSWER,
    Answer,
    AnswerKind,
    Arrange,
    Choose,
    Drag,
    MeasuredAnswer,
    Point,
    Write,
)

CHOOSE = Choose(("cat", "dog", "<b>ship</b>"))
SHARE = Drag(0.0, 1.0, 0.01, "%")
CELLS = Point((2, 3))
COUNT = Drag(0, 1_000_000, 1, "patches", tolerance=0)
ORDER = Arrange(("a", "b", "c"))


def make_question(kind: AnswerKind = CHOOSE) -> ClassQuestion:
    measure = MEASURES["looks_at"](layer=2, row=1, col=3)
    proof = Link("attention", (("attention.layer", "2"),))
    return ClassQuestion(
        "What is it?", kind, measure, "A model, step 3", "checkpoint:digits_vit", 3, "digits:7", 0.25, proof
    )


@pytest.fixture
def classes(tmp_path: Path) -> ClassStore:
    return ClassStore(tmp_path / NAME)


@pytest.fixture
def code(classes: ClassStore) -> str:
    return classes.open("teacher")


@pytest.mark.parametrize("kind", [CHOOSE, SHARE, CELLS, COUNT, ORDER, Write()])
def test_a_question_goes_through_the_file_and_back(kind: AnswerKind) -> None:
    assert parse_question(str(make_question(kind))) == make_question(kind)


def test_what_is_no_question_is_none() -> None:
    good = json.loads(str(make_question()))
    wrong = [
        {**good, "prompt": ""},
        {**good, "prompt": "x" * 999},
        {**good, "kind": {"kind": "choose", "options": ["one"]}},
        {**good, "kind": {"kind": "drag", "low": 1, "high": 0, "step": 1, "unit": ""}},
        {**good, "kind": {"kind": "drag", "low": 0, "high": 1e999, "step": 1, "unit": ""}},
        {**good, "kind": {"kind": "point", "grid": [9999, 9999]}},
        {**good, "kind": {"kind": "other"}},
        {**good, "kind": {"kind": "arrange", "items": ["a", "a"]}},
        {**good, "measure": {"measure": "os.system"}},
        {**good, "measure": {"measure": "looks_at", "layer": "1"}},
        {**good, "step": None},
        [],
        None,
    ]
    assert [parse_question(json.dumps(values)) for values in wrong] == [None] * len(wrong)
    assert parse_question("[" * 9999) is None and parse_measured_answer("{}", SHARE) is None


def test_an_answer_is_counted_once_and_hidden_until_it_is_shown(classes: ClassStore, code: str) -> None:
    number = question_store.ask_question(classes, code, make_question())
    assert question_store.submit_answer(classes, code, number, "a", 1)
    assert not question_store.submit_answer(classes, code, number, "a", 0)
    assert question_store.submit_answer(classes, code, number, "b", 1)
    assert question_store.has_answered(classes, code, number, "a")
    assert not question_store.has_answered(classes, code, number, "c")
    state = question_store.load_question(classes, code)
    assert state is not None and (state.stage, state.answers, dict(state.tally)) == ("open", 2, {})
    question_store.reveal_answers(classes, code, number)
    assert question_store.submit_answer(classes, code, number, "c", 2)
    state = question_store.load_question(classes, code)
    assert state is not None and (state.stage, state.answers, dict(state.tally)) == (
        "shown",
        3,
        {1.0: 2, 2.0: 1},
    )
    question_store.store_measured_answer(classes, code, number, MeasuredAnswer(2, "It is a ship."))
    state = question_store.load_question(classes, code)
    assert (
        state is not None
        and state.stage == "measured"
        and state.measured == MeasuredAnswer(2.0, "It is a ship.")
    )
    with pytest.raises(ClassError, match="ended"):
        question_store.submit_answer(classes, code, number, "d", 2)
    assert question_store.load_question(classes, "K7QM4T") is None


def test_who_answered_what_stands_nowhere(classes: ClassStore, code: str) -> None:
    tokens = [f"token-of-visitor-{i}" for i in range(5)]
    number = question_store.ask_question(classes, code, make_question())
    for i, token in enumerate(tokens):
        question_store.submit_answer(classes, code, number, token, i % 3)
    with classes.database.reading() as file:
        assert file is not None
        counts = file.execute("SELECT * FROM tally ORDER BY value").fetchall()
        marks = [mark for (mark,) in file.execute("SELECT mark FROM answered")]
        columns = {row[1] for row in file.execute("PRAGMA table_info(answered)")}
    assert counts == [(code, number, 0.0, 2), (code, number, 1.0, 2), (code, number, 2.0, 1)]
    assert columns == {"code", "number", "mark"} and marks == sorted(marks)  # not in the order of the answers
    held = b"".join(each.read_bytes() for each in classes.database.path.parent.glob(f"{NAME}*"))
    assert not any(token.encode() in held for token in tokens)
    question_store.store_measured_answer(classes, code, number, MeasuredAnswer(0, "a cat"))
    with classes.database.reading() as file:
        assert file is not None
        assert file.execute("SELECT count(*) FROM answered").fetchone() == (0,)
        assert file.execute("SELECT key FROM question").fetchone() == (None,)


def test_a_mark_of_one_question_says_nothing_of_the_next(classes: ClassStore, code: str) -> None:
    marks = []
    for _ in range(2):
        question_store.submit_answer(
            classes, code, question_store.ask_question(classes, code, make_question()), "me", 0
        )
        with classes.database.reading() as file:
            assert file is not None
            marks += file.execute("SELECT mark FROM answered").fetchall()
    assert len({*marks}) == 2


def test_another_question_or_the_end_takes_the_answers_along(classes: ClassStore, code: str) -> None:
    first = question_store.ask_question(classes, code, make_question())
    question_store.submit_answer(classes, code, first, "me", 0)
    second = question_store.ask_question(classes, code, make_question(SHARE))
    assert second > first
    with pytest.raises(ClassError, match="ended"):
        question_store.submit_answer(classes, code, first, "me", 0)
    with pytest.raises(ClassError, match="expected an answer in"):
        question_store.submit_answer(classes, code, second, "me", 7)
    question_store.end_question(classes, code)
    assert question_store.load_question(classes, code) is None
    with pytest.raises(ClassError, match="ended"):
        question_store.store_measured_answer(classes, code, second, MeasuredAnswer(0.5, ""))
    with pytest.raises(ClassError, match="closed"):
        question_store.ask_question(classes, "K7QM4T", make_question())


def test_an_answer_is_one_of_those_that_can_be_given() -> None:
    assert CHOOSE.validate(2) == 2.0 and CELLS.validate(5) == 5.0
    assert SHARE.validate(0.1234) == 0.12 and Drag(-1, 1, 0.5).validate(0.8) == 1.0
    for kind, value in ((CHOOSE, 3), (CHOOSE, 0.5), (CELLS, -1), (SHARE, 1.01), (SHARE, float("nan"))):
        with pytest.raises(ValueError):
            kind.validate(value)


def test_a_histogram_of_options() -> None:
    assert build_histogram(CHOOSE, {0.0: 2, 2.0: 1}, MeasuredAnswer(2, ""), 0) == [
        HistogramBar("cat", 2, own=True),
        HistogramBar("dog", 0),
        HistogramBar("<b>ship</b>", 1, measured=True),
    ]


def test_a_histogram_along_a_scale_has_ten_bars_and_loses_nobody() -> None:
    tally = {0.0: 1, 0.09: 2, 0.1: 3, 0.55: 4, 1.0: 5}
    found = build_histogram(SHARE, tally, MeasuredAnswer(1.7, ""), 0.3)
    assert [bar.count for bar in found] == [3, 3, 0, 0, 0, 4, 0, 0, 0, 5]
    assert found[-1].measured and found[3].own and sum(bar.measured for bar in found) == 1
    assert found[1].label.replace("\N{NO-BREAK SPACE}", " ") == "10.0 % to 20.0 %"
    assert len(build_histogram(Drag(0, 3, 1), {3.0: 1}, None, None)) == 3


def test_how_the_class_did() -> None:
    assert describe_answers(CHOOSE, {}, MeasuredAnswer(1, "")) == "No answers yet."
    assert describe_answers(CHOOSE, {0.0: 2, 1.0: 3}, MeasuredAnswer(1, "")) == "3 of 5 predicted it."
    assert describe_answers(CELLS, {4.0: 1, 5.0: 3}, MeasuredAnswer(4, "")) == "1 of 4 chose this patch."
    near = describe_answers(SHARE, {0.4: 1, 0.5: 1, 0.61: 1}, MeasuredAnswer(0.5, "")).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert near == "2 of 3 were close: within 10.0 points of the measured number."
    own = MeasuredAnswer(0.5, "", label=CORRECT_ANSWER)
    assert "measured" not in describe_answers(SHARE, {0.4: 1}, own)


def test_answers_that_are_level_are_all_right_also_after_the_file() -> None:
    found = parse_measured_answer(
        serialize_measured_answer(MeasuredAnswer(0, "As many.", level=(2,))), CHOOSE
    )
    assert (
        found == MeasuredAnswer(0, "As many.", level=(2,))
        and found.format_answer(CHOOSE) == "cat and <b>ship</b>"
    )
    assert [bar.measured for bar in build_histogram(CHOOSE, {}, found, None)] == [True, False, True]
    assert describe_answers(CHOOSE, {0.0: 2, 1.0: 3, 2.0: 1}, found) == "3 of 6 predicted it."
    assert CHOOSE.describe_verdict(2, found) == "Your prediction, <b>ship</b>, is correct."
    assert CHOOSE.describe_verdict(1, found) == "Your prediction: dog. Measured: cat and <b>ship</b>."
    assert parse_measured_answer('{"value": 0, "words": "", "level": [7]}', CHOOSE) is None


def test_a_count_is_judged_and_shown_exactly() -> None:
    """10 and 20 patches shared a bar, and 16 counted like 20."""
    measured, tally = MeasuredAnswer(16, ""), {10.0: 2, 16.0: 1, 20.0: 3}
    bars = build_histogram(COUNT, tally, measured, 20.0)
    assert [(bar.label, bar.count, bar.measured, bar.own) for bar in bars] == [
        ("10 patches", 2, False, False),
        ("16 patches", 1, True, False),
        ("20 patches", 3, False, True),
    ]
    assert describe_answers(COUNT, tally, measured) == "1 of 6 were exact."
    assert COUNT.describe_verdict(20.0, measured) == "Wrong: predicted 20 patches, measured 16 patches."
    many = build_histogram(COUNT, {float(i): 1 for i in range(40)}, measured, 39.0)
    assert len(many) == 11 and sum(bar.count for bar in many) == 40 and many[-1].own
    assert [bar.label for bar in many if bar.measured] == ["16 patches"]
    kind = MEASURES["patch_count"](32, 8).get_answer_kind(None)
    assert kind.tolerance == 0 and kind.validate(20) == 20.0


def test_a_number_is_right_within_its_tolerance() -> None:
    kind = MEASURES["number"](value=2.5, tolerance=0.1, digits=1).get_answer_kind(None)
    measured = MEASURES["number"](value=2.5, tolerance=0.1, digits=1).measure_answer(None)
    assert [kind.is_right(guess, measured) for guess in (2.4, 2.5, 2.6, 2.7)] == [True, True, True, False]
    assert describe_answers(kind, {2.4: 2, 2.7: 1}, measured).startswith("2 of 3 were right: within")
    with pytest.raises(ValueError, match="digits"):
        MEASURES["number"](value=2.55, digits=1)


def test_every_kind_of_own_question_is_answered_and_judged() -> None:
    subject: Any = SimpleNamespace(layout=SimpleNamespace(grid=(4, 4)))
    cases: list[tuple[str, dict[str, Any], Answer, Answer]] = [
        ("choice", {"options": ("x", "y"), "right": 2}, 1.0, 0.0),
        ("number", {"value": 64.0}, 64.0, 63.0),
        ("place", {"row": 2, "col": 3}, 6.0, 0.0),
        ("order", {"items": ("b", "a", "c")}, ORDER.number_order(("b", "a", "c")), 0.0),
    ]
    for name, parameters, right, wrong in cases:
        measure = MEASURES[name](**parameters)
        kind, measured = measure.get_answer_kind(subject), measure.measure_answer(subject)
        assert kind.is_right(kind.validate(right), measured) and not kind.is_right(wrong, measured)
        assert kind.decode(kind.encode(right)) == right
    poll = MEASURES["choice"](options=("x", "y"))
    assert describe_answers(poll.get_answer_kind(None), {0.0: 1}, poll.measure_answer(None)) == ""
    assert poll.get_answer_kind(None).describe_verdict(1, poll.measure_answer(None)) == "Your answer: y."
    assert Write().validate(" two\n words ") == "two words" and Write().decode("x" * 81) is None


def test_texts_wait_for_the_teacher(classes: ClassStore, code: str) -> None:
    number = question_store.ask_question(classes, code, make_question(Write()))
    for token, text in (("a", "a map"), ("b", "a  map"), ("c", "42")):
        question_store.submit_answer(classes, code, number, token, text)
    question_store.show_text(classes, code, number, "a map", True)
    state = question_store.load_question(classes, code)
    assert state is not None and state.answers == 3
    assert state.written == (WrittenAnswer("42", 1, False), WrittenAnswer("a map", 2, True))


def test_results_of_all_questions_are_tabulated_without_names(classes: ClassStore, code: str) -> None:
    first = question_store.ask_question(classes, code, make_question(COUNT))
    for token, answer in (("a", 16), ("b", 20), ("c", 20)):
        question_store.submit_answer(classes, code, first, token, answer)
    question_store.store_measured_answer(classes, code, first, MeasuredAnswer(16, ""))
    second = question_store.ask_question(classes, code, make_question(Write()))
    question_store.submit_answer(classes, code, second, "token-of-ada", "=1+1")
    question_store.end_question(classes, code)
    assert question_store.load_question(classes, code) is None
    table = question_store.tabulate_results(question_store.list_results(classes, code))
    assert table["question"] == ["1", "1", "2"] and table["count"] == ["1", "2", "1"]
    assert table["answer"] == ["16 patches", "20 patches", "=1+1"]
    assert ",'=1+1," in csv_text(table)  # no formula for a spreadsheet
    assert table["right"] == ["yes", "no", ""] and table["measured"] == ["16 patches", "16 patches", ""]
    with classes.database.reading() as file:
        assert file is not None and file.execute("SELECT count(*) FROM answered").fetchone() == (0,)


def test_a_database_of_the_version_before_is_used(tmp_path: Path) -> None:
    classes = ClassStore(tmp_path / NAME)
    code = classes.open("teacher")
    with classes.database.writing() as file:
        for table in ("written", "teacher_key", "key_holder"):
            file.execute(f"DROP TABLE {table}")
        file.execute("PRAGMA user_version = 1")
    classes.database.close()
    later = ClassStore(tmp_path / NAME)
    assert later.load(code) is not None
    question_store.ask_question(later, code, make_question(Write()))
    assert question_store.submit_answer(later, code, 1, "a", "a map")
