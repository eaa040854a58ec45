"""Draw the parts that every page shares: style sheet, header, controls, captions, figures, tables and drawers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial, wraps
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from pages.controls import listing, popover, session_keys, widgets
from pages.frame import glossary_terms
from pages.frame.slots import Slots
from pages.selection import selection
from pages.stores import registry, session
from pages.stores.session_cookie import describe_cookie
from pages.streamlit_fixes.optional import element_cache
from pages.views.register import get_messages, register
from vitviz.csv_table import Columns
from vitviz.glossary import OTHERWISE
from vitviz.papers import find_findings, link_names
from vitviz.plots.blob import pack
from vitviz.text import plain, split_sentence

if TYPE_CHECKING:
    from pages.selection.subject import Subject
    from vitviz.lessons.lesson import Question

P = ParamSpec("P")
Formatters = Mapping[str, Callable[[float], str]]
MISSING = "–"  # for missing values in a table
_DRAWERS = {  # title and icon
    "math": ("The mathematics", "function"),
    "code": ("The code that ran", "code"),
    "numbers": ("The numbers", "table"),
    "asks": ("Predict, then measure", "experiment"),
}
_browser = register(__file__, "browser")
row = widgets.continue_row  # with the `options` popover at its end


@contextmanager
def show_file_errors() -> Iterator[None]:
    """Show why weights, a run or a dataset cannot be read; the sidebar stays usable."""
    try:
        yield
    except Exception as error:
        from vitviz.checkpoint_header import CheckpointError
        from vitviz.data.dataset import DatasetError
        from vitviz.models.pretrained_list import PretrainedError
        from vitviz.training.run_directory import RunError

        if not isinstance(error, CheckpointError | DatasetError | PretrainedError | RunError):
            raise
        reason = str(error).rstrip(".")
        st.error(
            f"Cannot show this page: {plain(reason)}. Select another model or image in the sidebar.",
            icon=":material/broken_image:",
        )


def view(draw: Callable[P, None]) -> Callable[P, None]:
    """Decorate what draws a lens below its header: its controls run it alone, without the sidebar and the frame."""

    @wraps(draw)
    def draw_view(*arguments: P.args, **options: P.kwargs) -> None:
        selection.note_sidebar()
        get_messages().clear()  # of what was drawn before
        draw(*arguments, **options)

    return st.fragment(show_file_errors()(draw_view), key=selection.VIEW)


def rerun_if_outdated() -> None:
    """Rerun this fragment at once if a control of it was used: Streamlit would finish a long computation first."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or context.script_requests is None:
        return
    requests = context.script_requests
    # Private: without them the computation ends first.
    is_requested = getattr(requests, "_state", None) == ScriptRequestType.RERUN
    queue = getattr(getattr(requests, "_rerun_data", None), "fragment_id_queue", ())
    if is_requested and ThreadState.get().fragment_id in queue:
        st.rerun(scope="fragment" if context.fragment_ids_this_run else "app")


def header(slug: str, title: str = "", question: str = "") -> DeltaGenerator:
    """Draw the title and the question of a page of the registry in one row, and return the row.

    Args:
        slug: the page's address.
        title, question: replace those of the registry; a title may stand alone.
    """
    entry = registry.BY_SLUG[slug]
    glossary_terms.reset_terms()
    get_messages().clear()
    widgets.reset_row()
    head = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with head:
        st.title(title or entry.title, anchor=False, width="content")
        if text := question or ("" if title else entry.question):
            # Phones hide it beside a lesson, so its terms are marked below.
            is_hidden = st.session_state.get(session_keys.LESSON) or Slots.get_followed_lesson()
            but = OTHERWISE if question else ()  # 'value' in a study's question is not attention's
            st.markdown(f":gray[{text if is_hidden else glossary_terms.link_new_terms(text, but)}]")
    return head


def options(name: str) -> popover.Popover:
    """Return the 'Options' popover: `with page.options("block"): ...`.

    Args:
        name: unique name of the section.
    """
    return popover.draw_popover("Options", "tune", f"{name}.options")


def caption(text: str, note: str = "") -> None:
    """Draw a caption's first sentence and a note in Markdown, terms linked; the other sentences open at its end."""
    finding, details = split_sentence(text)
    if shown := f"{finding} {note}".strip():
        st.caption(glossary_terms.link_new_terms(shown), help=details or None)


def findings(subject: str, *, is_open: bool = False) -> None:
    """Draw what papers found on a subject of papers.toml in a line that folds; nothing if none is cited."""
    if sentence := find_findings(subject):
        with st.expander("Published results", expanded=is_open):
            st.caption(glossary_terms.link_new_terms(f":material/menu_book: *Published:* {sentence}"))


def provenance(text: str) -> None:
    """Draw how numbers were measured (Markdown) in a folded line."""
    with st.expander("How this was measured"):
        st.caption(text)


def markdown(text: str) -> None:
    """Draw our own Markdown and link its new glossary terms."""
    st.markdown(glossary_terms.link_new_terms(text))


def shapes(**terms: tuple[int, ...]) -> None:
    """Draw tensor shapes as tags: `shapes(q=(1, 3, 65, 32))`."""
    st.markdown(" ".join(f"`{name} ({', '.join(map(str, shape))})`" for name, shape in terms.items()))


def untrained_note(trained_on: str | None) -> None:
    if trained_on is None:
        st.markdown(":violet-badge[:material/casino: random weights] Not trained.")


