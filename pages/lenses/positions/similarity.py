"""Two encodings side by side: every position's similarity to all others, structure and wishes measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import encoding_controls, encodings
from pages.lenses.positions.encoding_controls import Code
from pages.lenses.positions.encodings import FloatArray, Table
from pages.lenses.positions.similarity_view import similarity as mosaic_view
from pages.selection import selection
from pages.stores import cached, parameter_history
from pages.views.event_values import events_of, pin
from vitviz.analysis import position_similarity
from vitviz.analysis.position_similarity import mean_along
from vitviz.lessons import weight_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import positions as plots
from vitviz.tables import Columns, columns_of
from vitviz.text import percent, plain, signed

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NOTHING = "nothing"
VIEW = "positions.mosaic"
BESIDE_PX = 430  # as much as the table of wishes needs

MATHEMATICS = r"""
$$
S_{ij} = \frac{p_i \cdot p_j}{\lVert p_i\rVert\,\lVert p_j\rVert}
$$

for all pairs of patch positions; tokens before the patches, such as [CLS], have no place and are left
out. Tile $(r, c)$ of the mosaic is row $i = r\,g + c$ of $S$,
folded back onto the grid (Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, figure 7 centre).

**The four wishes, as measured**

- *Roughly orthogonal*: the mean of $|S_{ij}|$ over $i \ne j$; 0 is best.
- *Absolute*: the share of positions whose code no other position has; 100 % is best.
- *Relative*: $1 - \operatorname{Var}(S \mid \text{offset}) / \operatorname{Var}(S)$ over $i \ne j$, the share of the
  variance that the offset $(\Delta r, \Delta c)$ alone explains; 100 % when similarity depends on the offset only.
- *Near means similar*: minus Spearman's rank correlation of distance and similarity; 1 is best.

The first two pull against the last two: codes that are all orthogonal say nothing about nearness.
"""
ASKS = (
    Question(
        "What is the mean cosine of two learned positions one step apart?", weight_measures.NeighboursAlike()
    ),
)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="positions"):
    """Two encodings by key, and how their similarities are drawn."""

    left: str
    right: str  # or NOTHING
    raw: bool
    stretched: bool
    seed: int
    code: Code


def draw() -> None:
    """The whole view: controls, mosaics, caption, structure and wishes, drawers."""
    chosen = _read()
    tables = _tables(chosen)
    frame = parameter_history.shared_frame(
        [(len(t.tables), t.frame) for t in sorted(tables, key=lambda t: not t.own)]
    )
    at = parameter_history.frames_at(frame, [len(table.tables) for table in tables])
    tables = [replace(table, frame=place) for table, place in zip(tables, at, strict=True)]
    if not encodings.own():
        st.info(encodings.own().why_not, icon=":material/explore_off:")
    _draw_mosaics(chosen, tables, frame)
    page.caption(" ".join(describe(table) for table in tables))
    with st.container(horizontal=True, gap="medium"):  # one under the other where both do not fit
        with st.container(width=BESIDE_PX):
            st.markdown("**Mean similarity by distance**")
            page.figure(_by_distance(tables), "positions.by_distance")
        with st.container(width=BESIDE_PX):
            st.markdown("**Four wishes for an encoding, measured**")
            st.markdown(_wishes_table(tables))
    page.drawers(
        "positions.similarity",
        math=MATHEMATICS,
        code=(
            position_similarity.cosine_similarity,
            position_similarity.structure,
            position_similarity.wishes,
        ),
        numbers=partial(_numbers, tables),
        asks=ASKS,
    )


def _draw_mosaics(chosen: Choice, tables: list[Table], frame: int) -> None:
    panels = [_panel(table, chosen.raw) for table in tables]
    payload = plots.mosaic(
        panels,
        encodings.picture(),
        selection.current().pin.point,
        frame,
        raw=chosen.raw,
        stretched=chosen.stretched,
        active=len(panels) - 1,
    )
    mosaic_view(payload, key=VIEW, on_change=_picked)


def _by_distance(tables: list[Table]) -> Figure:
    lines = {}
    for index, table in enumerate(tables):
        twice = index and table.title == tables[0].title
        found = _structure(table)
        lines[_short(table) + (" (beside)" if twice else "")] = (found.along_row, found.along_column)
    return plots.by_distance_figure(lines, selection.mode())


def _read() -> Choice:
    names = encodings.options()
    own = encodings.OWN if encodings.own() else "sincos_1d"
    with page.row():
        with st.container():
            left = widgets.select(
                Choice.key("left"),
                "Encoding",
                tuple(names),
                "sincos_2d_concat",
                format_func=names.__getitem__,
            )
        with st.container():
            with_nothing = {NOTHING: "Nothing"} | names
            right = widgets.select(
                Choice.key("right"),
                "Beside it",
                tuple(with_nothing),
                own,
                format_func=with_nothing.__getitem__,
            )
        options = page.options("positions.similarity")
    shown = {left, right}
    with options:
        code = Code(
            encoding_controls.grid(shown), encoding_controls.dim(shown), encoding_controls.base(shown)
        )
        raw, stretched, seed = _read_options("random" in shown)
    return Choice(left, right, raw, stretched, seed, code)


def _read_options(random: bool) -> tuple[bool, bool, int]:
    """(raw products, stretched, seed); random: whether a code is shown that the seed draws."""
    raw = widgets.toggle(
        Choice.key("raw"),
        "Raw dot products",
        help="Some tools plot these: long codes then look similar to everything. The scale spans all values.",
    )
    stretched = widgets.toggle(
        Choice.key("stretched"),
        "Stretch the scale to the values",
        help="Off: −1 to 1 with white at zero, comparable everywhere. On: small differences show.",
    )
    seed = widgets.number(
        Choice.key("seed"),
        "Seed of the random codes",
        0,
        999,
        0,
        why_not=None if random else "No random codes are shown.",
    )
    return raw, stretched, seed


def _tables(chosen: Choice) -> list[Table]:
    keys = [key for key in (chosen.left, chosen.right) if key != NOTHING]
    code = chosen.code
    return [encodings.find(key, code.grid, code.dim, code.base, chosen.seed) for key in keys]


def _panel(table: Table, raw: bool) -> plots.Panel:
    matrices, told = _film(table.tables, table.grid, raw)
    return plots.Panel(table.title, table.note, table.grid, matrices, table.moments, told)


@cached.shared(most=32)
def _film(tables: FloatArray, grid: tuple[int, int], raw: bool) -> tuple[FloatArray, list[str]]:
    """How alike positions are at every moment, and what is told of it; nothing where there is one moment."""
    compare = position_similarity.dot_products if raw else position_similarity.cosine_similarity
    matrices = np.stack([compare(moment) for moment in tables])
    told = [_told(_found(moment, grid)) if len(tables) > 1 else "" for moment in tables]
    return matrices, told


def _told(found: position_similarity.Structure) -> str:
    return (
        f"mean cosine one step away {number(found.either_step)} · same row {number(mean_along(found.along_row))} ·"
        f" same column {number(mean_along(found.along_column))} · elsewhere {number(found.elsewhere)}"
    )


def _structure(table: Table) -> position_similarity.Structure:
    return _found(table.now, table.grid)


@cached.shared(most=512)
def _found(table: FloatArray, grid: tuple[int, int]) -> position_similarity.Structure:
    return position_similarity.structure(position_similarity.cosine_similarity(table), grid)


def _short(table: Table) -> str:
    return table.title.replace(" sinusoidal", "")


def number(value: float) -> str:
    """Two decimals with a true minus sign; a dash where there is nothing to say."""
    if np.isnan(value):
        return "–"
    return signed(value)


def describe(table: Table) -> str:
    """One or two sentences on a table's structure, from its own numbers."""
    name = f"**{plain(table.title)}**"
    if not np.any(table.now):
        return f"{name}: nothing is added, so no position is told from another."
    if len(table.now) == 1:
        return f"{name}: one position, and no other to compare it with."
    found = _structure(table)
    row, column = mean_along(found.along_row), mean_along(found.along_column)
    text = (
        f"{name}: patches one step away {number(found.either_step)}, the same row {number(row)}, the same column"
        f" {number(column)}, elsewhere {number(found.elsewhere)}"
    )
    if table.kind != "learned":
        return text + "."
    return f"{text}: {_verdict(table, found, row, column)}."


