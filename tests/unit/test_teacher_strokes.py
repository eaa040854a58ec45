"""A teacher's strokes: bounded, near the image, gone after ten seconds, and of one class alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from vitviz.classes import teacher_strokes
from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import NAME, ClassError

LINE = [[0.1, 0.2], [0.30001, 1]]


@pytest.fixture
def classes(tmp_path: Path) -> ClassStore:
    return ClassStore(tmp_path / NAME)


def test_points_are_pairs_of_numbers_near_the_image() -> None:
    assert teacher_strokes.parse_points(LINE) == ((0.1, 0.2), (0.3, 1.0))
    assert teacher_strokes.parse_points([[-1, 2]]) == ((-1.0, 2.0),)


@pytest.mark.parametrize(
    "hostile",
    [
        *(
            None,
            5,
            "x",
            {},
            [],
            [[]],
            [[1]],
            [[1, 1, 1]],
            [1, 2],
            [["0.1", 0.2]],
            [[True, 0.2]],
            [[None, 0.2]],
        ),
        *(
            [[float("nan"), 0.2]],
            [[float("inf"), 0.2]],
            [[2.01, 0]],
            [[0, -1.01]],
            [[10**400, 0]],
            [[[0], 0]],
        ),
        [[0.5, 0.5]] * (teacher_strokes.MAX_POINTS + 1),
    ],
)
def test_what_is_no_stroke_is_refused(hostile: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        teacher_strokes.parse_points(hostile)


def test_a_stroke_is_shown_to_its_class_for_ten_seconds(
    classes: ClassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, other = classes.open("teacher"), classes.open("another")
    assert teacher_strokes.load_strokes(classes, code) == []
    time_s = [1000.0]
    monkeypatch.setattr(time, "time", lambda: time_s[0])
    teacher_strokes.add_stroke(classes, code, "attention", teacher_strokes.parse_points(LINE))
    time_s[0] += 4
    assert teacher_strokes.load_strokes(classes, code) == [
        teacher_strokes.Stroke("attention", 6.0, ((0.1, 0.2), (0.3, 1.0)))
    ]
    assert teacher_strokes.load_strokes(classes, other) == []
    time_s[0] += 6
    assert teacher_strokes.load_strokes(classes, code) == []
    time_s[0] -= 100  # the clock was set back: no stroke of the future is shown
    assert teacher_strokes.load_strokes(classes, code) == []
    teacher_strokes.add_stroke(classes, code, "attention", ((0.0, 0.0),))
    assert classes.database.fetch("SELECT count(*) FROM stroke") == [(1,)]


def test_strokes_are_bounded_and_go_with_their_class(classes: ClassStore) -> None:
    code = classes.open("teacher")
    for number in range(teacher_strokes.MAX_STROKES + 5):
        teacher_strokes.add_stroke(classes, code, "start", ((number / 100, 0.0),))
    points = [stroke.points[0][0] for stroke in teacher_strokes.load_strokes(classes, code)]
    assert points == [number / 100 for number in range(5, teacher_strokes.MAX_STROKES + 5)]
    classes.close(code, "teacher")
    assert classes.database.fetch("SELECT count(*) FROM stroke") == [(0,)]
    with pytest.raises(ClassError, match="closed"):
        teacher_strokes.add_stroke(classes, code, "start", ((0.0, 0.0),))
