"""Does a layer's map move when the picture moves? Equivariance, layer by layer, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.on_your_picture import model_choice, papers, stored_results
from pages.lenses.on_your_picture.heat_rows import heat_rows
from pages.lenses.on_your_picture.model_choice import Compared
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from vitviz.analysis.changes import shift
from vitviz.analysis.equivariance import liveliest_channel, move_and_stay, moved, staying, unlikeness
from vitviz.config import Preparation
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import heat_rows as plots
from vitviz.plots.equivariance import moving_figure
from vitviz.probe.layers import layers_of, stream
from vitviz.probe.robustness import chances, inputs_of
from vitviz.text import listed, percent, plain, plural

MOST_PX = 8
FIRST_PX = 6  # of those that are stored it sets models farthest apart; a test measures it
DEPTHS = ("first", "middle", "last")
HEADS = ("The picture's map", "The moved picture's", "Difference")
MARGIN = 0.25
ANSWERS, PROBABILITY = "answers change", "probability changes class"  # what shares are of
ALIKE = 0.05  # what is no difference worth a name
EXACT = 1e-4  # rounding of sums over some thousand values
MATHEMATICS = r"""
A layer $F$ is **equivariant** to a shift $T$ if $F(T x) = T F(x)$: its map moves as the picture does. Two maps are as
unlike as

$$
e(a, b) = \sqrt{\frac{\|a - b\|^2}{\|a - \bar a\|^2 + \|b - \bar b\|^2}},
$$

0 where they are equal, 1 where they have only their means over the places in common. With $m = e(F(Tx),\, T F(x))$,
from moving along, and $s = e(F(Tx),\, F(x))$, from staying, what is drawn is $m / (m + s)$: a smooth map is near to
both, so $m$ alone would flatter it. Where the shift is no whole number of the map's cells, $T F(x)$ is read between two
columns. The columns that the shift brings in are left out; *inside* leaves out a quarter on each side too.

A convolution with stride 1 is equivariant inside its border (Cohen and Welling 2016). With stride or pooling it is so
for shifts by whole strides alone (Azulay and Weiss 2019). A ViT's patches are such a stride, and the position that is
added to each token is tied to its place, so its layers need not be equivariant for any shift.

An answer is **invariant** where $f(Tx) = f(x)$: what is given of it is $\tfrac12 \sum_c |f_c(Tx) - f_c(x)|$, the share
of the probability that changes its class.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="on_picture"):
    """How far the picture moves, in px to the right, which of `DEPTHS` is drawn, and who is guessed to move along."""

    shift_px: int
    depth: str
    moves: str


