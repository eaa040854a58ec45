"""Draw position tables: similarity mosaic, table, similarity by distance, resized tables, and rotary positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.position_similarity import Grid, rotary_scores, rotary_turns
from vitviz.analysis.verdict import measure_interval
from vitviz.plots import theme
from vitviz.plots.blob import describe, pack
from vitviz.plots.chart import Chart
from vitviz.plots.theme import DIVERGING, PALETTES, Mode, colorscale
from vitviz.plots.training_moments import TrainingMoments

FloatArray = NDArray[np.floating[Any]]
NO_RANGE = 1e-3  # of the limit: less is rounding
CODES = 65535  # the code of the limit; 0 is that of its negative
MOST_PAIRS, PER_LINE = 8, 4  # clocks per axis, and per line
BLOCK = 2.6  # lines from the first row pair to the first column pair
HAND = 0.4
MAP_END, CLOCKS_START = 0.44, 0.52


@dataclass(frozen=True, eq=False)
class EncodingPanel:
    """One encoding of the mosaic: a similarity matrix per moment."""

    title: str
    note: str
    grid: tuple[int, int]
    similarity: FloatArray  # (moments, N, N), symmetric
    told: Sequence[str] = ("",)  # one computed sentence per moment
    training: TrainingMoments | None = None


def _describe_panel(panel: EncodingPanel, limit: float, own_scale: bool) -> dict[str, Any]:
    low, high = _span(panel, limit) if own_scale else (-limit, limit)
    return {
        **describe(panel),
        "gain": 2 * limit / CODES,
        "start": -limit,
        "lo": low,
        "hi": high,
    }


def mosaic(
    panels: Sequence[EncodingPanel],
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

    Similarities travel in 16 bits, so that numbers are exact to four decimals.

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
        codes = np.rint((panel.similarity / limit + 1) / 2 * CODES).astype(np.uint16)
        arrays[f"similarity{index}"] = np.tril(codes)  # the browser mirrors it: zeros take few bytes
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


def _span(panel: EncodingPanel, limit: float) -> tuple[float, float]:
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
    figure.hline(0, color=palette.line, dash="solid")
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
    sizes: Sequence[int],
    accuracy: Mapping[str, Sequence[float]],
    images: int,
    native_px: int,
    mode: theme.Mode = "light",
) -> Chart:
    """Draw accuracy on test images, with its intervals, over their side in pixels, one line per resizing method."""
    palette = theme.PALETTES[mode]
    figure = Chart(mode)
    colours = (palette.primary, palette.muted)
    for (name, values), colour, symbol in zip(accuracy.items(), colours, theme.SYMBOLS, strict=False):
        percents = [100 * share for share in values]
        low, high = 100 * np.array([measure_interval([share], images) for share in values]).T
        hover = f"%{{x}} px: %{{y:.1f}} % ({images:,} images)"
        figure.curve(name, sizes, percents, (colour, symbol), hover, (low, high))
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


def rotary_figure(grid: Grid, dim: int, base: float, offset: tuple[int, int], mode: Mode = "light") -> Chart:
    """Draw the score over offsets with the selected one marked, and query and key of every pair as hands of a clock."""
    palette, figure = PALETTES[mode], Chart(mode)
    scores = rotary_scores(grid, dim, base)
    down, right = (list(range(1 - side, side)) for side in grid)
    figure.add(
        "heatmap",
        z=scores.tolist(),
        x=right,
        y=down,
        zmin=-1,
        zmax=1,
        colorscale=colorscale(DIVERGING[mode]),
        colorbar={"thickness": 8, "outlinewidth": 0, "title": {"text": "q·k"}},
        hovertemplate="%{y} rows down, %{x} columns right: %{z:.3f}",
    )
    title = "Score q·k by offset from query to key"
    figure.note(xref="x domain", yref="y domain", x=0, y=1, xanchor="left", yanchor="bottom", text=title)
    box = {"x0": offset[1] - 0.5, "x1": offset[1] + 0.5, "y0": offset[0] - 0.5, "y1": offset[0] + 0.5}
    figure.shape(type="rect", **box, line={"color": palette.ink, "width": 2.5})
    _add_clocks(figure, rotary_turns(grid, dim, base, offset), mode)
    bare = {"showgrid": False, "showticklabels": False}
    figure.layout(
        height=436,
        margin={"t": 24},  # for the title
        xaxis={"domain": [0, MAP_END], "title": {"text": "columns right"}, "showgrid": False},
        yaxis={
            "title": {"text": "rows down"},
            "autorange": "reversed",
            "showgrid": False,
            "scaleanchor": "x",
        },
        xaxis2={**bare, "domain": [CLOCKS_START, 1], "anchor": "y2", "range": [-0.6, PER_LINE - 0.4]},
        yaxis2={**bare, "anchor": "x2", "range": [2 * BLOCK - 0.6, -1], "scaleanchor": "x2"},
    )
    return figure


def _add_clocks(figure: Chart, turns: np.ndarray, mode: Mode) -> None:
    """Add a clock per pair: the query's dotted hand points right, the key's is turned by the offset's angle."""
    palette = PALETTES[mode]
    for axis, name in enumerate(("row", "column")):
        first = BLOCK * axis
        label = f"pairs that turn with the {name}"
        figure.note(xref="x2", yref="y2", x=-0.5, y=first - 0.62, xanchor="left", text=label)
        for pair, angle in enumerate(turns[axis, :MOST_PAIRS].tolist()):
            x, y = pair % PER_LINE, first + pair // PER_LINE
            circle = {"x0": x - HAND, "x1": x + HAND, "y0": y - HAND, "y1": y + HAND}
            figure.shape(
                type="circle", xref="x2", yref="y2", **circle, line={"color": palette.line, "width": 1.5}
            )
            hands = ((0.0, palette.muted, "query", "dot"), (angle, palette.primary, "key", "solid"))
            for hand, color, label, dash in hands:
                figure.add(
                    "scatter",
                    xaxis="x2",
                    yaxis="y2",
                    x=[x, x + HAND * float(np.cos(hand))],
                    y=[y, y - HAND * float(np.sin(hand))],
                    mode="lines",
                    line={"color": color, "width": 3, "dash": dash},
                    hovertemplate=f"{name} pair {pair + 1}, {label}: {np.degrees(hand):.1f}°",
                )
