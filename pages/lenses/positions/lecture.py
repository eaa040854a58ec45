"""The lecture's numbers: the slip in the formula, 1-D on a square grid, and what a sum cannot tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import encodings
from pages.lenses.positions.similarity import number
from pages.lenses.positions.similarity_view import similarity as mosaic_view
from pages.selection import selection
from vitviz import sinusoids as formulas
from vitviz.analysis import position_similarity
from vitviz.lessons import formula_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import positions as plots
from vitviz.text import percent

CASES = {
    "slip": "A slip in the formula",
    "flat": "1-D on a 4 × 4 grid",
    "sum": "What a sum cannot tell",
}
PAIRS = ((5, 6), (5, 7), (5, 8), (6, 7), (7, 8))
LENGTH, DIM = 40, 64
SQUARE = (4, 4)

MATHEMATICS = r"""
The formula: columns $2i$ and $2i+1$ share the exponent $2i/D$. Then
$p_i \cdot p_j = \sum_k \big[\sin \omega_k i \sin \omega_k j + \cos \omega_k i \cos \omega_k j\big]
= \sum_k \cos \omega_k (i - j)$ and $\lVert p_i \rVert^2 = D/2$: the distance alone counts.

The slip: exponent $k/D$ for every column $k$, a sine for even and a cosine for odd $k$. A sine and the cosine beside it
no longer share a frequency, the identity above fails, and two pairs at the same distance differ.
"""
ASKS = (
    Question(
        "By the formula, what is the cosine of positions 20 and 21 at width 64?",
        formula_measures.SinusoidSimilarity(20, 21),
    ),
)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="positions"):
    """Which of `CASES` is shown."""

    case: str


def draw() -> None:
    """The chosen case with its numbers, then the drawers."""
    chosen = Choice(
        widgets.segmented(
            Choice.key("case"),
            "Case",
            tuple(CASES),
            "slip",
            format_func=CASES.__getitem__,
            label_visibility="collapsed",
        )
    )
    {"slip": _slip, "flat": _flat, "sum": _sum}[chosen.case]()
    page.drawers(
        "positions.lecture",
        math=MATHEMATICS,
        code=(formulas.sincos_1d, formulas.sincos_1d_slip),
        asks=ASKS,
    )


def _slip() -> None:
    right = position_similarity.cosine_similarity(formulas.sincos_1d(LENGTH, DIM))
    slipped = position_similarity.cosine_similarity(formulas.sincos_1d_slip(LENGTH, DIM))
    left, beside = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Similarity of positions p and p + d**, D = 64")
        page.figure(plots.slip_figure(right, slipped, (1, 2, 3), selection.mode()), "positions.slip")
    with beside:
        st.markdown("**Cosines, D = 64**")
        rows = [f"| {i} and {j} | {right[i, j]:.4f} | {slipped[i, j]:.4f} |" for i, j in PAIRS]
        st.markdown("\n".join(["| Positions | Formula | Slip |", "|---|---:|---:|", *rows]))
    one = np.diagonal(slipped, 1)
    page.caption(
        "The lecture is the course on Vision Transformers whose examples this project computes anew; these five pairs"
        f" are its own, by the formula: every pair one step apart has {right[5, 6]:.4f}, wherever it lies. The slip is"
        f" common in code and not the lecture's: one step apart it runs from {one.min():.4f} to {one.max():.4f}, so the"
        " code says something about the place that it should not."
    )


def _mosaic(first: str, second: str, pin: tuple[float, float], beside: tuple[float, float], key: str) -> None:
    panels = []
    for kind in (first, second):
        table = encodings.find(kind, SQUARE, DIM, encodings.DEFAULT_BASE)
        matrix = position_similarity.cosine_similarity(table.now)[None]
        panels.append(plots.Panel(table.title, table.note, SQUARE, matrix))
    mosaic_view(plots.mosaic(panels, encodings.picture(), pin, key=beside, stretched=True), key=key)


def _flat() -> None:
    _mosaic("sincos_1d", "sincos_2d_concat", (3.5 / 4, 0.5 / 4), (0.5 / 4, 1.5 / 4), "positions.flat")
    flat, square = (
        position_similarity.cosine_similarity(position_similarity.encode(kind, SQUARE, DIM))
        for kind in ("sincos_1d", "sincos_2d_concat")
    )
    page.caption(
        f"In reading order 3 ends the first row and 4 begins the second, three columns away. 1-D gives the pair"
        f" {number(flat[3, 4])}, exactly as 2 and 3 that touch ({number(flat[2, 3])}); 2-D gives it"
        f" {number(square[3, 4])} against {number(square[2, 3])}. And 0 and 4, one above the other: 1-D"
        f" {number(flat[0, 4])}, 2-D {number(square[0, 4])}, the same as 0 and 1."
    )


def _sum() -> None:
    _mosaic("sincos_2d_sum", "sincos_2d_concat", (2.5 / 4, 1.5 / 4), (1.5 / 4, 2.5 / 4), "positions.sum")
    summed, joined = (
        position_similarity.cosine_similarity(position_similarity.encode(kind, SQUARE, DIM))
        for kind in ("sincos_2d_sum", "sincos_2d_concat")
    )
    distinct = position_similarity.wishes(
        position_similarity.encode("sincos_2d_sum", SQUARE, DIM), SQUARE
    ).distinct
    page.caption(
        f"PE(1) + PE(2) = PE(2) + PE(1): summed, (1, 2) and (2, 1) have cosine {number(summed[6, 9])}, one and the"
        f" same code; concatenated {number(joined[6, 9])}. Only {percent(distinct, 0)} of the 16 codes are unique,"
        " the diagonal. A model can still tell {left, above} from {right, below}, and no more:"
        " 50 % where there are four answers."
    )
