"""Draw the form of a run of several models: add models to a lineup and train them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import popover, query_params, widgets
from pages.frame import run_start
from pages.stores import session, user_datasets
from pages.train.lab import model_form, recipe_form, settings
from pages.train.lab.lab_controls import LINEUP
from vitviz.config import name_fields
from vitviz.data import uploaded_datasets
from vitviz.text import plain
from vitviz.training import lineup
from vitviz.training.lineup import LineupEntry
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import MOST_MEMBERS, clean_name
from vitviz.upload_limits import check_buildable

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.training.run_config import RunConfig

LONGEST = 24  # characters of a title, so that it fits at the end of its curve
FEWEST = 2


class IncompleteLineup(ValueError):
    """A lineup with too few models to train."""


def draw_form() -> RunConfig | ValueError:
    """Draw the model form and the lineup; return the lineup's run, or the reason why it is invalid."""
    form = recipe_form.draw()
    entries = load_entries()
    if not popover.is_closed():
        _draw_lineup(entries, form)
    if len(entries) < FEWEST:
        return IncompleteLineup(f"add at least {FEWEST} models under 'Set up'")
    try:
        for entry in entries:
            check_buildable(entry.model, recipe_form.MOST_LAYERS)
        return lineup.run_config(entries, _get_preparation(entries[0]))
    except ValueError as error:
        return error


def _draw_lineup(entries: tuple[LineupEntry, ...], form: RunConfig | ValueError) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="live_lab-lineup"):
        _draw_add_row(entries, form)
        _draw_models(entries)


def load_entries() -> tuple[LineupEntry, ...]:
    """Return the lineup of the link, else of the session; warn about entries that cannot be loaded."""
    link_text = query_params.take_value(LINEUP)
    if link_text is not None:
        widgets.set_control(LINEUP, link_text)
    try:
        entries = _decode_stored()
    except ValueError as error:
        run_start.set_notice(f"The models of this link cannot be used: {name_fields(str(error))}.")
        entries = ()
    user_session = session.get_current()
    available = tuple(
        entry
        for entry in entries
        if not uploaded_datasets.is_uploaded(entry.train.dataset)
        or user_datasets.adopt_dataset(user_session, entry.train.dataset)
    )
    _save_entries(available)
    return available


def _decode_stored() -> tuple[LineupEntry, ...]:
    return lineup.decode(st.session_state.get(LINEUP, ""))


def _save_entries(entries: tuple[LineupEntry, ...]) -> None:
    widgets.set_control(LINEUP, text := lineup.encode(entries))
    if text:
        query_params.set_value(LINEUP, text)


def fill_form(config: RunConfig) -> bool:
    """Set the lineup to that of a run, in a callback; return False for any other run."""
    if not lineup.is_lineup(config):
        return False
    _save_entries(lineup.entries_of(config, recipe_form.FIRST))
    return True


def _get_preparation(first: LineupEntry) -> Preparation:
    return recipe_form.choose_preparation(TRAINING_PRESETS[first.recipe], first.train.dataset)


def _draw_models(entries: tuple[LineupEntry, ...]) -> None:
    """Draw a button per model that removes it, or an example while the lineup is empty."""
    if not entries:
        epochs = [entry.train.epochs or 0 for entry in lineup.decode(lineup.READY)]
        st.button(
            "Load example: ViT, Swin and CNN on digits",
            icon=":material/groups:",
            key="live_lab._ready",
            on_click=_save_entries,
            args=(lineup.decode(lineup.READY),),
            help=f"{len(epochs)} families, {min(epochs):g} to {max(epochs):g} epochs each, with their own recipes.",
        )
    for place, entry in enumerate(entries):
        family = model_form.KINDS[entry.model.family]
        summary = ", ".join(filter(None, (family, _describe_changes(entry))))
        st.button(
            plain(entry.title),
            icon=":material/close:",
            key=f"live_lab._out_{place}",
            on_click=_remove_entry,
            args=(place,),
            help=f"Remove this model. {plain(summary)}.",
        )


