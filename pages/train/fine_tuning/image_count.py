"""Show the stored experiments on fine-tuning with growing numbers of images."""

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
from vitviz.analysis.data_size import Curve, Lead, describe_prediction, leads, select_size
from vitviz.analysis.transfer import LEVEL, crossing, curves_of, describe, made_up
from vitviz.data.datasets import data_title
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.experiments.transfer_plan import BODIES, LONGER, PLAN_OF, PLANS, Plan
from vitviz.plots.fine_tuning import grown_figure
from vitviz.text import plural

PAPER = (
    ":material/menu_book: *Published, with larger models and datasets:* [Yosinski et al."
    " 2014](https://arxiv.org/abs/1411.1792): a CNN's features help less the further the two tasks lie apart, yet even"
    " those of a distant task can be better than random ones, and what they give remains after fine-tuning."
)
MATH = r"""
Every point is the mean of its seeds; each draws its own images of every class, its own head or all weights, and its
own order. All models make the same number of updates, but for one that begins random and makes %d times as many: it
says whether what is missing from scratch is time. The trained backbone learns at $%g$ and its new head at $%g$, the page's
usual rates; from scratch has $%g$, the best of those that were tried for it. The **frozen** backbone gives features of
$D$ numbers for each image once, and a logistic regression reads them: no update of the backbone, so it costs seconds.
"""


@dataclass(frozen=True)
class ImageCountControls(widgets.ControlValues, page="fine_tuning"):
    """The backbone, its target dataset, and the method that is predicted to be best with few images."""

    body_of: str
    grown_guess: str


def draw() -> None:
    """The curves, what they say, how they were made."""
    kept = {name: stored for name in PLANS if (stored := read_result_if_any(name)) is not None}
    if not kept:
        made = " and ".join(f"`python -m vitviz.experiment {name}`" for name in PLANS)
        st.info(f"No results are stored here. {made} make them.", icon=":material/timer:")
        return
    sources = tuple(source for found in kept.values() for source in _list_backbones(found))
    with page.row():
        source = widgets.segmented(
            ImageCountControls.key("body_of"), "Backbone → target dataset", sources, format_func=_format_backbone
        )
    plan = PLAN_OF[source]
    stored = kept[plan.name]
    curves = curves_of(stored.rows, source, plan.methods)
    curve_leads = leads(curves)
    answered = not curve_leads or _ask_prediction(source, curve_leads[0], curves)
    shown = curves if answered else select_size(curves, curve_leads[-1].pictures)
    page.figure(grown_figure(shown, plan.sizes, 1 / 10, selection.get_theme()), "fine_tuning.grown")
    words = (describe(curves), crossing(curves), crossing(curves, LONGER), LEVEL, made_up(curves))
    page.caption(
        " ".join(filter(None, words))
        if answered
        else "Shown: the most images per class. Predict to see the rest."
    )
    page.provenance(stored_results.describe_origin(stored, stored.where(source=source)))
    page.caption(PAPER)
    page.drawers(
        "fine_tuning.grown",
        math=MATH % (plan.times, *format_rates(plan, source)),
        code=(curves_of, crossing),
        numbers=partial(stored_results.draw_table, stored, "method", plan.methods, "fine_tuning.grown")
        if answered
        else None,
    )


def format_rates(plan: Plan, source: str) -> tuple[float, float, float]:
    """Return the learning rates of the backbone, of its head, and of the model from scratch."""
    method = plan.method_of(source)
    return method.learning_rate, method.head_learning_rate, method.scratch_learning_rate


def _list_backbones(found: Result) -> list[str]:
    """Return whose rows a file has, in the plan's order."""
    return [source for source in PLANS[found.name].sources if found.where(source=source)]


def _format_backbone(source: str) -> str:
    return f"{BODIES[source]} → {data_title(PLAN_OF[source].dataset)}"


def _ask_prediction(source: str, lead: Lead, curves: Sequence[Curve]) -> bool:
    """Asks which way is best with the fewest images; whether the rest may be shown."""
    ways = {curve.name: curve for curve in curves if curve.at(lead.pictures) is not None}
    return prediction_gate.require_prediction(
        ImageCountControls.key("grown_guess"),
        source,
        f"With {plural(lead.pictures, 'picture')} a class, which way is best?",
        {name: curve.title for name, curve in ways.items()},
        lambda guess: describe_prediction(lead, ways[guess]),
    )
