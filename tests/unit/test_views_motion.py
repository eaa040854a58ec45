"""Check that animations and style sheets respect reduced motion."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = [file for folder in ("pages", "vitviz/browser") for file in (ROOT / folder).rglob("*.*")]
MOVES = re.compile(r"\b(?:requestAnimationFrame|setInterval)\(|\.animate\(|behavior: 'smooth'")
MAY = {
    "answer_points.js": "looks for the picture that it marks, and moves nothing",
    "motion.js": "the kit's own, which asks",
    "explorer.js": "draws once in the next frame, however often it was asked to",
    "kept_picture.js": "looks once a frame whether the next page's picture stands, and moves nothing",
    "pen.js": "draws once in the next frame, however often it was asked to",
    "map_named_records.js": "asks the server again for records that were lost, and moves nothing",
    "map_panel.js": "grows a part in its place, if motion is not reduced",
    "presentation.js": "waits for the next frame before it chooses a picture",
    "recording.js": "waits until a frame of an animation is drawn before it is recorded",
    "map.js": "draws once in the next frame, however often it was asked to",
}
ASKED = re.compile(r"@media \(prefers-reduced-motion: no-preference\) \{(?:[^{}]*\{[^{}]*\})*\s*\}")
APPEARS = re.compile(r"animation: \w+ 0s [^;]*;")  # later, and at once
STYLED = re.compile(r"\b(?:transition|animation|scroll-behavior)[\w-]*\s*:")


def test_what_moves_goes_through_the_kit() -> None:
    moving = {path.name for path in FILES if path.suffix == ".js" and MOVES.search(path.read_text("utf-8"))}
    assert moving == MAY.keys()


def test_style_sheets_move_only_for_who_wants_motion() -> None:
    files = [file for file in FILES if file.suffix in (".css", ".py", ".js")]
    found = {path.name for path in files if moves(path.read_text("utf-8"))}
    assert found == set()


def moves(style: str) -> bool:
    """Whether a style moves something without asking."""
    return STYLED.search(APPEARS.sub("", ASKED.sub("", style))) is not None


def test_a_style_that_moves_is_seen() -> None:
    moving = ".a {\n  transition: width 1s;\n}\n"
    asked = f"@media (prefers-reduced-motion: no-preference) {{\n{moving}}}\n"
    assert moves(moving) and moves(asked + moving) and not moves(asked)
