"""Keep the strokes that a teacher draws over a class's picture, for ten seconds each.

Every function that uses the database raises ClassError if it cannot be read or written.
"""

import json
import time
from dataclasses import dataclass

from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import Database, check_open

KEPT_S = 10.0
MAX_STROKES = 20  # of a class at a time
MAX_POINTS = 200  # of a stroke
_LEAST, _MOST = -1.0, 2.0  # a stroke may leave the picture by one of its sides
# Not in the schema: an older version of this app reads a file with this table, but not one of a newer version.
_TABLE = (
    "CREATE TABLE IF NOT EXISTS stroke (code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, page TEXT NOT NULL,"
    " drawn REAL NOT NULL, points TEXT NOT NULL)"
)
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Stroke:
    """A stroke over a page's picture, the seconds that it stays, and its points in sides of the picture."""

    page: str
    left_s: float
    points: Points


def parse_points(value: object) -> Points:
    """Return the points of a stroke as a browser sends them: lists of x and y; one point is a dot.

    Raises:
        ValueError: if they are not 1 to `MAX_POINTS` pairs of numbers near the picture.
    """
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_POINTS:
        raise ValueError(f"expected a stroke of 1 to {MAX_POINTS} points")
    for point in value:
        if not isinstance(point, list) or len(point) != 2 or not all(map(_is_near, point)):
            raise ValueError("expected points as pairs of numbers near the picture")
    return tuple((round(float(x), 4), round(float(y), 4)) for x, y in value)


def _is_near(number: object) -> bool:
    return type(number) in (int, float) and _LEAST <= number <= _MOST  # type: ignore[operator]


def add_stroke(classes: ClassStore, code: str, page: str, points: Points) -> None:
    """Add a stroke, and delete those whose time is over or that are too many.

    Raises:
        ClassError: if the class is closed or the database cannot be written.
    """
    time_s = time.time()
    with classes.database.writing() as file:
        check_open(file, code)
        file.execute(_TABLE)
        file.execute("DELETE FROM stroke WHERE drawn NOT BETWEEN ? AND ?", (time_s - KEPT_S, time_s))
        file.execute("INSERT INTO stroke VALUES (?, ?, ?, ?)", (code, page, time_s, json.dumps(points)))
        file.execute(
            "DELETE FROM stroke WHERE code = ? AND rowid NOT IN"
            " (SELECT rowid FROM stroke WHERE code = ? ORDER BY rowid DESC LIMIT ?)",
            (code, code, MAX_STROKES),
        )


def load_strokes(classes: ClassStore, code: str) -> list[Stroke]:
    """Return the strokes of a class that are still shown, the oldest first."""
    database, time_s = classes.database, time.time()
    rows = database.query_cached(("strokes", code), lambda: _query_strokes(database, code))
    return [
        Stroke(page, KEPT_S - (time_s - drawn_s), points)
        for page, drawn_s, points in rows
        if 0 <= time_s - drawn_s < KEPT_S
    ]


def _query_strokes(database: Database, code: str) -> list[tuple[str, float, Points]]:
    if not database.fetch("SELECT 1 FROM sqlite_master WHERE name = 'stroke'"):
        return []  # nobody has drawn
    rows = database.fetch("SELECT page, drawn, points FROM stroke WHERE code = ? ORDER BY rowid", code)
    return [(page, drawn_s, tuple(map(tuple, json.loads(points)))) for page, drawn_s, points in rows]
