"""Two encodings compared: similarities of all positions, structure and desired properties."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.positions import encodings
from pages.lenses.positions.captions import compare_similarities, describe_means, format_similarity
from pages.lenses.positions.encodings import FloatArray, PositionTable
from pages.selection import selection
from pages.stores import parameter_history, shared_cache
from pages.views.figures import draw_chart
from pages.views.register import register
from vitviz.analysis import position_similarity
from vitviz.csv_table import Columns, columns_of
from vitviz.lessons import lesson, weight_measures
from vitviz.plots import positions as plots
from vitviz.plots.chart import Chart
from vitviz.text import percent, plain

draw_mosaics = register(__file__, "similarity_view")
NOTHING = "nothing"
VIEW = "positions.mosaic"
_measure_properties = shared_cache.shared(max_entries=128)(position_similarity.score_encoding)
COLUMN_PX = 430  # width of the table of properties
_QUESTION = lesson.Question(
    "What is the mean cosine of two adjacent learned positions?", weight_measures.NeighbourSimilarity()
)


def draw() -> None:
    tables, raw, stretched = _draw_controls()
    leading = next((table for table in tables if table.of_selected_model), tables[0])
    frame, histories = parameter_history.share_slider([table.history for table in tables], leading.history)
    tables = [replace(table, history=history) for table, history in zip(tables, histories, strict=True)]
    ability = encodings.get_position_ability()
    if not ability:
        st.info(ability.why_not, icon=":material/explore_off:")
    _draw_mosaics(tables, frame, raw, stretched)
    structures = [_measure_structure(table.values, table.grid) for table in tables]
    notes = dict.fromkeys(history.note for history in histories if history.note)
    sentences = [compare_similarities(tables, structures), *notes]
    if any(len(history.values) > 1 for history in histories):
        sentences.append("These numbers do not change while the training plays.")
    if stretched and len(tables) > 1:
        sentences.append("Each map has its own colour scale.")
    page.caption(" ".join(sentences))
    _draw_summaries(tables, structures)
    page.drawers(
        "positions.similarity",
        math=page.read_math(__file__),
        code=(
            position_similarity.cosine_similarity,
            position_similarity.measure_structure,
            position_similarity.score_encoding,
        ),
        numbers=partial(_draw_downloads, tables),
        ask=_QUESTION,
    )


def _draw_mosaics(tables: list[PositionTable], frame: int, raw: bool, stretched: bool) -> None:
    compared = [_compare_positions(table.history.values, table.grid, raw) for table in tables]
    panels = [
        plots.EncodingPanel(table.title, table.note, table.grid, matrices, sentences, table.history.training)
        for table, (matrices, sentences) in zip(tables, compared, strict=True)
    ]
    payload = plots.mosaic(
        panels,
        encodings.load_input_image(),
        selection.get_current().pin.point,
        frame,
        raw=raw,
        own_scale=stretched,
        active=len(panels) - 1,
    )
    draw_mosaics(payload, key=VIEW, triggers=("pin",), on_change=partial(selection.apply_click, VIEW))


def _draw_summaries(tables: list[PositionTable], structures: list[position_similarity.Structure]) -> None:
    with st.container(horizontal=True, gap="medium"):  # wraps where both do not fit
        with st.container(width=COLUMN_PX):
            st.markdown("**Mean similarity by distance**")
            draw_chart(_draw_distances(tables, structures), "positions.by_distance")
        with st.container(width=COLUMN_PX):
            st.markdown("**Desired properties, measured**")
            st.markdown(_format_properties(tables))


def _draw_distances(tables: list[PositionTable], structures: list[position_similarity.Structure]) -> Chart:
    curves = {}
    for index, (table, structure) in enumerate(zip(tables, structures, strict=True)):
        repeated = index and table.title == tables[0].title
        name = _shorten_title(table) + (" (second)" if repeated else "")
        curves[name] = (structure.along_row, structure.along_column)
    return plots.by_distance_figure(curves, selection.get_theme())


def _draw_controls() -> tuple[list[PositionTable], bool, bool]:
    """Return the two encodings; True for raw dot products; True for a scale of each panel's own values."""
    titles = encodings.list_encodings()
    with page.row():
        with st.container(width=290):
            left = widgets.select("positions.left", "Encoding", titles, "sincos_2d_concat")
        with st.container(width=290):
            default = encodings.SELECTED_MODEL if encodings.SELECTED_MODEL in titles else "sincos_1d"
            right = widgets.select("positions.right", "Compare with", {NOTHING: "None"} | titles, default)
        options = page.options("positions.similarity")
    with options:
        parameters = encodings.draw_encoding_controls({left, right})
        raw = widgets.toggle(
            "positions.raw",
            "Raw dot products",
            help="Without normalisation, long vectors look similar to all others.",
        )
        stretched = widgets.toggle(
            "positions.stretched",
            "Separate colour scales",
            True,
            help="On: one scale per panel, without the similarity of a position to itself. Off: one scale for both.",
        )
        seed = widgets.number(
            "positions.seed",
            "Seed of random encodings",
            0,
            999,
            0,
            why_not=None if "random" in (left, right) else "Disabled: no random encoding is selected.",
        )
    keys = (key for key in (left, right) if key != NOTHING)
    return [encodings.load_encoding(key, parameters, seed) for key in keys], raw, stretched


