"""The controls of the tiles, and which models stand side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page
from pages.lenses.filters import sources
from pages.lenses.filters.sources import Filters
from pages.lessons import open_lesson
from pages.selection import selection, substitute
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.filters import Look
from vitviz.models.abilities import abilities
from vitviz.text import plain

COUNTS = (4, 7, 14, 28, 42, 56, 70, 84)
NOTHING = "nothing"
_BEHIND = "filters.behind"  # the model that nobody chose, and that another one stands before
KINDS = {"components": "Components", "raw": "Raw filters", "change": "Learned change"}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="filters"):
    """What a tile is, whose tiles stand beside the model's (keys of models, or NOTHING), how many, and in grey."""

    kind: str
    beside: str
    cnn: str
    count: int
    grey: bool


@dataclass(frozen=True, eq=False)
class Sheets:
    """Models in the order in which they are shown; the one at `active` has its first tile enlarged."""

    models: list[Filters]
    main: Filters  # the sidebar's: its step decides
    active: int


def read(first: ModelChoice | None) -> Choice:
    """Draws the controls; `first` is the model that the page opens with, where that is not the sidebar's."""
    model = selection.choice()
    with page.row():
        with st.container(width="content"):
            kind = _kind(model)
        with page.options("filters"):
            others = {
                key: m
                for key, m in selection.models().items()
                if key != model.key and abilities(m.config).filters
            }
            beside, cnn = _another(others, first), _cnn(others)
            count = widgets.select(Choice.key("count"), "How many tiles", COUNTS, 28)
            one = getattr((first or model).config, "in_chans", 3) == 1
            grey = widgets.toggle(
                Choice.key("grey"),
                "Grey: mean of the channels",
                why_not="This model reads grey pictures: it has one channel." if one else None,
            )
    return Choice(kind, beside, cnn, count, grey)


def _kind(model: ModelChoice) -> str:
    return widgets.segmented(
        Choice.key("kind"),
        "Tiles",
        tuple(kind for kind in KINDS if kind != "change" or len(model.steps) > 1),
        "components",
        format_func=KINDS.__getitem__,
        help="Learned change: components of E minus E at the first step, so that the noise E started from does not"
        " hide what training wrote.",
    )


def _another(others: Mapping[str, ModelChoice], first: ModelChoice | None) -> str:
    names = {NOTHING: "Nothing"} | {
        key: model.title
        for key, model in others.items()
        if model.trained_on is not None and model.config.kind != "cnn"
    }
    start = first.key if first is not None else _best(others, tuple(names))
    return widgets.select(
        Choice.key("beside"), "Another model", tuple(names), start, format_func=names.__getitem__
    )


def _best(others: Mapping[str, ModelChoice], keys: tuple[str, ...]) -> str:
    """Pretrained weights first; else the clearest; else a model of colour pictures; else nothing."""
    pretrained = [key for key in keys if key.startswith("pretrained:")]
    clearest = sources.clearest()
    clear = [key for key in keys if clearest is not None and key == clearest.key]
    colour = [key for key in keys if key in others and others[key].preparation.in_chans == 3]
    return next(iter((*pretrained, *clear, *colour)), NOTHING)


def _cnn(others: Mapping[str, ModelChoice]) -> str:
    cnns = {key: model for key, model in others.items() if model.config.kind == "cnn"}
    names = {NOTHING: "Nothing"} | {
        key: m.title if m.trained_on is not None else f"untrained: {m.title}" for key, m in cnns.items()
    }
    trained = [key for key, model in cnns.items() if model.trained_on is not None]
    start = next(iter((*trained, *cnns)), NOTHING)
    return widgets.select(
        Choice.key("cnn"), "A CNN's first layer", tuple(names), start, format_func=names.__getitem__
    )


def opens_with() -> ModelChoice | None:
    """The model that is shown first in place of the sidebar's: where nobody chose that, and it shows less.

    The link says of which model this is so, and opens the same picture. A lesson's stop speaks of its own model.
    """
    clearest, own = sources.clearest(), selection.current().model
    if clearest is None or clearest.key == own or open_lesson.current() is not None or _look().waves:
        return None
    said = query_params.take(_BEHIND) or session_keys.kept().get(_BEHIND)
    if said != own and not selection.nobody_chose():
        return None
    widgets.keep(_BEHIND, own)
    return clearest


@dataclass(frozen=True)
class Instead:
    """What a view of one model shows: the sidebar's, or the one that the page opens with, and a picture for it."""

    choice: ModelChoice
    step: int
    image: str


def instead() -> Instead:
    """Decides it, and says above the picture what stands in."""
    now, first = selection.current(), opens_with()
    say_which(first, beside=False)
    if first is None:
        return Instead(selection.choice(), now.step, now.image)
    image, said = substitute.picture(first)
    if said:
        st.markdown(f":gray[{said}]")
    return Instead(first, first.last_step, image)


def say_which(first: ModelChoice | None, *, beside: bool = True) -> None:
    """Above the picture: which model is shown in the sidebar's place; of one chosen by hand, which shows more.

    Args:
        first: the model in the sidebar's place; None: there is none.
        beside: whether the sidebar's is shown too.
    """
    model, clearest = selection.choice(), first or sources.clearest()
    if clearest is None or clearest.key == model.key or _look().waves:
        return
    title, own = plain(clearest.title), plain(model.title)
    if first is None:
        said = f":gray[{own} shows no clear waves.] {title} :gray[has the clearest here.]"
    else:
        said = (
            f":gray[This page opens with] {title}:gray[, whose filters are the clearest here;"
            f" {own}{', which shows no clear waves, stands beside it' if beside else ' shows no clear waves'}.]"
        )
    left, line = page.sentence()
    left.markdown(said)
    line.button(f"Choose {title}", key="filters.clearest", on_click=substitute.choose, args=(clearest,))


def _look() -> Look:
    return sources.look(sources.of(selection.choice(), selection.current().step).now)


def sheets(chosen: Choice, first: ModelChoice | None) -> Sheets:
    """The models that are shown: random weights of the same shape, the sidebar's, and those beside it.

    Args:
        chosen: what the controls say.
        first: the model beside it that is shown first; None: the sidebar's.
    """
    choice = selection.choice()
    main = sources.of(choice, selection.current().step)
    beside = [sources.of(selection.models()[k], None) for k in (chosen.beside, chosen.cnn) if k != NOTHING]
    trained = [main, *beside] if first is None else [beside[0], main, *beside[1:]]
    if chosen.kind == "change":
        moved = [sources.change(model) for model in trained if len(model.weights) > 1]
        changed = sources.change(main)
        at = 1 if first is not None and len(beside[0].weights) > 1 else 0
        moved[at] = changed
        return Sheets(moved, changed, 0)
    if first is not None:
        return Sheets([*trained[:2], sources.random_twin(first), *trained[2:]], main, 0)
    if choice.trained_on is None:
        return Sheets(trained, main, 0)
    return Sheets([sources.random_twin(choice), *trained], main, 1)
