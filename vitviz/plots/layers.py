"""Draw a model's layers: two models' side by side, a CNN's channels, probe accuracies and token norms over depth."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_colours import REACH, ColourDirections, Uint8
from vitviz.plots.blob import describe, pack
from vitviz.plots.chart import Chart
from vitviz.plots.heat_grid import Fact, GridStyle, HeatPanel, pack_heat_grid
from vitviz.plots.photo import Photo, encode_photo
from vitviz.plots.theme import HEADS, PALETTES, SYMBOLS, Mode, family_colors
from vitviz.text import percent

UNIT = 32767  # an int16 of this is a cosine of 1
EXACT_PX = 16  # patches up to this side travel as they are, larger ones as JPEG leaves them
HEIGHT_PX = 340
_SPREAD = "rgba(86, 180, 233, 0.45)"


@dataclass(frozen=True, eq=False)
class LayerPanel:
    """One layer over the image: the row of its model, its title, and its cells.

    cells: (rows, cols, 3) uint8 colours, or (asked, rows * cols) int16 cosines, asked all tokens or the pinned one.
    """

    row: int
    title: str
    grid: tuple[int, int]
    cells: NDArray[Any]
    note: str = ""
    prefix: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """The texts and images of all panels, the selected panel, and the pin."""

    titles: Sequence[str]
    photos: Sequence[Photo]  # one a model: crops differ where models read the image differently
    chosen: int
    pin: str
    prefix: tuple[str, ...] = ()  # tokens that can be pinned by name
    veil: float = 1.0  # opacity of the cells


def colour_panels(components: ColourDirections, *, shares: bool) -> dict[str, Any]:
    """Describe the components behind a panel's colours.

    Args:
        shares: says what each holds of the variance, too.
    """
    header = {"shares": [float(share) for share in components.shares]} if shares else {}
    return {"orders": list(components.order), **header}


def share_note(components: ColourDirections) -> str:
    """Return '61 % of variance': the share that the three components explain."""
    return f"{percent(float(components.shares.sum()), 0)} of variance"


def panels_view(rows: Rows, panels: Sequence[LayerPanel]) -> bytes:
    """Pack the enlarged layer, then all layers, for `colours.js` or `token_similarity.js`."""
    # A photo shared by two models is sent once.
    photos = [next(other for other in rows.photos if other.data == photo.data) for photo in rows.photos]
    layers = [
        {"name": f"{rows.titles[panel.row]}, {panel.title}", "prefix": panel.prefix, **panel.more}
        for panel in panels
    ]
    small = [HeatPanel(panel.title, panel.grid, photo=photos[panel.row], note=panel.note) for panel in panels]
    enlarged = replace(small[rows.chosen], title=layers[rows.chosen]["name"], note="")
    counts = Counter(panel.row for panel in panels)
    headings = [("", 1), *((title, counts[row]) for row, title in enumerate(rows.titles))]
    return pack_heat_grid(
        [enlarged, *small],
        GridStyle(grey=True),
        {f"p{index}": panel.cells for index, panel in enumerate(panels)},
        rows=[{"title": title, "note": "", "count": count} for title, count in headings],
        layers=layers,
        reach=REACH,
        **describe(rows, "chosen", "pin", "prefix", "veil"),
    )


def cosine_codes(cosines: NDArray[np.floating[Any]]) -> NDArray[np.int16]:
    """Return the cosines in [-1, 1] in 16 bits, so that a browser shows the digits of captions."""
    return np.asarray(np.rint(UNIT * cosines.clip(-1, 1)), np.int16)


def matrix_view(
    matrix: NDArray[np.float64], models: Sequence[tuple[str, Sequence[str]]], *, between: bool
) -> bytes:
    """Pack the similarity of all layers of two models as one heat map.

    Args:
        matrix: (layers of both, layers of both), the first model's layers first.
        models: each model's title and its layers' names.
        between: sends the block between the two models, too; without it that is no number.
    """
    sent = matrix.astype(np.float32)
    if not between:
        count = len(models[0][1])
        sent[:count, count:] = sent[count:, :count] = np.nan
    names = [name for _, layers in models for name in layers]
    panel = HeatPanel(
        "CKA between all layers",
        sent.shape,
        [Fact("CKA", 2)],
        sent.reshape(1, -1),
        ramp="amount",
        row_names=names,
        col_names=names,
        groups=[(title, len(layers)) for title, layers in models],
        missing="Predict to see this value",
    )
    return pack_heat_grid([panel], GridStyle("single", legend=("0 dissimilar", "", "1 identical")))


@dataclass(frozen=True, eq=False)
class Top:
    """One of a channel's strongest patches: pixels (s, s, 3), label, response, and image."""

    patch: Uint8
    name: str
    value: float
    image: int


