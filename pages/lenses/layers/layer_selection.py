"""Select the enlarged layer, and handle clicks in a view of layers."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.selection import selection
from pages.selection.subject import Subject
from pages.views.register import View
from vitviz.plots.layers import Rows


def draw_layers(view: View, key: str, build_message: Callable[[int], bytes], counts: Sequence[int]) -> int:
    """Mount a view of layers with the selected one enlarged; return its index.

    Args:
        build_message: packs the view's message for a selected layer.
        counts: the number of layers of each model; by default the first model's last layer is selected.
    """
    control = "layers.layer"
    widgets.follow_default(control, counts[0] - 1)
    widgets.resolve_option(control, range(sum(counts)), counts[0] - 1)
    selected = int(st.session_state[control])
    widgets.store_value(control, selected)
    view(
        build_message(selected),
        key=key,
        triggers=("pin", "layer"),
        on_change=partial(selection.apply_click, key, layer="layers.layer"),
    )
    return selected


def build_rows(
    models: Sequence[Subject], selected: int, *, veil: float = 1.0, prefix: tuple[str, ...] = ()
) -> Rows:
    """Return the titles, photos and pin drawn with the layers of both models."""
    photos = [model.ground(seen=False) for model in models]
    return Rows(
        [model.title for model in models], photos, selected, str(selection.get_current().pin), prefix, veil
    )
