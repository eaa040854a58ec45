"""Let the user upload a lesson's file, open it, and copy it into the editor."""

from pathlib import Path

import streamlit as st

from pages.controls import notices
from pages.frame import registry
from pages.lessons import editor, open_lesson
from pages.selection import upload
from pages.stores import lessons, session
from vitviz.lessons.lesson_file import read_lesson
from vitviz.lessons.typed_tables import LessonError
from vitviz.upload_limits import LESSON_BYTES

_ERROR = "lessons._error"


def draw() -> None:
    st.html(Path(__file__).with_name("file_upload.css"))
    upload.draw_uploader(
        "lessons._file",
        f"Upload a lesson (.toml, at most {LESSON_BYTES // 1024} KB)",
        _open_file,
        type=["toml"],
        max_upload_size=1,
        help="A file from 'Download my lesson'. It is deleted with your session.",
    )
    notices.draw_notice(_ERROR)
    opened = lessons.get_shelf(session.get_current()).own.get(lessons.OPENED)
    if opened is not None:
        open_lesson.draw_card(lessons.OPENED, opened)
        st.button("Edit a copy", key="lessons.copy", icon=":material/edit:", on_click=_copy_to_editor)


def _copy_to_editor() -> None:
    own_lessons = lessons.get_shelf(session.get_current()).own
    own_lessons[lessons.MINE] = own_lessons[lessons.OPENED]
    editor.reset_forms()


def _open_file(file: upload.UploadedFile) -> None:
    shelf = lessons.get_shelf(session.get_current())
    try:
        shelf.own[lessons.OPENED] = read_lesson(file.data, registry.BY_SLUG)
        shelf.progress.pop(lessons.OPENED, None)
        notices.clear_notice(_ERROR)
    except LessonError as error:
        message = str(error)
        notices.store_notice(_ERROR, f"Invalid lesson. {message[:1].upper()}{message[1:]}.")