@dataclass(frozen=True, eq=False)
class Channel:
    """A channel (from 0): its map (rows, cols) of the chosen image, and its top patches.

    share: of the image's strongest response in the mean of the channel's strongest ones.
    """

    number: int
    map: NDArray[np.float32]
    share: float
    tops: Sequence[Top]


@dataclass(frozen=True, eq=False)
class StageChannels:
    """A few channels of one stage, and their heading."""

    title: str
    note: str
    channels: Sequence[Channel]


def channels_view(photo: Photo, stages: Sequence[StageChannels]) -> bytes:
    """Pack maps for `channels.js` in eight bits, each scaled to its maximum, with one sprite of patches per stage."""
    described = []
    arrays: dict[str, NDArray[Any]] = {"photo": photo.array}
    for index, stage in enumerate(stages):
        arrays[f"maps{index}"] = np.stack([_codes(channel.map) for channel in stage.channels])
        patches = np.stack([np.stack([top.patch for top in channel.tops]) for channel in stage.channels])
        kind, arrays[f"patches{index}"] = sprite(patches)
        most = [float(channel.map.max()) for channel in stage.channels]
        described.append(describe(stage) | {"most": most, "kind": kind, "side": patches.shape[2]})
    return pack({"stages": described, **photo.header}, **arrays)


def _codes(map_: NDArray[np.float32]) -> Uint8:
    most = float(map_.max())
    return np.asarray(np.rint(255 * map_.clip(0) / most) if most > 0 else np.zeros_like(map_), np.uint8)


def sprite(patches: Uint8) -> tuple[str, Uint8]:
    """Return patches (rows, cols, s, s, 3) as one file: media type and bytes."""
    rows, cols, side = patches.shape[:3]
    mosaic = patches.transpose(0, 2, 1, 3, 4).reshape(rows * side, cols * side, 3)
    exact_px = max(mosaic.shape) if side <= EXACT_PX else 0
    photo = encode_photo(mosaic, exact_px, subsampling=0)
    return photo.kind, photo.array


@dataclass(frozen=True)
class LayerLine:
    """Values of one model over its layers, with the model's index, intervals and head accuracy."""

    name: str
    layers: Sequence[str]
    values: Sequence[float]
    model: int = 0
    errors: Sequence[float] = ()  # half of each bar
    head_value: float | None = None
    sample: str = ""  # such as '256 images'


