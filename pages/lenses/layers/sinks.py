"""Sinks: how long the tokens of every layer are, whether a few stand out, where they lie, and what registers change."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.frame import page
from pages.lenses.layers import image_set, model_pair, papers, prediction, set_computation
from pages.lenses.layers.image_set import Seen
from pages.lenses.layers.model_pair import Side
from pages.selection import selection, subject
from pages.stores import published
from pages.stores.model_choice import ModelChoice
from pages.views.maps import maps as draw_maps
from vitviz.analysis import sinks as analysis
from vitviz.analysis.sinks import Lengths
from vitviz.data.preparation import luminance, prepare
from vitviz.lessons.question_kinds import Measured
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.pin import Pin
from vitviz.plots import probes as plots
from vitviz.plots.attention import MapsDrawn, maps_view
from vitviz.probe.layers import Layer, layers_of, stream
from vitviz.text import percent, plural

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST, USUAL = 256, 64
BANDS = (1.5, 3, 6)  # times the median: what is guessed of the longest place lies between two
PAIR = (
    "vit_small_patch14_dinov2.lvd142m",
    "vit_small_patch14_reg4_dinov2.lvd142m",
)  # without and with registers


def draw(one: Side) -> None:
    """The section."""
    papers.ask(
        "Some large models make a few tokens far longer than all others, and heads look at them"
        " from everywhere. Does this one?"
    )
    with page.row():
        if one.is_cnn:
            with st.container(width=230):
                one = model_pair.beside(one)
        with st.container(width="content"), page.options("layers.sinks"):
            seen = image_set.choose((one,), MOST, USUAL)
    if one.is_cnn:
        st.info("A CNN has maps and no tokens: choose a ViT beside it.", icon=":material/block:")
        return
    found = set_computation.results([_task(one, seen)], f"Measuring tokens over {seen.title}")
    if found is None:
        return
    (layers,) = found
    answered = _guessed(one, layers[-1])
    shown = layers if answered else layers[:-1]
    page.figure(figure(one.layers[: len(shown)], shown, one.prefix), "layers.sinks")
    page.caption(describe(one, layers, seen) if answered else describe_before(one, shown, seen))
    draw_where(one, len(shown))
    papers.say("sinks")
    if answered or one.now.choice.key not in _pair():
        draw_registers(selection.models())
    page.drawers(
        "layers.sinks",
        math=MATHEMATICS,
        code=(analysis.lengths, analysis.Lengths),
        numbers=partial(numbers, one, layers) if answered else None,
    )


def _task(side: Side, seen: Seen) -> set_computation.Task[list[Lengths]]:
    return set_computation.task(("lengths", side.known, seen), partial(lengths_over, side.now.model, seen))


def lengths_over(model: LoadedModel, seen: Seen) -> Generator[float, None, list[Lengths]]:
    """The lengths of all tokens, layer by layer."""
    images = seen.images(model)
    parts: list[list[Lengths]] = []
    for said in stream(model, images, image_set.BATCH):
        parts.append([analysis.lengths(layer.places, layer.prefix) for layer in said])
        yield len(parts) * image_set.BATCH / (len(images) + image_set.BATCH)
    return [
        Lengths(np.concatenate([p.places for p in layer]), np.concatenate([p.prefix for p in layer]))
        for layer in zip(*parts, strict=True)
    ]


def figure(names: Sequence[Layer], layers: Sequence[Lengths], prefix: Sequence[str]) -> Figure:
    """Lengths over depth."""
    told = [
        plots.Layer(name.title, found.spread.tolist(), found.longest, found.prefix.mean(axis=0).tolist())
        for name, found in zip(names, layers, strict=True)
    ]
    return plots.lengths_figure(told, prefix, selection.mode())


def describe(one: Side, layers: Sequence[Lengths], seen: Seen) -> str:
    """The longest token against the median, and where the extreme ones lie, if there are any."""
    last = layers[-1]
    also = ", the last one" if _longest_in(layers) == len(layers) - 1 else ""
    text = f"{_longest(one, layers, seen)}{also or f' and {last.times:.1f} times in {one.layers[-1].said}'}."
    for i, name in enumerate(one.prefix):
        share = float(last.prefix[:, i].mean()) / last.median
        text += f" [{name.upper()}] is {share:.1f} times as long as the median place in the last layer."
    return f"{text} {_where(one, last, seen) if last.extreme.any() else _nowhere(one, layers)}"


def _nowhere(one: Side, layers: Sequence[Lengths]) -> str:
    """Of a last layer without extreme tokens, whether an earlier one has some."""
    beyond = f"longer than {analysis.TIMES:.0f} times the median"
    counts = [int(layer.extreme.sum()) for layer in layers]
    if not any(counts):
        return f"No place of any layer is {beyond}: no sinks among the patches."
    most = int(np.argmax(counts))
    return (
        f"No place of the last layer is {beyond}; in earlier layers {sum(counts):,}"
        f" {'is' if sum(counts) == 1 else 'are'}, most in {one.layers[most].said} ({counts[most]:,})."
    )


def describe_before(one: Side, layers: Sequence[Lengths], seen: Seen) -> str:
    """The longest token against the median, of all layers but the last."""
    return f"{_longest(one, layers, seen)}. A guess shows {one.layers[-1].said}, the last one."


def _longest(one: Side, layers: Sequence[Lengths], seen: Seen) -> str:
    at = _longest_in(layers)
    return (
        f"{one.shown} over {seen.title}: the longest place is {layers[at].times:.1f} times the median in"
        f" {one.layers[at].said}"
    )


def _longest_in(layers: Sequence[Lengths]) -> int:
    return int(np.argmax([layer.times for layer in layers]))


def _where(one: Side, last: Lengths, seen: Seen) -> str:
    """What the patches of extreme tokens show, beside the others."""
    extreme, grid = last.extreme, (last.places.shape[1], last.places.shape[2])
    edge = float(analysis.at_edge(grid)[None].repeat(len(extreme), 0)[extreme].mean())
    said = (
        f"{plural(int(extreme.sum()), 'place')} of {extreme.size:,} in the last layer"
        f" {'is' if extreme.sum() == 1 else 'are'} longer than {analysis.TIMES:.0f} times the median,"
        f" {percent(edge, 0)} of them at the edge, where {percent(float(analysis.at_edge(grid).mean()), 0)} of all"
        " places lie"
    )
    plain_ = analysis.contrast(_grey(one.now.model, seen), grid)
    inside, outside = float(plain_[extreme].mean()), float(plain_[~extreme].mean())
    return f"{said}; the pixels of their patches differ by {inside:.0f} levels, those of the others by {outside:.0f}."


def _grey(model: LoadedModel, seen: Seen) -> NDArray[np.uint8]:
    """(n, S, S) as the model sees the set."""
    raw = np.broadcast_to(seen.raw, (*seen.raw.shape[:3], 3))
    return np.stack([luminance(prepare(picture, model.preparation).shown) for picture in raw])


def draw_where(one: Side, count: int) -> None:
    """How much longer than the shortest each place of the chosen picture is, in the first layers; a click pins one."""
    said = one.said()
    grid = said[0].grid
    alike = [i for i, layer in enumerate(said[:count]) if layer.grid == grid]
    maps = np.stack([analysis.lengths(said[i].places, said[i].prefix).places[0].ravel() for i in alike])
    page.say("**On this picture**: by how much each place's token is longer than the shortest of its layer")
    data = maps_view(
        one.now.ground(seen=False),
        maps - maps.min(axis=1, keepdims=True),
        [one.layers[i].title for i in alike],
        grid,
        notes=[f"lengths {row.min():.1f} to {row.max():.1f}" for row in maps],
        drawn=MapsDrawn(smooth=False, grey=True, start=selection.current().pin.cell(grid)),
    )
    picked = draw_maps(data, key="layers.lengths")
    if picked is not None and picked < grid[0] * grid[1]:
        selection.set_pin(Pin.of_cell(grid, picked))
        st.rerun(scope="fragment")


def draw_registers(models: Mapping[str, ModelChoice]) -> None:
    """The published pair without and with registers, measured where both are here; else what is missing."""
    st.subheader("What registers change", anchor=False)
    keys = _pair()
    missing = [name for name, key in zip(PAIR, keys, strict=True) if key not in models]
    if missing:
        st.markdown(needed(missing))
        return
    pair = [Side(subject.of(models[key], None, selection.current().image)) for key in keys]
    seen = Seen("photos", image_set.FEW)
    found = set_computation.results(
        [_task(side, seen) for side in pair], f"Measuring DINOv2 over {seen.title}"
    )
    if found is None:
        return
    for column, side, layers in zip(st.columns(2, gap="medium"), pair, found, strict=True):
        with column:
            st.markdown(f"**{side.shown}**")
            drawn = figure(side.layers, layers, side.prefix)
            page.figure(drawn, f"layers.sinks.{len(side.prefix)}")
            page.caption(describe(side, layers, seen))


def _pair() -> list[str]:
    return [f"{published.KEY}{name}" for name in PAIR]


def needed(missing: Sequence[str]) -> str:
    """Which published weights the comparison needs, and from where they come."""
    titles = " and ".join(f"**{PRETRAINED[name].title}**" for name in missing)
    host = PRETRAINED[missing[0]].url.split("/")[2]
    return (
        f"To see it, {titles} {'are' if len(missing) > 1 else 'is'} needed: published weights from {host}, which are"
        " not on this machine, and nothing is shown in their place. With a network, fetch them under *More models* in"
        f" the sidebar or with `python -m vitviz.fetch {' '.join(missing)}`; then both stand here side by side."
    )


def _guessed(one: Side, last: Lengths) -> bool:
    """Asks how long the longest place of the last layer is; whether that layer may be shown."""
    options = [f"under {BANDS[0]:g} times", *(f"{low:g} to {high:g} times" for low, high in pairwise(BANDS))]

    def answer() -> Measured:
        return Measured(
            int(np.searchsorted(BANDS, last.times, side="right")),
            f"The longest place has the length {last.longest:.1f}, the median one {last.median:.1f}:"
            f" {last.times:.1f} times.",
        )

    prompt = f"In the last layer of {one.title}, how many times the median is the longest place?"
    return prediction.first("sinks_guess", prompt, [*options, f"{BANDS[-1]:g} times or more"], answer)


def numbers(one: Side, layers: Sequence[Lengths]) -> None:
    """Every layer's lengths."""
    columns: dict[str, list[object]] = {
        "layer": [layer.title for layer in layers_of(one.now.model.config)],
        "1 %": [float(layer.spread[0]) for layer in layers],
        "median": [layer.median for layer in layers],
        "99 %": [float(layer.spread[2]) for layer in layers],
        "longest": [layer.longest for layer in layers],
        "extreme": [int(layer.extreme.sum()) for layer in layers],
    }
    for i, name in enumerate(one.prefix):
        columns[f"[{name.upper()}]"] = [float(layer.prefix[:, i].mean()) for layer in layers]
    st.dataframe(columns, hide_index=True)
    page.csv("Lengths (CSV)", columns, "layers_lengths.csv", "layers.csv.sinks")


MATHEMATICS = r"""
$$
\lVert z_i \rVert_2 > 3 \cdot \operatorname{median}_j \lVert z_j \rVert_2
$$

$z_i$ is what a layer leaves in the stream at one place; the median is taken over all places of all pictures of the set.
Prefix tokens are shown beside them and are no part of it. Darcet et al. 2024 take a fixed length, 150, for their
models; a multiple of the median can be compared between models of other widths.
"""
