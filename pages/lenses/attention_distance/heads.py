"""Every head of a ViT against depth, one head in detail, and the model that shows more where this one shows little."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention_distance import distance_controls as controls_of
from pages.lenses.attention_distance import distances, reach, training_distances
from pages.lenses.attention_distance.distance_controls import AXES, UNITS, Choice
from pages.lenses.attention_distance.distances import FloatArray, Heads
from pages.lenses.attention_distance.head_distance import head_distance
from pages.selection import selection
from pages.stores import cached, catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import distance as analysis
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import abilities
from vitviz.models.layout import TokenLayout
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import theme
from vitviz.plots.distance import HeadSeries, Line, distribution_figure, heads_view, reach_map
from vitviz.text import plural

LOCAL = 0.5  # a head counts as local below this share of the uniform baseline
FLAT = 0.2  # of the same: where all heads lie closer together the picture has little to show
MATHEMATICS = r"""
$$
d_{l,h} = \frac{1}{N}\sum_{q}\sum_{k} A^{(l,h)}_{q,k}\;P\,\lVert \mathrm{pos}_q - \mathrm{pos}_k \rVert_2
$$

$A^{(l,h)}$ is the attention of head $h$ in layer $l$, $P$ a patch's side in pixels, and $q$, $k$ run over the
$N$ patches (Dosovitskiy et al. 2021, figure 7 right and figure 11). Prefix tokens such as [CLS] are dropped as queries
and as keys, and rows are not renormalised, as in the
[function](https://gist.github.com/simonster/155894d48aef2bd36bd2dd8267e62391) that Raghu et al. (2021) published;
*Renormalise* divides each row by its mass on patches. The bar through a dot is one standard deviation over pictures.
"""
ASKS = (
    Question(
        "In which layer do the heads look least far on the chosen picture?", model_measures.NearestLayer()
    ),
)


@dataclass(frozen=True)
class OneHead(widgets.Chosen, page="attention_distance"):
    """The head that is shown in detail; both count from 1."""

    layer: int
    head: int


@dataclass(frozen=True, eq=False)
class Shown:
    """What one run of the page shows: the model, what was asked, and every head's answer."""

    model: LoadedModel
    chosen: Choice
    layout: TokenLayout
    found: analysis.AttentionDistances
    heads: Heads
    base: HeadSeries | None  # random weights beside it, at one step

    @property
    def even_px(self) -> float:
        """What a head that looks evenly everywhere reads."""
        prefix = 0 if self.chosen.renormalise else self.layout.num_prefix_tokens
        return analysis.uniform_distance_px(self.layout.grid, self.layout.patch_px, prefix)


def draw(model: LoadedModel) -> None:
    """The page of a ViT; what can follow the first picture follows it."""
    chosen = controls_of.read(model)
    page.untrained_note(model.trained_on)
    choice = selection.choice()
    shown = measured(model, chosen)
    whole = training_distances.of(choice, model.step, chosen.seen, chosen.asked) if chosen.training else None
    if whole is not None:
        whole.heads.setdefault(model.step, shown.heads)
    draw_heads(shown, whole)
    growing, more = st.container(), st.container()
    one_head(shown)
    if chosen.measure == "distance":
        reach.draw_cnn_beside(model, shown.heads.mean.mean(axis=1), chosen.seen)
    page.drawers(
        "attention_distance",
        math=MATHEMATICS + reach.MATHEMATICS,
        code=(analysis.mean_attention_distance_px, *distances.BY_GRADIENT),
        numbers=partial(draw_numbers, shown.heads, UNITS[chosen.measure]),
        asks=ASKS,
    )
    with more:
        offer_more(shown, choice)
    if whole is not None:
        with growing:
            training_distances.draw(whole)


def measured(model: LoadedModel, chosen: Choice) -> Shown:
    """The chosen step, and random weights of the same shape."""
    size = model.preparation.image_size
    layout = model.layout(size, size)
    found = distances.of(model, chosen.seen, chosen.asked)
    base = None
    if chosen.compare:
        twin = distances.of(cached.untrained(model), chosen.seen, chosen.asked)
        heads = distances.heads_of(twin, chosen.asked)
        maps = offsets(twin, layout.grid)
        base = HeadSeries("random weights", heads.mean[None], heads.spread[None], maps)
    return Shown(model, chosen, layout, found, distances.heads_of(found, chosen.asked), base)


def offsets(found: analysis.AttentionDistances, grid: tuple[int, int]) -> FloatArray:
    """(depth, heads, 2 rows - 1, 2 cols - 1): where each head looks around its query."""
    attn = distances.mean_attention(found)
    return np.stack([[analysis.offset_map(head, grid) for head in layer] for layer in attn])


def draw_heads(shown: Shown, whole: training_distances.Film | None) -> None:
    """Heads against depth at the chosen step; at all moments once they are measured."""
    model, chosen = shown.model, shown.chosen
    steps = whole.moments if whole is not None and whole.complete else (model.step,)
    over = [shown.heads if step == model.step or whole is None else whole.heads[step] for step in steps]
    label = f"step {model.step:,}" if model.trained_on else "random weights"
    maps = offsets(shown.found, shown.layout.grid)
    mine = HeadSeries(
        label, np.stack([one.mean for one in over]), np.stack([one.spread for one in over]), maps
    )
    plotted = [mine]
    if shown.base is not None:
        repeat, base = (len(steps), 1, 1), shown.base
        plotted.append(
            HeadSeries(base.label, np.tile(base.values, repeat), np.tile(base.spread, repeat), base.offsets)
        )
    axis, unit = AXES[chosen.measure], UNITS[chosen.measure]
    data = heads_view(
        series=plotted,
        steps=steps,
        axis=axis,
        unit=unit,
        lines=lines(shown),
        patch_px=shown.layout.patch_px,
        shown_step=model.step,
    )
    picked = head_distance(data, key="attention_distance.heads")
    if picked is not None:
        OneHead.change(layer=picked[0] + 1, head=picked[1] + 1)
    page.caption(describe(shown) if chosen.measure == "distance" else describe_measure(shown))


def lines(shown: Shown) -> list[Line]:
    """What a head that looks evenly at everything reads, and the most that is possible."""
    layout, prefix, tokens = shown.layout, shown.layout.num_prefix_tokens, shown.layout.num_tokens
    if shown.chosen.measure == "entropy":
        return [Line(float(np.log2(tokens)), f"even over {tokens} tokens: {np.log2(tokens):.2f} bits")]
    if shown.chosen.measure == "prefix":
        share = 100 * prefix / tokens
        return [Line(share, f"even: {share:.1f} %")] if prefix else []
    corner, even = analysis.corner_distance_px(layout.grid, layout.patch_px), shown.even_px
    return [Line(corner, f"corner to corner: {corner:.1f} px"), Line(even, f"even attention: {even:.1f} px")]


def describe(shown: Shown) -> str:
    """The caption, from the numbers of the picture."""
    now, even, count = shown.heads.mean, shown.even_px, shown.chosen.seen.count
    local = int((now < LOCAL * even).sum())
    pictures = "this picture" if count == 1 else f"{count} pictures"
    text = (
        f"Over {pictures}, the heads look {now.min():.1f} to {now.max():.1f} px far"
        f" (even attention: {even:.1f} px); {local} of {now.size} heads are local,"
        f" below {100 * LOCAL:.0f} % of it. Layer 1 spans {np.ptp(now[0]):.1f} px,"
        f" layer {len(now)} spans {np.ptp(now[-1]):.1f} px."
    )
    if shown.base is not None:
        base = shown.base.values[0]
        apart = np.ptp(now) > 1.2 * np.ptp(base)
        text += (
            f" With random weights they lie within {np.ptp(base):.1f} px of one another"
            f" ({base.min():.1f} to {base.max():.1f} px);"
            f" {'training spread them over' if apart else 'here too they lie within'} {np.ptp(now):.1f} px."
        )
    return text


def describe_measure(shown: Shown) -> str:
    """The caption of entropy and of prefix mass."""
    now, measure = shown.heads.mean, shown.chosen.measure
    layer, head = np.unravel_index(int(now.argmax()), now.shape)
    unit = UNITS[measure]
    return (
        f"{AXES[measure].partition(',')[0].capitalize()}: {now.min():.2f} to {now.max():.2f} {unit}; the highest in"
        f" layer {layer + 1}, head {head + 1}. The mean goes from {now[0].mean():.2f} {unit} in layer 1"
        f" to {now[-1].mean():.2f} {unit} in layer {len(now)}."
    )


def offer_more(shown: Shown, choice: ModelChoice) -> None:
    """Where all heads lie close together: says so, and offers the shipped model whose heads lie farthest apart."""
    now, even = shown.heads.mean, shown.even_px
    if shown.chosen.measure != "distance" or analysis.spread_of_heads(now, even) >= FLAT:
        return
    said = f"All {now.size} heads of {choice.shown} lie within {np.ptp(now):.1f} px: little to tell apart."
    best = widest(choice)
    if best is None:
        page.caption(said)
        return
    other, apart_px = best
    count = plural(distances.FEW, "picture")
    page.caption(f"{said} The heads of {other.shown} lie over {apart_px:.1f} px, measured over {count}.")
    st.button(
        f"Show {other.shown} instead",
        key="attention_distance.show_more",
        on_click=selection.set_model,
        args=(other.key,),
    )


def widest(own: ModelChoice) -> tuple[ModelChoice, float] | None:
    """The other shipped ViT whose heads lie farthest apart, and how far in pixels; None where none shows anything."""
    found = [
        (distances.at_first_sight(choice), choice)
        for choice in catalogue.shipped()
        if choice.key != own.key and choice.trained_on and abilities(choice.config).heads_over_all
    ]
    sight, best = max(found, default=(None, own), key=lambda one: one[0].share)
    return None if sight is None or sight.share < FLAT else (best, sight.apart_px)


def one_head(shown: Shown) -> None:
    """One head in detail: which patches look far, and how its attention is spread over distances."""
    chosen, layout = shown.chosen, shown.layout
    st.subheader("One head", anchor=False)
    left, right, far = st.columns([2, 2, 3], vertical_alignment="bottom")
    depth, heads = shown.heads.mean.shape
    with left:
        layer = widgets.number(OneHead.key("layer"), "Layer", 1, depth, 1)
    with right:
        head = widgets.number(OneHead.key("head"), "Head", 1, heads, 1)
    with far:
        place: dict[str, Any] = {"attention.layer": layer, "attention.head": head}
        selection.link_to("attention", "Open in the attention explorer", **place)
    attn = distances.mean_attention(shown.found)[layer - 1, head - 1]
    if chosen.renormalise:
        attn = analysis.without_prefix(attn, layout.grid)
    far_px = analysis.query_distances_px(attn, layout.grid, layout.patch_px)
    edges, mass = analysis.distance_distribution(attn, layout.grid, layout.patch_px)
    first, second = st.columns([1, 2])
    with first:
        st.markdown(":gray[Which query patches look far]")
        page.figure(reach_map(far_px, selection.mode()), "attention_distance.map")
    with second:
        st.markdown(":gray[How its attention is spread over distances]")
        color = theme.head_color(head - 1, heads)
        drawn = distribution_figure(edges, mass, float(far_px.mean()), color, selection.mode())
        page.figure(drawn, "attention_distance.distribution")
    row, col = np.unravel_index(int(far_px.argmax()), far_px.shape)
    goes = f"{100 * mass.sum():.1f} % of the attention goes to patches"
    if chosen.renormalise:
        goes = "each row of its mean attention renormalised over patches"
    page.caption(
        f"Layer {layer}, head {head}: {far_px.mean():.1f} px on average. The patch in row {row + 1}, column {col + 1}"
        f" looks farthest ({far_px.max():.1f} px), {goes}."
    )


def draw_numbers(heads: Heads, unit: str) -> None:
    """Every head's mean and standard deviation over pictures."""
    layer, head = np.indices(heads.mean.shape).reshape(2, -1) + 1
    columns = {"layer": layer, "head": head, "mean": heads.mean.ravel(), "sd": heads.spread.ravel()}
    st.dataframe(
        {
            name if name in ("layer", "head") else f"{name}, {unit}": values
            for name, values in columns.items()
        },
        hide_index=True,
        height=280,
    )
    page.csv("CSV", columns, "attention_distance.csv", "attention_distance.csv")
