"""The anatomy that every page shares: question on top, caption under the picture, closed drawers at the end."""

from __future__ import annotations

import inspect
import json as json_text
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from html import escape
from pathlib import Path, PurePath
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import popover
from pages.frame import glossary_terms
from pages.questions import prediction
from pages.streamlit_fixes import element_cache
from vitviz.tables import Columns, csv_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from pages.selection.subject import Subject
    from vitviz.lessons.lesson import Question

Written = Mapping[str, Callable[[float], str]]
MISSING = "–"  # in a table, for what is not known
_MIME = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".npz": "application/octet-stream",
    ".png": "image/png",
    ".toml": "application/toml",
    ".webp": "image/webp",
    ".zip": "application/zip",
}


def header(title: str, question: str) -> None:
    """The page's title and the one question that its picture answers."""
    st.html(f"<style>{_style()}</style>")
    glossary_terms.begin()
    with st.container(gap="xxsmall"):
        st.title(title, anchor=False)
        glossary_terms.write(question)


@cache
def _style() -> str:
    return Path(__file__).with_name("page.css").read_text("utf-8")


def row() -> DeltaGenerator:
    """The one row of controls above a picture: those that the first look needs, and the button of `options`.

    They are as wide as their content, or as the container that each stands in, so that a narrow screen has few rows.
    """
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small")


def sentence() -> tuple[DeltaGenerator, DeltaGenerator]:
    """A line above a picture: where its sentence goes, which takes the room that is left, and the row in which one
    button or toggle follows it, never cut off."""
    line = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    return line.container(), line


def options(name: str) -> popover.Behind:
    """The button behind which lie the controls that the first look does not need: `with page.options("block"): ...`.

    Args:
        name: of the section; no other has it.
    """
    return popover.button("Options", "tune", f"{name}.options")


def caption(text: str) -> None:
    """One or two sentences in Markdown, computed from the picture's own numbers; the field's words in it are dotted."""
    st.caption(glossary_terms.marked(text))


def provenance(text: str) -> None:
    """Draw where and how numbers were measured (Markdown) behind one folded line."""
    with st.expander("How this was measured"):
        st.caption(text)


def say(text: str) -> None:
    """A sentence of our own in Markdown above or beside a picture, its new words dotted."""
    st.markdown(glossary_terms.marked(text))


def shapes(**terms: tuple[int, ...]) -> None:
    """Shapes beside a picture, each as a small tag: `shapes(q=(1, 3, 65, 32))`."""
    st.markdown(" ".join(f"`{name} ({', '.join(map(str, shape))})`" for name, shape in terms.items()))


def source(code: str, height: int | Literal["content"] = "content") -> None:
    """Python source, plain: Streamlit's fixed colours for code fall short of WCAG AA on every light ground.

    Args:
        code: of any length; long lines are wrapped, for Streamlit's box cannot be scrolled sideways by keys.
        height: in pixels of a box that is scrolled, by keys too; else as high as the code.
    """
    if height == "content":
        st.code(code, language=None, wrap_lines=True)
    else:
        listing(code, "Source", height)


def listing(text: str, name: str, height: int) -> None:
    """Text of fixed width in a box that is scrolled by keys too, which Streamlit's own cannot be.

    Args:
        text: shown as it is.
        name: of the box, for readers of the screen.
        height: in pixels.
    """
    box = f'class="vv-listing" tabindex="0" role="region" aria-label="{escape(name)}" style="max-height: {height}px"'
    st.html(f"<pre {box}>{escape(text)}</pre>")


def untrained_note(trained_on: str | None) -> None:
    """Says that a picture shows random weights, where it does."""
    if trained_on is None:
        st.markdown(":orange-badge[:material/casino: random weights] This model has not been trained.")


def figure(drawn: Figure, key: str) -> None:
    """A Plotly figure in the project's own theme, without a tool bar."""
    from vitviz.plots.plotly_dict import height_of  # Plotly: the first paint does without

    st.plotly_chart(
        drawn,
        theme=None,
        config={"displayModeBar": False},
        key=key,
        height=height_of(drawn) or "content",  # its place is kept while Plotly's code is on the way
    )


def download(
    label: str,
    make: Callable[[], str | bytes],
    file_name: str,
    key: str,
    *,
    why_not: str | None = None,
    stretch: bool = False,
) -> None:
    """A button that gives a file.

    Args:
        make: gives the file once it is asked for; it then runs without a session, so it is told all that it needs.
        file_name: its ending says what it is: .csv, .json, .npz, .png, .webp or .zip.
        why_not: the sentence that says why there is no such file now; None where there is one.
        stretch: as wide as the column.
    """
    st.download_button(
        label,
        make,
        file_name,
        _MIME[PurePath(file_name).suffix],
        key=key,
        help=why_not,
        on_click="ignore",
        icon=":material/download:",
        disabled=why_not is not None,
        width="stretch" if stretch else "content",
    )


