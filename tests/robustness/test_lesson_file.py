"""Lesson files that a stranger wrote: their shape is bounded before tomllib reads them."""

from __future__ import annotations

import pytest

from pages.stores.registry import BY_SLUG
from vitviz.lessons.lesson_file import MAX_DEPTH, MAX_DOTS, MAX_LINE_LENGTH, read_lesson
from vitviz.lessons.typed_tables import LessonError

GOOD = r'''title = "a.b.c.d.e.f.g.h.i.j [[[[[[[[[[[[[[[[[["  # a.b.c.d.e.f.g.h.i.j.k
about = "x.x.x.x.x.x.x.x.x.x.x\" ["
[[stop]]
title = "a"
link = "home"
words = """one ... two \""" three ... [four]"""""
task = 'a'
check = { name = "control", key = "a.b", at_least = 0.5 }
'''


def refusal(text: str) -> str:
    with pytest.raises(LessonError) as caught:
        read_lesson(text.encode(), BY_SLUG)
    return str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_texts_and_comments_may_hold_dots_and_brackets(end: str) -> None:
    lesson = read_lesson(GOOD.replace("\n", end).encode(), BY_SLUG)
    assert lesson.stops[0].words == 'one ... two """ three ... [four]""'
    assert lesson.about.endswith('x" [')


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_line_ends_where_one_of_toml_does(separator: str) -> None:
    line = f'"{separator}' * MAX_LINE_LENGTH
    assert "line 1: expected at most 1600 characters" in refusal(line)
    assert "line 2: expected less nesting" in refusal(
        f'"{separator}" = 1\n"{separator}"{".a" * (MAX_DOTS + 1)} = 1'
    )


@pytest.mark.parametrize(
    "text",
    [
        '"=".' + "a." * MAX_DOTS + "a = 1",
        "a = { " + "a." * MAX_DOTS + "a.a = 1 }",
        "[" + "a." * MAX_DOTS + "a.a]",
        "a = " + "[\n" * (MAX_DEPTH + 1),
        'a = ["]", ' + "[\n'#', \"]]\"," * (MAX_DEPTH + 1),
    ],
)
def test_keys_and_brackets_are_bounded_over_the_whole_file(text: str) -> None:
    assert "expected less nesting" in refusal(text)


@pytest.mark.parametrize("number", ["9" * 400, "0x" + "f" * 1500, "-" + "9" * 400])
def test_a_number_that_no_float_holds_is_refused(number: str) -> None:
    assert "a larger one" in refusal(GOOD.replace("0.5", number))
