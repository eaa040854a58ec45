"""Do positions matter? Five position codes trained side by side: measured curves, and shuffled patches."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import streamlit as st

from pages._shared import catalogue, controls, nouns, page
from vitviz.plots import positions as plots

MEASURED = "positions_race.json"
NAMES = {
    "none": "None",
    "sincos_1d": "1-D sinusoidal",
    "sincos_2d_sum": "2-D, summed",
    "sincos_2d_concat": "2-D, concatenated",
    "learned": "Learned",
}
DATASETS = {"shapes": "Shapes", "digits": "Digits", "mnist": "MNIST"}
WHY = {
    "shapes": (
        "The class is where a warm object lies relative to a cool one: left, right, above or below. A bag of patches"
        " holds no answer, so without positions chance is left. Summed positions cannot tell (row, column) from"
        " (column, row): *left* and *above* stay one answer, *right* and *below* the other, so half of the"
        " pictures are right."
    ),
    "digits": (
        "Large patches of a digit say much by themselves: strokes, corners, loops. The bag of patches is nearly enough."
    ),
    "mnist": "The bag of patches goes far; positions add the rest.",
}
MATH = r"""
Without positions every block is equivariant: with a permutation $\Pi$ of the patches, $f(\Pi X) = \Pi f(X)$, and [CLS]
or the mean read the same. So *accuracy as they are* and *with shuffled patches* must be equal, exactly, and are.

With positions the model can use the place, and then it fails where the places are wrong: shuffled patches bring a model
that relies on places down to chance. A model that does well on shuffled patches has not come to rely on them.
"""
TRY_THIS = """
1. **Predict first:** on shapes, which two answers does the model with summed positions confuse?
2. Which data set needs positions least? What would you have to draw to make it need them?
3. Run the race yourself in the live lab, with another seed. Which order stays?
"""


def draw() -> None:
    """The whole view: data set, curves, shuffled patches, caption, drawers."""
    file = catalogue.CHECKPOINTS / MEASURED
    if not file.is_file():
        st.info(
            "No measured race lies here. `python benchmarks/positions_race.py` makes one.",
            icon=":material/timer:",
        )
        return
    stored = json.loads(file.read_text("utf-8"))
    races = stored["races"]
    name = controls.segmented(
        "positions.dataset",
        "Data set",
        tuple(d for d in DATASETS if d in races),
        format_func=DATASETS.__getitem__,
    )
    race = races[name]
    chance, runs = 1 / race["classes"], race["runs"]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Accuracy while training**")
        curves = {r["positions"]: [(epoch, accuracy) for _, epoch, accuracy in r["curve"]] for r in runs}
        _chart(plots.race_figure(curves, NAMES, chance, nouns.mode()), "positions.race")
    with right:
        st.markdown("**Test pictures, whole and with shuffled patches**")
        ends = {r["positions"]: (r["test"], r["shuffled"]) for r in runs}
        _chart(plots.shuffled_figure(ends, NAMES, chance, nouns.mode()), "positions.shuffled")
    page.caption(f"{describe(race)} {WHY[name]}")
    config, train = race["config"], race["train"]
    seconds = sum(run["seconds"] for run in runs)
    st.markdown(
        f":gray[Measured {stored['measured']} at commit {race['commit']}, not live: one seed"
        f" ({train['seed']}), the same recipe for all five: D {config['embed_dim']}, {config['depth']} blocks,"
        f" patch {config['patch_size']} px, {train['epochs']:g} epochs; {seconds:,.0f} s of one busy core together."
        f" `{stored['command']}`]"
    )
    nouns.link_to("live_lab", "Train such a race yourself")
    page.drawers(math=MATH, numbers=lambda: _numbers(race), try_this=TRY_THIS)


def describe(race: dict[str, Any]) -> str:
    """The race's outcome in one sentence, from its numbers."""
    parts = ", ".join(f"{NAMES[run['positions']]} {100 * run['test']:.1f} %" for run in race["runs"])
    return f"Test accuracy on {race['test_pictures']:,} pictures: {parts}; chance is {100 / race['classes']:.0f} %."


def _chart(figure: Any, key: str) -> None:
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False})


def _numbers(race: dict[str, Any]) -> None:
    st.dataframe(
        {
            "positions": [NAMES[run["positions"]] for run in race["runs"]],
            "test": [run["test"] for run in race["runs"]],
            "shuffled": [run["shuffled"] for run in race["runs"]],
            "best validation": [float(np.max([a for _, _, a in run["curve"]])) for run in race["runs"]],
            "seconds": [run["seconds"] for run in race["runs"]],
        },
        hide_index=True,
    )
    st.download_button(
        "The race (JSON)",
        json.dumps(race, indent=1),
        "positions_race.json",
        "application/json",
        key="positions.race_json",
        on_click="ignore",
        icon=":material/download:",
    )
