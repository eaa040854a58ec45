"""Layer by layer: the tokens of both models as colours over the picture."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import image_set, layer_selection, model_pair, papers, prediction, set_computation
from pages.lenses.layers.image_set import Seen
from pages.lenses.layers.model_pair import Side
from pages.stores import cached
from pages.views.register import register
from vitviz.analysis import token_colours
from vitviz.analysis.token_colours import Components, FloatArray
from vitviz.lessons.question_kinds import Measured
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import layers as plots
from vitviz.plots.layers import Panel
from vitviz.probe.layers import stream
from vitviz.text import listed, percent, signed

_view = register(__file__, "colours", "panels")
VIEW = "layers.colours"
MOST = 64  # pictures that components are fitted over
ROUNDED = 9  # digits of a share
VEIL = 0.62  # how strongly colours lie over the picture


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="layers"):
    """Over what the components are fitted, and whether the picture shows through."""

    fit: str
    over: bool


@dataclass(frozen=True, eq=False)
class Coloured:
    """One model's layers with their components."""

    side: Side
    layers: Sequence[FloatArray]  # (1, rows, cols, D) each
    components: Sequence[Components]

    @property
    def held(self) -> FloatArray:
        """(layers,): the share of the variance that the three colours hold, without what its sums are rounded by."""
        return np.round([one.shares.sum() for one in self.components], ROUNDED)

    @property
    def level(self) -> bool:
        """Whether they hold as much in every layer: of four places, which differ in three directions, everything."""
        return bool((self.held == self.held[0]).all())

    def kept(self, over: str) -> list[float]:
        """From each layer to the next, how far the colours of the picture stay: mean correlation.

        Args:
            over: what the components were fitted over, by name.
        """
        return _kept(self.side.known, self, self.side.now.image, self.side.now.offset, over)


@cached.per_picture(shared=24, upload=6)
def _kept(known: str, _one: Coloured, image: str, offset: cached.Offset, over: str) -> list[float]:
    found = []
    scores = [c.scores(x) for c, x in zip(_one.components, _one.layers, strict=True)]
    for before, now in zip(scores, scores[1:], strict=False):
        grid = min(before.shape[1:3], now.shape[1:3])
        pair = (token_colours.on_grid(x, grid).reshape(-1, token_colours.COUNT) for x in (before, now))
        found.append(token_colours.carried_on(*pair))
    return found


def draw(one: Side) -> None:
    """The section."""
    papers.ask("Red, green and blue are the three directions in which a layer's tokens differ most.")
    with page.row():
        with st.container(width=230):
            other = model_pair.beside(one)
        with st.container(width="content"):
            fit = widgets.segmented(
                Choice.key("fit"),
                "Fitted over",
                ["picture", "set"],
                format_func={"picture": "this picture", "set": "a set"}.__getitem__,
                help="Over a set, one colour means one thing on all pictures, and pictures can be compared.",
            )
        with page.options("layers.colours"):
            over = widgets.toggle(Choice.key("over"), "Over the picture", True)
            seen = image_set.choose((one, other), MOST, MOST) if fit == "set" else None
    found = coloured((one, other), seen)
    if found is None:
        return
    answered = _guessed(found[0])
    layer_selection.draw(
        _view, VIEW, partial(message, found, over, answered), [len(each.layers) for each in found]
    )
    page.caption(describe(found, seen, answered))
    papers.say("colours")
    page.drawers(
        "layers.colours",
        math=MATHEMATICS,
        code=(token_colours.principal, token_colours.following),
        numbers=partial(numbers, found) if answered else None,
    )


def coloured(both: Sequence[Side], seen: Seen | None) -> list[Coloured] | None:
    """Both models' components, of the picture, or of a set once they are there."""
    layers = [[said.places for said in side.said()] for side in both]
    if seen is None:
        fitted = [_fitted(side.known, side, side.now.image, side.now.offset) for side in both]
    else:
        wanted = [
            set_computation.task(("components", side.known, seen), partial(fit_over, side.now.model, seen))
            for side in both
        ]
        over = set_computation.results(wanted, f"Fitting the colours over {seen.title}")
        if over is None:
            return None
        fitted = over
    return [Coloured(*parts) for parts in zip(both, layers, fitted, strict=True)]


@cached.per_picture(shared=24, upload=6)
def _fitted(known: str, _side: Side, image: str, offset: cached.Offset) -> list[Components]:
    with threadpool_limits(1):
        return token_colours.over_layers([said.places for said in _side.said()], _side.brightness())


