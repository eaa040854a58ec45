"""Cached maps of the explanation methods and their deletion and insertion curves."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.selection.subject import Subject
from pages.stores import shared_cache
from vitviz.analysis import faithfulness
from vitviz.probe.explanation_maps import OrderCurve, Recipe, method_maps_of, order_curve

RANDOM_ORDERS, FEWER_ORDERS = 6, 3
MOST_PATCHES = (
    64  # with more, three random orders keep the wait short: one takes 3.5 s of a core in a ViT-Ti/16
)
SHOW_S = 1.0  # a large model's curves are drawn while others are computed
PROGRESS_TEXT = "Blanking patches in the order of each method …"
Maps = dict[str, np.ndarray]


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


@shared_cache.per_image(shared=256, upload=64)
def _compute_curve(subject: Subject, order: np.ndarray, target: int) -> OrderCurve:
    return order_curve(subject.model, subject.prepared.input, order, target)


@shared_cache.per_image(shared=32, upload=8)
def compute_maps(subject: Subject, recipe: Recipe, untrained: bool) -> Maps:
    """Return a map (patches,) per method; `untrained` uses random weights for the same class."""
    model = shared_cache.load_untrained(subject.model) if untrained else subject.model
    return method_maps_of(model, subject.prepared.input, recipe)


def compute_curves(
    subject: Subject, maps: Maps, target: int, show: Callable[[FaithfulnessCurves], None]
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
        curves.append(_compute_curve(subject, np.asarray(order, np.float64), target))
        bar.progress((i + 1) / len(orders), PROGRESS_TEXT)
        if 0 < i < len(orders) - 1 and time.monotonic() - shown_at > SHOW_S:
            show(bind())
            shown_at = time.monotonic()
    bar.empty()
    return bind()