def _remove_entry(place: int) -> None:
    entries = _decode_stored()
    _save_entries(entries[:place] + entries[place + 1 :])


def _draw_add_row(entries: tuple[LineupEntry, ...], form: RunConfig | ValueError) -> None:
    """Draw the title's field and the add button."""
    refusal = plain(_explain_refusal(entries, form))
    suggested = "" if isinstance(form, ValueError) else suggest_title(entries, form)
    with st.container(width=160):
        # The key changes with the suggestion, because typed text belongs to the previous model.
        title = st.text_input(
            "Model name",
            suggested,
            key=f"live_lab._title_{len(entries)}_{suggested}",
            max_chars=LONGEST,
            disabled=bool(refusal),
            help=f"Disabled: {refusal}." if refusal else None,
        )
    widgets.button(
        "Add this model",
        icon=":material/add:",
        key="live_lab._add",
        on_click=_add_entry,
        args=(form, title or suggested),
        why_not=refusal,
    )


def _explain_refusal(entries: tuple[LineupEntry, ...], form: RunConfig | ValueError) -> str:
    if isinstance(form, ValueError):
        return name_fields(str(form))
    if form.train.epochs is None:
        return "several models must train for epochs, not seconds"
    if len(entries) == MOST_MEMBERS:
        return f"a run trains at most {MOST_MEMBERS} models"
    if not entries:
        return ""
    first = entries[0].train.dataset
    if form.train.dataset != first:
        return f"all models of a run share one dataset, here {settings.format_setting('dataset', first)}"
    lineup_preparation, form_preparation = _get_preparation(entries[0]), form.preparation
    if lineup_preparation != form_preparation:
        return (
            "all models of a run share one image preparation:"
            f" expected {_describe_preparation(lineup_preparation)},"
            f" received {_describe_preparation(form_preparation)}"
        )
    return ""


def _describe_preparation(preparation: Preparation) -> str:
    return f"{preparation.image_size} px, mean {preparation.mean[0]:g}, standard deviation {preparation.std[0]:g}"


def _add_entry(form: RunConfig, title: str) -> None:
    entries = _decode_stored()
    recipe = form.preset if form.preset in TRAINING_PRESETS else recipe_form.FIRST
    entry = LineupEntry(
        str(recipe), make_unique(clean_name(title)[:LONGEST], entries), form.model, form.train
    )
    _save_entries((*entries, entry))


def suggest_title(entries: tuple[LineupEntry, ...], form: RunConfig) -> str:
    """Return a short unused title: the family, and its changes if the family is taken."""
    family = model_form.KINDS[form.model.family].partition(":")[0]
    changes = _describe_changes(LineupEntry(str(form.preset), "", form.model, form.train))
    taken = {entry.title for entry in entries}
    title = family if family not in taken or not changes else f"{family} {changes}"
    return make_unique(title[:LONGEST].rstrip(" ,"), entries)


def make_unique(title: str, entries: tuple[LineupEntry, ...]) -> str:
    taken = {entry.title for entry in entries}
    names = (title if i == 1 else f"{title[: LONGEST - 2]} {i}" for i in range(1, MOST_MEMBERS + 2))
    return next(name for name in names if name not in taken)


def _describe_changes(entry: LineupEntry) -> str:
    """Return the settings that differ from the recipe: 'Blocks 4, Heads 8'."""
    preset = TRAINING_PRESETS[entry.recipe]
    if type(entry.model) is not type(preset.model):
        return ""
    current, before = (
        vars(pair.model) | vars(pair.train)
        for pair in (entry, LineupEntry("", "", preset.model, preset.train))
    )
    changed = {name: setting for name, setting in current.items() if setting != before[name]}
    return ", ".join(
        f"{settings.get_title(name)} {settings.format_setting(name, setting)}"
        for name, setting in changed.items()
    )