def fit_over(model: LoadedModel, seen: Seen) -> Generator[float, None, list[Components]]:
    """Components over the tokens of a set."""
    images = seen.images(model)
    parts: list[list[FloatArray]] = []
    for said in stream(model, images, image_set.BATCH):
        parts.append([layer.places for layer in said])
        yield 0.9 * sum(len(part[0]) for part in parts) / len(images)
    layers = [np.concatenate(layer) for layer in zip(*parts, strict=True)]
    return token_colours.over_layers(layers, seen.raw.mean(axis=-1))


def message(found: Sequence[Coloured], over: bool, answered: bool, chosen: int) -> bytes:
    """Every layer's colours, for the browser; what they hold of the variance once that has been guessed."""
    panels = [
        Panel(
            row,
            layer.title,
            (tokens.shape[1], tokens.shape[2]),
            token_colours.colours(fitted, tokens[0]),
            note=plots.share_note(fitted) if answered else "",
            more=plots.coloured(fitted, shares=answered),
        )
        for row, one in enumerate(found)
        for layer, tokens, fitted in zip(one.side.layers, one.layers, one.components, strict=True)
    ]
    rows = layer_selection.rows([one.side for one in found], chosen, veil=VEIL if over else 1.0)
    return plots.panels_view(rows, panels)


def describe(found: Sequence[Coloured], seen: Seen | None, answered: bool) -> str:
    """What the colours hold of the variance, once guessed, and where they change most from one layer to the next."""
    over = "this picture alone" if seen is None else seen.title
    fitted = f"Fitted over {over}; a colour means the same from layer to layer, not from model to model."
    said = []
    for one in found:
        parts = [_held(one)] if answered else []
        kept = one.kept("picture" if seen is None else str(seen))
        if kept:
            at = int(np.argmin(kept))
            parts.append(
                f"{'they' if answered else 'the colours'} change most from {one.side.layers[at].said} to"
                f" {one.side.layers[at + 1].said} (mean correlation {signed(kept[at])})"
            )
        if parts:
            said.append(f"{one.side.shown}: {'; '.join(parts)}.")
    return " ".join((*said, fitted))


def _held(one: Coloured) -> str:
    held, layers = one.held, one.side.layers
    if one.level:
        why = ": so few places differ in no more than three directions" if held[0] == 1 else ""
        return f"three colours hold {percent(held[0], 0)} of the variance in every layer{why}"
    return (
        f"three colours hold {percent(held[0], 0)} of the variance in {layers[0].said} and {percent(held[-1], 0)} in"
        f" {layers[-1].said}"
    )


def _guessed(own: Coloured) -> bool:
    """Asks where three colours hold most, unless all layers are level; whether what they hold may be shown."""
    if own.level:
        return True
    layers = own.side.layers
    spans = prediction.Spans(layers)

    def answer() -> Measured:
        best, least = np.flatnonzero(own.held == own.held.max()).tolist(), int(own.held.argmin())
        return spans.of(
            best,
            f"Three colours hold {percent(own.held.max())} of the variance in"
            f" {listed([layers[at].said for at in best])}, least in {layers[least].said} with"
            f" {percent(own.held[least])}.",
        )

    prompt = f"In which layer of {own.side.title} do three colours hold most of what its tokens differ in?"
    return prediction.first("colours_guess", prompt, spans.options, answer)


def numbers(found: Sequence[Coloured]) -> None:
    """Every layer's shares of the variance, by colour."""
    columns: dict[str, list[object]] = {"model": [], "layer": [], "red": [], "green": [], "blue": []}
    for one in found:
        for layer, fitted in zip(one.side.layers, one.components, strict=True):
            columns["model"].append(one.side.title)
            columns["layer"].append(layer.title)
            for name, share in zip(("red", "green", "blue"), fitted.shares, strict=True):
                columns[name].append(float(share))
    st.dataframe(columns, hide_index=True)
    page.csv("Shares of the variance (CSV)", columns, "layers_components.csv", "layers.csv.colours")


MATHEMATICS = r"""
$$
C = \frac{1}{n}\sum_i (z_i - \bar z)(z_i - \bar z)^\top = V \Lambda V^\top,\qquad
\text{colour}_c(z) = \frac12 + \frac{v_c^\top (z - \bar z)}{4\sqrt{\lambda_c}},\quad c = 1, 2, 3
$$

The $z_i$ are the tokens of one layer, prefix tokens left out (of a CNN the places of its map), $v_c$ the directions of
most variance. A component's sign and its place among the three are arbitrary, so they are fixed: in the first layer
each grows with the picture's brightness; in every later one order and signs are those whose maps correlate most with
the layer before (all six orders are tried; of two grids the finer one is averaged onto the other). A colour ends two
standard deviations from the middle.
"""
