"""Check that views distinguish several lines by dashes, not only by colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = [*ROOT.joinpath("pages").rglob("*.js"), *ROOT.joinpath("vitviz/browser").rglob("*.js")]


def calls(source: str, function: str) -> Iterator[int]:
    """How many values each call of a function is given."""
    for found in re.finditer(rf"(?<![\w.]){function}\(", source):
        depth, values = 1, 1
        for sign in source[found.end() :]:
            depth += (sign in "([{") - (sign in ")]}")
            if not depth:
                break
            values += sign == "," and depth == 1
        yield values


def lines(source: str) -> list[int]:
    """Of the lines of the kit's that a module draws, how many values each is given."""
    flat = re.sub(r",\s*\)", ")", source)
    if re.search(r"from '[./]*kit/plot.js'|from '[./]*vitviz/browser/kit/plot.js'", source):
        return [
            *calls(
                flat.replace("this.plot.line(", "plot_line(").replace("plot.line(", "plot_line("), "plot_line"
            )
        ]
    if not re.search(
        r"import \{[^}]*\bstroke\b[^}]*\} from '([./]*vitviz/browser/kit/axes.js|./axes.js|./kit/axes.js)'",
        source,
    ):
        return []
    return [*calls(flat, "stroke")]


def test_one_of_several_lines_says_which() -> None:
    found = {path.name: lines(path.read_text("utf-8")) for path in MODULES}
    assert not [name for name, values in found.items() if any(count != 3 for count in values)]


def test_lines_are_found() -> None:
    drawing = {path.name for path in MODULES if lines(path.read_text("utf-8"))}
    assert {"curves_draw.js", "sweep_view.js", "plot.js", "mistakes.js"} <= drawing
    brought = "import { dot, stroke } from '../../../vitviz/browser/kit/axes.js';\n"
    reported = f"{brought}stroke(ctx, f(a, [b, c]));\nstroke(ctx,\n d,\n i,\n);"
    assert lines(reported) == [2, 3]
    plotted = (
        "import { Plot } from '../../vitviz/browser/kit/plot.js';\nthis.plot.line(points, i, { color });"
    )
    assert lines(plotted) == [3]
