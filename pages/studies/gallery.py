"""Draw the gallery of studies: a card asks its question, and a guess on it draws its curves."""

from collections.abc import Sequence

import streamlit as st

from pages.questions.prediction_gate import Prediction
from pages.selection import selection
from pages.stores import lessons, session, shared_cache
from pages.studies import questions
from pages.studies.renderer import build
from pages.studies.study import Study
from pages.views.figures import draw_chart
from vitviz.experiments.result_file import ResultError
from vitviz.lessons.question_kinds import Choose
from vitviz.plots import race
from vitviz.plots.chart import Chart
from vitviz.plots.hidden_curves import CARD_PX, shrink
from vitviz.plots.study_charts import RaceChart
from vitviz.plots.theme import PALETTES

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
    answer = None
    if prediction is not None:
        answer = lessons.get_answers(session.get_current()).get(
            f"studies.{prediction.key} {prediction.about}"
        )
    label = f"{study.question} :gray[{study.minutes}\N{NO-BREAK SPACE}min]"
    query = {"studies.study": study.name}
    if answer is not None and prediction is not None:
        if not study.hook("sketch"):
            values = study.choose(draw=False)  # the study may still have others selected: another question
            query |= {choice.key: values[choice.name] for choice in study.choices if choice.when is None}
        query[prediction.key] = prediction.kind.encode(answer.guess)
    selection.link_to("studies", label, icon=":material/arrow_forward:", **query)
    if card := load_card(study.name, answer is None, study):
        draw_chart(card, f"studies.card.{study.name}.chart")
    if answer is not None:
        icon = "help" if not answer.right else "check" if answer.guess in answer.right else "close"
        st.markdown(f":material/{icon}: {answer.measured}")
    elif prediction is not None and isinstance(prediction.kind, Choose) and not study.hook("sketch"):
        if prediction.kind.count_answers() <= MOST_OPTIONS:
            prediction.draw_on_card(f"studies.card.{study.name}")


@shared_cache.shared(max_entries=64)
def _load_question(name: str, _study: Study) -> Prediction | None:
    """Return the question that a study asks first; None if it asks none."""
    if _study.hook("sketch"):  # its numbers need the selected model, its question does not
        return questions.build(_study, _study.find_view({}), {}, None, {})
    try:
        return build(_study, _study.choose(draw=False)).prediction
    except ResultError:
        return None


@shared_cache.shared(max_entries=64)
def load_card(name: str, is_open: bool, _study: Study) -> Chart | None:
    """Return the chart of a study's card; None without results."""
    if sketch := _study.hook("sketch"):
        card, axis = Chart("light"), {"visible": False, "showgrid": False}
        for x, y in sketch():
            card.add(
                "scatter", x=x, y=y, mode="lines", line={"color": PALETTES["light"].muted}, hoverinfo="skip"
            )
        card.layout(height=CARD_PX, meta=_study.title, xaxis=axis, yaxis=axis)
        return card
    try:
        figure = build(_study, _study.choose(draw=False)).figure
    except ResultError:
        return None
    if isinstance(figure, RaceChart):
        figure = race.draw_curves(race.list_curves(figure.variants), figure.chance, figure.epochs)
    return shrink(figure, _study.title, is_open) if isinstance(figure, Chart) else None
