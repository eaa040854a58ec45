"""The picture that a right solution of an exercise gives, computed by the app's own code on the chosen picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from pages.frame import page
from pages.selection import selection, subject, substitute
from pages.selection.subject import Subject
from vitviz import sinusoids
from vitviz.analysis.patches import patchify
from vitviz.analysis.position_similarity import cosine_similarity
from vitviz.analysis.readout import answer_of
from vitviz.models.abilities import as_vit
from vitviz.plots.plotly_dict import PlainFigure
from vitviz.plots.theme import DASHES, DIVERGING, PALETTES, SEQUENTIAL, colorscale
from vitviz.probe.logit_lens import readout_weights
from vitviz.text import percent, plain, signed

SHOWN_TOKENS, SHOWN_CHANNELS = 50, 64
KEY = "exercises.right"


def draw(slug: str) -> str:
    """Draws the picture of an exercise; returns its caption."""
    return _DRAWN[slug]()


def _subject() -> Subject:
    """The chosen model where it is a plain ViT; else the nearest one, with a picture of its own kind."""
    if substitute.plain_vit(selection.choice().config):
        return subject.current()
    choice = substitute.nearest(substitute.plain_vit)
    return subject.of(choice, None, substitute.picture(choice)[0])


def _heat(values: NDArray[Any], x: str, y: str, *, signed: bool = False) -> go.Figure:
    """A matrix from the top left, its axes named."""
    figure = PlainFigure(selection.mode())
    top = float(np.abs(values).max()) or 1.0
    figure.add(
        "heatmap",
        z=values.astype(np.float32),
        zmin=-top if signed else 0,
        zmax=top,
        colorscale=colorscale(DIVERGING if signed else SEQUENTIAL),
        colorbar={"thickness": 8, "outlinewidth": 0},
        hovertemplate=f"{y} %{{y}}, {x} %{{x}}: %{{z:.3f}}<extra></extra>",
    )
    figure.layout(xaxis={"title": {"text": x}, "showgrid": False})
    figure.layout(yaxis={"title": {"text": y}, "autorange": "reversed", "showgrid": False}, height=340)
    return figure.figure()


def _patchify() -> str:
    now = _subject()
    grey = now.prepared.shown.mean(axis=2)[None] / 255
    cut = patchify(grey, as_vit(now.model.config).patch_size)
    page.figure(_heat(cut, "value of a patch", "patch"), KEY)
    return (
        f"The chosen picture in grey as {cut.shape[0]} rows, one a patch, of {cut.shape[1]} values: the table that the"
        " function returns."
    )


def _positions() -> str:
    table = sinusoids.sincos_1d(SHOWN_TOKENS, SHOWN_CHANNELS)
    page.figure(_heat(table, "channel", "position", signed=True), KEY)
    alike = cosine_similarity(table)
    return (
        f"{SHOWN_TOKENS} positions of {SHOWN_CHANNELS} channels: slow waves to the right. Neighbours have the cosine"
        f" {alike[5, 6]:.4f} wherever they stand."
    )


def _one_head() -> str:
    now = _subject()
    weights = now.attn[0, 0]
    page.figure(_heat(weights, "key", "query"), KEY)
    return f"Head 1 of layer 1 of {now.choice.shown}: every row sums to {weights.sum(axis=1).mean():.2f}."


def _multi_head() -> str:
    now = _subject()
    heads = now.attn[0]
    page.figure(_heat(np.concatenate(list(heads), axis=1), "key, head after head", "query"), KEY)
    unlike = np.abs(heads[0] - heads[-1]).sum(axis=1).mean() / 2
    return (
        f"The {len(heads)} heads of layer 1 side by side: the first and the last put {percent(float(unlike), 0)} of"
        " their weights elsewhere. Shared heads would all be the same."
    )


def _block() -> str:
    now = _subject()
    parts = ("input", "attn_out", "mid", "mlp_out")
    found = now.capture(tuple(f"blocks.0.{part}" for part in parts) + ("blocks.0",))
    names = ("z", "MSA(LN(z))", "z'", "MLP(LN(z'))", "out")
    values = [np.linalg.norm(found[f"blocks.0.{part}"][0], axis=-1).mean() for part in parts]
    values.append(np.linalg.norm(found["blocks.0"][0], axis=-1).mean())
    page.figure(_bars(names, np.array(values), "mean length over the tokens"), KEY)
    return f"One block of {now.choice.shown}: two branches, each added to what it read from."


def _bars(names: tuple[str, ...], values: NDArray[Any], title: str) -> go.Figure:
    figure = PlainFigure(selection.mode())
    colour = PALETTES[selection.mode()].primary
    figure.add("bar", x=values, y=list(names), orientation="h", marker={"color": colour})
    figure.layout(xaxis={"title": {"text": title}}, yaxis={"autorange": "reversed", "type": "category"})
    figure.layout(height=300)
    return figure.figure()


def _vit() -> str:
    now = _subject()
    chances = now.probabilities
    top = np.argsort(-chances, kind="stable")[:10]
    names = tuple(now.classes[i] for i in top)
    page.figure(_bars(names, chances[top], "probability"), KEY)
    return f"{now.choice.shown} on the picture: {plain(names[0])} with {percent(float(chances[top[0]]))}."


def _trainable_positions() -> str:
    now = _subject()
    table = now.capture(("pos_embed",))["pos_embed"].reshape(-1, as_vit(now.model.config).embed_dim)
    alike = cosine_similarity(table)
    page.figure(_heat(alike, "position", "position", signed=True), KEY)
    cells = now.layout.grid[0] * now.layout.grid[1]
    row, col = np.divmod(np.arange(cells), now.layout.grid[1])
    places, apart = alike[-cells:, -cells:], ~np.eye(cells, dtype=bool)
    lined = ((row[:, None] == row) | (col[:, None] == col)) & apart
    words = "has learned as positions" if now.choice.trained_on else "begins with as positions, untrained"
    return (
        f"The cosines of what {now.choice.shown} {words}: a place has {signed(places[lined].mean())} on average with"
        f" those of its row and its column, {signed(places[apart & ~lined].mean())} with all others. No formula has put"
        " that there."
    )


def _without_cls() -> str:
    now = _subject()
    config = as_vit(now.model.config)
    last = now.capture((f"blocks.{config.depth - 1}",))[f"blocks.{config.depth - 1}"][0]
    weights = readout_weights(now.model.vit)
    found = answer_of(last, weights, "mean", now.layout.prefix)
    winner = int(found.order[0])
    votes = found.normed[now.layout.num_prefix_tokens :] @ weights.weight[winner]
    page.figure(_heat(votes.reshape(now.layout.grid), "column", "row", signed=True), KEY)
    return (
        f"What each patch of {now.choice.shown} says for {plain(now.classes[winner])}: with the mean as readout the"
        f" logit is the mean of these numbers, {votes.mean():.2f}, plus a bias. This model was trained to be read from"
        " [CLS]; yours learns it."
    )


def _accuracy() -> str:
    curves = {
        choice.shown: choice.curve for choice in selection.models().values() if choice.trained_on == "digits"
    }
    figure = PlainFigure(selection.mode())
    palette = PALETTES[selection.mode()]
    shown = [(name, curve) for name, curve in curves.items() if curve][:3]
    colours = (palette.primary, palette.query, palette.muted)
    for (name, curve), colour, dash in zip(shown, colours, DASHES, strict=False):
        steps, accuracy = zip(*curve, strict=True)
        figure.add(
            "scatter",
            x=steps,
            y=[100 * value for value in accuracy],
            mode="lines",
            name=name,
            line={"color": colour, "dash": dash},
        )
    figure.layout(xaxis={"title": {"text": "step"}}, yaxis={"title": {"text": "validation accuracy, %"}})
    figure.layout(height=340, showlegend=bool(shown), legend={"orientation": "h", "y": 1.1})
    page.figure(figure.figure(), KEY)
    if not shown:
        return "No model of the digits is on this server, so there is no curve to compare yours with."
    best = max(value for _, curve in shown for _, value in curve)
    return f"What {len(shown)} models of the app reached on digits, larger pictures and no budget: {percent(best)}."


_DRAWN: dict[str, Callable[[], str]] = {
    "patchify": _patchify,
    "positions": _positions,
    "one_head": _one_head,
    "multi_head": _multi_head,
    "block": _block,
    "vit": _vit,
    "trainable_positions": _trainable_positions,
    "without_cls": _without_cls,
    "accuracy": _accuracy,
}
