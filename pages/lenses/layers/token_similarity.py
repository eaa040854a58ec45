"""One token: how alike it is to all others, layer by layer, on the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import layer_selection, model_pair, papers, prediction
from pages.lenses.layers.model_pair import Side
from pages.selection import selection
from pages.selection.subject import token_name
from pages.stores import cached
from pages.views.register import register
from vitviz.analysis import token_similarity as analysis
from vitviz.analysis.token_colours import on_grid
from vitviz.lessons.question_kinds import Measured
from vitviz.pin import Pin
from vitviz.plots import layers as plots
from vitviz.plots.layers import Panel
from vitviz.probe.layers import Said
from vitviz.text import signed

_view = register(__file__, "token_similarity", "panels")
VIEW = "layers.similar"
FINEST = 16  # places a side of a map: a finer one is averaged first
MOST_BYTES = 300_000  # of all cosines between places: beyond, the pinned token's alone travel
POOLED = "mean of the map"
COURSES = (
    "it grows",
    "it stays about the same",
    "it fades",
)  # what is guessed of the lead of touching places
SAME = 0.05  # a cosine that is no change worth a name


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="layers"):
    """Whether what all tokens of a layer share is taken away first."""

    centred: bool


@dataclass(frozen=True, eq=False)
class Alike:
    """One model's layers: cosines of prefix tokens (or the map's mean) and places, (P + N, N), on a grid each."""

    side: Side
    prefix: tuple[str, ...]
    grids: Sequence[tuple[int, int]]
    cosines: Sequence[NDArray[np.float64]]

    def places(self, layer: int) -> NDArray[np.float64]:
        """(N, N) between places."""
        return self.cosines[layer][len(self.prefix) :]

    @cached_property
    def leads(self) -> list[float]:
        """(layers,): how much more alike touching places are than others."""
        return [analysis.lead_of_neighbours(self.places(i), grid) for i, grid in enumerate(self.grids)]


def draw(one: Side) -> None:
    """The section."""
    if one.now.able.cls_readout and not selection.is_pinned():
        selection.begin_at(Pin())
    papers.ask(
        "A patch asks: which other places does a layer describe as it describes this one? Near ones, or"
        " ones that show the same?"
    )
    with page.row():
        with st.container(width=230):
            other = model_pair.beside(one)
        with st.container(width="content"):
            centred = widgets.toggle(
                Choice.key("centred"),
                "Without the mean token",
                True,
                help="All tokens of a layer share a part. Taken away, what is left says in what they differ.",
            )
    found = [alike(side, centred) for side in (one, other)]
    answered = _guessed(found[0])
    chosen = layer_selection.draw(_view, VIEW, partial(message, found), [len(each.grids) for each in found])
    leads = describe_leads(found) if answered else "A guess says how far nearness counts, layer by layer."
    how = "the mean token taken away" if centred else "the tokens as they are"
    page.caption(f"{describe(found, chosen)} {leads} All with {how}.")
    papers.say("similar")
    page.drawers(
        "layers.similar",
        math=MATHEMATICS,
        code=(analysis.cosines, analysis.lead_of_neighbours),
        numbers=partial(numbers, found) if answered else None,
    )


def alike(side: Side, centred: bool) -> Alike:
    """Every layer's cosines on the chosen picture."""
    return _alike(side.known, side, side.now.image, side.now.offset, centred)


@cached.per_picture(shared=16, upload=4)
def _alike(known: str, _side: Side, image: str, offset: cached.Offset, centred: bool) -> Alike:
    grids, found = [], []
    with threadpool_limits(1):
        for said in _side.said():
            grid, asked, places = _tokens(said)
            grids.append(grid)
            found.append(analysis.cosines(asked, places, without_mean=centred))
    return Alike(_side, _side.prefix or (POOLED,), grids, found)


def _tokens(said: Said) -> tuple[tuple[int, int], NDArray[np.float64], NDArray[np.float64]]:
    """(grid, what can ask (P + N, D), places (N, D)) of one picture; a model without prefix tokens asks by its mean."""
    rows, cols = (min(side, FINEST) for side in said.grid)
    maps = said.places if (rows, cols) == said.grid else on_grid(said.places, (rows, cols))
    places = np.asarray(maps, np.float64).reshape(rows * cols, -1)
    prefix = said.prefix[0] if said.prefix.shape[1] else said.mean
    return (rows, cols), np.concatenate([prefix, places]), places


