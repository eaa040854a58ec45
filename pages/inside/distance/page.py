"""Lens: mean attention distance of every head against depth (ViT paper, figure 7 right)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.inside.distance import distances
from pages.inside.distance.head_distance import head_distance
from pages.shell import controls, nouns, page, stand_in
from pages.stores import cached
from vitviz.analysis import distance as analysis
from vitviz.analysis.reach import cnn_layers
from vitviz.config import CNNConfig, SwinConfig, ViTConfig
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.models.loaded import LoadedModel
from vitviz.plots import theme
from vitviz.plots.distance import HeadSeries, Line, distribution_figure, heads_view, reach_figure, reach_map

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MOST_BY_GRADIENT = 16  # pictures: each layer takes a backward pass
NO_PREFIX = "Disabled: this model has no prefix tokens, so there is nothing to leave out."
MEASURES = {"distance": "distance", "entropy": "entropy", "prefix": "prefix mass"}
MOMENTS = (
    12  # snapshots of a film: a live run keeps forty, and each is measured before the first picture shows
)
LOCAL = 0.5  # a head counts as local below this share of the uniform baseline


@dataclass(frozen=True)
class Choice:
    """What the controls say."""

    source: str
    count: int
    measure: str
    compare: bool
    renormalise: bool
    training: bool


def read_controls(model: LoadedModel) -> Choice:
    sources = [*available_datasets(), "picture"]
    own = model.trained_on if model.trained_on in sources else sources[0]
    # A Swin's heads see windows, a CNN has none: distance alone is meant.
    heads_over_all = isinstance(model.config, ViTConfig)
    has_prefix = isinstance(model.config, ViTConfig) and bool(model.config.prefix_tokens)
    counts = [
        count for count in COUNTS if count <= MOST_BY_GRADIENT or not isinstance(model.config, CNNConfig)
    ]
    not_vit = None if heads_over_all else "Disabled: it asks for heads that see the whole picture, a ViT's."
    columns = st.columns([3, 4, 5, 3], vertical_alignment="top")
    with columns[0]:
        source = controls.select(
            "attention_distance.set",
            "Pictures",
            sources,
            own,
            format_func=lambda name: "your picture" if name == "picture" else DATASETS[name].title,
        )
    with columns[1]:
        count = controls.select_slider(
            "attention_distance.count",
            "How many",
            counts,
            min(64, counts[-1]),
            disabled=source == "picture",
            help="The first pictures of the test set. Your picture is one.",
        )
    with columns[2]:
        measure = controls.segmented(
            "attention_distance.measure",
            "Measure",
            [name for name in MEASURES if has_prefix or name != "prefix"] if heads_over_all else ["distance"],
            format_func=MEASURES.__getitem__,
            help=not_vit,
            disabled=not heads_over_all,
        )
    beside = columns[3].container(gap=None)
    beside.space(28)  # the height of a label, which a popover does not have
    with beside.popover("More", width="stretch"):
        compare = controls.toggle(
            "attention_distance.compare",
            "Beside random weights",
            True,
            disabled=model.trained_on is None or isinstance(model.config, CNNConfig),
        )
        renormalise = controls.toggle(
            "attention_distance.renormalise",
            "Renormalise without prefix tokens",
            help=not_vit
            or ("The authors' code drops [CLS] and leaves the rest as it is." if has_prefix else NO_PREFIX),
            disabled=not has_prefix,
        )
        training = controls.toggle(
            "attention_distance.training",
            "Through training",
            model.model.layout(*2 * (model.preparation.image_size,)).num_tokens <= 100,
            disabled=len(nouns.choice().steps) < 2 or not heads_over_all,
            help=f"Measures {MOMENTS} snapshots, so that the heads can be dragged through time.",
        )
    return Choice(
        source,
        1 if source == "picture" else min(count, cached.examples(source)),
        measure,
        compare and model.trained_on is not None,
        renormalise and has_prefix,
        training,
    )


def table(found: analysis.AttentionDistances, chosen: Choice) -> np.ndarray:
    """(pictures, depth, heads) of the chosen measure."""
    if chosen.measure == "entropy" and found.entropy_bits is not None:
        return found.entropy_bits
    if chosen.measure == "prefix":
        return 100 * found.prefix_mass
    return found.distance_px


def measure(model: LoadedModel, chosen: Choice) -> analysis.AttentionDistances:
    return distances.of(model, chosen.source, chosen.count, chosen.renormalise, chosen.measure == "entropy")


def measure_step(step: int, chosen: Choice) -> analysis.AttentionDistances:
    """Of the chosen model at another step: a film's dozen of models is not loaded again where it was measured."""
    entropy = chosen.measure == "entropy"
    return distances.at_step(step, chosen.source, chosen.count, chosen.renormalise, entropy)


