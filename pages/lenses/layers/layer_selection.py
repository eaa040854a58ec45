"""Which layer stands on the stage, and what a click in a view of layers does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.lenses.layers.model_pair import Side
from pages.selection import selection
from pages.views.event_values import events_of, pin, whole
from pages.views.register import View
from vitviz.plots.layers import Rows


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="layers"):
    """The layer on the stage, counted from 0 through both models, the sidebar's first."""

    layer: int


def draw(view: View, key: str, message: Callable[[int], bytes], counts: Sequence[int]) -> int:
    """Mounts a view of layers with the chosen one on its stage; returns which.

    Args:
        message: of the chosen layer.
        counts: how many layers each model has; the first model's last one is chosen until somebody chooses.
    """
    widgets.follow_default(Choice.key("layer"), counts[0] - 1)
    widgets.settle_choice(Choice.key("layer"), range(sum(counts)), counts[0] - 1)
    chosen = int(st.session_state[Choice.key("layer")])
    widgets.keep(Choice.key("layer"), chosen)
    view(message(chosen), key=key, triggers=("pin", "layer"), on_change=lambda: _take(key))
    return chosen


def _take(key: str) -> None:
    """A click pins a token or brings a layer onto the stage; what a browser says that is neither is left alone."""
    events = events_of(key)
    pinned, layer = pin(events.get("pin")), whole(events.get("layer"))
    if pinned is not None:
        selection.set_pin(pinned)
    if layer is not None:
        Choice.change(layer=layer)


def rows(sides: Sequence[Side], chosen: int, *, veil: float = 1.0, prefix: tuple[str, ...] = ()) -> Rows:
    """What stands beside the layers of both models."""
    photos = [side.now.ground(seen=False) for side in sides]
    return Rows([side.title for side in sides], photos, chosen, str(selection.current().pin), prefix, veil)
