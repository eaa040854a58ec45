"""The lab's run of several models: what the form describes is put into a line-up, and one click trains them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import query_params, widgets
from pages.frame import page
from pages.stores import session, user_datasets
from pages.train.lab import fields, keys, model_form, recipe_form, settings
from pages.train.lab.keys import Several
from vitviz.checkpoint_limits import check_buildable
from vitviz.data import own_datasets
from vitviz.text import plain
from vitviz.training import lineup
from vitviz.training.lineup import Entry
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import MOST_MEMBERS, clean_name

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.training.run_config import RunConfig

LONGEST = 24  # signs of a name, so that it fits at the end of its line
FEWEST = 2


class Incomplete(ValueError):
    """A line-up that cannot train because it has too few models as yet."""


def draw_form() -> RunConfig | ValueError:
    """Draws the form of one model and the line-up; the run that the line-up is, or why it cannot be."""
    form = recipe_form.draw()
    entries = read()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="live_lab-lineup"):
        why_not = _draw_adding(entries, form)
        _draw_models(entries)
    if why_not:
        page.caption(f"It cannot be added: {plain(why_not)}.")
    if len(entries) < FEWEST:
        return Incomplete(f"A run of several needs {FEWEST} models or more: set one up above, and add it")
    try:
        for entry in entries:
            check_buildable(entry.model, recipe_form.MOST_LAYERS)
        return lineup.run_config(entries, _preparation(entries[0]))
    except ValueError as error:
        return error


def read() -> tuple[Entry, ...]:
    """The line-up of the link, else of the session; what cannot be read is left away, and said."""
    key = Several.key("lineup")
    said = query_params.take(key)
    if said is not None:
        widgets.set_value(key, said)
    text = st.session_state.get(key, "")
    try:
        entries = lineup.decode(text)
    except ValueError as error:
        keys.notice(f"The models of this link cannot be used: {fields.said(str(error))}.")
        entries = ()
    here = session.current()
    kept = tuple(
        entry
        for entry in entries
        if not own_datasets.is_own(entry.train.dataset) or user_datasets.adopt(here, entry.train.dataset)
    )
    _write(kept)
    return kept


def _write(entries: tuple[Entry, ...]) -> None:
    widgets.set_value(Several.key("lineup"), text := lineup.encode(entries))
    if text:
        query_params.put(Several.key("lineup"), text)


def fill(config: RunConfig) -> bool:
    """Sets the line-up to that of a run, in a callback; False for any other run."""
    if not lineup.is_lineup(config):
        return False
    _write(lineup.entries_of(config, recipe_form.FIRST))
    return True


def _preparation(first: Entry) -> Preparation:
    return recipe_form.preparation_of(TRAINING_PRESETS[first.recipe], first.train.dataset)


def _draw_models(entries: tuple[Entry, ...]) -> None:
    """A button a model, which takes it out; where there is none, a line-up to begin with."""
    if not entries:
        epochs = [entry.train.epochs or 0 for entry in lineup.decode(lineup.READY)]
        st.button(
            "Begin with ViT, Swin and CNN on digits",
            icon=":material/groups:",
            key="live_lab._ready",
            on_click=_begin,
            help=f"{len(epochs)} families, {min(epochs):g} to {max(epochs):g} epochs each; all else is their recipes'.",
        )
    for place, entry in enumerate(entries):
        family = model_form.KINDS[entry.model.family]
        words = ", ".join(filter(None, (family, _changes(entry))))
        st.button(
            plain(entry.title),
            icon=":material/close:",
            key=f"live_lab._out_{place}",
            on_click=_take_out,
            args=(place,),
            help=f"Takes it out. {plain(words)}.",
        )


def _begin() -> None:
    _write(lineup.decode(lineup.READY))


def _take_out(place: int) -> None:
    entries = lineup.decode(st.session_state.get(Several.key("lineup"), ""))
    _write(entries[:place] + entries[place + 1 :])


def _draw_adding(entries: tuple[Entry, ...], form: RunConfig | ValueError) -> str:
    """The name that the form's model gets, and the button that adds it; why that cannot be, or ''."""
    why_not = _why_not(entries, form)
    suggested = "" if isinstance(form, ValueError) else suggestion(entries, form)
    with st.container(width=160):
        # Another suggestion is another field: what was typed belonged to the model before.
        title = st.text_input(
            "Name of this model",
            suggested,
            key=f"live_lab._title_{len(entries)}_{suggested}",
            max_chars=LONGEST,
            disabled=bool(why_not),
        )
    st.button(
        "Add this model",
        icon=":material/add:",
        key="live_lab._add",
        on_click=_add,
        args=(form, title or suggested),
        disabled=bool(why_not),
    )
    return why_not


def _why_not(entries: tuple[Entry, ...], form: RunConfig | ValueError) -> str:
    if isinstance(form, ValueError):
        return fields.said(str(form))
    if form.train.epochs is None:
        return "several models are counted in epochs, so that they are always equally far"
    if len(entries) == MOST_MEMBERS:
        return f"a run trains up to {MOST_MEMBERS} models"
    if not entries:
        return ""
    first = entries[0].train.dataset
    if form.train.dataset != first:
        return f"all read the same pictures, and the others read {settings.said('dataset', first)}"
    theirs, own_way = _preparation(entries[0]), form.preparation
    if theirs != own_way:
        return (
            f"the others read their pictures at {theirs.image_size} px with mean {theirs.mean[0]:g} and deviation"
            f" {theirs.std[0]:g}, this one at {own_way.image_size} px with {own_way.mean[0]:g} and {own_way.std[0]:g}"
        )
    return ""


def _add(form: RunConfig, title: str) -> None:
    entries = lineup.decode(st.session_state.get(Several.key("lineup"), ""))
    recipe = form.preset if form.preset in TRAINING_PRESETS else recipe_form.FIRST
    entry = Entry(str(recipe), unused(clean_name(title)[:LONGEST], entries), form.model, form.train)
    _write((*entries, entry))


def suggestion(entries: tuple[Entry, ...], form: RunConfig) -> str:
    """A short name that no other model has: its family, and where that is taken what sets it apart."""
    family = model_form.KINDS[form.model.family].partition(":")[0]
    rest = _changes(Entry(str(form.preset), "", form.model, form.train))
    taken = {entry.title for entry in entries}
    title = family if family not in taken or not rest else f"{family} {rest}"
    return unused(title[:LONGEST].rstrip(" ,"), entries)


def unused(title: str, entries: tuple[Entry, ...]) -> str:
    """The title, with a number where another model is called so."""
    taken = {entry.title for entry in entries}
    names = (title if i == 1 else f"{title[: LONGEST - 2]} {i}" for i in range(1, MOST_MEMBERS + 2))
    return next(name for name in names if name not in taken)


def _changes(entry: Entry) -> str:
    """What of a recipe was changed, in the words of the form: 'Blocks 4, Heads 8'."""
    preset = TRAINING_PRESETS[entry.recipe]
    if type(entry.model) is not type(preset.model):
        return ""
    now, before = (
        {**vars(one.model), **vars(one.train)} for one in (entry, Entry("", "", preset.model, preset.train))
    )
    changed = {name: value for name, value in now.items() if value != before[name]}
    return ", ".join(f"{fields.label(name)} {settings.said(name, value)}" for name, value in changed.items())
