"""Pack a race for the browser: accuracy over time, and whole against shuffled images."""

from collections.abc import Sequence

import numpy as np

from vitviz.analysis.race import Racer, align_racers, measured_span
from vitviz.plots.blob import pack
from vitviz.plots.theme import variant_colors


def payload(racers: Sequence[Racer], chance: float, epochs: float, waiting: str = "") -> bytes:
    """Return the race's message.

    Args:
        racers: in the order of their colours, eight at most.
        chance: accuracy of guessing, in [0, 1].
        epochs: length of the whole race, which fixes the axis.
    """
    colors = variant_colors([racer.family for racer in racers])
    measured = align_racers(racers)
    compared = {racer.name: racer.measured for racer in measured}
    first = measured[0].measured if measured else None
    header = {
        "racers": [
            {
                "name": racer.name,
                "title": racer.title,
                "color": colour,
                "measured": None if (at := compared.get(racer.name)) is None else [at.accuracy, at.shuffled],
            }
            for racer, colour in zip(racers, colors, strict=True)
        ],
        "chance": chance,
        "epochs": epochs,
        "split": "" if first is None else first.split,
        "at": [*measured_span(measured)] if measured else [0.0, 0.0],
        "images": 0 if first is None else first.images,
        "waiting": waiting,
    }
    arrays = {f"curve{i}": racer.curve.astype(np.float32) for i, racer in enumerate(racers)}
    return pack(header, **arrays)
