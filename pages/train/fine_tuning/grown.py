"""Where the ways cross as pictures grow: the stored experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.shell import controls, guessing, nouns, page
from pages.train.fine_tuning import stored
from vitviz.analysis.data_size import Curve, Lead, judged, leads, only
from vitviz.analysis.transfer import crossing, curves_of, describe
from vitviz.experiments.result import kept_result
from vitviz.experiments.transfer_plan import LONGER, METHODS, NAME, SIZES, SOURCES
from vitviz.plots.fine_tuning import grown_figure
from vitviz.words import plural

PAPER = (
    ":material/menu_book: *Found elsewhere, with larger models and sets:* [Yosinski et al."
    " 2014](https://arxiv.org/abs/1411.1792): a CNN's features help less the further the two tasks lie apart, yet even"
    " those of a distant task can be better than random ones, and what they give remains after fine-tuning."
)
MATH = r"""
Every point is the mean of its seeds; each draws its own pictures of every class, its own head or all weights, and its
own order. All models make the same number of updates, but for one that begins random and makes four times as many: it
says whether what is missing from scratch is time or pictures. The **frozen** body gives features of $D$ numbers for
each picture once, and a logistic regression reads them: no update of the body, so it costs seconds.
"""


@dataclass(frozen=True)
class Body(controls.Chosen, page="fine_tuning"):
    """Which body was fine-tuned, and which way is guessed to be best with the fewest pictures."""

    body_of: str
    grown_guess: str


def draw() -> None:
    """The curves, what they say, how they were made."""
    found = kept_result(NAME)
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
    found_leads = leads(curves)
    answered = not found_leads or _guessed(source, found_leads[0], curves)
    shown = curves if answered else only(curves, found_leads[-1].pictures)
    page.figure(grown_figure(shown, SIZES, 1 / 10, nouns.mode()), "fine_tuning.grown")
    words = (describe(curves), crossing(curves), crossing(curves, LONGER))
    page.caption(
        " ".join(words) if answered else "These are the most pictures a class; a guess shows the rest."
    )
    page.caption(stored.how(found, found.where(source=source)))
    page.caption(PAPER)
    page.drawers(
        "fine_tuning.grown",
        math=MATH,
        code=(curves_of, crossing),
        numbers=partial(stored.numbers, found, "method", METHODS, "fine_tuning.grown") if answered else None,
    )


def _guessed(source: str, lead: Lead, curves: Sequence[Curve]) -> bool:
    """Asks which way is best with the fewest pictures; whether the rest may be shown."""
    ways = {curve.name: curve for curve in curves if curve.at(lead.pictures) is not None}
    return guessing.first(
        Body.key("grown_guess"),
        source,
        f"With {plural(lead.pictures, 'picture')} a class, which way is best?",
        {name: curve.title for name, curve in ways.items()},
        lambda guess: judged(lead, ways[guess]),
    )
