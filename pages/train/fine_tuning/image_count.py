"""Where the ways cross as pictures grow: the stored experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.train.fine_tuning import stored_results
from vitviz.analysis.data_size import Curve, Lead, judged, leads, only
from vitviz.analysis.transfer import LEVEL, crossing, curves_of, describe, made_up
from vitviz.data.datasets import data_title
from vitviz.experiments.result import Result, kept_result
from vitviz.experiments.transfer_plan import BODIES, LONGER, PLAN_OF, PLANS, Plan
from vitviz.plots.fine_tuning import grown_figure
from vitviz.text import plural

PAPER = (
    ":material/menu_book: *Found elsewhere, with larger models and sets:* [Yosinski et al."
    " 2014](https://arxiv.org/abs/1411.1792): a CNN's features help less the further the two tasks lie apart, yet even"
    " those of a distant task can be better than random ones, and what they give remains after fine-tuning."
)
MATH = r"""
Every point is the mean of its seeds; each draws its own pictures of every class, its own head or all weights, and its
own order. All models make the same number of updates, but for one that begins random and makes %d times as many: it
says whether what is missing from scratch is time. The trained body learns at $%g$ and its new head at $%g$, the page's
usual rates; from scratch has $%g$, the best of those that were tried for it. The **frozen** body gives features of
$D$ numbers for each picture once, and a logistic regression reads them: no update of the body, so it costs seconds.
"""


@dataclass(frozen=True)
class Body(widgets.Chosen, page="fine_tuning"):
    """Which body was fine-tuned, on the target of its plan, and which way is guessed to be best with few pictures."""

    body_of: str
    grown_guess: str


def draw() -> None:
    """The curves, what they say, how they were made."""
    kept = {name: found for name in PLANS if (found := kept_result(name)) is not None}
    if not kept:
        made = " and ".join(f"`python -m vitviz.experiment {name}`" for name in PLANS)
        st.info(f"No measured curves lie here. {made} make them.", icon=":material/timer:")
        return
    here = tuple(source for found in kept.values() for source in _bodies(found))
    with page.row():
        source = widgets.segmented(Body.key("body_of"), "A body → what it learns", here, format_func=_pair)
    plan = PLAN_OF[source]
    found = kept[plan.name]
    curves = curves_of(found.rows, source, plan.methods)
    found_leads = leads(curves)
    answered = not found_leads or _guessed(source, found_leads[0], curves)
    shown = curves if answered else only(curves, found_leads[-1].pictures)
    page.figure(grown_figure(shown, plan.sizes, 1 / 10, selection.mode()), "fine_tuning.grown")
    words = (describe(curves), crossing(curves), crossing(curves, LONGER), LEVEL, made_up(curves))
    page.caption(
        " ".join(filter(None, words))
        if answered
        else "These are the most pictures a class; a guess shows the rest."
    )
    page.caption(stored_results.how(found, found.where(source=source)))
    page.caption(PAPER)
    page.drawers(
        "fine_tuning.grown",
        math=MATH % (plan.times, *rates(plan, source)),
        code=(curves_of, crossing),
        numbers=partial(stored_results.numbers, found, "method", plan.methods, "fine_tuning.grown")
        if answered
        else None,
    )


def rates(plan: Plan, source: str) -> tuple[float, float, float]:
    """Of the body that goes on, of its head, and of the model from scratch."""
    method = plan.method_of(source)
    return method.learning_rate, method.head_learning_rate, method.scratch_learning_rate


def _bodies(found: Result) -> list[str]:
    """Whose rows a file has, in the plan's order."""
    return [source for source in PLANS[found.name].sources if found.where(source=source)]


def _pair(source: str) -> str:
    return f"{BODIES[source]} → {data_title(PLAN_OF[source].dataset)}"


def _guessed(source: str, lead: Lead, curves: Sequence[Curve]) -> bool:
    """Asks which way is best with the fewest pictures; whether the rest may be shown."""
    ways = {curve.name: curve for curve in curves if curve.at(lead.pictures) is not None}
    return prediction_gate.first(
        Body.key("grown_guess"),
        source,
        f"With {plural(lead.pictures, 'picture')} a class, which way is best?",
        {name: curve.title for name, curve in ways.items()},
        lambda guess: judged(lead, ways[guess]),
    )
