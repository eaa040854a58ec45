"""Mount a chart of `vitviz.plots.chart` in the browser."""

from pages.views.register import register
from vitviz.plots.chart import Chart

_chart = register(__file__, "chart")


def draw_chart(chart: Chart, key: str) -> None:
    """Draw a chart and reserve its height while its code loads."""
    _chart(chart.pack(), key=key, height=chart.height)