@dataclass(frozen=True, eq=False)
class Moving:
    """One model's layers before a picture and its shifted copy: names, maps (2, rows, cols, D), step in px of each."""

    key: str
    name: str
    titles: tuple[str, ...]
    maps: tuple[NDArray[np.float32], ...]
    size_px: int
    answers: NDArray[np.floating]  # (2, classes), of the same two

    def cells(self, layer: int, shift_px: int) -> float:
        """A shift in cells of a layer's map."""
        columns: int = self.maps[layer].shape[2]
        return shift_px * columns / self.size_px

    def apart(self, layer: int, shift_px: int, margin: float = 0.0) -> tuple[float, float]:
        """How far a layer is from moving along, and from staying."""
        before, after = self.maps[layer]
        return move_and_stay(before, after, self.cells(layer, shift_px), margin)

    def staying(self, layer: int, shift_px: int) -> float:
        """0 where a layer moves along, 1 where it stays."""
        return staying(*self.apart(layer, shift_px))

    def at(self, depth: str) -> int:
        """The layer that is drawn."""
        last = len(self.maps) - 1
        return {"first": 0, "middle": last // 2, "last": last}[depth]

    @property
    def turned(self) -> float:
        """The share of the probability that changes its class."""
        return float(np.abs(self.answers[0] - self.answers[1]).sum() / 2)


def draw() -> None:
    """The controls, every layer's error, and the maps of one layer of each model."""
    with page.row():
        with st.container(width=240):
            px = widgets.slider(
                Choice.key("shift_px"), "Shift to the right", 1, MOST_PX, FIRST_PX, format="%d px"
            )
        with st.container(width="content"):
            depth = widgets.segmented(
                Choice.key("depth"), "Layer that is drawn", DEPTHS, "middle", format_func=str.capitalize
            )
        choices = model_choice.choose()
    if not choices:
        return
    of = model_choice.compared(choices)
    found = movings(of, px)
    if not found:
        st.info("None of these models has layers with a place for every part of the picture.")
        return
    rows = [row_of(one, px, depth) for one in found]
    often = stored_results.turned(of, "shift", px)
    if _guessed(found, px, often):
        _draw_moved(rows, found, px, often)
    else:
        seen = cached.prepared(of.image, of.preparation, of.offset).shown
        heads = ("The picture", *(one.name for one in found))
        heat_rows(plots.payload([still(rows, seen)], heads), key="on_picture.moved")
        page.caption("One map of each model before the picture moves; a guess moves it.")
    papers.say("shift")
    page.drawers(
        "on_picture.translation",
        math=MATHEMATICS,
        code=(move_and_stay, staying, moved, unlikeness, shift),
        numbers=partial(numbers, found, px),
    )


def _guessed(found: Sequence[Moving], shift_px: int, often: Mapping[str, float]) -> bool:
    """Asks whose answer changes most; whether the moved maps may be shown. One model alone is not asked about.

    Args:
        often: by key, on which share of the stored test pictures an answer changes; where a model has none, the
            question is about this picture.
    """
    if len(found) < 2:
        return True
    over_many = all(one.key in often for one in found)
    turned = {one.key: (one.name, often[one.key] if over_many else one.turned) for one in found}
    prompt, of_what = (
        (
            f"Test pictures move {shift_px} px to the right. Which model changes its answer most often?",
            ANSWERS,
        )
        if over_many
        else (f"The picture moves {shift_px} px to the right. Whose answer changes most?", PROBABILITY)
    )
    return prediction_gate.first(
        Choice.key("moves"),
        tuple(turned),
        prompt,
        {key: name for key, (name, _) in turned.items()},
        lambda guess: judged(turned, guess, of_what),
    )


def judged(turned: Mapping[str, tuple[str, float]], guess: str, of_what: str) -> str:
    """Whether a guess about whose answer changes most was right; by model its name and the share that changes.

    Args:
        of_what: what the shares are of: `ANSWERS` or `PROBABILITY`.
    """
    name, own = turned[guess]
    most, best = max(turned.values(), key=lambda of: of[1])
    said = f"You said {plain(name)}: {percent(own)} of its {of_what}"
    return (
        f"{said}, right: of no other more." if own == best else f"{said}, of {plain(most)}'s {percent(best)}."
    )


def _draw_moved(
    rows: Sequence[plots.Row], found: Sequence[Moving], shift_px: int, often: Mapping[str, float]
) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        heat_rows(plots.payload(rows, HEADS), key="on_picture.moved")
    with right:
        st.markdown("**Does each layer move along, or stay?**")
        page.figure(moving_figure(lines(found, shift_px), selection.mode()), "on_picture.errors")
        page.caption(describe(found, shift_px))
        if told := describe_often(found, shift_px, often):
            page.caption(f"{told} {stored_results.how()}")


def movings(of: Compared, shift_px: int) -> list[Moving]:
    """Every model's layers, of those that have them."""
    found = []
    for choice, step, name in zip(of.choices, of.steps, of.names, strict=True):
        if abilities(choice.config).layers:
            model = cached.loaded(choice, step)
            maps, answers = _maps(model.digest, model, of.image, of.preparation, of.offset, shift_px)
            titles = tuple(layer.title for layer in layers_of(choice.config))
            found.append(Moving(choice.key, name, titles, maps, of.grain_px, answers))
    return found


@cached.per_picture(shared=40, upload=16)
def _maps(
    digest: str,
    _model: LoadedModel,
    image: str,
    preparation: Preparation,
    offset: cached.Offset,
    shift_px: int,
) -> tuple[tuple[NDArray[np.float32], ...], NDArray[np.floating]]:
    """Of every layer (2, rows, cols, D), before the picture and before the picture moved; (2, classes), the answers."""
    own = cached.prepared(image, preparation, offset).shown
    pair = np.stack([own, shift(own, shift_px)])
    (said,) = stream(_model, inputs_of(_model, pair), 2)
    return tuple(layer.places for layer in said), chances(_model, pair)


def still(rows: Sequence[plots.Row], seen: NDArray[np.uint8]) -> plots.Row:
    """The picture (S, S, 3) and of every model the map before it moves."""
    maps = (replace(row.tiles[0], words=row.note) for row in rows)
    return plots.Row("Before it moves", "", (plots.Tile("picture", seen, "what the models see"), *maps))


def row_of(one: Moving, shift_px: int, depth: str) -> plots.Row:
    """The liveliest channel of the layer that is drawn, before and after, and what is left when it is moved along."""
    layer = one.at(depth)
    before, after = one.maps[layer]
    channel = liveliest_channel(before)
    cells = one.cells(layer, shift_px)
    first, wanted = int(np.ceil(cells)), moved(before, cells)
    rest = np.zeros(after.shape[:2], np.float32)
    rest[:, first:] = (after[:, first:] - wanted)[..., channel]
    middle = float(before[..., channel].mean())
    most = float(np.abs(before[..., channel] - middle).max()) or 1.0
    size = "{} × {}".format(*before.shape[:2])
    move, stay = one.apart(layer, shift_px)
    tiles = (
        plots.signed(before[..., channel] - middle, f"{size} places", most),
        plots.signed(
            after[..., channel] - middle, f"{cells:.2g} cell{'' if cells == 1 else 's'} to the right", most
        ),
        plots.signed(rest, f"all channels: {move:.2f}; had they stayed: {stay:.2f}", most),
    )
    return plots.Row(one.name, f"{one.titles[layer]}, channel {channel + 1}", tiles)


def lines(found: Sequence[Moving], shift_px: int) -> dict[str, list[tuple[str, float]]]:
    """Of every model (title, whether it stays) of its layers, in order of depth."""
    return {
        one.name: [(title, one.staying(layer, shift_px)) for layer, title in enumerate(one.titles)]
        for one in found
    }


def describe(found: Sequence[Moving], shift_px: int) -> str:
    """Whose first map moves along exactly, whose last layer moves and stays most, and what becomes of the answers."""
    last = {one.name: one.staying(len(one.maps) - 1, shift_px) for one in found}
    best, worst = min(last, key=last.__getitem__), max(last, key=last.__getitem__)
    exact = [one.name for one in found if one.apart(0, shift_px, MARGIN)[0] < EXACT]
    first = (
        f"Inside the border the first map of {listed([plain(name) for name in exact])} moves along exactly."
        if exact
        else "No model's first map moves along exactly, not even inside its border."
    )
    deep = (
        f"In the last layer {plain(best)} moves along most ({last[best]:.2f}) and {plain(worst)} least"
        f" ({last[worst]:.2f}), where 0 is moving along and 1 staying."
    )
    if last[worst] - last[best] < ALIKE:
        deep = f"In the last layer all are alike ({last[best]:.2f} to {last[worst]:.2f}; 0 moves along, 1 stays)."
    turned = ", ".join(f"{plain(one.name)} {percent(one.turned)}" for one in found)
    return f"Moved by {shift_px} px. {first} {deep} Of the answer's probability this much changes its class: {turned}."


def describe_often(found: Sequence[Moving], shift_px: int, often: Mapping[str, float]) -> str:
    """On how many of the stored test pictures the answers change; nothing where nobody counted."""
    result = stored_results.measured()
    shares = {one.name: often[one.key] for one in found if one.key in often}
    if result is None or not shares:
        return ""
    pictures = int(result.settings["pictures"])
    each = ", ".join(f"{plain(name)} on {percent(share)}" for name, share in shares.items())
    return (
        f"Of {pictures:,} test pictures moved by {shift_px} px another class is answered by {each}."
        f" {stored_results.spread(np.array([*shares.values()]), pictures)}"
    )


def numbers(found: Sequence[Moving], shift_px: int) -> None:
    """The errors of every layer, to take away."""
    rows = [
        (one.name, title, *one.apart(layer, shift_px), *one.apart(layer, shift_px, MARGIN))
        for one in found
        for layer, title in enumerate(one.titles)
    ]
    names = ("model", "layer", "moves along", "stays", "moves along, inside", "stays, inside")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    st.dataframe(columns, hide_index=True, height=240)
    st.caption(f"{plural(shift_px, 'px', 'px')} to the right.")
    page.csv("Errors (CSV)", columns, "equivariance.csv", "on_picture.errors.csv")
