"""Two encodings side by side: every position's similarity to all others, structure and wishes measured."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.inside.positions import encodings
from pages.inside.positions.encodings import Table
from pages.inside.positions.similarity_view import similarity as mosaic_view
from pages.shell import controls, nouns, page
from pages.stores import films
from vitviz.analysis import positions
from vitviz.pin import Pin
from vitviz.plots import positions as plots
from vitviz.words import percent, signed

GRIDS = ((4, 4), (7, 7), (8, 8), (14, 14))
DIMS = (8, 16, 32, 64, 96, 128, 192, 256, 384, 768)
BASES = (10.0, 100.0, 1000.0, 10000.0, 100000.0)
NOTHING = "nothing"

MATH = r"""
$$S_{ij} = \frac{p_i \cdot p_j}{\lVert p_i\rVert\,\lVert p_j\rVert}$$

for all pairs of patch positions, prefix tokens dropped. Tile $(r, c)$ of the mosaic is row $i = r\,g + c$ of $S$,
folded back onto the grid (Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, figure 7 centre).

**The four wishes, as measured**

- *Roughly orthogonal*: the mean of $|S_{ij}|$ over $i \ne j$; 0 is best.
- *Absolute*: the share of positions whose code no other position has; 100 % is best.
- *Relative*: $1 - \operatorname{Var}(S \mid \text{offset}) / \operatorname{Var}(S)$ over $i \ne j$, the share of the
  variance that the offset $(\Delta r, \Delta c)$ alone explains; 100 % when similarity depends on the offset only.
- *Near means similar*: minus Spearman's rank correlation of distance and similarity; 1 is best.

The first two pull against the last two: codes that are all orthogonal say nothing about nearness.
"""
TRY_THIS = """
1. **Predict first:** the tile of the corner position (0, 0), in 1-D and in 2-D. Where is it dark? Then look.
2. Set the base to 10 (under *Grid, D, scale*): the maps gain contrast. Then why do far positions become similar again?
3. Set D to 8. Which wish suffers most?
4. Choose a trained model on one side and press *Play*: rows and columns first, or neighbours first?
5. Compare *Random* with *Learned at step 0*: could you tell them apart?
"""


def draw() -> None:
    """The whole view: controls, mosaics, caption, structure and wishes, drawers."""
    chosen, raw, stretched = _controls()
    frame = films.shared_frame([(len(t.tables), t.frame) for t in sorted(chosen, key=lambda t: not t.own)])
    at = films.frames_at(frame, [len(table.tables) for table in chosen])
    chosen = [replace(table, frame=place) for table, place in zip(chosen, at, strict=True)]
    panels = [_panel(table, raw) for table in chosen]
    payload = plots.mosaic(
        panels,
        encodings.picture(),
        nouns.current().pin.point,
        frame,
        raw=raw,
        stretched=stretched,
        active=len(panels) - 1,
    )
    if not encodings.has_own():
        st.info(encodings.reason(), icon=":material/explore_off:")
    mosaic_view(payload, key="positions.mosaic", on_change=_picked)
    page.caption(" ".join(describe(table) for table in chosen))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Mean similarity by distance**")
        structures = {
            _short(table) + (" (beside)" if table.title == chosen[0].title and index else ""): _structure(
                table
            )
            for index, table in enumerate(chosen)
        }
        figure = plots.by_distance_figure(
            {name: (s.along_row, s.along_column) for name, s in structures.items()}, nouns.mode()
        )
        st.plotly_chart(figure, theme=None, key="positions.by_distance", config={"displayModeBar": False})
    with right:
        st.markdown("**Four wishes for an encoding, measured**")
        st.markdown(_wishes_table(chosen))
    page.drawers(
        "positions.similarity",
        math=MATH,
        code=(positions.cosine_similarity, positions.structure, positions.wishes),
        numbers=partial(_numbers, chosen),
        try_this=TRY_THIS,
    )


def _controls() -> tuple[list[Table], bool, bool]:
    names = encodings.options()
    own = encodings.OWN if encodings.has_own() else "sincos_1d"
    first, second, more = st.columns([2.6, 2.6, 1.4], vertical_alignment="bottom")
    with first:
        left = controls.select(
            "positions.left", "Encoding", tuple(names), "sincos_2d_concat", format_func=names.__getitem__
        )
    with second:
        with_nothing = {NOTHING: "Nothing"} | names
        right = controls.select(
            "positions.right", "Beside it", tuple(with_nothing), own, format_func=with_nothing.__getitem__
        )
    own_grid, own_dim = encodings.own_grid(), encodings.own_dim()
    computed = {left, right} & set(encodings.COMPUTED)
    help_computed = "Of computed encodings; a model's table has its own."
    with more, st.popover("Grid, D, scale", width="stretch", icon=":material/tune:"):
        grid = controls.select(
            "positions.grid",
            "Grid, patches",
            tuple(sorted({*GRIDS, own_grid})),
            own_grid,
            format_func=lambda g: f"{g[0]} × {g[1]}",
            help=help_computed,
            disabled=not computed,
        )
        dim = controls.select(
            "positions.dim",
            "Width D",
            tuple(sorted({*DIMS, own_dim})),
            own_dim,
            help=help_computed,
            disabled=not computed,
        )
        base = controls.select(
            "positions.base",
            "Base",
            BASES,
            encodings.DEFAULT_BASE,
            format_func=lambda b: f"{b:,.0f}",
            help="Of computed waves.",
            disabled=not {left, right} & set(encodings.WAVES),
        )
        raw = controls.toggle(
            "positions.raw",
            "Raw dot products",
            help="Some tools plot these: long codes then look similar to everything. The scale spans all values.",
        )
        stretched = controls.toggle(
            "positions.stretched",
            "Stretch the scale to the values",
            help="Off: −1 to 1 with white at zero, comparable everywhere. On: small differences show.",
        )
        seed = controls.number(
            "positions.seed",
            "Seed of the random codes",
            0,
            999,
            0,
            disabled="random" not in (left, right),
        )
    keys = (left,) if right == NOTHING else (left, right)
    return [encodings.find(key, grid, dim, base, seed) for key in keys], raw, stretched


def _panel(table: Table, raw: bool) -> plots.Panel:
    compare = positions.dot_products if raw else positions.cosine_similarity
    matrices = np.stack([compare(moment) for moment in table.tables])
    told = [""] * len(matrices)
    if len(matrices) > 1:
        told = [_told(positions.structure(positions.cosine_similarity(t), table.grid)) for t in table.tables]
    return plots.Panel(table.title, table.note, table.grid, matrices, table.moments, told)


def _told(found: positions.Structure) -> str:
    return (
        f"mean cosine one step away {number(found.either_step)} · same row {number(shared(found.along_row))} ·"
        f" same column {number(shared(found.along_column))} · elsewhere {number(found.elsewhere)}"
    )


def _structure(table: Table) -> positions.Structure:
    return positions.structure(positions.cosine_similarity(table.now), table.grid)


def _short(table: Table) -> str:
    return table.title.replace(" sinusoidal", "")


def shared(line: np.ndarray) -> float:
    """Mean similarity of different positions of one line, each distance once per pair."""
    count = len(line)
    if count < 2:
        return float("nan")
    return float(np.average(line[1:], weights=np.arange(count - 1, 0, -1)))


def number(value: float) -> str:
    """Two decimals with a true minus sign; a dash where there is nothing to say."""
    if np.isnan(value):
        return "–"
    return signed(value)


def describe(table: Table) -> str:
    """One or two sentences on a table's structure, from its own numbers."""
    name = f"**{table.title}**"
    if not np.any(table.now):
        return f"{name}: nothing is added, so no position is told from another."
    if len(table.now) == 1:
        return f"{name}: one position, and no other to compare it with."
    found = _structure(table)
    row, column = shared(found.along_row), shared(found.along_column)
    text = (
        f"{name}: patches one step away {number(found.either_step)}, the same row {number(row)}, the same column"
        f" {number(column)}, elsewhere {number(found.elsewhere)}"
    )
    if table.kind != "learned":
        return text + "."
    return f"{text}: {_verdict(table, found, row, column)}."


