"""Lessons as files: read back as written, refused where they are none, and every check by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vitviz.lessons import task_checks
from vitviz.lessons.formula_measures import MaskedPairs, PatchCount, SinusoidSimilarity
from vitviz.lessons.lesson import MAX_STOPS, MAX_WORDS, Lesson, Link, Question, Stop
from vitviz.lessons.lesson_file import MAX_LINE_LENGTH, read_lesson, write_lesson
from vitviz.lessons.measures import MEASURES
from vitviz.lessons.task_checks import (
    CHECKS,
    ControlSet,
    FactReached,
    ImageChosen,
    PageOpen,
    PageState,
    PredictionMade,
    RunProgress,
    StepInRange,
    TokenPinned,
)
from vitviz.lessons.typed_tables import LessonError
from vitviz.upload_limits import LESSON_BYTES

SLUGS = ("home", "attention", "patches")
STOP = """
[[stop]]
title = "One"
link = "attention?model=checkpoint:digits_vit&pin=0.500,0.500&attention.layer=2"
words = "Look."
task = "Click."
check = { name = "pinned" }
"""
GOOD = f'title = "A lesson"\n{STOP}'
QUESTION = (
    '[stop.question]\nprompt = "How many?"\nmeasure = "patch_count"\nwith = { image_px = 32, patch_px = 4 }\n'
)


def read(text: str) -> Lesson:
    return read_lesson(text.encode(), SLUGS)


def test_a_lesson_reads_as_it_says() -> None:
    lesson = read(GOOD + QUESTION + 'proof = "patches.patch_px=4"\n')
    (stop,) = lesson.stops
    assert (lesson.title, stop.title, stop.task) == ("A lesson", "One", "Click.")
    assert stop.link.slug == "attention" and stop.link.values["attention.layer"] == "2"
    assert stop.check == TokenPinned()
    assert stop.question == Question("How many?", PatchCount(32, 4), (("patches.patch_px", "4"),))


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "lessons").glob("*.toml")), ids=lambda p: p.stem
)
def test_a_shipped_lesson_reads_back_as_written(path: Path) -> None:
    from pages.stores.registry import BY_SLUG

    lesson = read_lesson(path.read_bytes(), BY_SLUG)
    assert read_lesson(write_lesson(lesson).encode(), BY_SLUG) == lesson


def test_odd_texts_and_every_check_and_measure_read_back_as_written() -> None:
    odd = '"quotes" \\ back, = [x] {y} # no comment, `code`, <b>ä</b> $x$'
    every = (
        PageOpen("home"),
        task_checks.ModelChosen("preset:x"),
        ImageChosen(),
        StepInRange(at_most=3),
        TokenPinned(row=2, col=3, grid=16),
        TokenPinned(prefix="cls"),
        ControlSet("attention.layer", at_least=1.5),
        ControlSet("attention.view", "depth"),
        RunProgress(0.9),
        FactReached("heads_left_out", 2),
        PredictionMade(),
    )
    assert {type(check) for check in every} == set(CHECKS.values())
    asked = (
        SinusoidSimilarity(5, 6),
        MaskedPairs(8, 4, 2),
        *(MEASURES[name]() for name in ("answer", "looks_at")),
    )
    link = Link("attention", (("image", "upload:a b&c=d"), ("attention.note", "ü?#")))
    stops = tuple(
        Stop(
            odd[:80], link, odd, odd, check, Question(odd, asked[i % len(asked)], (("patches.seed", "7 %"),))
        )
        for i, check in enumerate(every)
    )
    lesson = Lesson(odd[:80], stops, odd, 90)
    assert read_lesson(write_lesson(lesson).encode(), SLUGS) == lesson


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the lesson: 'title' is missing"),
        ("title = 3\nstop = []", "the lesson, title: expected str, received int"),
        ('title = "x"\nstop = []', "the lesson: expected 1 to"),
        ('title = "x"\nstop = [3]', "stop 1: expected a table, received int"),
        (GOOD + 'script = "x"', "stop 1: expected a key of"),
        (GOOD.replace('"Click."', '""'), "stop 1: task is empty"),
        (GOOD.replace('"Look."', '"Look\\u202e."'), "stop 1: words contains a character"),
        (
            GOOD.replace("Look.", "so " * (MAX_WORDS + 1)),
            f"stop 1: expected at most {MAX_WORDS} words, received",
        ),
        (GOOD.replace("Look.", "x" * 481), "stop 1: expected words of at most 480 characters, received 481"),
        (
            GOOD.replace("attention?", "https://example.org/?"),
            "stop 1, link: expected a link that begins",
        ),
        (GOOD.replace("attention?", "//example.org?"), "stop 1, link: expected a link that begins"),
        (GOOD.replace("attention?", "javascript:alert(1)?"), "stop 1, link: expected a link that begins"),
        (GOOD.replace("attention?", "../attention?"), "stop 1, link: expected a link that begins"),
        (
            GOOD.replace("attention?", "secrets?"),
            "stop 1, link: expected a page of this app, received 'secrets'",
        ),
        (
            GOOD.replace("?model", "?lesson=x&model"),
            "stop 1, link: expected a key like 'page.control', received 'lesson'",
        ),
        (
            GOOD.replace("?model", "?<b>=x&model"),
            "stop 1, link: expected a key like 'page.control', received '<b>'",
        ),
        (GOOD.replace("?model", "?model"[:1] + "a" * 1300), "stop 1, link: expected a link of at most"),
        (
            GOOD.replace("digits_vit", "x" * 1001),
            "stop 1, link: expected one line of at most 1000 characters",
        ),
        (GOOD.replace('"pinned"', '"eval"'), "stop 1, check: expected name to be one of"),
        (GOOD.replace('"pinned"', '"pinned", row = 1'), "stop 1, check: expected row and col"),
        (
            GOOD.replace('"pinned"', '"pinned", row = true, col = 1'),
            "stop 1, check, row: expected int, received bool",
        ),
        (GOOD.replace('"pinned"', '"pinned", pixel = 1'), "stop 1, check: expected a key of"),
        (GOOD.replace('"pinned"', '"step"'), "stop 1, check: expected at_least or at_most"),
        (
            GOOD.replace('"pinned"', '"run_past", fraction = nan'),
            "stop 1, check, fraction: expected a number",
        ),
        (GOOD.replace('"pinned"', '"fact", what = "x"'), "stop 1, check: expected a fact of"),
        (GOOD.replace('"pinned"', '"guess_made"'), "stop 1: expected a question"),
        (GOOD + QUESTION.replace("patch_count", "exec"), "stop 1, question: expected measure to be one of"),
        (GOOD + QUESTION.replace("32", "100_000_000"), "stop 1, question, with, image_px: expected a number"),
        (GOOD + QUESTION.replace("32", "1_000_000"), "stop 1, question, with: expected image_px in 4..1024"),
        (
            GOOD + QUESTION.replace("32", '"x"'),
            "stop 1, question, with, image_px: expected int, received str",
        ),
        (GOOD + QUESTION + 'answer = "256"', "stop 1, question: expected a key of"),
        (
            GOOD + QUESTION + 'proof = "a b=1"',
            "stop 1, question, proof: expected a key like 'page.control', received 'a b'",
        ),
        ("title = [[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]", "line 1: expected less nesting"),
        (".".join("a" * 40) + " = 1", "line 1: expected less nesting"),
        ("x = " + "1" * MAX_LINE_LENGTH, "line 1: expected at most"),
        ("title = [\n" + "[\n" * 5000, "line 17: expected less nesting"),
        ("when = 2000-13-45", "the file is not TOML"),
        ("title = 'x'\ntitle = 'y'", "the file is not TOML"),
        ('title = "x"\n' + STOP * (MAX_STOPS + 1), "the lesson: expected 1 to"),
        ("#" * (LESSON_BYTES + 1), "the file: expected at most 64 KB"),
    ],
)
def test_what_is_no_lesson_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(LessonError) as refused:
        read(text)
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 600


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(LessonError, match="expected UTF-8 text, byte 0 is invalid"):
        read_lesson(b"\xff\xfe", SLUGS)


def test_markup_stays_text() -> None:
    words = "<script>alert(1)</script> ![x](https://example.org/x.png) $$ :red[x]"
    lesson = read(GOOD.replace("Look.", words))
    assert lesson.stops[0].words == words


BEGAN = {"model": "checkpoint:a", "image": "digits:3", "pin": "0.500,0.500", "attention.layer": "2"}


def shown(page: str = "attention", guessed: bool = False, run: float | None = None, **link: str) -> PageState:
    returned = {**BEGAN, **{key.replace("__", "."): value for key, value in link.items()}}
    return PageState(page, returned, (8, 8), {} if run is None else {"run": run}, guessed)


@pytest.mark.parametrize(
    ("check", "no", "yes"),
    [
        (PageOpen("block"), shown(), shown(page="block")),
        (task_checks.ModelChosen(), shown(), shown(model="checkpoint:b")),
        (task_checks.ModelChosen("checkpoint:b"), shown(model="checkpoint:c"), shown(model="checkpoint:b")),
        (ImageChosen(), shown(), shown(image="digits:4")),
        (ImageChosen(), shown(image="drawing:"), shown(image="drawing:gBL")),
        (StepInRange(at_most=0), shown(step="5"), shown(step="0")),
        (StepInRange(at_least=5), shown(step="x"), shown(step="5")),
        (TokenPinned(), shown(), shown(pin="cls")),
        (TokenPinned(prefix="cls"), shown(pin="dist"), shown(pin="cls")),
        (TokenPinned(row=1, col=8), shown(pin="cls"), shown(pin="0.900,0.100")),
        (TokenPinned(row=4, col=4), shown(pin="27"), shown(pin="28")),
        (TokenPinned(row=1, col=2, grid=2), shown(pin="0.400,0.100"), shown(pin="0.600,0.400")),
        (ControlSet("attention.layer"), shown(), shown(attention__layer="3")),
        (ControlSet("attention.layer", "4"), shown(attention__layer="3"), shown(attention__layer="4")),
        (ControlSet("attention.layer", at_least=3), shown(), shown(attention__layer="3")),
        (ControlSet("swin.shift", at_most=0), shown(), shown(swin__shift="0")),
        (RunProgress(0.9), shown(run=0.89), shown(run=0.9)),
        (FactReached("run", 0.5), shown(), shown(run=0.5)),
        (PredictionMade(), shown(), shown(guessed=True)),
    ],
)
def test_a_check_sees_what_was_done_and_nothing_else(
    check: task_checks.Check, no: PageState, yes: PageState
) -> None:
    assert not check.is_done(no, BEGAN)
    assert check.is_done(yes, BEGAN)


def test_a_patch_cannot_be_pinned_where_a_model_cuts_none() -> None:
    there = shown(pin="0.900,0.100")
    assert not TokenPinned(row=1, col=8).is_done(replace(there, grid=None), BEGAN)


def test_pages_hand_over_known_facts_alone() -> None:
    with pytest.raises(ValueError, match="expected a fact of run"):
        PageState("attention", {}, facts={"anything": 1.0})
