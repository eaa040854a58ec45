"""Draw the similarity of [CLS] and [DIST], and the disagreement of classifiers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import share_interval
from vitviz.plots.chart import Chart
from vitviz.plots.theme import PALETTES, SEQUENTIAL, Mode, colorscale

DEGREES = (0, 30, 60, 90, 120, 150, 180)


def similarity_figure(
    similarity: NDArray[np.float64], start: NDArray[np.float64] | None, block: int, mode: Mode = "light"
) -> Chart:
    """Draw the angle between [CLS] and [DIST] over depth; `start` is before training.

    Cosines near 1 lie on each other; their angles do not.

    Args:
        similarity, start: cosines (depth + 1,), from the input on.
        block: the chosen block, from 1; its dot is filled.
    """
    palette = PALETTES[mode]
    figure = Chart(mode)
    curves = {"before training": start, "this model": similarity} if start is not None else {"": similarity}
    for name, cosines in curves.items():
        is_start = cosines is start
        depth = np.arange(len(cosines))
        color = palette.muted if is_start else palette.primary
        angles = convert_to_degrees(cosines)
        figure.add(
            "scatter",
            x=depth,
            y=angles,
            mode="lines+markers+text",
            line={"color": color, "width": 2, "dash": "dot" if is_start else "solid"},
            marker={
                "size": 5 if is_start else 9,
                "color": color,
                "symbol": ["circle" if is_start or at == block else "circle-open" for at in depth],
                "line": {"color": color, "width": 2},
            },
            text=[name if at == (0 if is_start else 2) else "" for at in depth],  # beside its own line alone
            textposition="top right" if is_start else "bottom center",
            textfont={"color": color},
            customdata=cosines.tolist(),
            hovertemplate=f"{name and f'{name}, '}after layer %{{x}}: %{{y:.1f}}°, cosine %{{customdata:.3f}}",
        )
    most = max(
        [90.0, *convert_to_degrees(similarity), *convert_to_degrees(similarity if start is None else start)]
    )
    figure.layout(
        height=330,
        showlegend=False,
        xaxis={"title": {"text": "layer (0: input tokens)"}, "dtick": 1, "showgrid": False},
        yaxis={
            "title": {"text": "angle, [CLS] to [DIST]"},
            "range": [0, 1.15 * most],
            "tickvals": [degrees for degrees in DEGREES if degrees <= most],
            "ticktext": [f"{degrees}°" for degrees in DEGREES if degrees <= most],
        },
    )
    return figure


def convert_to_degrees(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def disagreement_figure(
    names: Sequence[str], differs: NDArray[np.float64], images: int, mode: Mode = "light"
) -> Chart:
    """Draw the share of images classified differently by each pair of classifiers, (n, n), as a heatmap."""
    ends = np.array([[share_interval(float(share), images) for share in row] for row in differs])
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, 100 * differs)
    top = float(np.nanmax(shown))
    figure = Chart(mode)
    figure.add(
        "heatmap",
        z=shown,
        x=list(names),
        y=list(names),
        zmin=0,
        zmax=top,
        xgap=2,
        ygap=2,
        colorscale=colorscale(SEQUENTIAL),
        showscale=False,
        customdata=(100 * ends).tolist(),
        hovertemplate="%{y} and %{x} differ on %{z:.1f} % of the images (95 % interval %{customdata[0]:.1f} to"
        f" %{{customdata[1]:.1f}} %; {images:,} images)",
    )
    for (row, column), share in np.ndenumerate(shown):
        if np.isfinite(share):
            ink = "#10151C" if share > 0.55 * top else "#FFFFFF"
            figure.note(x=column, y=row, text=f"{share:.1f}", font={"color": ink, "size": 13})
    figure.layout(
        height=48 * len(names) + 96,
        xaxis={
            "side": "top",
            "showgrid": False,
            "tickvals": list(names),
            "ticktext": [name.replace(" ", "\n") for name in names],  # narrow enough for a phone
        },
        yaxis={"autorange": "reversed", "showgrid": False},
    )
    return figure
