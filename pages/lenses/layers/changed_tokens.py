"""Draw the effect of a test-time register on norms and attention, and of another image's [CLS] on the features."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import dataset_task
from pages.lenses.layers.dataset_task import ImageSubset
from pages.selection import selection, subject
from pages.stores import shared_cache
from pages.views.figures import draw_chart, draw_heat_grid
from vitviz.analysis.attention import readout_row
from vitviz.analysis.sinks import TIMES, TokenNorms
from vitviz.analysis.verdict import share_interval
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.heat_grid import GridStyle, pack_maps
from vitviz.plots.layers import shares_figure
from vitviz.probe import changed_tokens as probe
from vitviz.probe.capture import capture
from vitviz.probe.changed_tokens import RegisterNeurons
from vitviz.probe.layers import strip_head
from vitviz.text import percent, plural

CHANGES = {"none": "Unchanged", "register": "Test-time register", "shuffled": "[CLS] shuffled"}
Maps = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class RegisterEffect:
    """The register's neurons, and the token norms of every layer with it."""

    neurons: RegisterNeurons
    layers: list[TokenNorms]


def read_change(compared: subject.Subject) -> str:
    """Draw the control of the change, disabled with the reason for a model that is no ViT; return a name in CHANGES."""
    lacks = compared.able.heads_over_all.why_not
    if not lacks and not probe.can_add_register(compared.model.vit.config):
        lacks = "This model has as many registers as its config allows."
    change = widgets.segmented(
        "layers.change",
        "Tokens, without training",
        CHANGES,
        why_not=lacks or None,
        help="A test-time register is an added token that receives what the MLPs' register neurons write (Jiang et al."
        " 2025). Shuffled: before a layer, each image gets the [CLS] of the previous one.",
    )
    return "none" if lacks else change


def draw(compared: subject.Subject, change: str, layers: Sequence[TokenNorms], subset: ImageSubset) -> None:
    """Draw the effect of a change.

    Args:
        layers: the token norms of the unchanged model.
    """
    if change == "none":
        return
    st.subheader("Effect of the change", anchor=False)
    if change == "register":
        draw_register(compared, layers, subset)
    else:
        draw_shuffled(compared, subset)


def draw_register(compared: subject.Subject, layers: Sequence[TokenNorms], subset: ImageSubset) -> None:
    effects = dataset_task.measure_models(
        "register", (compared,), subset, measure_register, "Moving register neurons"
    )
    if effects is None:
        return
    (effect,) = effects
    maps = np.stack([*read_maps(compared, None), *read_maps(compared, effect.neurons)])[[0, 2, 1, 3]]
    notes = [f"{row.min():.3g} to {row.max():.3g}" for row in maps]
    maps[:2] -= maps[:2].min()
    message = pack_maps(
        compared.ground(seen=False),
        maps,
        [
            "Token norms, minus the smallest",
            "with a register",
            f"Attention of {_name_readout(compared)}",
            "with a register",
        ],
        compared.layout.grid,
        sharing=2,
        notes=notes,
        style=GridStyle(
            smooth=False, grey=True, start=selection.get_current().pin.cell(compared.layout.grid)
        ),
    )
    draw_heat_grid(message, key="layers.register", on_pin=partial(selection.apply_click, "layers.register"))
    page.caption(describe_register(layers[-1], effect, subset))


@shared_cache.per_image(shared=16, upload=4)
def read_maps(compared: subject.Subject, neurons: RegisterNeurons | None) -> list[Maps]:
    """Return the patches' norms after the last layer and the readout's attention in it, mean of the heads."""
    model = compared.model if neurons is None else probe.add_register(compared.model, neurons)
    last = f"blocks.{model.vit.config.depth - 1}"
    run = capture(model.model, compared.prepared.input[None], record=(last, f"{last}.attn"))
    prefix = model.vit.config.prefix_tokens
    row = readout_row(run[f"{last}.attn"][0].mean(axis=0), prefix, model.vit.config.readout)
    return [np.linalg.norm(run[last][0, len(prefix) :], axis=-1), row]


