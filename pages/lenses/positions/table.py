"""The encoding itself: a heat map of position by dimension, with the formula of every cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import encoding_controls, encodings, similarity
from pages.lenses.positions.encoding_controls import Code
from pages.lenses.positions.table_view import table as table_view
from pages.selection import selection
from vitviz import sinusoids as formulas
from vitviz.analysis import position_similarity
from vitviz.plots import positions as plots
from vitviz.text import percent, plain, plural

MATHEMATICS = r"""
**1-D** (Vaswani et al. 2017): $\ PE[p, 2i] = \sin\!\big(p / b^{2i/D}\big),\quad PE[p, 2i+1] =
\cos\!\big(p / b^{2i/D}\big)$, base $b = 10000$. A sine and its cosine share one frequency, so
$p_i \cdot p_j = \sum_k \cos(\omega_k (i - j))$ depends on the distance alone.

**2-D, summed**: $\ PE[r, c] = PE_1(r) + PE_1(c)$, both of width $D$. A sum does not know its order:
$(r, c)$ and $(c, r)$ are one code.

**2-D, concatenated** (big_vision, SimpleViT): $[\sin \omega_k c,\ \cos \omega_k c,\ \sin \omega_k r,\
\cos \omega_k r]$ with $\omega_k = b^{-k/(D/4 - 1)}$: half of $D$ for the column, half for the row,
$\lVert p\rVert^2 = D/2$.

**Learned** (Dosovitskiy et al. 2021, eq. 1): $\mathbf{E}_{pos} \in \mathbb{R}^{(N+1)\times D}$, weights like any other.
"""
SOURCES: dict[str, Callable[..., object]] = {
    "sincos_1d": formulas.sincos_1d,
    "slip": formulas.sincos_1d_slip,
    "sincos_2d_sum": formulas.sincos_2d_sum,
    "sincos_2d_concat": formulas.sincos_2d_concat,
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="positions"):
    """The encoding by key, and what it is made for."""

    encoding: str
    code: Code


def draw() -> None:
    """The whole view: controls, heat map with its inspector, caption, drawers."""
    chosen = _read()
    # A model's own table of waves was made with the usual base.
    base = chosen.code.base if chosen.encoding in encodings.WAVES else encodings.DEFAULT_BASE
    table = encodings.find(chosen.encoding, chosen.code.grid, chosen.code.dim, base)
    kind = table.kind
    exponents = position_similarity.exponents(cast(position_similarity.Encoding, kind), table.now.shape[1])
    position = selection.current().pin.cell(table.grid)
    payload = plots.table(
        values=table.now,
        kind=kind,
        grid=table.grid,
        base=base,
        exponents=exponents,
        shown=encodings.picture(),
        position=position,
    )
    table_view(payload, key="positions.table")
    page.caption(describe(table, base))
    page.shapes(p=table.now.shape)
    page.drawers(
        "positions.table",
        math=MATHEMATICS,
        code=(SOURCES.get(kind, position_similarity.patch_rows),),
        numbers=partial(_numbers, table),
    )


def _read() -> Choice:
    names = encodings.options()
    with page.row():
        with st.container(width=250):
            option = widgets.select(
                Choice.key("encoding"), "Encoding", tuple(names), "sincos_1d", format_func=names.__getitem__
            )
        with page.options("positions.table"):
            code = Code(
                encoding_controls.grid({option}),
                encoding_controls.dim({option}),
                encoding_controls.base({option}),
            )
    return Choice(option, code)


def describe(table: encodings.Table, base: float) -> str:
    """What the heat map shows, from its numbers."""
    values = table.now
    count, dim = values.shape
    if not values.any():
        return "Nothing is added: all values are 0."
    when = f" at {table.moments[table.frame]}" if table.moments[table.frame] else ""
    if table.kind in ("learned", "pixels", "random"):
        spread = float(values.std())
        text = f"{plain(table.title)}{when}: {count} × {dim} = {values.size:,} numbers, standard deviation {spread:.3f}"
        if table.kind == "learned" and not table.trained:
            return f"{text}; drawn at random with 0.02, not trained."
        return f"{text}."
    waves = position_similarity.wavelengths(cast(position_similarity.Encoding, table.kind), dim, base)
    longest = max(table.grid) if table.kind.startswith("sincos_2d") else count
    turning = float(np.mean(waves <= longest))
    return (
        f"{plain(table.title)}: wavelengths run from {waves.min():.2f} to {waves.max():,.0f} positions. On this grid"
        f" {percent(turning, 0)} of the {dim} dimensions complete a turn: they repeat, so what tells far positions from"
        " near ones is the others, which change slowly."
    )


def _numbers(table: encodings.Table) -> None:
    st.markdown(f"**{plain(table.title)}** · {plain(table.note)}")
    page.csv("The table (CSV)", similarity.rows(table.now), "positions.csv", "positions.csv_one")
    st.dataframe(np.round(table.now[:64, :32], 4), height=280)
    count, dim = (min(most, size) for most, size in zip((64, 32), table.now.shape, strict=True))
    st.caption(
        f"The first {plural(count, 'position', 'positions')} and {plural(dim, 'dimension', 'dimensions')}."
    )
