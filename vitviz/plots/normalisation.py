"""Draw what norms average, the effect of norms and residual connections, and the norm of the residual stream."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.norms import Norms
from vitviz.plots.chart import Chart, log_axis
from vitviz.plots.theme import DIVERGING, PALETTES, SYMBOLS, VARIANTS, Mode, colorscale

HEIGHT_PX = 420
GAP = 0.02  # between the panels of the norms, of the whole width
# Below: beside the panels it takes half of a phone's width from them.
BAR = {"orientation": "h", "thickness": 10, "len": 0.6, "y": -0.14, "yanchor": "top", "outlinewidth": 0}
VEIL = 0.8  # opacity of what does not share the mean


def gradient_figure(curves: Sequence[Norms], mode: Mode = "light") -> Chart:
    """Draw the gradient norm over blocks, one line per variant with its intervals."""
    figure = Chart(mode)
    for curve, colour, symbol in zip(curves, VARIANTS[1:], SYMBOLS, strict=False):
        blocks, ends = range(1, len(curve.mean) + 1), (curve.low, curve.high)
        figure.curve(curve.title, blocks, curve.mean, (colour, symbol), "block %{x}: %{y:.3g}", ends)
    norms = [float(norm) for curve in curves for ends in (curve.low, curve.high) for norm in ends if norm > 0]
    return figure.with_legend(
        HEIGHT_PX,
        xaxis={"title": {"text": "block, from the image to the head"}, "dtick": 1},
        yaxis={"title": {"text": "norm of the gradient"}, **log_axis(norms or [1.0])},
    )


def norms_figure(
    tokens: NDArray[np.floating],
    members: Mapping[str, NDArray[np.bool_]],
    at: tuple[int, int, int],
    mode: Mode = "light",
) -> Chart:
    """Draw the tokens once per norm, dimming values outside the group of the selected one.

    Args:
        tokens: (B, N, D) that are drawn: images below one another, a row a token, a column a channel.
        members: by the norm's title (B, N, D).
        at: (image, token, channel) of the asked number.
    """
    figure = Chart(mode)
    images, count, channels = tokens.shape
    rows = tokens.reshape(images * count, channels)
    wide = (1 - GAP * (len(members) - 1)) / len(members)
    for place, (title, inside) in enumerate(members.items()):
        axis = "" if place == 0 else str(place + 1)
        left = place * (wide + GAP)
        _panel(figure, f"x{axis}", rows, inside.reshape(rows.shape), title, mode)
        _frame(figure, f"x{axis}", (at[0] * count + at[1], at[2]), mode)
        for image in range(1, images):
            _edge(figure, f"x{axis}", image * count - 0.5, channels, mode)
        named: dict[str, Any] = {
            f"xaxis{axis}": {
                "domain": [left, left + wide],
                "anchor": "y",
                "title": _wrap_title(title, mode),
                "showticklabels": False,
                "showgrid": False,
            }
        }
        figure.layout(**named)
    figure.layout(
        height=HEIGHT_PX,
        yaxis={
            "autorange": "reversed",
            "showgrid": False,
            "tickvals": [picture * count + (count - 1) / 2 for picture in range(images)],
            "ticktext": [f"image {picture + 1}" for picture in range(images)],
        },
    )
    return figure


def _wrap_title(title: str, mode: Mode) -> dict[str, Any]:
    """Wrap a panel's title to one word per line, so that four fit side by side on a phone."""
    return {"text": title.replace(" ", "\n"), "font": {"size": 13, "color": PALETTES[mode].muted}}


