"""Pack a race for the browser: accuracy over time, whole against shuffled images, and every seed of variants."""

from collections.abc import Sequence
from itertools import chain
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import Racer, align_racers, measured_span
from vitviz.analysis.verdict import measure_interval
from vitviz.plots.blob import pack
from vitviz.plots.hidden_curves import Card, CardLine
from vitviz.plots.theme import variant_colors
from vitviz.text import plural

ROOM = 0.02  # of the scale beside the outermost dots
STEP = 0.05  # the scale's ends are multiples of it


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
                "intervals": []
                if at is None
                else [measure_interval([x], at.images) for x in (at.accuracy, at.shuffled)],
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


def pack_variants(
    variants: Sequence[Variant],
    chance: float,
    epochs: float,
    note: str,
    *,
    concealed: bool = False,
) -> bytes:
    """Return the message of `pages/views/race.js`, with seeds beside the curves.

    Args:
        variants: in the order of their colours, eight at most; variants of one family have a grey first.
        chance: accuracy of guessing, in [0, 1].
        epochs: length of a training.
        concealed: True draws the range of all curves in grey, and names the variants without their results.
    """
    shown = [variant.without_results() for variant in variants] if concealed else variants
    racers = _describe_racers(shown)
    ends = [find_interval([*variant.test.values()], variant.images) or () for variant in variants]
    header = {
        "racers": racers,
        "chance": chance,
        "epochs": epochs,
        "split": "test",
        "at": [epochs, epochs],
        "images": 0,
        "waiting": "",
        "note": f"validation images{'; grey: range of all curves' if concealed else ''}",
        "rows": {
            "title": "Accuracy, time and parameters",
            "note": note,
            "axis": "test accuracy, %     ● one seed     | mean",
            "range": scale([*chain(*ends, *(variant.test.values() for variant in variants))]),
        },
    }
    arrays: dict[str, NDArray[np.floating]] = {f"curve{i}": v.curve for i, v in enumerate(shown)}
    arrays |= {f"band{i}": variant.band for i, variant in enumerate(shown) if variant.band.size}
    if concealed:
        arrays["band"] = find_range([variant.curve for variant in variants])
    return pack(header, **{name: array.astype(np.float32) for name, array in arrays.items()})


def _describe_racers(variants: Sequence[Variant]) -> list[dict[str, Any]]:
    return [
        {
            "name": variant.name,
            "title": variant.title,
            "color": colour,
            "measured": None,
            "dots": [round(accuracy, 4) for accuracy in variant.test.values()],
            "interval": find_interval([*variant.test.values()], variant.images),
            "sample": plural(len(variant.test), "seed") if variant.test else "",
            "told": variant.summary,
        }
        for variant, colour in zip(variants, variant_colors([v.family for v in variants]), strict=True)
    ]


def create_card(variants: Sequence[Variant]) -> Card:
    """Return the learning curves as the small picture of a study."""
    colors = variant_colors([variant.family for variant in variants])
    lines = [
        CardLine(
            variant.title,
            color,
            np.asarray(variant.curve[0], float),
            100 * np.asarray(variant.curve[1], float),
        )
        for variant, color in zip(variants, colors, strict=True)
        if variant.curve.shape[1]
    ]
    return Card(lines, "epochs", "validation accuracy, %")


def find_interval(accuracies: Sequence[float], images: int) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean test accuracy over seeds; None for two seeds, where it fills the axis."""
    return None if len(accuracies) in (0, 2) else measure_interval(accuracies, images)


def find_range(curves: Sequence[NDArray[np.floating]]) -> NDArray[np.floating]:
    """Return every position of curves (2, points), and the lowest and the highest value of all curves there."""
    positions = np.unique(np.concatenate([curve[0] for curve in curves]))
    values = np.array(
        [np.interp(positions, curve[0], curve[1], np.nan, np.nan) for curve in curves if curve.shape[1]]
    )
    return np.stack([positions, np.nanmin(values, 0), np.nanmax(values, 0)])


def scale(values: Sequence[float]) -> tuple[float, float]:
    """Return a range in multiples of 5 % that holds all accuracies; (0, 1) without any."""
    if not values:
        return 0.0, 1.0
    low = max(0, floor((min(values) - ROOM) / STEP))
    high = min(round(1 / STEP), ceil((max(values) + ROOM) / STEP))
    return round(low * STEP, 4), round(high * STEP, 4)
