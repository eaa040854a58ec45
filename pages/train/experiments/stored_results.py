"""Describe the provenance of stored experiments, and note missing ones."""

from __future__ import annotations

import streamlit as st

from vitviz.experiments.result import Result, Row, describe_provenance
from vitviz.text import plain, plural


def draw_missing_note(name: str) -> None:
    """Draw the command that produces a missing result file."""
    st.info(
        f"No results are stored here. Run `python -m vitviz.experiment {name}`.",
        icon=":material/timer:",
    )


def describe_origin(stored: Result, rows: list[Row]) -> str:
    """Describe the provenance of stored rows in one line, with the command that reproduces them."""
    settings = stored.settings
    seeds = sorted({int(row["seed"]) for row in rows})
    sessions = tuple(stored.made[place] for place in sorted({int(row["made"]) for row in rows}))
    counted_seeds = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
    were = "was" if stored.missing == 1 else "were"
    missing = f" {plural(stored.missing, 'training')} of the experiment {were} not run yet."
    length = (
        format_epochs(settings["epochs"]) if "epochs" in settings else plural(settings["updates"], "update")
    )
    varied = {row.get("knob") for row in rows}  # fields whose values the figure shows, not the settings
    recipe = {
        "batch_size": f" in batches of {settings['batch_size']}",
        "learning_rate": f", learning rate {settings['learning_rate']:g}",
    }
    shared = "".join(words for name, words in recipe.items() if name not in varied)
    return (
        f"Stored, not live: {length} of {settings['dataset']}{shared}, {counted_seeds};"
        f" {plain(describe_provenance(sessions))}."
        f" `{stored.command}`{missing if stored.missing else ''}"
    )


def format_epochs(count: float) -> str:
    """Return a count with its noun: '1 epoch', '2.5 epochs'."""
    return f"{count:g} {'epoch' if count == 1 else 'epochs'}"
