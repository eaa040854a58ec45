"""Draw position tables: the similarity mosaic, the table, similarity by distance, and resized tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots import theme
from vitviz.plots.blob import describe, pack
from vitviz.plots.chart import Chart

FloatArray = NDArray[np.floating[Any]]
NO_RANGE = 1e-3  # of the limit: less is rounding
BYTE_RANGE, SHORT_RANGE = 255, 65535


@dataclass(frozen=True, eq=False)
class Panel:
    """One encoding of the mosaic: a similarity matrix per moment."""

    title: str
    note: str
    grid: tuple[int, int]
    similarity: FloatArray  # (moments, N, N)
    moments: Sequence[str] = ("",)
    told: Sequence[str] = ("",)  # one computed sentence per moment


def _levels(panel: Panel) -> int:
    return SHORT_RANGE if len(panel.similarity) == 1 else BYTE_RANGE


def _quantise(panel: Panel, limit: float) -> NDArray[Any]:
    levels = _levels(panel)
    stored = np.round((panel.similarity / limit + 1) / 2 * levels)
    return stored.astype(np.uint16 if levels == SHORT_RANGE else np.uint8)


def _describe_panel(panel: Panel, limit: float, own_scale: bool) -> dict[str, Any]:
    low, high = _span(panel, limit) if own_scale else (-limit, limit)
    return {
        **describe(panel),
        "gain": 2 * limit / _levels(panel),
        "start": -limit,
        "lo": low,
        "hi": high,
    }


def mosaic(
    panels: Sequence[Panel],
    shown: NDArray[np.uint8],
    pin: tuple[float, float],
    frame: int = 0,
    *,
    raw: bool = False,
    own_scale: bool = False,
    active: int = 0,
    key: tuple[float, float] | None = None,
) -> bytes:
    """Return the component data of one or two similarity mosaics.

    A film of training travels as bytes (0.008 per level of a cosine), a single moment as 16 bits, so that its
    numbers are exact to four decimals.

    Args:
        shown: (S, S, 3) uint8, the image on which positions are lit.
        pin: (x, y) in [0, 1], the position enlarged at first.
        raw: values are dot products, not cosines.
        own_scale: each panel has a scale of its values of different positions, symmetric about zero where some are
            negative; else one scale, from -1 to 1 or of all dot products.
        key: (x, y) of the position that is compared with the pinned one at first; None for the most alike.
    """
    limit = 1.0
    if raw:
        limit = max(float(np.abs(panel.similarity).max()) for panel in panels) or 1.0
    arrays = {"shown": np.ascontiguousarray(shown, np.uint8)}
    for index, panel in enumerate(panels):
        arrays[f"similarity{index}"] = _quantise(panel, limit)
    header = {
        "panels": [_describe_panel(panel, limit, own_scale) for panel in panels],
        "unit": "dot product" if raw else "cosine",
        "raw": raw,
        "pin": list(pin),
        "frame": frame,
        "active": active,
        "key": None if key is None else list(key),
    }
    return pack(header, **arrays)


def _span(panel: Panel, limit: float) -> tuple[float, float]:
    """Return the range of a panel's similarities of different positions; (-limit, limit) where they are all one."""
    values = panel.similarity[:, ~np.eye(panel.similarity.shape[1], dtype=bool)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if high - low < NO_RANGE * limit:
        return -limit, limit
    return (low, high) if low >= 0 else (-max(-low, high), max(-low, high))


def table(
    values: FloatArray,
    kind: str,
    grid: tuple[int, int],
    base: float,
    exponents: FloatArray,
    shown: NDArray[np.uint8],
    position: int,
) -> bytes:
    """Return the component data of a table (N, D): heat map, one column's wave, and the formula of each cell.

    Args:
        values: (N, D).
        kind: how the formula reads: sincos_1d, bug, sincos_2d_sum, sincos_2d_concat, learned, pixels, random, none.
        grid: (rows, cols) of the N positions.
        base: of the wavelengths.
        exponents: (D,), column k turns as base^-e_k; NaN where it is no wave.
        shown: (S, S, 3) uint8.
    """
    peak = float(np.abs(values).max()) or 1.0
    header = {"kind": kind, "grid": list(grid), "base": base, "peak": peak, "position": position}
    return pack(
        header,
        values=np.ascontiguousarray(values, np.float32),
        exponents=np.nan_to_num(np.asarray(exponents, np.float32), nan=-1.0),
        shown=np.ascontiguousarray(shown, np.uint8),
    )


LINE_STYLES = ("solid", "dot")


def by_distance_figure(
    curves: Mapping[str, tuple[FloatArray, FloatArray]], mode: theme.Mode = "light"
) -> Chart:
    """Draw mean similarity over distance in patches, along rows and columns, for each encoding."""
    palette = theme.PALETTES[mode]
    figure = Chart(mode)
    colours = (palette.ink, palette.primary)
    for (name, lines), colour, symbol in zip(curves.items(), colours, theme.SYMBOLS, strict=False):
        for line, direction, dash in zip(lines, ("along rows", "along columns"), LINE_STYLES, strict=True):
            distance = np.arange(1, len(line))
            if not len(distance):
                continue
            figure.curve(
                name,
                distance,
                line[1:],
                (colour, symbol),
                f"%{{x}} {direction}: %{{y:.3f}}",
                line={"dash": dash},
                showlegend=dash == LINE_STYLES[0],
            )
    figure.hline(y=0, line={"color": palette.line, "width": 1})
    every = [line for pair in curves.values() for line in pair]
    lows = [float(np.nanmin(line)) for line in every]
    return figure.with_legend(
        288,
        xaxis={
            "title": {"text": "distance, patches (solid: along rows, dotted: along columns)"},
            "dtick": 1 if max(map(len, every)) < 12 else 2,
        },
        yaxis={"title": {"text": "mean cosine"}, "range": [min(-0.05, min(lows) - 0.05), 1.05]},
    )


def resize_figure(
    sizes: Sequence[int], accuracy: Mapping[str, Sequence[float]], native_px: int, mode: theme.Mode = "light"
) -> Chart:
    """Draw accuracy over the image's side in pixels, one line per resizing method of the positions."""
    palette = theme.PALETTES[mode]
    figure = Chart(mode)
    colours = (palette.primary, palette.muted)
    for (name, values), colour, symbol in zip(accuracy.items(), colours, theme.SYMBOLS, strict=False):
        percents = [100 * share for share in values]
        figure.curve(name, sizes, percents, (colour, symbol), "%{x} px: %{y:.1f} %")
    figure.vline(
        x=native_px,
        line={"color": palette.muted, "width": 1, "dash": "dot"},
        note={"text": f"trained at {native_px} px", "font": {"size": 12, "color": palette.muted}},
        at="bottom",
    )
    return figure.with_legend(
        288,
        xaxis={"title": {"text": "side of the image, pixels"}, "tickvals": list(sizes)},
        yaxis={"title": {"text": "test accuracy, %"}, "range": [0, 102]},
    )


def slip_figure(
    right: FloatArray, slipped: FloatArray, distances: Sequence[int], mode: theme.Mode = "light"
) -> Chart:
    """Draw the similarity of positions p and p + d over p, for the correct formula (lines) and the bug (dots).

    Args:
        right, slipped: (N, N) cosines.
    """
    palette = theme.PALETTES[mode]
    figure = Chart(mode)
    for d, colour in zip(distances, theme.HEADS, strict=False):
        for matrix, name in ((right, "correct formula"), (slipped, "bug")):
            line = np.diagonal(matrix, d)
            dots = name == "bug"
            figure.add(
                "scatter",
                x=np.arange(len(line)),
                y=line,
                mode="markers+lines" if dots else "lines",
                name=f"d = {d}",
                line={"color": colour, "width": 1 if dots else 3, "dash": "dot" if dots else "solid"},
                marker={"size": 5, "color": colour},
                hovertemplate=f"{name}: p = %{{x}}, d = {d}, %{{y:.4f}}",
            )
        figure.note(
            x=len(right) - 1,
            y=float(right[0, d]),
            text=f"d = {d}",
            xanchor="left",
            font={"size": 12, "color": palette.muted},
        )
    figure.layout(
        height=480,
        xaxis={"title": {"text": "position p   ▬ correct formula   ⋯ bug"}, "range": [0, len(right) + 2]},
        yaxis={"title": {"text": "cosine of p and p + d"}},
    )
    return figure
