"""Faithfulness of explanation maps: deletion and insertion curves, and maps of random weights."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import image_sets, page
from pages.lenses.attention import map_controls
from pages.lenses.attention.captions import describe_measured_faithfulness, describe_random_weights
from pages.lenses.attention.explanation_methods import MethodMaps, compute_maps, draw_panels
from pages.selection import selection, substitutes
from pages.selection.subject import CapturedSubject, Subject
from pages.stores import shared_cache
from pages.views.figures import draw_chart
from vitviz.analysis import faithfulness
from vitviz.analysis.attention import rank_correlation
from vitviz.analysis.explanation_methods import METHODS
from vitviz.analysis.faithfulness import FILLS, Score, area
from vitviz.plots.chart import Chart
from vitviz.plots.faithfulness import curves_figure
from vitviz.probe.explanation_maps import OrderCurve, Recipe, order_curve
from vitviz.probe.image_sets import RANDOM_DRAWS
from vitviz.text import signed

AREAS = {
    "Deletion": "area under the left curve (lower is better).",
    "Insertion": "area under the right curve (higher is better).",
    "Gap": "insertion minus deletion (higher is better).",
}
RANDOM_ORDERS, FEWER_ORDERS = 6, 3
MOST_PATCHES = (
    64  # with more, three random orders keep the wait short: one takes 3.5 s of a core in a ViT-Ti/16
)
SHOW_S = 1.0  # a large model's curves are drawn while others are computed
PROGRESS_TEXT = "Blanking patches in the order of each method …"


@dataclass(frozen=True)
class Explained:
    """The class whose probability is measured, and what takes the place of blanked patches."""

    target: int
    fill: str


@dataclass(frozen=True, eq=False)
class FaithfulnessCurves:
    """The curves of every method by name, and of random orders."""

    curves: dict[str, OrderCurve]
    random: list[OrderCurve]

    @property
    def random_bands(self) -> tuple[np.ndarray, np.ndarray]:
        """Deletion and insertion of the random orders, each (orders, steps + 1)."""
        return (
            np.stack([curve.deletion for curve in self.random]),
            np.stack([curve.insertion for curve in self.random]),
        )


def draw(subject: CapturedSubject) -> None:
    if not subject.able.class_head:
        substitutes.draw_refusal(subject.able.class_head.why_not, "attention", "class_head")
        return
    fills: list[str] = []
    recipe, background = map_controls.read_method_controls(subject, lambda: fills.append(_read_fill()))
    (fill,) = fills
    assert recipe.target is not None  # a model with a head has classes
    maps = compute_maps(subject, recipe, None)
    place, target = st.empty(), recipe.target

    def draw_so_far(curves: FaithfulnessCurves) -> None:
        key = f"attention.curves.{len(curves.curves) + len(curves.random)}"
        with place:
            draw_chart(build_figure(subject, curves, target), key)

    curves = compute_curves(subject, maps, Explained(target, fill), draw_so_far)
    with place.container():
        draw_curves(subject, curves, target)
        measure = "faithfulness" if fill == "colour" else f"faithfulness_{fill}"
        describe = partial(describe_measured_faithfulness, fill=fill, draws=RANDOM_DRAWS)
        image_sets.draw(measure, subject.model, describe)
    st.subheader("The same maps with random weights (first of ten draws)", anchor=False)
    draws = compute_random_maps(subject, recipe)
    correlations = {name: [rank_correlation(maps[name], drawn[name]) for drawn in draws] for name in maps}
    notes = [f"rank correlation with the model's map: {signed(correlations[name][0])}" for name in maps]
    draw_panels(subject, draws[0], background, "attention.twin", notes)
    page.caption(describe_random_weights(correlations, subject.model.trained_on is not None))
    page.drawers(
        "attention.truth",
        math=page.read_math(__file__),
        code=(faithfulness.create_schedule, faithfulness.create_fill, faithfulness.blank_patches),
    )


def _read_fill() -> str:
    return widgets.segmented(
        "attention.fill",
        "Blanked patches become",
        FILLS,
        help="One colour: what the model reads as 0. Mean patch: the mean of the image's patches. Blur: the image"
        " after a Gaussian filter as wide as a patch. A method that is good with one fill alone follows the fill.",
    )


def compute_random_maps(subject: CapturedSubject, recipe: Recipe) -> list[MethodMaps]:
    """Return the maps of every draw of random weights; the first one is shown."""
    draws = []
    for draw in range(RANDOM_DRAWS):
        page.rerun_if_outdated()
        draws.append(compute_maps(subject, recipe, draw))
    return draws


@shared_cache.per_image(shared=256, upload=64)
def _compute_curve(subject: Subject, order: np.ndarray, explained: Explained) -> OrderCurve:
    return order_curve(subject.model, subject.prepared.input, order, explained.target, explained.fill)


def compute_curves(
    subject: Subject, maps: MethodMaps, explained: Explained, show: Callable[[FaithfulnessCurves], None]
) -> FaithfulnessCurves:
    """Compute deletion and insertion of every map and of random orders, with a progress bar.

    Args:
        show: draws the curves so far; called every `SHOW_S` seconds, from one map and one random order on.
    """
    patches = subject.layout.num_patches
    count = RANDOM_ORDERS if patches <= MOST_PATCHES else FEWER_ORDERS
    random_orders = faithfulness.random_orders(patches, count)
    orders = [random_orders[0], *maps.values(), *random_orders[1:]]
    curves: list[OrderCurve] = []

    def bind() -> FaithfulnessCurves:
        of_maps = dict(zip(maps, curves[1:], strict=False))
        return FaithfulnessCurves(of_maps, [curves[0], *curves[1 + len(maps) :]])

    bar, shown_at = st.progress(0.0, PROGRESS_TEXT), time.monotonic()
    for i, order in enumerate(orders):
        page.rerun_if_outdated()
        curves.append(_compute_curve(subject, np.asarray(order, np.float64), explained))
        bar.progress((i + 1) / len(orders), PROGRESS_TEXT)
        if 0 < i < len(orders) - 1 and time.monotonic() - shown_at > SHOW_S:
            show(bind())
            shown_at = time.monotonic()
    bar.empty()
    return bind()


def build_figure(subject: CapturedSubject, curves: FaithfulnessCurves, target: int) -> Chart:
    return curves_figure(
        curves.random[0].fraction,
        {METHODS[name].title: (curve.deletion, curve.insertion) for name, curve in curves.curves.items()},
        curves.random_bands,
        subject.classes[target],
        selection.get_theme(),
    )


def draw_curves(subject: CapturedSubject, curves: FaithfulnessCurves, target: int) -> None:
    titles = {name: METHODS[name].title for name in curves.curves}
    fraction, random_bands = curves.random[0].fraction, curves.random_bands

    def compute_score(title: str, deletion: np.ndarray, insertion: np.ndarray) -> Score:
        return Score(title, area(fraction, deletion), area(fraction, insertion))

    scores = [compute_score(titles[name], c.deletion, c.insertion) for name, c in curves.curves.items()]
    random_scores = [compute_score("One random order", c.deletion, c.insertion) for c in curves.random]
    mean_score = compute_score("Random order", *(band.mean(axis=0) for band in random_bands))
    left, right = st.columns([6, 5], gap="medium", vertical_alignment="center")
    with left:
        draw_chart(build_figure(subject, curves, target), "attention.curves")
    with right:
        draw_areas([*scores, mean_score])
    page.caption(faithfulness.describe_scores(scores, random_scores), subject.class_note)


def draw_areas(scores: list[Score]) -> None:
    """Draw a table of the areas, best order first, that fits the column beside the curves."""
    rows = [
        f"| {score.method} | {score.deletion:.2f} | {score.insertion:.2f} | {signed(score.gap)} |"
        for score in sorted(scores, key=lambda score: -score.gap)
    ]
    st.markdown("\n".join([f"| Order | {' | '.join(AREAS)} |", "|---|---:|---:|---:|", *rows]))
    page.caption(" ".join(f"{name}: {text}" for name, text in AREAS.items()))