def moments(steps: tuple[int, ...], shown: int) -> tuple[int, ...]:
    """The steps of the film: evenly among the snapshots, the shown one with them."""
    places = np.linspace(0, len(steps) - 1, min(MOMENTS, len(steps))).round().astype(int)
    return tuple(sorted({*(steps[place] for place in places), shown}))


def offsets(found: analysis.AttentionDistances, grid: tuple[int, int]) -> np.ndarray:
    return np.stack([[analysis.offset_map(head, grid) for head in layer] for layer in found.mean_attn])


def series(model: LoadedModel, chosen: Choice, steps: tuple[int, ...], grid: tuple[int, int]) -> HeadSeries:
    found = [measure(model, chosen) if step == model.step else measure_step(step, chosen) for step in steps]
    values = np.stack([table(one, chosen) for one in found])
    return HeadSeries(
        f"step {model.step:,}" if model.trained_on else "random weights",
        values.mean(axis=1),
        values.std(axis=1),
        offsets(found[steps.index(model.step)], grid),
    )


def lines(chosen: Choice, grid: tuple[int, int], patch_px: int, prefix: int) -> list[Line]:
    if chosen.measure == "entropy":
        tokens = prefix + grid[0] * grid[1]
        return [Line(float(np.log2(tokens)), f"even over {tokens} tokens: {np.log2(tokens):.2f} bits")]
    if chosen.measure == "prefix":
        share = 100 * prefix / (prefix + grid[0] * grid[1])
        return [Line(share, f"even: {share:.1f} %")] if prefix else []
    even = analysis.uniform_distance_px(grid, patch_px, 0 if chosen.renormalise else prefix)
    corner = analysis.corner_distance_px(grid, patch_px)
    return [Line(corner, f"corner to corner: {corner:.1f} px"), Line(even, f"even attention: {even:.1f} px")]


def describe(mine: HeadSeries, other: HeadSeries | None, shown: int, even: float, count: int) -> str:
    """The caption, from the numbers of the picture."""
    now = mine.values[shown]
    local = int((now < LOCAL * even).sum())
    pictures = "this picture" if count == 1 else f"{count} pictures"
    text = (
        f"Over {pictures}, the heads look {now.min():.1f} to {now.max():.1f} px far"
        f" (even attention: {even:.1f} px); {local} of {now.size} heads are local,"
        f" below {100 * LOCAL:.0f} % of it. Layer 1 spans {np.ptp(now[0]):.1f} px,"
        f" layer {len(now)} spans {np.ptp(now[-1]):.1f} px."
    )
    if other is not None:
        base = other.values[0]
        apart = np.ptp(now) > 1.2 * np.ptp(base)
        text += (
            f" With random weights they lie within {np.ptp(base):.1f} px of one another"
            f" ({base.min():.1f} to {base.max():.1f} px);"
            f" {'training spread them over' if apart else 'here too they lie within'} {np.ptp(now):.1f} px."
        )
    return text


