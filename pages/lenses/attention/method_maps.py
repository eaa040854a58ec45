"""The methods' maps of a subject, computed once for a class, a fusion and a discard ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.selection.subject import Subject
from pages.stores import cached
from vitviz.analysis import faithfulness
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.explain import OrderCurve, Recipe, method_maps_of, order_curve

RANDOM_ORDERS = 6
BUSY = "Blanking patches, method by method …"
Maps = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Check:
    """The curves of every method, by name, and of random orders."""

    curves: dict[str, OrderCurve]
    random: list[OrderCurve]

    @property
    def noise(self) -> tuple[np.ndarray, np.ndarray]:
        """Deletion and insertion of the random orders, each (orders, steps + 1)."""
        return (
            np.stack([curve.deletion for curve in self.random]),
            np.stack([curve.insertion for curve in self.random]),
        )


@cached.per_picture(shared=32, upload=8)
def _maps(digest: str, _model: LoadedModel, image: str, offset: cached.Offset, recipe: Recipe) -> Maps:
    return method_maps_of(_model, cached.prepared(image, _model.preparation, offset).input, recipe)


@cached.per_picture(shared=256, upload=64)
def _curve(
    digest: str, _model: LoadedModel, image: str, offset: cached.Offset, order: bytes, target: int
) -> OrderCurve:
    """`order` holds a map's float64, so that it can name what is kept."""
    prepared = cached.prepared(image, _model.preparation, offset)
    return order_curve(_model, prepared.input, np.frombuffer(order), target)


def maps(subject: Subject, recipe: Recipe, twin: bool = False) -> Maps:
    """Method -> (patches,); `twin`: of the same shape with random weights, for the same class."""
    model = cached.untrained(subject.model) if twin else subject.model
    return _maps(model.digest, model, subject.image, subject.offset, recipe)


def check(subject: Subject, found: Maps, target: int) -> Check:
    """Deletion and insertion of every map and of random orders, each in one batched pass, with progress."""
    noise = faithfulness.random_orders(subject.layout.num_patches, RANDOM_ORDERS)
    orders = [*found.values(), *noise]
    results: list[OrderCurve] = []
    bar = st.progress(0.0, BUSY)
    for i, order in enumerate(orders):
        key = np.ascontiguousarray(order, dtype=np.float64).tobytes()
        model = subject.model
        results.append(_curve(model.digest, model, subject.image, subject.offset, key, target))
        bar.progress((i + 1) / len(orders), BUSY)
    bar.empty()
    return Check(dict(zip(found, results, strict=False)), results[len(found) :])
