"""Select the enlarged layer, and handle clicks in a view of layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.lenses.layers.model_pair import ComparedModel
from pages.selection import selection
from pages.views.event_values import read_events, read_index, read_pin
from pages.views.register import View
from vitviz.plots.layers import Rows


@dataclass(frozen=True)
class LayerControls(widgets.ControlValues, page="layers"):
    """The enlarged layer, counted from 0 through both models, the sidebar's model first."""

    layer: int


def draw_layers(view: View, key: str, build_message: Callable[[int], bytes], counts: Sequence[int]) -> int:
    """Mount a view of layers with the selected one enlarged; return its index.

    Args:
        build_message: packs the view's message for a selected layer.
        counts: the number of layers of each model; by default the first model's last layer is selected.
    """
    control = LayerControls.key("layer")
    widgets.follow_default(control, counts[0] - 1)
    widgets.resolve_option(control, range(sum(counts)), counts[0] - 1)
    selected = int(st.session_state[control])
    widgets.store_value(control, selected)
    view(build_message(selected), key=key, triggers=("pin", "layer"), on_change=lambda: _apply_events(key))
    return selected


def _apply_events(key: str) -> None:
    """Pin the clicked token or enlarge the clicked layer; ignore malformed events."""
    events = read_events(key)
    pinned, layer = read_pin(events.get("pin")), read_index(events.get("layer"))
    if pinned is not None:
        selection.set_pin(pinned)
    if layer is not None:
        LayerControls.change(layer=layer)


def build_rows(
    models: Sequence[ComparedModel], selected: int, *, veil: float = 1.0, prefix: tuple[str, ...] = ()
) -> Rows:
    """Return the titles, photos and pin drawn with the layers of both models."""
    photos = [model.subject.ground(seen=False) for model in models]
    return Rows(
        [model.title for model in models], photos, selected, str(selection.get_current().pin), prefix, veil
    )
