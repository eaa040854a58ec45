"""Draw the token norms of every layer, the positions of extreme norms, and the effect of registers."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import streamlit as st

from pages.controls import downloads
from pages.frame import page
from pages.lenses.layers import changed_tokens, dataset_task, layer_controls
from pages.lenses.layers.dataset_task import ImageSubset
from pages.selection import selection, subject
from pages.stores import published_weights
from pages.stores.model_choice import ModelChoice
from pages.views.figures import draw_chart, draw_heat_grid
from vitviz.analysis import sinks as analysis
from vitviz.analysis.sinks import TokenNorms
from vitviz.data.image_preprocessing import luminance, prepare
from vitviz.lessons.question_kinds import MeasuredAnswer
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.plots import layers as plots
from vitviz.plots.chart import Chart
from vitviz.plots.heat_grid import GridStyle, pack_maps
from vitviz.probe.layers import RecordedLayer, list_layers
from vitviz.text import plural

MOST, USUAL = 256, 64
BANDS = (1.5, 3, 6)  # multiples of the median that bound the options
PAIR = (
    "vit_small_patch14_dinov2.lvd142m",
    "vit_small_patch14_reg4_dinov2.lvd142m",
)  # without and with registers


def draw(compared: subject.Subject) -> None:
    with page.row():
        if compared.able.receptive_field:
            compared = layer_controls.choose_other(compared)
        if not compared.able.receptive_field:
            with st.container(width="content"):
                change = changed_tokens.read_change(compared)
        with st.container(width="content"), page.options("layers.sinks"):
            subset = dataset_task.choose_images((compared,), MOST, USUAL)
    if compared.able.receptive_field:
        st.info("A CNN has feature maps but no tokens: compare with a ViT.", icon=":material/block:")
        return
    measurements = dataset_task.measure_models(
        "lengths", (compared,), subset, dataset_task.measure_norms, "Measuring token norms"
    )
    if measurements is None:
        return
    (layers,) = measurements
    stage = st.container()  # the picture stands above its question
    revealed = _ask_longest(compared, layers[-1])
    shown = layers if revealed else layers[:-1]
    with stage:
        draw_chart(build_figure(compared.layers[: len(shown)], shown, compared.layout.prefix), "layers.sinks")
    hidden = f"; predict to see {compared.layers[-1].phrase}, the last one."
    page.caption(
        describe_lengths(compared, layers, subset)
        if revealed
        else f"{_describe_longest(compared, shown, subset)}{hidden}"
    )
    page.caption("Patch tokens with very large norms are often attention sinks.")
    draw_length_maps(compared, len(shown))
    page.findings("layers.sinks")
    if revealed:
        changed_tokens.draw(compared, change, layers, subset)
    elif change != "none":
        page.caption("The effect of the change is shown after your prediction.")
    if revealed or compared.choice.key not in _pair_keys():
        draw_registers(selection.list_models())
    page.drawers(
        "layers.sinks",
        math=page.read_math(__file__),
        code=(analysis.measure_norms, analysis.TokenNorms),
        numbers=partial(draw_numbers, compared, layers) if revealed else None,
    )


def build_figure(
    layers: Sequence[RecordedLayer], lengths: Sequence[TokenNorms], prefix: Sequence[str]
) -> Chart:
    """Return the figure of token norms over depth."""
    columns = [
        plots.NormQuantiles(
            layer.title, measured.spread.tolist(), measured.longest, measured.prefix.mean(axis=0).tolist()
        )
        for layer, measured in zip(layers, lengths, strict=True)
    ]
    return plots.lengths_figure(columns, prefix, selection.get_theme())


def describe_lengths(compared: subject.Subject, layers: Sequence[TokenNorms], subset: ImageSubset) -> str:
    """Return a caption on the largest norm relative to the median, and on the positions of extreme norms."""
    last = layers[-1]
    is_last = _find_longest(layers) == len(layers) - 1
    also = ", the last layer" if is_last else f" and {last.times:.1f} times in {compared.layers[-1].phrase}"
    text = f"{_describe_longest(compared, layers, subset)}{also}."
    for i, name in enumerate(compared.layout.prefix):
        ratio = float(last.prefix[:, i].mean()) / last.median
        text += f" The norm of [{name.upper()}] is {ratio:.1f} times the median in the last layer."
    if last.extreme.any():
        return f"{text} {_describe_extreme(compared, last, subset)}"
    return f"{text} {_describe_earlier(compared, layers)}"


def _describe_earlier(compared: subject.Subject, layers: Sequence[TokenNorms]) -> str:
    """Return a sentence on the extreme norms of earlier layers, for a last layer without any."""
    limit = f"exceeds {analysis.TIMES:.0f} times the median norm"
    counts = [int(layer.extreme.sum()) for layer in layers]
    if not any(counts):
        return f"No patch token of any layer {limit}: this model has no high-norm patch tokens."
    most = int(np.argmax(counts))
    return (
        f"No patch token of the last layer {limit}; earlier layers have {sum(counts):,}, most in"
        f" {compared.layers[most].phrase} ({counts[most]:,})."
    )


def _describe_longest(compared: subject.Subject, layers: Sequence[TokenNorms], subset: ImageSubset) -> str:
    at = _find_longest(layers)
    return (
        f"{compared.safe_title} over {subset.title}: the largest token norm is {layers[at].times:.1f} times the median"
        f" in {compared.layers[at].phrase}"
    )


def _find_longest(layers: Sequence[TokenNorms]) -> int:
    return int(np.argmax([layer.times for layer in layers]))


def _describe_extreme(compared: subject.Subject, last: TokenNorms, subset: ImageSubset) -> str:
    """Return sentences on the positions and the contrast of the patches with extreme norms."""
    extreme, grid = last.extreme, (last.places.shape[1], last.places.shape[2])
    edge = np.broadcast_to(100.0 * analysis.edge_mask(grid), extreme.shape)
    images = np.broadcast_to(subset.pixels, (*subset.pixels.shape[:3], 3))
    preparation = compared.model.preparation
    brightness = np.stack([luminance(prepare(image, preparation).shown) for image in images])
    contrast = analysis.patch_contrast(brightness, grid)
    verdicts = {
        ("Share at the border", "points"): analysis.compare_extreme(edge, extreme),
        ("Contrast of their patches", "grey levels"): analysis.compare_extreme(contrast, extreme),
    }
    return (
        f"{plural(int(extreme.sum()), 'token')} of {extreme.size:,} in the last layer exceed"
        f"{'s' if extreme.sum() == 1 else ''} {analysis.TIMES:.0f} times the median norm."
        + "".join(
            f" {name}, compared with the other patches of an image: {verdict.describe(unit)}."
            for (name, unit), verdict in verdicts.items()
            if verdict
        )
    )


def draw_length_maps(compared: subject.Subject, count: int) -> None:
    """Draw each token's norm above its layer's minimum, for the first `count` layers; a click pins a token."""
    layers = layer_controls.read_layers(compared)
    grid = layers[0].grid
    drawn = [i for i, layer in enumerate(layers[:count]) if layer.grid == grid]
    maps = np.stack(
        [analysis.measure_norms(layers[i].places, layers[i].prefix).places[0].ravel() for i in drawn]
    )
    page.markdown("**On this image**: token norm minus the smallest norm of its layer")
    message = pack_maps(
        compared.ground(),
        maps - maps.min(axis=1, keepdims=True),
        [compared.layers[i].title for i in drawn],
        grid,
        notes=[f"norms {row.min():.1f} to {row.max():.1f}" for row in maps],
        style=GridStyle(smooth=False, grey=True, start=selection.get_current().pin.cell(grid)),
    )
    draw_heat_grid(message, key="layers.lengths", on_pin=partial(selection.apply_click, "layers.lengths"))


def draw_registers(models: Mapping[str, ModelChoice]) -> None:
    """Draw the published models without and with registers, or a notice that names the missing weights."""
    st.subheader("Effect of registers", anchor=False)
    keys = _pair_keys()
    missing = [name for name, key in zip(PAIR, keys, strict=True) if key not in models]
    if missing:
        st.markdown(describe_missing(missing))
        return
    pair = [subject.load_subject(models[key], None, selection.get_current().image) for key in keys]
    subset = ImageSubset("photos", dataset_task.FEW)
    measurements = dataset_task.measure_models(
        "lengths", pair, subset, dataset_task.measure_norms, "Measuring DINOv2"
    )
    if measurements is None:
        return
    for column, model, layers in zip(st.columns(2, gap="medium"), pair, measurements, strict=True):
        with column:
            st.markdown(f"**{model.safe_title}**")
            figure = build_figure(model.layers, layers, model.layout.prefix)
            draw_chart(figure, f"layers.sinks.{len(model.layout.prefix)}")
            page.caption(describe_lengths(model, layers, subset))


def _pair_keys() -> list[str]:
    return [f"{published_weights.KEY}{name}" for name in PAIR]


def describe_missing(missing: Sequence[str]) -> str:
    """Return a notice with the missing published weights and the ways to download them."""
    titles = " and ".join(f"**{PRETRAINED[name].title}**" for name in missing)
    host = PRETRAINED[missing[0]].source
    return (
        f"This comparison needs {titles}. The weights from {host} are not on this server. Download them under"
        f" *Add a model* in the sidebar or with `python -m vitviz.fetch {' '.join(missing)}`."
    )


def _ask_longest(compared: subject.Subject, last: TokenNorms) -> bool:
    """Ask for the largest norm of the last layer; return True if that layer may be shown."""
    options = [f"under {BANDS[0]:g}", *(f"{low:g} to {high:g}" for low, high in pairwise(BANDS))]

    answer = MeasuredAnswer(
        int(np.searchsorted(BANDS, last.times, side="right")),
        f"The largest norm is {last.longest:.1f}, the median {last.median:.1f}: {last.times:.1f} times.",
    )
    prompt = (
        f"In the last layer of {compared.title}, what is the ratio of the largest to the median token norm?"
    )
    return layer_controls.ask_before_reveal(
        "layers.sinks_guess", prompt, [*options, f"{BANDS[-1]:g} or more"], answer
    )


def draw_numbers(compared: subject.Subject, layers: Sequence[TokenNorms]) -> None:
    columns: dict[str, list[object]] = {
        "layer": [layer.title for layer in list_layers(compared.model.config)],
        "1 %": [float(layer.spread[0]) for layer in layers],
        "median": [layer.median for layer in layers],
        "99 %": [float(layer.spread[2]) for layer in layers],
        "largest": [layer.longest for layer in layers],
        "extreme": [int(layer.extreme.sum()) for layer in layers],
    }
    for i, name in enumerate(compared.layout.prefix):
        columns[f"[{name.upper()}]"] = [float(layer.prefix[:, i].mean()) for layer in layers]
    st.dataframe(columns, hide_index=True)
    downloads.csv("Token norms (CSV)", columns, "layers_lengths.csv", "layers.csv.sinks")