def table(columns: Columns, formatters: Formatters, formats: dict[str, Any], key: str) -> None:
    """Draw a public table, cached by its content; missing values are en dashes.

    Caching avoids pandas, which takes as long as the rest of the page.

    Args:
        formatters: by column the words of `vitviz.text` that write its numbers, `percent` or `gained`: see `styled`.
        formats: Streamlit's column configuration.
    """
    listed = {name: [*values] for name, values in columns.items()}
    content = (listed, formatters, formats, key)
    element_cache.draw_cached(st.container(), _draw_table, *content, key=repr(content))


def _draw_table(columns: Columns, formatters: Formatters, formats: dict[str, Any], key: str) -> None:
    shown = style_table(columns, formatters)
    st.dataframe(shown, hide_index=True, placeholder=MISSING, column_config=formats, key=key)


def style_table(columns: Any, formatters: Formatters) -> Any:
    """Return columns for `st.dataframe`, formatted as in captions and sorted as numbers.

    Streamlit's own formats use a hyphen for minus, no space before % and inconsistent digits.
    """
    import pandas as pd

    return pd.DataFrame(columns).style.format(dict(formatters), na_rep=MISSING)


@cache
def read_math(*modules: str, section: str = "") -> str:
    """Return the mathematics of sections: the Markdown file beside each module, of its name or the section's."""
    files = (Path(module).with_name(f"{section or Path(module).stem}.md") for module in modules)
    return "\n".join(file.read_text("utf-8") for file in files)


def drawers(
    key: str,
    *,
    math: str | None = None,
    code: Sequence[Callable[..., object]] | Callable[[], Sequence[Callable[..., object]]] = (),
    call: Callable[[], str] | None = None,
    numbers: Callable[[], None] | None = None,
    ask: Question | None = None,
    at: Subject | None = None,
) -> None:
    """Draw the folded drawers in their fixed order; their content is made when they are opened.

    Args:
        key: a unique prefix; 'block' gives 'block.drawer.code'.
        math: Markdown, usually of `read_math`.
        code: functions and classes whose source is shown, or a function that returns them.
        call: returns the Python line that gives what the page shows, which stands above the source; '' for none.
        numbers: draws tables and downloads.
        ask: a question, measured on `at` or by default on the sidebar's selection.
    """
    contents: dict[str, Callable[[], object]] = {}
    if math is not None:
        contents["math"] = lambda: markdown(link_names(math))
    if code:
        contents["code"] = partial(_draw_sources, code, call)
    if numbers is not None:
        contents["numbers"] = numbers
    if ask is not None:
        if st.session_state.get(session_keys.CLASS) is not None:
            Slots.offer_question(ask, at)  # also while the drawer is closed
        contents["asks"] = partial(Slots.ask_question, ask, f"{key}.asks.0", at)
    st.fragment(_draw_drawers, key=f"{key}.drawers")(key, contents)


def list_open_drawers(key: str) -> list[str]:
    """Return the fragment of `drawers(key, ...)`, for `st.rerun`, if a drawer is open."""
    is_open = any(st.session_state.get(f"{key}.drawer.{name}") for name in _DRAWERS)
    return [f"{key}.drawers"] if is_open else []


def _draw_drawers(key: str, contents: Mapping[str, Callable[[], object]]) -> None:
    for name, draw_content in contents.items():
        title, icon = _DRAWERS[name]
        drawer = st.expander(title, icon=f":material/{icon}:", key=f"{key}.drawer.{name}", on_change="rerun")
        if drawer.open:
            with drawer:
                draw_content()


def _draw_sources(
    parts: Sequence[Callable[..., object]] | Callable[[], Sequence[Callable[..., object]]],
    call: Callable[[], str] | None,
) -> None:
    if call is not None and (line := call()):
        listing.source(f"# Layers, heads and tokens count from 0.\n{line}")
    parts = parts() if callable(parts) else parts
    listing.source("\n\n".join(dedent(inspect.getsource(part)) for part in parts))


def images(small: Sequence[NDArray[np.uint8]], names: Sequence[str], alt: str, width_px: int) -> None:
    """Draw small images (H, W) or (H, W, channels) in a row, enlarged so that a browser does not blur them.

    Args:
        small: grey or RGB.
        names: captions; `alt` and a caption describe an image for screen readers.
        width_px: of each image as shown.
    """
    with st.container(horizontal=True, gap="xsmall"):
        for image, name in zip(small, names, strict=True):
            scale = -(-width_px // image.shape[0])
            large = (
                np.broadcast_to(np.atleast_3d(image), (*image.shape[:2], 3)).repeat(scale, 0).repeat(scale, 1)
            )
            st.image(large, caption=name, alt=f"{alt}{name}", width=width_px)


@cache
def _read_style() -> str:
    return Path(__file__).with_name("page.css").read_text("utf-8")


def mount_browser(slug: str) -> None:
    """Send the style sheet, the session's token and the open page's place in the menu to the browser.

    The main script sends both: Streamlit drops what a page sent when another page begins.
    """
    st.html(f"<style>{_read_style()}</style>")
    cookie = describe_cookie(session.get_current().token, st.context.cookies, st.context.url)
    group = registry.BY_SLUG.get(slug, registry.PAGES[0]).group
    _browser(pack(cookie | {"group": registry.GROUPS.index(group)}), key="shell.browser", height=1)