def _verdict(table: Table, found: position_similarity.Structure, row: float, column: float) -> str:
    contrast = found.either_step - found.elsewhere
    when = table.moments[table.frame] or "these weights"
    if not table.trained or contrast < 0.05:
        why = "random weights" if not table.trained else f"at {when} its training has taught it no more"
        return f"no structure yet ({why})" if contrast < 0.05 else f"a trace of structure ({why})"
    lines = row - found.elsewhere > 0.05 and column - found.elsewhere > 0.05
    strength = "clear" if contrast > 0.25 else "weak"
    what = "neighbours, rows and columns" if lines else "neighbours, but hardly rows and columns"
    return f"{strength} structure, it tells {what}"


def _wishes_table(chosen: list[Table]) -> str:
    measured = [encodings.measured(table.now, table.grid) for table in chosen]

    def share(value: float) -> str:
        return "–" if np.isnan(value) else percent(value, 0)

    rows = [
        ("Roughly orthogonal", "mean of abs. cosine, best 0", [number(w.overlap) for w in measured]),
        ("Absolute", "codes that no other position has", [share(w.distinct) for w in measured]),
        ("Relative", "explained by the offset alone", [share(w.relative) for w in measured]),
        ("Near means similar", "rank correlation, best 1", [number(w.near) for w in measured]),
        ("", "most alike is one step away, or diagonally next", [share(w.nearest) for w in measured]),
    ]
    head = "| Wish | measured as | " + " | ".join(plain(_short(table)) for table in chosen) + " |"
    rule = "|---|---|" + "---:|" * len(chosen)
    body = [f"| {wish} | :gray[{how}] | " + " | ".join(values) + " |" for wish, how, values in rows]
    return "\n".join([head, rule, *body])


def _picked() -> None:
    place = pin(events_of(VIEW).get("pin"))
    if place is not None:
        selection.set_pin(place)


def rows(matrix: FloatArray) -> Columns:
    """A matrix with its row and column numbers, from 0, for a file."""
    names = [str(i) for i in range(matrix.shape[1])]
    return {"position": range(len(matrix))} | columns_of(matrix, names)


def _numbers(tables: list[Table]) -> None:
    for index, table in enumerate(tables):
        count, dim = table.now.shape
        st.markdown(f"**{plain(table.title)}** · {plain(table.note)}")
        page.shapes(p=(count, dim), S=(count, count))
        left, right = st.columns(2)
        similarity = position_similarity.cosine_similarity(table.now)
        with left:
            page.csv(
                "Similarities (CSV)",
                rows(similarity),
                f"similarity_{index + 1}.csv",
                f"positions.csv_similarity{index}",
                stretch=True,
            )
        with right:
            page.csv(
                "The table (CSV)",
                rows(table.now),
                f"positions_{index + 1}.csv",
                f"positions.csv_table{index}",
                stretch=True,
            )
