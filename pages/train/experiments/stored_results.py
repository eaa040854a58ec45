"""What the stored experiments found, read once, and how it was made."""

from __future__ import annotations

import streamlit as st

from vitviz.experiments.result import Result, Row, told
from vitviz.text import plain, plural


def missing(name: str) -> None:
    """Says what makes results that do not lie here."""
    st.info(
        f"Nothing of this was measured here as yet: `python -m vitviz.experiment {name}` does it.",
        icon=":material/timer:",
    )


def how(found: Result, rows: list[Row]) -> str:
    """One line on how the shown rows were made, and what makes them again."""
    settings = found.settings
    seeds = sorted({int(row["seed"]) for row in rows})
    made = tuple(found.made[place] for place in sorted({int(row["made"]) for row in rows}))
    counted = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
    were = "was" if found.missing == 1 else "were"
    missing = f" {plural(found.missing, 'training')} of the whole experiment {were} not made as yet."
    length = epochs(settings["epochs"]) if "epochs" in settings else plural(settings["updates"], "update")
    turned = {row.get("knob") for row in rows}  # is not as the settings say, but as the figure does
    recipe = {
        "batch_size": f" in batches of {settings['batch_size']}",
        "learning_rate": f", learning rate {settings['learning_rate']:g}",
    }
    same = "".join(words for name, words in recipe.items() if name not in turned)
    return (
        f"Stored, not live: {length} of {settings['dataset']}{same}, {counted}; {plain(told(made))}."
        f" `{found.command}`{missing if found.missing else ''}"
    )


def epochs(count: float) -> str:
    """'1 epoch', '2.5 epochs'."""
    return f"{count:g} {'epoch' if count == 1 else 'epochs'}"
