"""Draw the gallery: a card for each study, with its question and a sketch of its stored result."""

from collections.abc import Sequence

import streamlit as st

from pages.selection import selection
from pages.stores import shared_cache
from pages.studies.study import Race, Study
from vitviz.plots.hidden_curves import draw_sketch, list_lines

COLUMNS = 3


def draw(studies: Sequence[Study]) -> None:
    for start in range(0, len(studies), COLUMNS):
        for place, study in zip(st.columns(COLUMNS), studies[start : start + COLUMNS], strict=False):
            key = f"study-card-{study.name}"
            with place, st.container(border=True, height="stretch", gap="xxsmall", key=key):
                _draw_card(study)


def _draw_card(study: Study) -> None:
    if sketch := _sketch(study.name, study):
        st.image(sketch, alt=f"Sketch of the curves: {study.title}", width="stretch")
    label = f"{study.question} :gray[{study.minutes}\N{NO-BREAK SPACE}min]"
    selection.link_to("studies", label, icon=":material/arrow_forward:", **{"studies.study": study.name})


@shared_cache.shared(max_entries=64)
def _sketch(name: str, _study: Study) -> str:
    return draw_card_sketch(_study)


def draw_card_sketch(study: Study) -> str:
    """Return an SVG of the curves of a study's example, which does not say which is whose; '' without results."""
    if study.sketch is not None:
        return draw_sketch(list(study.sketch()))
    view = study.build_example()
    if view is None or view.picture is None or callable(view.picture):
        return ""
    if isinstance(view.picture, Race):
        return draw_sketch([(variant.curve[0], variant.curve[1]) for variant in view.picture.variants])
    return draw_sketch(list_lines(view.picture))