def message(found: Sequence[Alike], chosen: int) -> bytes:
    """Every layer's cosines, for the browser: of all tokens where there is room, else of the pinned one."""
    whole = sum(each.size for one in found for each in one.cosines) <= MOST_BYTES
    panels = []
    for row, one in enumerate(found):
        for layer, grid, cosines in zip(one.side.layers, one.grids, one.cosines, strict=True):
            sent = cosines if whole else cosines[[_asked(one, grid)]]
            panels.append(Panel(row, layer.title, grid, plots.cosine_codes(sent), prefix=one.prefix))
    named = tuple(name for name in found[0].prefix if name != POOLED)
    return plots.panels_view(layer_selection.rows([one.side for one in found], chosen, prefix=named), panels)


def _asked(one: Alike, grid: tuple[int, int]) -> int:
    """The pinned token among what can ask; a prefix token that a model lacks is its first, or the mean of its map."""
    pin = selection.current().pin
    if pin.place is None:
        return one.prefix.index(pin.prefix) if pin.prefix in one.prefix else 0
    return len(one.prefix) + pin.cell(grid)


def describe(found: Sequence[Alike], chosen: int) -> str:
    """Whom the pinned token is most like in the chosen layer."""
    row = 0 if chosen < len(found[0].grids) else 1
    one, layer = found[row], chosen - row * len(found[0].grids)
    asked, grid = _asked(one, one.grids[layer]), one.grids[layer]
    values = one.cosines[layer][asked].copy()
    own = asked - len(one.prefix)
    if own >= 0:
        values[own] = -np.inf
    best = int(values.argmax())
    name = f"row {best // grid[1] + 1}, column {best % grid[1] + 1}"
    asks = _name(one, asked, grid)
    return (
        f"In {one.side.layers[layer].said} of {one.side.shown}, {asks} is most like {name}"
        f" ({signed(values[best])}); the median over all places is"
        f" {signed(float(np.median(one.cosines[layer][asked])))}."
    )


def describe_leads(found: Sequence[Alike]) -> str:
    """How far nearness counts in first and last layers."""
    said = "; ".join(f"{_lead(each)} ({each.side.shown})" for each in found)
    return f"Touching places are more alike than others by {said}."


def _lead(one: Alike) -> str:
    layers = one.side.layers
    return f"{signed(one.leads[0])} in {layers[0].said} and {signed(one.leads[-1])} in {layers[-1].said}"


def _name(one: Alike, asked: int, grid: tuple[int, int]) -> str:
    if asked >= len(one.prefix):
        row, col = divmod(asked - len(one.prefix), grid[1])
        return f"the place in row {row + 1}, column {col + 1}"
    return token_name(one.side.now.layout, asked) if one.side.prefix else f"the {POOLED}"


def _guessed(own: Alike) -> bool:
    """Asks whether nearness counts more or less with depth; whether it may be said."""

    def answer() -> Measured:
        return Measured(
            course(own.leads),
            f"Touching places are more alike than others by {_lead(own)}; a change of less than {SAME} counts as none.",
        )

    prompt = (
        "How much more alike are places that touch than others? From the first to the last layer of"
        f" {own.side.title}, does that grow or fade?"
    )
    return prediction.first("token_guess", prompt, COURSES, answer)


def course(leads: Sequence[float]) -> int:
    """Which of `COURSES` the leads take, from first to last layer."""
    change = leads[-1] - leads[0]
    return 1 if abs(change) < SAME else 0 if change > 0 else 2


def numbers(found: Sequence[Alike]) -> None:
    """By how much touching places are more alike than others, layer by layer."""
    columns: dict[str, list[object]] = {
        "model": [],
        "layer": [],
        "touching minus others": [],
        "median cosine": [],
    }
    for one in found:
        for i, (layer, lead) in enumerate(zip(one.side.layers, one.leads, strict=True)):
            columns["model"].append(one.side.title)
            columns["layer"].append(layer.title)
            columns["touching minus others"].append(lead)
            columns["median cosine"].append(float(np.median(one.places(i))))
    st.dataframe(columns, hide_index=True)
    page.csv("Similarity by layer (CSV)", columns, "layers_similarity.csv", "layers.csv.similar")


MATHEMATICS = r"""
$$
s_{ij} = \frac{(z_i - \bar z)^\top (z_j - \bar z)}{\lVert z_i - \bar z\rVert\,\lVert z_j - \bar z\rVert}
$$

$z_i$ is what a layer says of place $i$, $\bar z$ the mean over all places of this picture; *without the mean token*
switched off, $\bar z$ counts as 0. Maps of more than 16 × 16 places are averaged onto 16 × 16 first. A model without
prefix tokens asks, in their place, by the mean of its map.
"""