@dataclass(frozen=True)
class _Table:
    """A table by all that is said of it."""

    said: str
    columns: dict[str, list[object]] = field(compare=False)
    written: Written = field(compare=False)
    formats: dict[str, Any] = field(compare=False)
    key: str = field(compare=False)


def table(columns: Columns, written: Written, formats: dict[str, Any], key: str) -> None:
    """A table that is nobody's own; what is not known is an en dash in it.

    The same table is put together once: pandas takes as long for one as half of its page.

    Args:
        written: by column the words of `vitviz.text` that write its numbers, `percent` or `gained`: see `styled`.
        formats: Streamlit's own formats of other columns.
    """
    listed = {name: [*values] for name, values in columns.items()}
    said = repr((listed, written, formats, key))
    element_cache.draw(st.container(), _draw_table, _Table(said, listed, written, formats, key))


def _draw_table(told: _Table) -> None:
    st.dataframe(
        styled(told.columns, told.written),
        hide_index=True,
        placeholder=MISSING,
        column_config=told.formats,
        key=told.key,
    )


def styled(columns: Any, written: Written) -> Any:
    """Columns for `st.dataframe` whose numbers are written as captions write them, and sorted as numbers.

    Streamlit's own formats have a hyphen for a minus, no space before the sign of percent, and two digits beside one.
    """
    import pandas as pd

    return pd.DataFrame(columns).style.format(dict(written), na_rep=MISSING)


def csv(label: str, columns: Columns, file_name: str, key: str, *, stretch: bool = False) -> None:
    """Columns by name as a file of comma-separated values: `csv("Weights (CSV)", {"layer": …}, "w.csv", …)`."""
    download(label, partial(csv_text, columns), file_name, key, stretch=stretch)


def json(label: str, value: Any, file_name: str, key: str) -> None:
    """A value of lists, objects, texts and numbers as a JSON file."""
    download(label, partial(json_text.dumps, value, indent=1), file_name, key)


def drawers(
    key: str,
    *,
    math: str | None = None,
    code: Sequence[Callable[..., object]] | Callable[[], Sequence[Callable[..., object]]] = (),
    numbers: Callable[[], None] | None = None,
    asks: Sequence[Question] = (),
    at: Subject | None = None,
) -> None:
    """The closed drawers, in their fixed order; what lies in one is made when it is opened.

    Args:
        key: a prefix of its own on the page: 'block' gives 'block.drawer.code'.
        math: Markdown.
        code: functions and classes, or what gives them once the drawer is opened; their own source is shown, as it ran.
        numbers: draws tables and downloads.
        asks: questions whose answers are measured of `at`, by default of the sidebar's model, step and picture.
    """
    if math is not None:
        _drawer(f"{key}.drawer.math", "The mathematics", "function", partial(say, math))
    if code:
        _drawer(f"{key}.drawer.code", "The code that ran", "code", partial(_sources, code))
    if numbers is not None:
        _drawer(f"{key}.drawer.numbers", "The numbers", "table", numbers)
    if asks:
        _drawer(
            f"{key}.drawer.asks",
            "Predict, then measure",
            "experiment",
            partial(_ask, asks, f"{key}.asks", at),
        )


def _ask(asks: Sequence[Question], key: str, at: Subject | None) -> None:
    for number, question in enumerate(asks):
        prediction.ask(question, f"{key}.{number}", at)


def open_drawers(key: str) -> list[str]:
    """The fragments of those drawers of `drawers(key, ...)` that are open, for `st.rerun` to run alone."""
    names = (f"{key}.drawer.{name}" for name in ("math", "code", "numbers", "asks"))
    return [name for name in names if st.session_state.get(name)]


def _drawer(key: str, title: str, icon: str, content: Callable[[], object]) -> None:
    """Opening one runs it alone, and not the page."""
    st.fragment(_draw_drawer, key=key)(key, title, icon, content)


def _draw_drawer(key: str, title: str, icon: str, content: Callable[[], object]) -> None:
    drawer = st.expander(title, icon=f":material/{icon}:", key=key, on_change="rerun")
    if drawer.open:
        with drawer:
            content()


def _sources(parts: Sequence[Callable[..., object]] | Callable[[], Sequence[Callable[..., object]]]) -> None:
    parts = parts() if callable(parts) else parts
    source("\n\n".join(dedent(inspect.getsource(part)) for part in parts))
