"""Draw accuracy over the number of training images, and over training time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vitviz.analysis.data_size import Curve, Lines
from vitviz.plots.chart import Chart, sizes_axis
from vitviz.plots.theme import FAMILIES, HEADS, PALETTES, VARIANTS, Mode, family_colors
from vitviz.plots.theme import SYMBOLS as SHAPES
from vitviz.text import percent

ORDER = ("cnn", "hybrid", "swin", "vit", "deit")
COLOURS = FAMILIES | {"patch_4": FAMILIES["vit"], "patch_8": VARIANTS[2]}
SYMBOLS = {"cnn": "square", "hybrid": "diamond", "swin": "triangle-up", "vit": "circle", "deit": "cross"}
SYMBOLS |= {"patch_4": "circle", "patch_8": "square"}
_HEADS = ("test_softmax_sum", "test_cls", "test_dist")  # of a student, apart from the mean of its logits
COLOURS |= dict(zip(_HEADS, (HEADS[0], HEADS[1], HEADS[3]), strict=True))
SYMBOLS |= dict(zip(_HEADS, ("square", "triangle-up", "circle"), strict=True))
HEIGHT_PX = 440


@dataclass(frozen=True)
class Own:
    """A point measured by a run of the user."""

    name: str
    title: str
    images: int
    accuracy: float


def size_figure(
    curves: Sequence[Curve],
    sizes: Sequence[int],
    chance: float,
    what: str,
    own_points: Sequence[Own] = (),
    mode: Mode = "light",
) -> Chart:
    """Draw accuracy over the number of training images, one line per model with its intervals.

    Args:
        sizes: ticks of the axis, ascending, with every size of the curves.
        chance: accuracy of guessing, in [0, 1].
        what: title of the vertical axis, without its unit.
        own_points: points of the user's runs, drawn as stars.
    """
    figure = Chart(mode)
    figure.hline(100 * chance, f"chance {percent(chance, 0)}")
    for curve in curves:
        ends = 100 * curve.low, 100 * curve.high
        hover = "%{x:,} images: %{y:.1f} %"
        figure.curve(curve.title, curve.images.tolist(), 100 * curve.mean, _style(curve.name), hover, ends)
    for point in own_points:
        _star(figure, point, PALETTES[mode].ink)
    return figure.with_legend(
        HEIGHT_PX,
        xaxis=sizes_axis(sizes, "training images"),
        yaxis={"title": {"text": f"{what}, %"}, "rangemode": "tozero"},
    )


def _style(name: str) -> tuple[str, str]:
    return COLOURS[name], SYMBOLS[name]


def _star(figure: Chart, point: Own, ink: str) -> None:
    figure.add(
        "scatter",
        showlegend=False,
        x=[point.images],
        y=[100 * point.accuracy],
        mode="markers",
        marker={
            "color": COLOURS[point.name],
            "symbol": "star",
            "size": 17,
            "line": {"color": ink, "width": 1.5},
        },
        hovertemplate=f"your {point.title}, %{{x:,}} images: %{{y:.1f}} %",
    )


def time_figure(lines: Lines, chance: float, mode: Mode = "light") -> Chart:
    """Draw validation accuracy over core-seconds of training.

    Args:
        chance: accuracy of guessing, in [0, 1].
    """
    figure = Chart(mode)
    figure.hline(100 * chance, f"chance {percent(chance, 0)}")
    for name, (title, (seconds, accuracy, *ends)) in lines.items():
        low, high = (100 * end for end in ends)
        figure.curve(
            title, seconds.round(1), 100 * accuracy, _style(name), "%{x:,} s: %{y:.1f} %", (low, high)
        )
    longest = max((float(line[0, -1]) for _, line in lines.values()), default=1.0)
    return figure.with_legend(
        HEIGHT_PX,
        xaxis={"title": {"text": "training time, seconds on one core"}, "range": [0, 1.04 * longest]},
        yaxis={"title": {"text": "validation accuracy, %"}, "range": [0, 102]},
    )


def pretraining_figure(
    lines: Mapping[str, Sequence[float | None]], sizes_million: Sequence[float], mode: Mode = "light"
) -> Chart:
    """Draw published ImageNet accuracy, in percent, over the millions of images that a model was trained on before.

    The first line is the CNN, dashed with squares.
    """
    figure = Chart(mode)
    symbols = sorted(SHAPES, key=lambda symbol: symbol != "square")
    colours = family_colors(["cnn", *["vit"] * (len(lines) - 1)])
    for index, (title, values) in enumerate(lines.items()):
        style, line = (colours[index], symbols[index]), {"dash": "solid" if index else "dash"}
        figure.curve(title, sizes_million, values, style, "%{x} M images: %{y:.2f} %", line=line)
    return figure.with_legend(
        HEIGHT_PX,
        xaxis=sizes_axis(sizes_million, "pretraining images", " M"),
        yaxis={"title": {"text": "ImageNet accuracy after fine-tuning, %"}},
    )


def gain_figure(gains: Sequence[Curve], what: str, mode: Mode = "light") -> Chart:
    """Draw a gain, in points, over the number of training images, with its intervals."""
    figure = Chart(mode)
    figure.hline(0, width=1.5, dash="solid")
    for index, gain in enumerate(gains):
        ends, sizes = (100 * gain.low, 100 * gain.high), gain.images.tolist()
        apart = [size * (1 + 0.03 * (index - (len(gains) - 1) / 2)) for size in sizes]  # keep the bars apart
        hover = "%{customdata:,} images: %{y:+.1f} points"
        figure.curve(gain.title, apart, 100 * gain.mean, _style(gain.name), hover, ends, customdata=sizes)
    return figure.with_legend(
        360,
        xaxis=sizes_axis(sorted({int(size) for gain in gains for size in gain.images}), "training images"),
        yaxis={"title": {"text": f"{what}, points"}},
    )