def draw_vit(model: LoadedModel, config: ViTConfig) -> None:
    chosen = read_controls(model)
    page.untrained_note(model.trained_on)
    size = model.preparation.image_size
    layout = model.model.layout(size, size)
    film = chosen.training and model.trained_on
    steps = moments(nouns.choice().steps, model.step) if film else (model.step,)
    mine = series(model, chosen, steps, layout.grid)
    plotted = [mine]
    if chosen.compare:
        twin = cached.untrained(model)
        base = series(twin, chosen, (0,), layout.grid)
        repeat = (len(steps), 1, 1)
        plotted.append(
            HeadSeries(base.label, np.tile(base.values, repeat), np.tile(base.spread, repeat), base.offsets)
        )
    unit = {"distance": "px", "entropy": "bits", "prefix": "%"}[chosen.measure]
    axis = {
        "distance": "mean attention distance, px",
        "entropy": "entropy, bits",
        "prefix": "mass on prefix tokens, %",
    }[chosen.measure]
    marks = lines(chosen, layout.grid, layout.patch_px, layout.num_prefix_tokens)
    data = heads_view(plotted, steps, axis, unit, marks, layout.patch_px, model.step)
    picked = head_distance(data, key="attention_distance.heads")
    if picked is not None:
        controls.set_value("attention_distance.layer", picked[0] + 1)
        controls.set_value("attention_distance.head", picked[1] + 1)
    shown = steps.index(model.step)
    if chosen.measure == "distance":
        prefix = 0 if chosen.renormalise else layout.num_prefix_tokens
        even = analysis.uniform_distance_px(layout.grid, layout.patch_px, prefix)
        page.caption(describe(mine, plotted[1] if len(plotted) > 1 else None, shown, even, chosen.count))
    else:
        page.caption(describe_measure(mine, shown, axis, unit))
    one_head(model, config, chosen)
    if chosen.measure == "distance":
        cnn_beside(model, mine.values[shown].mean(axis=1), chosen)
    page.drawers(
        "attention_distance",
        math=MATHEMATICS + REACH_MATHEMATICS,
        code=(analysis.patch_distances_px, analysis.mean_attention_distance_px),
        numbers=lambda: numbers(mine, shown, unit),
        try_this=TRY_THIS,
    )


def cnn_beside(model: LoadedModel, mean_px: np.ndarray, chosen: Choice) -> None:
    """The heads' mean by layer, and how far a CNN's layers read, on one axis."""
    cnn = cached.loaded(distances.a_cnn(model.preparation.in_chans))
    names, sides = cnn_layers(cnn.config)
    reached = min(chosen.count, MOST_BY_GRADIENT)
    measured = distances.gradient_reach(cnn, names, chosen.source, reached)
    half = np.minimum(np.array(sides) / 2, cnn.preparation.image_size)
    theory = f"{cnn.title}: half its receptive field"
    st.subheader("Beside it: a CNN", anchor=False)
    page.untrained_note(cnn.trained_on)
    depth = max(len(mean_px), len(names))
    curves = {f"{model.title}: mean over heads": mean_px, f"{cnn.title}: measured": measured, theory: half}
    figure = reach_figure([str(layer + 1) for layer in range(depth)], curves, [theory], nouns.mode())
    st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key="attention_distance.beside")
    page.caption(
        f"In layer 1 the heads look {mean_px[0]:.1f} px far on average, in layer {len(mean_px)} {mean_px[-1]:.1f} px."
        f" The CNN's layers read pixels {measured[0]:.1f} px from the centre after the first and"
        f" {measured[-1]:.1f} px after the last of {len(names)}, by gradients over {reached}"
        f" {'picture' if reached == 1 else 'pictures'}; each in pixels of its own input."
    )


def describe_measure(mine: HeadSeries, shown: int, axis: str, unit: str) -> str:
    now = mine.values[shown]
    layer, head = np.unravel_index(int(now.argmax()), now.shape)
    return (
        f"{axis.partition(',')[0].capitalize()}: {now.min():.2f} to {now.max():.2f} {unit}; the highest in layer"
        f" {layer + 1}, head {head + 1}. The mean goes from {now[0].mean():.2f} {unit} in layer 1"
        f" to {now[-1].mean():.2f} {unit} in layer {len(now)}."
    )