def over_depth_figure(
    lines: Sequence[LayerLine],
    families: Sequence[str],
    axis: str,
    chance: float,
    mode: Mode,
    *,
    share: bool,
    digits: int = 2,
    reference: str = "chance",
) -> Chart:
    """Draw values over relative depth, so that models of different depths can be compared.

    Args:
        chance: drawn as a dotted line with the label `reference`.
        share: True if the values are shares, written in percent; others have `digits` decimals.
    """
    figure = Chart(mode)
    colors = family_colors(families)
    times, written = (100, "%{y:.1f} %") if share else (1, f"%{{y:.{digits}f}}")
    for place, line in enumerate(lines):
        color, again = colors[line.model], any(line.model == other.model for other in lines[:place])
        last = max(len(line.layers) - 1, 1)
        values, errors = times * np.array(line.values), times * np.array(line.errors or 0.0)
        figure.curve(
            line.name,
            [i / last for i in range(len(line.layers))],
            values,
            (color, SYMBOLS[line.model + 2 * again]),
            f"{written} after %{{text}}",
            (values - errors, values + errors) if line.errors else None,
            line={"dash": "solid" if not again else "dot"},
            text=list(line.layers) if not line.errors else _name_bars(line, errors, " %" if share else ""),
        )
        if line.head_value is not None:
            dash = ("dash", "dashdot")[line.model % 2]
            figure.hline(times * line.head_value, color=color, width=1.5, dash=dash)
    figure.hline(times * chance, reference)
    return figure.with_legend(
        HEIGHT_PX,
        xaxis={
            "title": {"text": "relative depth"},
            "tickvals": [0, 0.5, 1],
            "ticktext": ["first", "half", "last"],
            "range": [-0.04, 1.04],
        },
        yaxis={"title": {"text": f"{axis}, %" if share else axis}, "range": [-0.05 * times, 1.05 * times]},
    )


def _name_bars(line: LayerLine, errors: NDArray[np.floating], unit: str) -> list[str]:
    """Return 'layer 3, ± 1.2 %; 10 splits of 256 images' for every layer."""
    digits = 1 if unit else 2
    return [
        f"{layer}, ± {error:.{digits}f}{unit}; {line.sample}".removesuffix("; ")
        for layer, error in zip(line.layers, errors, strict=True)
    ]


def shares_figure(
    layers: Sequence[str],
    shares: NDArray[np.floating],
    intervals: Sequence[tuple[float, float]],
    mode: Mode,
) -> Chart:
    """Draw one share a layer with its interval, and a dotted line at one half."""
    figure = Chart(mode)
    ends = np.array(intervals).T
    figure.curve(
        "of the images",
        layers,
        100 * shares,
        (PALETTES[mode].primary, "circle"),
        "%{y:.0f} % in %{x}",
        (100 * ends[0], 100 * ends[1]),
    )
    figure.hline(50, "half")
    return figure.with_legend(
        HEIGHT_PX,
        xaxis={"title": {"text": "[CLS] of another image before"}},
        yaxis={"title": {"text": "features nearest to their own, %"}, "range": [-5, 105]},
    )


@dataclass(frozen=True)
class NormQuantiles:
    """Token norms of one layer: 1, 50 and 99 % quantiles and maximum of the patches, means of the prefix tokens."""

    title: str
    spread: Sequence[float]
    longest: float
    prefix: Sequence[float]


def lengths_figure(layers: Sequence[NormQuantiles], prefix: Sequence[str], mode: Mode) -> Chart:
    """Draw token norms over depth: 1 to 99 % of the patches, their median and maximum, and prefix token means."""
    figure = Chart(mode)
    palette = PALETTES[mode]
    titles = [layer.title for layer in layers]
    figure.add(
        "scatter",
        name="1 to 99 % of the patches",
        x=[title for layer in layers for title in (layer.title, layer.title, None)],
        y=[norm for layer in layers for norm in (layer.spread[0], layer.spread[2], None)],
        mode="lines",
        line={"color": _SPREAD, "width": 12},
        hoverinfo="skip",
    )
    marks = [
        ("median patch", [layer.spread[1] for layer in layers], "line-ew-open", palette.ink),
        ("largest patch", [layer.longest for layer in layers], "circle", palette.primary),
    ]
    marks += [
        (f"[{name.upper()}], mean", [layer.prefix[i] for layer in layers], "diamond", HEADS[1 + i % 3])
        for i, name in enumerate(prefix)
    ]
    for name, values, symbol, color in marks:
        figure.add(
            "scatter",
            x=titles,
            y=values,
            name=name,
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": color, "line": {"width": 2, "color": color}},
            hovertemplate="%{y:.1f} in %{x}",
        )
    return figure.with_legend(HEIGHT_PX, yaxis={"title": {"text": "token norm"}, "rangemode": "tozero"})
