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
from vitviz.analysis.data_size import Curve, Lead, describe_prediction, find_leads, select_size
from vitviz.analysis.transfer import (
    LEVEL,
    describe_crossing,
    describe_deficit,
    describe_leads,
    group_method_curves,
)
from vitviz.data.datasets import data_title
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.experiments.transfer_plan import BODIES, LONGER, PLAN_OF, PLANS, Plan
from vitviz.plots.fine_tuning import image_count_figure
from vitviz.text import plural

PAPER = (
    ":material/menu_book: *Published, with larger models and datasets:* [Yosinski et al."
    " 2014](https://arxiv.org/abs/1411.1792): a CNN's features transfer worse the more two tasks differ; even those"
    " of a distant task can be better than random ones, also after fine-tuning."
)
MATH = r"""
Every point is the mean over seeds; a seed selects the images of every class, the initial weights (of the head, or all)
and the order. All models make the same number of updates, except one from scratch that makes %d times as many: it shows
whether a model from scratch lacks training time. The learning rate is $%g$ for the pretrained backbone and $%g$ for its
new head, the page's defaults, and $%g$ from scratch, the best of several. The **frozen** backbone computes $D$ features
of each image once for a logistic regression: the backbone is not updated, which takes seconds.
"""


@dataclass(frozen=True)
class ImageCountControls(widgets.ControlValues, page="fine_tuning"):
    """The backbone, its target dataset, and the method that is predicted to be best with few images."""

    body_of: str
    grown_guess: str


def draw() -> None:
    """Draw the backbone's selection, the prediction, and the curves with their caption."""
    results = {name: stored for name in PLANS if (stored := read_result_if_any(name)) is not None}
    if not results:
        commands = " and ".join(f"`python -m vitviz.experiment {name}`" for name in PLANS)
        st.info(f"No results are stored here. Run {commands}.", icon=":material/timer:")
        return
    sources = tuple(source for stored in results.values() for source in _list_backbones(stored))
    with page.row():
        source = widgets.segmented(
            ImageCountControls.key("body_of"),
            "Backbone → target dataset",
            sources,
            format_func=_format_backbone,
        )
    plan = PLAN_OF[source]
    stored = results[plan.name]
    curves = group_method_curves(stored.rows, source, plan.methods)
    curve_leads = find_leads(curves)
    answered = not curve_leads or _ask_prediction(source, curve_leads[0], curves)
    shown = curves if answered else select_size(curves, curve_leads[-1].pictures)
    page.figure(image_count_figure(shown, plan.sizes, 1 / 10, selection.get_theme()), "fine_tuning.grown")
    sentences = (
        describe_leads(curves),
        describe_crossing(curves),
        describe_crossing(curves, LONGER),
        LEVEL,
        describe_deficit(curves),
    )
    page.caption(
        " ".join(filter(None, sentences))
        if answered
        else "Shown: the most images per class. Predict to see the rest."
    )
    page.provenance(stored_results.describe_origin(stored, stored.where(source=source)))
    page.caption(PAPER)
    page.drawers(
        "fine_tuning.grown",
        math=MATH % (plan.times, *format_rates(plan, source)),
        code=(group_method_curves, describe_crossing),
        numbers=partial(stored_results.draw_table, stored, "method", plan.methods, "fine_tuning.grown")
        if answered
        else None,
    )


def format_rates(plan: Plan, source: str) -> tuple[float, float, float]:
    """Return the learning rates of the backbone, of its head, and of the model from scratch."""
    method = plan.method_of(source)
    return method.learning_rate, method.head_learning_rate, method.scratch_learning_rate


def _list_backbones(stored: Result) -> list[str]:
    return [source for source in PLANS[stored.name].sources if stored.where(source=source)]


def _format_backbone(source: str) -> str:
    return f"{BODIES[source]} → {data_title(PLAN_OF[source].dataset)}"


def _ask_prediction(source: str, lead: Lead, curves: Sequence[Curve]) -> bool:
    """Ask which method is best with the fewest images; return True once it was answered or skipped."""
    methods = {curve.name: curve for curve in curves if curve.find_size(lead.pictures) is not None}
    return prediction_gate.require_prediction(
        ImageCountControls.key("grown_guess"),
        source,
        f"With {plural(lead.pictures, 'image')} per class, which method is best?",
        {name: curve.title for name, curve in methods.items()},
        lambda guess: describe_prediction(lead, methods[guess]),
    )