def _verdict(table: Table, found: positions.Structure, row: float, column: float) -> str:
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
        ("", "most alike is one step away", [share(w.nearest) for w in measured]),
    ]
    head = "| Wish | measured as | " + " | ".join(_short(table) for table in chosen) + " |"
    rule = "|---|---|" + "---:|" * len(chosen)
    body = [f"| {wish} | :gray[{how}] | " + " | ".join(values) + " |" for wish, how, values in rows]
    return "\n".join([head, rule, *body])


def _picked() -> None:
    place = st.session_state["positions.mosaic"].get("pin")
    if place is not None:
        nouns.set_pin(Pin((float(place[0]), float(place[1]))))


def csv(matrix: np.ndarray) -> bytes:
    """A matrix with its row and column numbers as CSV."""
    head = "position," + ",".join(str(i) for i in range(matrix.shape[1]))
    rows = (",".join([str(i), *(f"{value:.6g}" for value in row)]) for i, row in enumerate(matrix))
    return ("\n".join([head, *rows]) + "\n").encode()


def _numbers(chosen: list[Table]) -> None:
    for index, table in enumerate(chosen):
        count, dim = table.now.shape
        st.markdown(f"**{table.title}** · {table.note}")
        page.shapes(p=(count, dim), S=(count, count))
        similarities, codes = positions.cosine_similarity(table.now), table.now
        left, right = st.columns(2)
        left.download_button(
            "Similarities (CSV)",
            partial(csv, similarities),
            f"similarity_{index + 1}.csv",
            "text/csv",
            key=f"positions.csv_similarity{index}",
            on_click="ignore",
            icon=":material/download:",
            width="stretch",
        )
        right.download_button(
            "The table (CSV)",
            partial(csv, codes),
            f"positions_{index + 1}.csv",
            "text/csv",
            key=f"positions.csv_table{index}",
            on_click="ignore",
            icon=":material/download:",
            width="stretch",
        )
