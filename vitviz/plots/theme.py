"""Define the colours of all figures, safe for colour-blind readers, in light and dark mode."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mode = Literal["light", "dark"]

# Okabe and Ito (2008): a family, and a head, has the same colour on every page. Their orange is left to attention.
FAMILIES = {"cnn": "#7F7F7F", "hybrid": "#56B4E9", "swin": "#009E73", "vit": "#0072B2", "deit": "#CC79A7"}
HEADS = ("#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#9B5DE5", "#B8A800", "#7F7F7F")
HEAD_NAMES = ("light blue", "green", "pink", "dark blue", "violet", "olive", "grey")
# What is compared within one family: grey first, which the others are held against.
VARIANTS = (HEADS[6], *HEADS[:6], "#B23A6B")
_KIN = {"conv_attention": "hybrid", "flat_attention": "vit"}
_SHADES = (("#FFFFFF", 0.0), ("#FFFFFF", 0.45), ("#000000", 0.35), ("#FFFFFF", 0.7))
# What tells lines and bars apart where colours are not seen, beside them in the same order.
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "hexagon")
# The same of lines without points; vitviz/browser/kit/axes.js draws them.
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "5px,2px", "longdashdot", "2px,6px")
# Quantities without sign; perceptually even (matplotlib's viridis, eight stops).
SEQUENTIAL = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")
PIN = "#0F151C"  # inside a white frame
# Signed values: blue, the page's background at zero, orange.
DIVERGING: dict[Mode, tuple[str, ...]] = {
    "light": ("#1B4F8F", "#5B93C7", "#B7D3E8", "#FBFAF7", "#F6CFA1", "#E0913A", "#A6540B"),
    "dark": ("#B7D8F5", "#5B9BD9", "#2A527D", "#10151C", "#6E4013", "#D08232", "#FBCB8F"),
}


@dataclass(frozen=True)
class Palette:
    """The interface's colours of one mode; `query` is the orange of attention, and of nothing else."""

    paper: str
    panel: str
    ink: str
    muted: str
    line: str
    primary: str
    query: str


PALETTES: dict[Mode, Palette] = {
    "light": Palette("#FBFAF7", "#F1EFEA", "#0F151C", "#4F5A68", "#DAD7D0", "#2457A6", "#D9480F"),
    "dark": Palette("#10151C", "#19212B", "#E7EBF1", "#9DA9B8", "#2C3643", "#6EA3F0", "#FF922B"),
}


def head_color(head: int, num_heads: int) -> str:
    """Return the colour of one head: Okabe-Ito up to seven heads, beyond that one even ramp."""
    if num_heads <= len(HEADS):
        return HEADS[head]
    return ramp(SEQUENTIAL, head / (num_heads - 1))


def family_colors(families: Sequence[str]) -> list[str]:
    """Return a colour per model: its family's, or of several of one family its shades; another family's is olive."""
    counts: Counter[str] = Counter()
    colors = []
    for family in (_KIN.get(name, name) for name in families):
        end, share = _SHADES[counts[family] % len(_SHADES)]
        colors.append(ramp((FAMILIES.get(family, HEADS[5]), end), share))
        counts[family] += 1
    return colors


def variant_colors(families: Sequence[str]) -> list[str]:
    """Return the colours of compared models: by family, or of variants of one family `VARIANTS`."""
    if len(families) > 1 and len({*families}) == 1:
        return [VARIANTS[i % len(VARIANTS)] for i in range(len(families))]
    return family_colors(families)


def ramp(stops: tuple[str, ...], position: float) -> str:
    """Return the colour at a position in [0, 1] along evenly spaced stops, as #rrggbb."""
    place = min(max(position, 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    ends = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[low : low + 2]]
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def colorscale(stops: tuple[str, ...]) -> list[tuple[float, str]]:
    """Return stops as a Plotly colour scale."""
    return [(i / (len(stops) - 1), stop) for i, stop in enumerate(stops)]


def layout(mode: Mode = "light") -> dict[str, object]:
    """Return the Plotly layout that all figures share."""
    p = PALETTES[mode]
    axis = {
        "showgrid": True,
        "gridcolor": p.line,
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "automargin": True,
        "title": {"font": {"size": 13, "color": p.muted}},
        "tickfont": {"size": 12, "color": p.muted},
    }
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": '"Source Sans", "Source Sans Pro", sans-serif', "size": 13, "color": p.ink},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hoverlabel": {"bgcolor": p.panel, "bordercolor": p.line, "font": {"color": p.ink, "size": 13}},
        "xaxis": axis,
        "yaxis": axis,
        "showlegend": False,
    }
