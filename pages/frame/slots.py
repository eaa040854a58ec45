"""Hold what rooms above the frame add to a page: app.py fills the slots, so that neither frame nor questions know them.

An empty slot adds nothing: no class is asked anything, no lesson is open, and a drawer has no question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pages.selection.subject import Subject
    from vitviz.classes.question_store import QuestionState
    from vitviz.classes.shared_view import LessonText
    from vitviz.lessons.lesson import Question
    from vitviz.lessons.question_kinds import Measure


class Slots:
    """Functions of other rooms; `classroom` and `questions` say what each returns."""

    ask_question: Callable[[Question, str, Subject | None], None] = staticmethod(
        lambda question, key, at: None
    )
    offer_question: Callable[..., None] = staticmethod(lambda question, subject, first=False: None)
    load_pending: Callable[[], QuestionState | None] = staticmethod(lambda: None)
    is_hidden: Callable[[Measure], bool] = staticmethod(lambda measure: False)
    get_followed_lesson: Callable[[], LessonText | None] = staticmethod(lambda: None)


def fill(**functions: Callable[..., object]) -> None:
    """Fill slots by name; repeated calls do nothing.

    Raises:
        AttributeError: if there is no such slot.
    """
    for name, function in functions.items():
        getattr(Slots, name)
        setattr(Slots, name, staticmethod(function))