@shared_cache.shared(max_entries=32)
def _compare_positions(
    tables: Sequence[FloatArray], grid: encodings.Grid, raw: bool
) -> tuple[FloatArray, list[str]]:
    """Compute the similarities (snapshots, N, N), and a sentence per snapshot if there are several."""
    compare = position_similarity.dot_products if raw else position_similarity.cosine_similarity
    matrices = np.stack([compare(table) for table in tables])
    several = len(tables) > 1
    return matrices, [describe_means(_measure_structure(table, grid)) if several else "" for table in tables]


@shared_cache.shared(max_entries=512)
def _measure_structure(table: FloatArray, grid: encodings.Grid) -> position_similarity.Structure:
    return position_similarity.measure_structure(position_similarity.cosine_similarity(table), grid)


def _shorten_title(table: PositionTable) -> str:
    return table.title.replace(" sinusoidal", "")


def _format_properties(tables: list[PositionTable]) -> str:
    measured = [_measure_properties(table.values, table.grid) for table in tables]

    def share(fraction: float) -> str:
        return "–" if np.isnan(fraction) else percent(fraction, 0)

    rows = [
        (
            "Nearly orthogonal",
            "mean absolute cosine, best 0",
            [format_similarity(m.overlap) for m in measured],
        ),
        ("Unique", "positions with a unique encoding", [share(m.distinct) for m in measured]),
        ("Relative", "variance explained by the offset", [share(m.relative) for m in measured]),
        ("Similar when near", "rank correlation, best 1", [format_similarity(m.near) for m in measured]),
        ("", "most similar position is adjacent or diagonal", [share(m.nearest) for m in measured]),
    ]
    head = "| Property | Measure | " + " | ".join(plain(_shorten_title(table)) for table in tables) + " |"
    rule = "|---|---|" + "---:|" * len(tables)
    body = [f"| {name} | :gray[{measure}] | " + " | ".join(cells) + " |" for name, measure, cells in rows]
    return "\n".join([head, rule, *body])


def list_rows(matrix: FloatArray) -> Columns:
    """Return a matrix as columns, with row and column numbers from 1."""
    names = [str(i + 1) for i in range(matrix.shape[1])]
    return {"position": range(1, len(matrix) + 1)} | columns_of(matrix, names)


def _draw_downloads(tables: list[PositionTable]) -> None:
    for index, table in enumerate(tables):
        count, dim = table.values.shape
        st.markdown(f"**{plain(table.title)}** · {plain(table.note)}")
        page.shapes(p=(count, dim), S=(count, count))
        with st.container(horizontal=True):
            downloads.csv(
                "Similarities (CSV)",
                list_rows(position_similarity.cosine_similarity(table.values)),
                f"similarity_{index + 1}.csv",
                f"positions.csv_similarity{index}",
            )
            downloads.csv(
                "Encoding table (CSV)",
                list_rows(table.values),
                f"positions_{index + 1}.csv",
                f"positions.csv_table{index}",
            )
