"""Where the ways cross as pictures grow: the stored experiment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.shell import controls, nouns, page
from vitviz.analysis.transfer import crossing, curves_of, describe
from vitviz.data.datasets import DATASETS
from vitviz.experiments.result import Result, ResultError, read_result, told
from vitviz.experiments.transfer_plan import DATASET, LONGER, METHODS, NAME, SOURCES
from vitviz.lessons.lesson import Question
from vitviz.lessons.of_transfer import TransferLeader
from vitviz.plots.fine_tuning import grown_figure
from vitviz.words import plain, plural

MATH = r"""
Every point is the mean of its seeds; each draws its own pictures of every class, its own head or all weights, and its
own order. All models make the same number of updates, but for one that begins random and makes four times as many: it
says whether what is missing from scratch is time or pictures. The **frozen** body gives features of $D$ numbers for
each picture once, and a logistic regression reads them: no update of the body, so it costs seconds.
"""


@dataclass(frozen=True)
class Body(controls.Chosen, page="fine_tuning"):
    """Which body was fine-tuned."""

    body_of: str


def draw() -> None:
    """The curves, what they say, how they were made."""
    found = stored()
    if found is None:
        st.info(
            f"No measured curves lie here. `python -m vitviz.experiment {NAME}` makes them.",
            icon=":material/timer:",
        )
        return
    here = tuple(source for source in SOURCES if any(row["source"] == source for row in found.rows))
    with page.row():
        source = controls.segmented(
            Body.key("body_of"), "A body trained on", here, format_func=SOURCES.__getitem__
        )
    curves = curves_of(found.rows, source, METHODS)
    page.figure(grown_figure(curves, 1 / 10, nouns.mode()), "fine_tuning.grown")
    page.caption(" ".join((describe(curves), crossing(curves), crossing(curves, LONGER))))
    page.caption(_how(found))
    page.drawers(
        "fine_tuning.grown",
        math=MATH,
        code=(curves_of, crossing),
        numbers=partial(_numbers, found),
        asks=(
            Question("Which way is best with the fewest pictures a class?", TransferLeader(source)),
            Question("And with the most?", TransferLeader(source, fewest=False)),
        ),
    )


def stored() -> Result | None:
    """What was measured; None where no file of results lies here."""
    try:
        return read_result(NAME)
    except ResultError:
        return None


def _how(found: Result) -> str:
    settings, count = found.settings, len(found.rows)
    of = plural(found.missing + count, "training")
    were = "was" if found.missing == 1 else "were"
    short = f" {found.missing:,} of {of} {were} not made as yet." if found.missing else ""
    return (
        f"Stored, not live: {DATASETS[DATASET].title}, {settings['updates']:,} updates of up to"
        f" {settings['batch_size']} pictures, {settings['test_pictures']:,} test pictures; {plain(told(found.made))}."
        f" `{found.command}`{short}"
    )


def _numbers(found: Result) -> None:
    st.dataframe(
        {
            "body": [SOURCES[row["source"]] for row in found.rows],
            "way": [METHODS[row["method"]] for row in found.rows],
            "pictures a class": [row["a_class"] for row in found.rows],
            "seed": [row["seed"] for row in found.rows],
            "test accuracy": [row.get("test") for row in found.rows],
        },
        hide_index=True,
        placeholder="–",
    )
    page.json("Every training (JSON)", [dict(row) for row in found.rows], f"{NAME}.json", "fine_tuning.json")
