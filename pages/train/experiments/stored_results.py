"""Describe the provenance of stored experiments, and note missing ones."""

from __future__ import annotations

import streamlit as st

from vitviz.experiments.result import Result, Row, describe_provenance
from vitviz.text import plain, plural


def draw_missing_note(name: str) -> None:
    """Says what makes results that do not lie here."""
    st.info(
        f"This experiment was not measured here yet. Run `python -m vitviz.experiment {name}`.",
        icon=":material/timer:",
    )


def describe_origin(found: Result, rows: list[Row]) -> str:
    """Return one line on how the shown rows were made, and what makes them again."""
    settings = found.settings
    seeds = sorted({int(row["seed"]) for row in rows})
    made = tuple(found.made[place] for place in sorted({int(row["made"]) for row in rows}))
    counted = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
    were = "was" if found.missing == 1 else "were"
    missing = f" {plural(found.missing, 'training')} of the experiment {were} not run yet."
    length = (
        format_epochs(settings["epochs"]) if "epochs" in settings else plural(settings["updates"], "update")
    )
    turned = {row.get("knob") for row in rows}  # is not as the settings say, but as the figure does
    recipe = {
        "batch_size": f" in batches of {settings['batch_size']}",
        "learning_rate": f", learning rate {settings['learning_rate']:g}",
    }
    same = "".join(words for name, words in recipe.items() if name not in turned)
    return (
        f"Stored, not live: {length} of {settings['dataset']}{same}, {counted}; {plain(describe_provenance(made))}."
        f" `{found.command}`{missing if found.missing else ''}"
    )


def format_epochs(count: float) -> str:
    """'1 epoch', '2.5 epochs'."""
    return f"{count:g} {'epoch' if count == 1 else 'epochs'}"
