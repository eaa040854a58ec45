"""Draw the gallery of studies: a card asks its question, and a guess on it draws its curves."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from pages.questions.prediction_gate import Prediction
from pages.selection import selection
from pages.stores import lessons, session, shared_cache
from pages.stores.lessons import StoredAnswer
from pages.studies.renderer import build
from pages.studies.study import Study
from vitviz.experiments.result_file import ResultError
from vitviz.lessons.question_kinds import Choose
from vitviz.plots import race
from vitviz.plots.chart import Chart
from vitviz.plots.hidden_curves import Card, CardLine, draw_card, read_card
from vitviz.plots.study_charts import RaceChart
from vitviz.plots.theme import PALETTES, Mode

GROUPS = {
    "data": ("Data", "How many images, and how much time, an architecture needs."),
    "positions": ("Positions", "How a model uses the positions of its patches."),
    "recipe": ("Recipe and architecture", "What one part of the model or of its training changes."),
    "mistakes": ("Mistakes", "What a bug costs, and how to find it."),
}
"""Title and sentence of each group."""
MOST_OPTIONS = 6  # of a question on a card


def draw_gallery(studies: Sequence[Study]) -> None:
    for group, (title, sentence) in GROUPS.items():
        with st.container(horizontal=True, vertical_alignment="bottom", key=f"study-group-{group}"):
            st.subheader(title, anchor=False, width="content")
            st.markdown(sentence, width="content")
        with st.container(key=f"study-cards-{group}"):
            for study in (study for study in studies if study.group == group):
                with st.container(height="stretch", gap="xxsmall", key=f"study-card-{study.name}"):
                    _draw_card(study)


def _draw_card(study: Study) -> None:
    prediction = _load_question(study.name, study)
    answer = find_answer(study, prediction)
    label = f"{study.question} :gray[{study.minutes}\N{NO-BREAK SPACE}min]"
    query = {"studies.study": study.name}
    if answer is not None and prediction is not None and answer.prompt == prediction.write(prediction.prompt):
        values = study.choose(draw=False)  # the study may still have others selected: another question
        query |= {choice.key: values[choice.name] for choice in study.choices if choice.when is None}
        query[prediction.key] = prediction.kind.encode(answer.guess)
    selection.link_to("studies", label, icon=":material/arrow_forward:", **query)
    if sketch := _sketch(study.name, selection.get_theme(), answer is None, study):
        st.html(sketch)
    if answer is not None:
        icon = "help" if not answer.right else "check" if answer.guess in answer.right else "close"
        st.markdown(f":material/{icon}: {answer.measured}")
    elif prediction is not None:
        prediction.draw_on_card(f"studies.card.{study.name}")


@shared_cache.shared(max_entries=64)
def _load_question(name: str, _study: Study) -> Prediction | None:
    """Return the question that a study asks first; None if a card cannot ask it."""
    if _study.hook("sketch"):  # its picture needs the selected model
        return None
    try:
        prediction = build(_study, _study.choose(draw=False)).prediction
    except ResultError:
        return None
    if prediction is None or not isinstance(prediction.kind, Choose):
        return None
    return prediction if prediction.kind.count_answers() <= MOST_OPTIONS else None


def find_answer(study: Study, prediction: Prediction | None) -> StoredAnswer | None:
    """Return the session's newest answer to a question of the study or of its card; None if it has not answered one."""
    names = tuple(_begin_name(view.ask) for view in study.views if view.ask is not None)
    if prediction is not None:  # a study's own module may ask it
        names += (f"studies.{prediction.key} {prediction.about}",)
    answers = lessons.get_answers(session.get_current())
    return next((answer for name, answer in reversed(answers.items()) if name.startswith(names)), None)


def _begin_name(ask: Mapping[str, Any]) -> str:
    """Return how the names of a question's stored answers begin: two studies may ask a measure under one key."""
    return f"studies.{ask['key']} " + (ask["prompt"].partition("{")[0] if "measure" in ask else "")


@shared_cache.shared(max_entries=128)
def _sketch(name: str, mode: Mode, is_open: bool, _study: Study) -> str:
    sketch = draw_card_sketch(_study, mode, is_open)
    label = f"{_study.title}: {'the range of all curves' if is_open else 'all curves'}"
    return f'<div role="img" aria-label="{escape(label)}">{sketch}</div>' if sketch else ""


def draw_card_sketch(study: Study, mode: Mode = "light", is_open: bool = True) -> str:
    """Return a study's card: the range of all curves, or once answered the curves; '' without results."""
    if sketch := study.hook("sketch"):
        lines = [CardLine("", PALETTES[mode].muted, x, y) for x, y in sketch()]
        return draw_card(Card(lines), mode, is_open=False)
    try:
        figure = build(study, study.choose(draw=False), mode).figure
    except ResultError:
        return ""
    if isinstance(figure, RaceChart):
        figure = race.draw_curves(race.list_curves(figure.variants), figure.chance, figure.epochs)
    return draw_card(read_card(figure), mode, is_open) if isinstance(figure, Chart) else ""