def one_head(model: LoadedModel, config: ViTConfig, chosen: Choice) -> None:
    """One head in detail: which patches look far, and how its attention is spread over distances."""
    st.subheader("One head", anchor=False)
    left, right, far = st.columns([2, 2, 3], vertical_alignment="bottom")
    with left:
        layer = controls.number("attention_distance.layer", "Layer", 1, config.depth, 1)
    with right:
        head = controls.number("attention_distance.head", "Head", 1, config.num_heads, 1)
    with far:
        place = {"attention.layer": layer, "attention.head": head}
        nouns.link_to("attention", "Open in the attention explorer", **place)
    size = model.preparation.image_size
    layout = model.model.layout(size, size)
    attn = measure(model, chosen).mean_attn[layer - 1, head - 1]
    if chosen.renormalise:
        attn = analysis.without_prefix(attn, layout.grid)
    reach = analysis.query_distances_px(attn, layout.grid, layout.patch_px)
    edges, mass = analysis.distance_distribution(attn, layout.grid, layout.patch_px)
    color = theme.head_color(head - 1, config.num_heads)
    first, second = st.columns([1, 2])
    with first:
        st.markdown(":gray[Which query patches look far]")
        st.plotly_chart(
            reach_map(reach, nouns.mode()),
            theme=None,
            config={"displayModeBar": False},
            key="attention_distance.map",
        )
    with second:
        st.markdown(":gray[How its attention is spread over distances]")
        figure = distribution_figure(edges, mass, float(reach.mean()), color, nouns.mode())
        st.plotly_chart(
            figure, theme=None, config={"displayModeBar": False}, key="attention_distance.distribution"
        )
    row, col = np.unravel_index(int(reach.argmax()), reach.shape)
    goes = f"{100 * mass.sum():.1f} % of the attention goes to patches"
    if chosen.renormalise:
        goes = "each row of its mean attention renormalised over patches"
    page.caption(
        f"Layer {layer}, head {head}: {reach.mean():.1f} px on average. The patch in row {row + 1}, column {col + 1}"
        f" looks farthest ({reach.max():.1f} px), {goes}."
    )


def reach_by_layer(model: LoadedModel, names: list[str], chosen: Choice) -> np.ndarray:
    """Mean distance of the pixels that each layer's central output reads, measured with gradients."""
    return distances.gradient_reach(model, names, chosen.source, min(chosen.count, MOST_BY_GRADIENT))


def draw_cnn(model: LoadedModel, config: CNNConfig) -> None:
    chosen = read_controls(model)
    page.untrained_note(model.trained_on)
    names, sides = cnn_layers(config)
    measured = reach_by_layer(model, names, chosen)
    curves = {
        "measured: mean distance of the pixels read": measured,
        "in theory: half the receptive field": np.minimum(np.array(sides) / 2, config.image_size),
    }
    figure = reach_figure(
        [name.replace("layers.", "stage ").replace(".blocks.", " block ") for name in names],
        curves,
        ["in theory: half the receptive field"],
        nouns.mode(),
    )
    st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key="attention_distance.cnn")
    page.caption(
        f"A CNN has no heads: its reach is fixed by its kernels. The receptive field grows from {sides[0]} to"
        f" {sides[-1]} px across; gradients put the pixels that count {measured[0]:.1f} px from the centre after"
        f" the stem and {measured[-1]:.1f} px after the last block, over {chosen.count}"
        f" {'picture' if chosen.count == 1 else 'pictures'}."
    )
    page.drawers("attention_distance", math=REACH_MATHEMATICS, code=distances.BY_GRADIENT)