def measure_register(model: LoadedModel, subset: ImageSubset) -> Generator[float, None, RegisterEffect]:
    """Find the register neurons over the images, and measure all norms with the register."""
    yield 0.0
    inputs = torch.from_numpy(subset.prepare_images(model))
    neurons = probe.find_register_neurons(model.vit, inputs)
    layers = yield from dataset_task.measure_norms(probe.add_register(model, neurons), subset)
    return RegisterEffect(neurons, layers)


def describe_register(before: TokenNorms, effect: RegisterEffect, subset: ImageSubset) -> str:
    """Return how the largest norms change, and whether there was an outlier to move at all."""
    after = effect.layers[-1]
    count, left = int(before.extreme.sum()), int(after.extreme.sum())
    at = sorted({layer + 1 for layer, _ in effect.neurons.channels})
    places = f"layer {at[0]}" if len(at) == 1 else f"layers {at[0]} to {at[-1]}"
    register = float(after.prefix[:, -1].mean()) / after.median
    ratios = f"from {before.times:.2f} to {after.times:.2f} times the median over {subset.title}"
    moved = f"{plural(len(effect.neurons.channels), 'neuron')} of {places}, moved to a register of {register:.1f} times"
    if not count:
        return (
            f"There is no outlier to move: no patch exceeds {TIMES:.0f} times the median norm in the last layer. The"
            f" largest norm changes {ratios}. It takes {moved} the median, that patches use themselves."
        )
    return (
        f"The register leaves {left:,} of {count:,} outliers in the last layer; the largest norm changes {ratios}. It"
        f" takes {moved} the median."
    )


def draw_shuffled(compared: subject.Subject, subset: ImageSubset) -> None:
    if "cls" not in compared.layout.prefix:
        page.caption(compared.able.cls_readout.why_not)
        return
    shares = dataset_task.measure_models("shuffled", (compared,), subset, measure_shuffled, "Shuffling [CLS]")
    if shares is None:
        return
    (kept,) = shares
    titles = [layer.title for layer in compared.layers[1:]]
    intervals = [share_interval(float(row.mean()), len(row)) for row in kept]
    draw_chart(shares_figure(titles, kept.mean(axis=1), intervals, selection.get_theme()), "layers.shuffled")
    page.caption(describe_shuffled(kept, subset))


def measure_shuffled(model: LoadedModel, subset: ImageSubset) -> Generator[float, None, NDArray[np.bool_]]:
    """Return by layer and image whether the features stay nearer to the image's own than to those of its [CLS].

    Returns:
        (layers, images), by the cosine with the features that the head reads without an exchange.
    """
    yield 0.0
    inputs, body = torch.from_numpy(subset.prepare_images(model)), strip_head(model.model)
    own = probe.exchange_tokens(body, inputs, 1, "none")
    rows, depth = [], model.vit.config.depth
    for layer in range(1, depth + 1):
        changed = probe.exchange_tokens(body, inputs, layer)
        to_own, to_other = (torch.cosine_similarity(changed, side, dim=-1) for side in (own, own.roll(1, 0)))
        rows.append((to_own >= to_other).numpy())
        yield layer / depth
    return np.stack(rows)


def describe_shuffled(kept: NDArray[np.bool_], subset: ImageSubset) -> str:
    """Return from which layer on another image's [CLS] decides for most images."""
    shares = kept.mean(axis=1)
    low, high = share_interval(float(shares[-1]), kept.shape[1])
    text = (
        f"If [CLS] is that of another image before the last layer, {percent(float(shares[-1]), 0)} of {subset.title}"
        f" keep features nearest to their own (95\N{NO-BREAK SPACE}% interval {percent(low, 0)} to {percent(high, 0)})"
    )
    turned = np.flatnonzero(shares < 0.5)
    if not len(turned):
        return f"{text}; before no layer does the other image's [CLS] decide for most images."
    return f"{text}; the other image's [CLS] decides for most images from layer {int(turned[0]) + 1} on."


def _name_readout(compared: subject.Subject) -> str:
    return "[CLS]" if compared.able.cls_readout else "the readout"
