"""Write what a finished stop shows, with numbers measured on the model and image of the stop's link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.frame.slots import Slots
from pages.lessons.open_lesson import OpenStop
from pages.selection import selection
from pages.stores.model_choice import ModelChoice
from pages.stores.shared_cache import per_image
from vitviz.lessons.lesson import PLACEHOLDER
from vitviz.lessons.question_kinds import Measure

if TYPE_CHECKING:
    from pages.selection.subject import Subject

Texts = tuple[str, str]  # the measured answer and its sentence; '' without one


def write_finding(opened: OpenStop) -> str:
    """Return the sentence of the stop with its numbers; '' if it has none, or none that can be shown."""
    stop, measure = opened.stop, opened.stop.shown_measure
    names = set(PLACEHOLDER.findall(stop.shows))
    if not names or measure is None:
        return stop.shows
    if stop.question is not None and Slots.is_hidden(stop.question.measure):
        return ""
    link, current = stop.link.values, selection.get_current()
    model, image = link.get("model", current.model), link.get("image", current.image)
    choice = selection.list_models().get(model)
    if choice is None or ("before" in names and 0 not in choice.steps):
        return ""
    answer, words = _measure(measure, choice, choice.last_step, image)
    before = _measure(measure, choice, 0, image)[0] if "before" in names else ""
    texts = {"answer": answer, "words": words, "before": before}
    return PLACEHOLDER.sub(lambda match: texts[match[1]], stop.shows) if answer else ""


@per_image(shared=256, upload=4)
def _measure(measure: Measure, choice: ModelChoice, step: int, image: str) -> Texts:
    from pages.selection import subject

    return describe_answer(measure, subject.load_subject(choice, step, image))


def describe_answer(measure: Measure, at: Subject) -> Texts:
    """Return the measured answer and its sentence; '' for both if the measure does not apply."""
    from pages.selection.subject import capture_attention

    if measure.why_not(at):
        return "", ""
    measured = measure.measure_answer(capture_attention(at))
    return measured.format_answer(measure.get_answer_kind(at)), measured.words
