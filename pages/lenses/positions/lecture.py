"""Examples of the lecture: the exponent bug, 1-D encodings on a grid, and the ambiguity of a sum."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import captions, encodings
from pages.lenses.positions.encodings import EncodingControls, FloatArray
from pages.lenses.positions.similarity import draw_mosaics
from pages.lenses.positions.table import draw_table
from pages.selection import selection
from pages.views.figures import draw_chart
from vitviz import sinusoids as formulas
from vitviz.analysis import position_similarity
from vitviz.lessons import formula_measures, lesson
from vitviz.plots import positions as plots
from vitviz.text import signed

CASES = {
    "slip": "A bug in the exponent",
    "first": "The table with d = 50",
    "flat": "1-D on a 4 × 4 grid",
    "sum": "Ambiguity of a sum",
}
PAIRS = ((5, 6), (5, 7), (5, 8), (6, 7), (7, 8))
LENGTH, DIM = 40, 64
FIRST = (4, 50)  # positions and width of the first lecture's table
SQUARE = (4, 4)
GridPlace = tuple[float, float]  # (x, y) in [0, 1]


def draw() -> None:
    case = widgets.segmented("positions.case", "Example", CASES, label_visibility="collapsed")
    {"slip": _draw_exponent_bug, "first": _draw_first_table, "flat": _draw_flattening, "sum": _draw_sum}[
        case
    ]()
    page.drawers(
        "positions.lecture",
        math=page.read_math(__file__),
        code=(formulas.sincos_1d, formulas.sincos_1d_slip),
        ask=lesson.Question(
            "By the formula, what is the cosine of positions 20 and 21 at width 64?",
            formula_measures.SinusoidSimilarity(20, 21),
        ),
    )


def _draw_exponent_bug() -> None:
    correct = position_similarity.cosine_similarity(formulas.sincos_1d(LENGTH, DIM))
    wrong = position_similarity.cosine_similarity(formulas.sincos_1d_slip(LENGTH, DIM))
    left, right = st.columns([2, 1], gap="medium")
    with left:
        st.markdown("**Similarity of positions p and p + d**, D = 64")
        draw_chart(plots.slip_figure(correct, wrong, (1, 2, 3), selection.get_theme()), "positions.slip")
    with right:
        st.markdown("**Cosines, D = 64**")
        rows = [f"| {i} and {j} | {correct[i, j]:.4f} | {wrong[i, j]:.4f} |" for i, j in PAIRS]
        st.markdown("\n".join(["| Positions | 2i/D (correct) | k/D (bug) |", "|---|---:|---:|", *rows]))
    page.caption(captions.describe_exponent_bug(correct, wrong))


def _draw_first_table() -> None:
    """Draw the lecture's first table: four positions of 50 values, and the printed corner p0 … p3 by i0 … i3."""
    values = formulas.sincos_1d(*FIRST)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        payload = plots.table(
            values=values,
            kind="sincos_1d",
            grid=(1, FIRST[0]),
            base=encodings.DEFAULT_BASE,
            exponents=position_similarity.exponents("sincos_1d", FIRST[1]),
            shown=encodings.load_input_image(),
            position=1,
        )
        draw_table(payload, key="positions.first")
    with right:
        rows = [
            f"| i{i} | {' | '.join(f'{signed(element, 3)}' for element in column)} |"
            for i, column in enumerate(values.T[:4])
        ]
        st.markdown("\n".join(["| | p0 | p1 | p2 | p3 |", "|---|---:|---:|---:|---:|", *rows]))
    page.caption(captions.describe_first_table(position_similarity.cosine_similarity(values), FIRST[1]))


def _draw_pair(kind: str, pin: GridPlace, other: GridPlace, key: str) -> tuple[FloatArray, FloatArray]:
    """Draw an encoding and the 2-D concatenated one on a 4 x 4 grid; return their cosines (16, 16)."""
    parameters = EncodingControls(SQUARE, DIM)
    tables = [encodings.load_encoding(name, parameters) for name in (kind, "sincos_2d_concat")]
    left, right = (position_similarity.cosine_similarity(table.values) for table in tables)
    panels = [
        plots.EncodingPanel(table.title, table.note, SQUARE, matrix[None])
        for table, matrix in zip(tables, (left, right), strict=True)
    ]
    payload = plots.mosaic(panels, encodings.load_input_image(), pin, key=other, own_scale=True)
    draw_mosaics(payload, key=key, triggers=("pin",))
    return left, right


def _draw_flattening() -> None:
    flat, square = _draw_pair("sincos_1d", (3.5 / 4, 0.5 / 4), (0.5 / 4, 1.5 / 4), "positions.flat")
    page.caption(captions.describe_flattening(flat, square))


def _draw_sum() -> None:
    centres = (2.5 / 4, 1.5 / 4), (1.5 / 4, 2.5 / 4)
    summed, concatenated = _draw_pair("sincos_2d_sum", *centres, "positions.sum")
    table = position_similarity.encode("sincos_2d_sum", SQUARE, DIM)
    unique = position_similarity.score_encoding(table, SQUARE).distinct
    page.caption(captions.describe_sum(summed, concatenated, unique))
