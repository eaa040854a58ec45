"""Draw what the heads of three readouts read: the attention of their tokens over one digit."""

import numpy as np

from pages.frame import page
from pages.selection import selection
from pages.stores import shared_cache
from pages.studies.study import Values
from vitviz.analysis.study_numbers import Numbers
from vitviz.plots.attention_images import Drawn, attention_image

MAP_PX = 112


def draw_above(values: Values, numbers: Numbers) -> None:
    """Draw the stored map of each readout that was trained."""
    stored, rows = numbers.evidence[0]
    digit = shared_cache.load_dataset("digits").test_images[stored.settings["map_image"]]
    image = np.broadcast_to(np.atleast_3d(digit), (*digit.shape[:2], 3))
    drawn = Drawn(mode=selection.get_theme())
    maps = {row["readout"]: np.array(row["map"]) for row in rows if "map" in row}
    images = [
        attention_image(image, weights, (side := round(len(weights) ** 0.5), side), drawn, size_px=2 * MAP_PX)
        for weights in maps.values()
    ]
    page.markdown("**Attention of what the head reads**")
    page.images(images, [numbers.titles[name] for name in maps], "Attention of what the head reads: ", MAP_PX)
