"""A position encoding as a heat map of position by dimension, with the formula of every cell."""

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.positions import encodings, similarity
from pages.lenses.positions.captions import describe_table
from pages.selection import selection
from pages.views.register import register
from vitviz import sinusoids as formulas
from vitviz.analysis import position_similarity
from vitviz.plots import positions as plots
from vitviz.text import plain, plural

draw_table = register(__file__, "table_view")
SOURCES: dict[str, Callable[..., object]] = {
    "sincos_1d": formulas.sincos_1d,
    "slip": formulas.sincos_1d_slip,
    "sincos_2d_sum": formulas.sincos_2d_sum,
    "sincos_2d_concat": formulas.sincos_2d_concat,
    "rotary": formulas.rotary_2d,
}


def draw() -> None:
    titles = encodings.list_encodings()
    with page.row():
        with st.container(width=250):
            encoding = widgets.select("positions.encoding", "Encoding", titles, "sincos_1d")
        with page.options("positions.table"):
            parameters = encodings.draw_encoding_controls({encoding})
    table = encodings.load_encoding(encoding, parameters)
    # The sinusoidal table of a model always has the default base.
    base = parameters.base if encoding in encodings.SINUSOIDAL else encodings.DEFAULT_BASE
    kind = cast(position_similarity.Encoding, table.kind)
    payload = plots.table(
        values=table.values,
        kind=kind,
        grid=table.grid,
        base=base,
        exponents=position_similarity.exponents(kind, table.values.shape[1]),
        shown=encodings.load_input_image(),
        position=selection.get_current().pin.cell(table.grid),
    )
    draw_table(payload, key="positions.table")
    page.caption(describe_table(table, base))
    page.shapes(p=table.values.shape)
    page.drawers(
        "positions.table",
        math=page.read_math(__file__),
        code=(SOURCES.get(kind, position_similarity.patch_rows),),
        numbers=partial(_draw_numbers, table),
    )


def _draw_numbers(table: encodings.PositionTable) -> None:
    st.markdown(f"**{plain(table.title)}** · {plain(table.note)}")
    downloads.csv(
        "Encoding table (CSV)", similarity.list_rows(table.values), "positions.csv", "positions.csv_one"
    )
    st.dataframe(np.round(table.values[:64, :32], 4), height=280)
    count, dim = (min(most, size) for most, size in zip((64, 32), table.values.shape, strict=True))
    st.caption(f"The first {plural(count, 'position')} and {plural(dim, 'dimension')}.")
