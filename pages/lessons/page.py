"""Draw the page of lessons: shipped and class lessons, uploads, the user's own lesson and answers."""

from pathlib import Path

import streamlit as st

from pages.controls import downloads, notices
from pages.frame import page
from pages.frame.slots import Slots
from pages.lessons import editor, lesson_cards
from pages.selection import upload
from pages.stores import lessons, registry, session
from pages.stores.lessons import StoredAnswer
from vitviz.csv_table import Columns
from vitviz.lessons.lesson_file import read_lesson
from vitviz.lessons.typed_tables import LessonError
from vitviz.upload_limits import LESSON_BYTES

ANSWER_COLUMNS = ("lesson or page", "stop", "question", "prediction", "measured", "subject")
_ERROR = "lessons._error"


def draw_answers() -> None:
    """Offer the user's predictions and measured answers as a CSV file, if there are any."""
    rows = _list_answers()
    if not rows:
        return
    st.subheader("My answers", anchor=False)
    st.caption("Stored for your session and visible only to you.")
    columns: Columns = {name: [row[i] for row in rows] for i, name in enumerate(ANSWER_COLUMNS)}
    downloads.csv("My answers (CSV)", columns, "my_answers.csv", "lessons.answers")


def _list_answers() -> list[tuple[str, str, str, str, str, str]]:
    """Return every answer of the user, in lessons and to pages' own questions, which have no stop."""
    user, pending = session.get_current(), Slots.load_pending()
    hidden = "" if pending is None else pending.question.prompt
    rows = []
    for name, progress in lessons.get_shelf(user).progress.items():
        lesson = lessons.find_lesson(user, name, registry.BY_SLUG)
        title = name if lesson is None else lesson.title
        for stop, answer in sorted(progress.answers.items()):
            rows.append((title, str(stop), *_format_answer(answer)))
    for key, answer in lessons.get_answers(user).items():
        entry = registry.BY_SLUG.get(key.partition(".")[0])
        rows.append((key if entry is None else entry.title, "", *_format_answer(answer)))
    return [(*row[:4], "hidden", row[5]) if row[2] == hidden else row for row in rows]


def _format_answer(answer: StoredAnswer) -> tuple[str, str, str, str]:
    return answer.prompt, answer.guessed, answer.measured, answer.where


def draw_upload() -> None:
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
        lesson_cards.draw_cards({lessons.OPENED: opened})
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


page.header("lessons")
shipped = lessons.list_shipped(registry.BY_SLUG)
lesson_cards.draw_legend(shipped)
own = () if editor.has_lesson() else (editor.draw_empty_card,)
lesson_cards.draw_cards(shipped, *own)
lesson_cards.draw_class_lessons(lessons.list_class_lessons(registry.BY_SLUG))
if editor.has_lesson():
    st.subheader("My lesson", anchor=False)
    editor.draw()
with st.expander("Open a lesson from a file"):
    draw_upload()
draw_answers()
