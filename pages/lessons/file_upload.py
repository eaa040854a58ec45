"""A lesson's file of the visitor's: opened, shown as one that can be walked, and taken over as one's own."""

from __future__ import annotations

import streamlit as st

from pages.frame import registry
from pages.lessons import cards, editor
from pages.selection import upload
from pages.stores import lessons, session
from vitviz.lessons.lesson_file import MOST_BYTES, read_lesson
from vitviz.lessons.typed_tables import LessonError
from vitviz.text import plain

# Streamlit counts in whole megabytes: the label says what is taken, and the widget's own line does not contradict it.
STYLE = """<style>
[class*="st-key-lessons-_file"] [data-testid="stFileUploaderDropzoneInstructions"] { display: none; }
</style>"""
_TURN, _ERROR = "lessons._turn", "lessons._error"


def draw() -> None:
    """The uploader, what it refused, and the lesson that was opened."""
    key = f"lessons._file.{st.session_state.setdefault(_TURN, 0)}"
    st.html(STYLE)
    st.file_uploader(
        f"Open a lesson's file: .toml, {MOST_BYTES // 1024} KB at most",
        type=["toml"],
        key=key,
        max_upload_size=1,
        on_change=_received,
        args=(key,),
        help="As 'Download' gives it. It stays with this visit.",
    )
    if error := st.session_state.pop(_ERROR, None):
        st.warning(f"This file is no lesson. {plain(error[:1].upper() + error[1:])}.", icon=":material/info:")
    opened = lessons.shelf(session.current()).own.get(lessons.OPENED)
    if opened is not None:
        cards.card(lessons.OPENED, opened)
        st.button("Edit a copy of it", key="lessons.copy", icon=":material/edit:", on_click=_copy)


def _copy() -> None:
    own = lessons.shelf(session.current()).own
    own[lessons.MINE] = own[lessons.OPENED]
    editor.changed()


def _received(key: str) -> None:
    file = upload.take(key)
    if file is None:
        return
    here = session.current()
    try:
        lessons.shelf(here).own[lessons.OPENED] = read_lesson(file.data, registry.BY_SLUG)
        lessons.shelf(here).progress.pop(lessons.OPENED, None)
    except LessonError as error:
        st.session_state[_ERROR] = str(error)
    finally:
        st.session_state[_TURN] += 1