def _panel(
    figure: Chart,
    axis: str,
    rows: NDArray[np.floating],
    inside: NDArray[np.bool_],
    title: str,
    mode: Mode,
) -> None:
    """Draw the values of one norm, faded where a value has another mean."""
    top, paper = float(np.abs(rows).max()) or 1.0, PALETTES[mode].paper
    figure.add(
        "heatmap",
        z=rows.tolist(),
        xaxis=axis,
        yaxis="y",
        zmin=-top,
        zmax=top,
        colorscale=colorscale(DIVERGING[mode]),
        showscale=axis == "x",
        colorbar=BAR,
        hovertemplate=f"{title}: row %{{y}}, channel %{{x}}: %{{z:.2f}}",
    )
    veil = [[None if shared else 1.0 for shared in row] for row in inside.tolist()]
    figure.add(
        "heatmap",
        z=veil,
        xaxis=axis,
        yaxis="y",
        colorscale=[(0, paper), (1, paper)],
        opacity=VEIL,
        showscale=False,
        hoverinfo="skip",
    )


def _frame(figure: Chart, axis: str, cell: tuple[int, int], mode: Mode) -> None:
    row, col = cell
    line = {"color": PALETTES[mode].ink, "width": 2.5}
    figure.shape(type="rect", xref=axis, x0=col - 0.5, x1=col + 0.5, y0=row - 0.5, y1=row + 0.5, line=line)


def _edge(figure: Chart, axis: str, y: float, channels: int, mode: Mode) -> None:
    """Between two images."""
    line = {"color": PALETTES[mode].ink, "width": 1.5}
    figure.shape(type="line", xref=axis, x0=-0.5, x1=channels - 0.5, y0=y, y1=y, line=line)


def norm_figure(tokens: NDArray[Any], token: int, channel: int, mode: Mode = "light") -> Chart:
    """Draw a norm's input (tokens, D), with the row of LayerNorm and the column of BatchNorm outlined."""
    figure = draw_tokens(tokens, token, mode)
    line = {"color": PALETTES[mode].primary, "width": 2.5}
    figure.shape(type="rect", x0=channel + 0.5, y0=0.5, x1=channel + 1.5, y1=len(tokens) + 0.5, line=line)
    figure.layout(
        height=300,
        xaxis={"title": {"text": "channel (tall frame: BatchNorm)"}},
        yaxis={"title": {"text": "token (wide frame: LayerNorm)"}},
    )
    return figure


def draw_tokens(tokens: NDArray[Any], token: int, mode: Mode) -> Chart:
    """Draw the tokens (N, D), one row each, and outline the row of one."""
    top = float(np.quantile(np.abs(tokens), 0.99)) or 1.0
    rows, cols = tokens.shape
    figure = Chart(mode)
    figure.add(
        "heatmap",
        z=tokens.astype(np.float32),
        x=np.arange(1, cols + 1),
        y=np.arange(1, rows + 1),
        zmin=-top,
        zmax=top,
        colorscale=colorscale(DIVERGING[mode]),
        colorbar={"thickness": 8, "outlinewidth": 0},
        hovertemplate="token %{y}, channel %{x}: %{z:.3f}",
    )
    line = {"color": PALETTES[mode].ink, "width": 2.5}
    figure.shape(type="rect", x0=0.5, y0=token + 0.5, x1=cols + 0.5, y1=token + 1.5, line=line)
    figure.layout(
        xaxis={"title": {"text": "channel"}, "showgrid": False},
        yaxis={"title": {"text": "token"}, "autorange": "reversed", "showgrid": False},
    )
    return figure


def stream_figure(norms: NDArray[Any], token: int, mode: Mode = "light") -> Chart:
    """Draw the norm of the residual stream, (depth + 1, tokens): one token, the mean, and the range."""
    palette = PALETTES[mode]
    depth = np.arange(len(norms))
    figure = Chart(mode)
    named = {"opacity": 0.6, "name": "all tokens", "showlegend": True}
    figure.band(depth, norms.min(axis=1), norms.max(axis=1), palette.line, **named)
    for name, values, color, symbol in (
        ("mean", norms.mean(axis=1), palette.muted, "square"),
        ("this token", norms[:, token], palette.primary, "circle"),
    ):
        figure.curve(name, depth, values, (color, symbol), "%{y:.2f} after block %{x}")
    return figure.with_legend(
        360,
        xaxis={"title": {"text": "block"}, "dtick": 1 if len(depth) <= 13 else 4},
        yaxis={"title": {"text": "length of a token's vector"}, "rangemode": "tozero"},
    )
