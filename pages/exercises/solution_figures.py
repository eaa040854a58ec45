"""Draw the output of a correct solution of each exercise, computed for the selected image."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.frame import page
from pages.selection import selection, substitutes
from pages.selection.subject import CapturedSubject, capture_attention, load_current, load_subject
from pages.views.figures import draw_chart
from vitviz import sinusoids
from vitviz.analysis import position_similarity, readout
from vitviz.analysis.patches import patchify
from vitviz.models.abilities import as_vit
from vitviz.plots.chart import Chart
from vitviz.plots.theme import DASHES, DIVERGING, PALETTES, SEQUENTIAL, colorscale
from vitviz.probe.logits import readout_weights
from vitviz.text import percent, plain, signed

SHOWN_TOKENS, SHOWN_CHANNELS = 50, 64
KEY = "exercises.right"
HEIGHT_PX = 620


def _load_subject() -> CapturedSubject:
    """Load the selected model if it is a plain ViT, else the most similar one with an image of its dataset."""
    if substitutes.is_plain_vit(selection.get_model_choice().config):
        return capture_attention(load_current())
    choice = substitutes.find_nearest_model(substitutes.is_plain_vit)
    return capture_attention(load_subject(choice, None, substitutes.choose_image(choice)[0]))


def _build_heatmap(values: NDArray[Any], x: str, y: str, *, signed: bool = False) -> Chart:
    """Build a heat map of a matrix, row 0 at the top."""
    mode = selection.get_theme()
    figure = Chart(mode)
    top = float(np.abs(values).max()) or 1.0
    figure.add(
        "heatmap",
        z=values.astype(np.float32),
        zmin=-top if signed else 0,
        zmax=top,
        colorscale=colorscale(DIVERGING[mode] if signed else SEQUENTIAL),
        colorbar={"thickness": 8, "outlinewidth": 0},
        hovertemplate=f"{y} %{{y}}, {x} %{{x}}: %{{z:.3f}}",
    )
    figure.layout(xaxis={"title": {"text": x}, "showgrid": False})
    figure.layout(yaxis={"title": {"text": y}, "autorange": "reversed", "showgrid": False}, height=HEIGHT_PX)
    return figure


def _draw_patches() -> str:
    subject = _load_subject()
    grey = subject.prepared.shown.mean(axis=2)[None] / 255
    patches = patchify(grey, as_vit(subject.model.config).patch_size)
    draw_chart(_build_heatmap(patches, "value of a patch", "patch"), KEY)
    return f"The selected image in grey becomes {patches.shape[0]} patches of {patches.shape[1]} values."


def _draw_positions() -> str:
    table = sinusoids.sincos_1d(SHOWN_TOKENS, SHOWN_CHANNELS)
    draw_chart(_build_heatmap(table, "channel", "position", signed=True), KEY)
    cosines = position_similarity.cosine_similarity(table)
    return (
        f"Neighbouring positions have cosine similarity {cosines[5, 6]:.4f} everywhere ({SHOWN_TOKENS} positions,"
        f" {SHOWN_CHANNELS} channels)."
    )


def _draw_one_head() -> str:
    subject = _load_subject()
    weights = subject.attn[0][0]
    draw_chart(_build_heatmap(weights, "key", "query"), KEY)
    return f"Head 1 of layer 1 of {subject.choice.shown}: every row sums to {weights.sum(axis=1).mean():.2f}."


def _draw_heads() -> str:
    subject = _load_subject()
    heads = subject.attn[0]
    draw_chart(_build_heatmap(np.concatenate(list(heads), axis=1), "key, by head", "query"), KEY)
    difference = np.abs(heads[0] - heads[-1]).sum(axis=1).mean() / 2
    return (
        f"The first and last of {len(heads)} heads of layer 1 differ in {percent(float(difference), 0)} of their"
        " weights; shared heads would be identical."
    )


def _draw_block() -> str:
    subject = _load_subject()
    parts = ("input", "attn_out", "mid", "mlp_out")
    records = subject.capture(tuple(f"blocks.0.{part}" for part in parts) + ("blocks.0",))
    names = ("z", "MSA(LN(z))", "z'", "MLP(LN(z'))", "out")
    norms = [np.linalg.norm(records[f"blocks.0.{part}"][0], axis=-1).mean() for part in parts]
    norms.append(np.linalg.norm(records["blocks.0"][0], axis=-1).mean())
    draw_chart(_build_bars(names, np.array(norms), "mean token norm"), KEY)
    return f"One block of {subject.choice.shown}: each of two branches is added to its input."


def _build_bars(names: tuple[str, ...], values: NDArray[Any], title: str) -> Chart:
    figure = Chart(selection.get_theme())
    colour = PALETTES[selection.get_theme()].primary
    figure.add("bar", x=values, y=list(names), orientation="h", marker={"color": colour})
    figure.layout(xaxis={"title": {"text": title}}, yaxis={"autorange": "reversed", "type": "category"})
    figure.layout(height=HEIGHT_PX)
    return figure


def _draw_prediction() -> str:
    subject = _load_subject()
    probabilities = subject.probabilities
    top = np.argsort(-probabilities, kind="stable")[:10]
    names = tuple(subject.classes[i] for i in top)
    draw_chart(_build_bars(names, probabilities[top], "probability"), KEY)
    page.caption("", subject.class_note)
    return f"{subject.choice.shown} predicts {plain(names[0])} with {percent(float(probabilities[top[0]]))}."


def _draw_learned_positions() -> str:
    subject = _load_subject()
    table = subject.capture(("pos_embed",))["pos_embed"].reshape(-1, as_vit(subject.model.config).embed_dim)
    cosines = position_similarity.cosine_similarity(table)
    draw_chart(_build_heatmap(cosines, "position", "position", signed=True), KEY)
    cells = subject.layout.grid[0] * subject.layout.grid[1]
    row, col = np.divmod(np.arange(cells), subject.layout.grid[1])
    patch_cosines, others = cosines[-cells:, -cells:], ~np.eye(cells, dtype=bool)
    aligned = ((row[:, None] == row) | (col[:, None] == col)) & others
    training = "" if subject.choice.trained_on else " (untrained)"
    return (
        f"Position embeddings of {subject.choice.shown}{training}: mean cosine similarity"
        f" {signed(patch_cosines[aligned].mean())} in the same row or column,"
        f" {signed(patch_cosines[others & ~aligned].mean())} elsewhere."
    )


def _draw_patch_logits() -> str:
    subject = _load_subject()
    config = as_vit(subject.model.config)
    last = subject.capture((f"blocks.{config.depth - 1}",))[f"blocks.{config.depth - 1}"][0]
    weights = readout_weights(subject.model.vit)
    reading = readout.predict_from_stream(last, weights, "mean", subject.layout.prefix)
    winner = int(reading.order[0])
    logits = reading.normed[subject.layout.num_prefix_tokens :] @ weights.weight[winner]
    draw_chart(_build_heatmap(logits.reshape(subject.layout.grid), "column", "row", signed=True), KEY)
    return (
        f"Each patch's token times the weights of {plain(subject.classes[winner])} in {subject.choice.shown}: with a"
        f" mean readout, the logit is their mean, {logits.mean():.2f}, plus a bias. This model was trained with a [CLS]"
        " readout."
    )


def _draw_curves() -> str:
    curves = {
        choice.shown: choice.curve
        for choice in selection.list_models().values()
        if choice.trained_on == "digits"
    }
    figure = Chart(selection.get_theme())
    palette = PALETTES[selection.get_theme()]
    shown = [(name, curve) for name, curve in curves.items() if curve][:3]
    colours = (palette.primary, palette.ink, palette.muted)
    for (name, curve), colour, dash in zip(shown, colours, DASHES, strict=False):
        steps, accuracy = zip(*curve, strict=True)
        figure.add(
            "scatter",
            x=steps,
            y=[100 * share for share in accuracy],
            mode="lines",
            name=name,
            line={"color": colour, "dash": dash},
        )
    figure.layout(xaxis={"title": {"text": "step"}}, yaxis={"title": {"text": "validation accuracy, %"}})
    figure.layout(height=HEIGHT_PX, showlegend=bool(shown))
    draw_chart(figure, KEY)
    if not shown:
        return "No model trained on digits is available on this server, so no curve is shown."
    best = max(share for _, curve in shown for _, share in curve)
    return (
        f"{len(shown)} trained models reach up to {percent(best)} validation accuracy, on enlarged digits and without a"
        " budget of images."
    )


# By slug: draws the figure and returns its caption.
FIGURES: dict[str, Callable[[], str]] = {
    "patchify": _draw_patches,
    "positions": _draw_positions,
    "one_head": _draw_one_head,
    "multi_head": _draw_heads,
    "block": _draw_block,
    "vit": _draw_prediction,
    "trainable_positions": _draw_learned_positions,
    "without_cls": _draw_patch_logits,
    "accuracy": _draw_curves,
}
