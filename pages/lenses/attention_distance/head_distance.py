"""Interactive plot of heads against depth, with each head's attention around its query."""

from pages.views.event_values import read_index_pair
from pages.views.register import register

_view = register(__file__, "head_distance")


def draw_head_plot(data: bytes, *, key: str) -> tuple[int, int] | None:
    """Draw `vitviz.plots.distance.heads_view`; return the (layer, head) that was clicked in this run."""
    return read_index_pair(_view(data, key=key, triggers=("pick",)).pick)
