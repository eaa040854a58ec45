"""Mount maps of one image side by side, with a shared hover."""

from pages.views.event_values import read_index
from pages.views.register import register

_maps = register(__file__, "maps")


def draw_maps(message: bytes, *, key: str) -> int | None:
    """Draw `vitviz.plots.attention_message.maps_view`; return the patch that was clicked in this run."""
    return read_index(_maps(message, key=key, triggers=("pick",)).pick)