def draw_swin(model: LoadedModel, config: SwinConfig) -> None:
    chosen = read_controls(model)
    page.untrained_note(model.trained_on)
    names, found = distances.of_windows(model, chosen.source, chosen.count)
    plotted = [HeadSeries(model.title, found.mean(axis=0)[None], found.std(axis=0)[None])]
    if chosen.compare:
        _, base = distances.of_windows(cached.untrained(model), chosen.source, chosen.count)
        plotted.append(HeadSeries("random weights", base.mean(axis=0)[None], base.std(axis=0)[None]))
    data = heads_view(
        plotted,
        (model.step,),
        "mean attention distance inside windows, px",
        "px",
        [],
        config.patch_size,
        model.step,
    )
    head_distance(data, key="attention_distance.heads")
    now = found.mean(axis=0)
    page.caption(
        f"Inside its windows, a head of block 1 looks {np.nanmin(now[0]):.1f} to {np.nanmax(now[0]):.1f} px far,"
        f" one of block {len(names)} looks {np.nanmin(now[-1]):.1f} to {np.nanmax(now[-1]):.1f} px: windows keep their"
        " number of tokens, and tokens grow with every merging. Layers are the blocks in order of depth."
    )
    measured = reach_by_layer(model, names, chosen)
    st.subheader("How far information has travelled", anchor=False)
    figure = reach_figure(names, {"measured with gradients": measured}, [], nouns.mode())
    st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key="attention_distance.swin")
    page.caption(
        f"Gradients put the pixels that one token reads {measured[0]:.1f} px from it after block 1 and"
        f" {measured[-1]:.1f} px after block {len(names)}."
    )
    page.drawers("attention_distance", math=MATHEMATICS + REACH_MATHEMATICS, code=distances.BY_GRADIENT)


def numbers(mine: HeadSeries, shown: int, unit: str) -> None:
    values, spread = mine.values[shown], mine.spread[shown]
    rows = [
        {
            "layer": layer + 1,
            "head": head + 1,
            f"mean, {unit}": values[layer, head],
            f"sd, {unit}": spread[layer, head],
        }
        for layer, head in np.ndindex(values.shape)
    ]
    st.dataframe(rows, hide_index=True, height=280)
    lines = ["layer,head,mean,sd", *(",".join(str(value) for value in row.values()) for row in rows)]
    st.download_button(
        "CSV", "\n".join(lines), "attention_distance.csv", "text/csv", icon=":material/download:"
    )


MATHEMATICS = r"""
$$d_{l,h} = \frac{1}{N}\sum_{q}\sum_{k} A^{(l,h)}_{q,k}\;P\,\lVert \mathrm{pos}_q - \mathrm{pos}_k \rVert_2$$

$A^{(l,h)}$ is the attention of head $h$ in layer $l$, $P$ a patch's side in pixels, and $q$, $k$ run over the
$N$ patches. Prefix tokens such as [CLS] are dropped as queries and as keys, and rows are not renormalised, as in the
authors' code (Dosovitskiy et al. 2021, figure 7 right and figure 11); *Renormalise* divides each row by its mass on
patches. The bar through a dot is one standard deviation
over pictures.
"""
REACH_MATHEMATICS = r"""
$$\text{reach}_l = \sum_p w_p \lVert p - c \rVert_2, \qquad
w_p \propto \sum_{\text{channels}} \Bigl| \frac{\partial\, \text{output}_l(c)}{\partial\, x_p} \Bigr|$$

The gradient of a layer's central output with respect to every pixel $p$ of the picture, with random signs over the
output's channels (Luo et al. 2016); the same measure as attention distance, with gradients in the place of attention.
"""
TRY_THIS = """
- Predict first: which layer holds the heads that look least far? Then drag the slider back to step 0.
- Switch on *Renormalise*: heads that rise had most of their mass on a prefix token.
- Choose your own picture: how far do the same heads move from their mean over the set?
"""


shown_model = cached.loaded(nouns.choice(), nouns.current().step)
page.header("Attention distance", "How far does every head look?")
if isinstance(shown_model.config, ViTConfig):
    draw_vit(shown_model, shown_model.config)
elif isinstance(shown_model.config, SwinConfig):
    draw_swin(shown_model, shown_model.config)
elif isinstance(shown_model.config, CNNConfig):
    draw_cnn(shown_model, shown_model.config)
else:
    stand_in.offer(
        "This model attends over no grid of patches, so there is no distance to measure.",
        "attention_distance.instead",
        icon=":material/straighten:",
    )
