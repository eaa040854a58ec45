"""One kernel of a CNN and one head of a ViT before two pictures: which weights stay, which change?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.on_your_picture import model_choice, papers
from pages.lenses.on_your_picture.heat_rows import heat_rows
from pages.lenses.on_your_picture.model_choice import Compared, family
from pages.questions import prediction_gate
from pages.selection import substitute
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.attention import readout_row
from vitviz.analysis.map_similarity import shared_mass
from vitviz.data.datasets import default_pictures
from vitviz.models.abilities import as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import heat_rows as plots
from vitviz.text import percent

ATTENTION = ("blocks.*.attn",)
FIRST = "stem.0.weight"  # of a CNN: its first kernels
SECOND = 65  # the second picture's number; the one before it where that is the first picture
SHARES = {  # of its weights, in quarters
    "0": "Less than a quarter",
    "1": "A quarter to a half",
    "2": "A half to three quarters",
    "3": "Three quarters or more",
}
MATHEMATICS = r"""
**A convolution** gives at every place $y_c(p) = \sum_{o} K_c[o]\, x(p + o)$: the weights $K_c$ are learned once and are
the same for every place and every picture. What differs between two pictures is $x$ alone.

**A head** gives $y(q) = \sum_k A_{qk}\, v_k$ with $A = \mathrm{softmax}(QK^\top / \sqrt d)$: the weights $A_{qk}$ are
computed from the picture itself. How much of them two pictures have in common is $\sum_k \min(A_{qk}, A'_{qk})$: 1
where a row stays as it is, 0 where it has no key in common. A head that looks at fixed places keeps nearly all of it,
although nothing forces it to: attention can do what a convolution does (Cordonnier et al. 2020).
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="on_picture"):
    """The CNN's kernel, the ViT's layer and head, all from 1, and the second picture's number."""

    kernel: int
    layer: int
    head: int
    second: int


@dataclass(frozen=True)
class Guess(widgets.Chosen, page="on_picture"):
    """How much of their weights the heads are guessed to keep: one of `SHARES`."""

    stays: str


def draw() -> None:
    """Kernel and head, on the chosen picture and on a second one."""
    cnn, vit = pair()
    if cnn is None or vit is None:
        st.info("It takes a CNN and a ViT that read the same pictures, and there are not both here.")
        return
    of = model_choice.compared((cnn, vit))
    kernels = _kernels(cached.loaded(cnn))
    said = read(int(_stem(cnn, of.image, of).std(axis=(0, 1)).argmax()) + 1, kernels, vit, of.image)
    other = second_picture(vit, said.second)
    if other == of.image:
        st.info("The second picture is the first one: choose another to see what changes.")
        return
    pictures = (of.image, other)
    rows = [rows_of(vit, picture, of) for picture in pictures]
    shared = shared_mass(rows[0], rows[1])
    answered = prediction_gate.first(
        Guess.key("stays"),
        (cnn.key, vit.key),
        "A kernel keeps all its weights from one picture to the next. How much of theirs do the ViT's heads keep, on"
        " average?",
        SHARES,
        lambda guess: judged(float(shared.mean()), guess),
    )
    left, right = st.columns(2, gap="large")
    with left:
        draw_kernel(of, cnn, kernels, said.kernel - 1, pictures)
    with right:
        draw_head(of, vit, said, pictures, rows, shared if answered else None)
    papers.say("kernels")
    page.drawers("on_picture.kernels", math=MATHEMATICS, code=(shared_mass, readout_row))


def pair() -> tuple[ModelChoice | None, ModelChoice | None]:
    """The best CNN and the best plain ViT of the kind that is compared."""
    found = model_choice.peers(model_choice.anchor())
    cnn = next((one for one in found if family(one.config) == "CNN"), None)
    vit = next((one for one in found if substitute.plain_vit(one.config)), None)
    return cnn, vit


def read(liveliest: int, kernels: NDArray[np.float32], vit: ModelChoice, first: str) -> Choice:
    """Draws the controls; at first the kernel is shown whose map varies most on the first picture, by its key."""
    config = as_vit(vit.config)
    count = cached.examples(default_pictures(vit.trained_on, vit.preparation.in_chans))
    other = min(SECOND, count - 1)
    other -= second_picture(vit, other) == first
    with page.row():
        with st.container(width=200):
            kernel = widgets.slider(Choice.key("kernel"), "Kernel of the CNN", 1, len(kernels), liveliest)
        with st.container(width=168):
            layer = widgets.slider(Choice.key("layer"), "Layer of the ViT", 1, config.depth, config.depth)
        with st.container(width=168):
            head = widgets.slider(Choice.key("head"), "Head", 1, config.num_heads, 1)
        with st.container(width=168):
            second = widgets.number(Choice.key("second"), "Second picture", 0, count - 1, other)
    return Choice(kernel, layer, head, second)


def second_picture(vit: ModelChoice, number: int) -> str:
    """Of the set that the models learned from, or the nearest."""
    return f"{default_pictures(vit.trained_on, vit.preparation.in_chans)}:{number}"


def draw_kernel(
    of: Compared, cnn: ModelChoice, kernels: NDArray[np.float32], kernel: int, pictures: Sequence[str]
) -> None:
    """The kernel's weights, twice the same, and what they give on each picture."""
    st.subheader(f"{model_choice.name_of(cnn)}: one kernel of the first layer", anchor=False)
    weights = kernels[kernel].mean(axis=0)
    most = float(np.abs(weights).max()) or 1.0
    maps = [_stem(cnn, picture, of)[..., kernel] for picture in pictures]
    top = max(float(one.max()) for one in maps) or 1.0
    size = "{} × {}".format(*weights.shape)
    rows = [
        plots.Row(
            name,
            "",
            (
                plots.Tile("picture", shown(of, picture), "what the models see"),
                plots.signed(weights, f"its weights, {size}", most),
                plots.Tile("amount", values, f"its map, up to {values.max():.2f}", 0.0, top),
            ),
        )
        for name, picture, values in zip(("First picture", "Second picture"), pictures, maps, strict=True)
    ]
    heat_rows(plots.payload(rows, ("Picture", "Weights", "Result")), key="on_picture.kernel_maps")
    page.caption(
        f"The {weights.size} places of kernel {kernel + 1} have the same weights for both pictures, at all"
        f" {maps[0].size:,} places of the map: what changes is the result alone. Drawn is the mean over the"
        f" {kernels.shape[1]} input {'channel' if kernels.shape[1] == 1 else 'channels'}."
    )


def judged(share: float, guess: str) -> str:
    """Whether a guess of `SHARES` was right; share: of the weights that all heads keep, on average, in [0, 1]."""
    right = str(min(int(4 * share), 3))
    return (
        f"You said {SHARES[guess].lower()}: {'right' if guess == right else 'not so'}, between these two pictures the"
        f" heads keep {percent(share, 0)} on average."
    )


def draw_head(
    of: Compared,
    vit: ModelChoice,
    said: Choice,
    pictures: Sequence[str],
    rows: Sequence[NDArray[np.float32]],
    shared: NDArray[np.floating] | None,
) -> None:
    """The weights that a head gives the patches, on each picture, for the answer's own row.

    Args:
        rows: of each picture, (layers, heads, prefix and patches).
        shared: what each head keeps of its weights, (layers, heads); None while that is a question: the first
            picture's weights alone are drawn.
    """
    st.subheader(f"{model_choice.name_of(vit)}: one head", anchor=False)
    grid = cached.loaded(vit).layout(of.grain_px, of.grain_px).grid
    prefix = rows[0].shape[-1] - grid[0] * grid[1]
    maps = [one[said.layer - 1, said.head - 1, prefix:].reshape(grid) for one in rows]
    top = max(float(one.max()) for one in maps) or 1.0
    tiles = [
        plots.Row(
            name,
            "",
            (
                plots.Tile("picture", shown(of, picture), "what the models see"),
                plots.Tile("amount", values, f"its weights, up to {percent(values.max())}", 0.0, top),
            ),
        )
        for name, picture, values in zip(("First picture", "Second picture"), pictures, maps, strict=True)
    ]
    if shared is None:
        tiles[1] = replace(tiles[1], tiles=tiles[1].tiles[:1])
    heat_rows(plots.payload(tiles, ("Picture", "Weights")), key="on_picture.head_maps")
    page.caption(
        "A guess shows this head's weights before the second picture."
        if shared is None
        else describe(shared, said.layer, said.head)
    )


def describe(shared: NDArray[np.floating], layer: int, head: int) -> str:
    """How much of its weights this head keeps, and which of all heads keeps most and least; shared (layers, heads)."""
    least, most = (np.unravel_index(at, shared.shape) for at in (shared.argmin(), shared.argmax()))

    def said(at: Sequence[np.intp] | tuple[np.intp, ...]) -> str:
        return f"layer {int(at[0]) + 1}, head {int(at[1]) + 1} ({percent(float(shared[tuple(at)]), 0)})"

    own = float(shared[layer - 1, head - 1])
    return (
        f"The weights with which [CLS] reads the patches are computed from each picture: head {head} of layer {layer}"
        f" keeps {percent(own, 0)} of them. Of all {shared.size} heads {said(most)} keeps most and {said(least)} least;"
        f" the mean is {percent(float(shared.mean()), 0)}. A kernel always keeps 100\N{NO-BREAK SPACE}%."
    )


def rows_of(vit: ModelChoice, image: str, of: Compared) -> NDArray[np.float32]:
    """(layers, heads, tokens): the row of [CLS] of every head."""
    found = cached.captured(vit, None, image, ATTENTION, of.offset)
    rows: NDArray[np.float32] = found.attention()[:, 0, :, 0]
    return rows


def shown(of: Compared, image: str) -> NDArray[np.uint8]:
    """(S, S, 3), what the models read."""
    return cached.prepared(image, of.preparation, of.offset).shown


def _kernels(model: LoadedModel) -> NDArray[np.float32]:
    """(kernels, channels, rows, cols) of the first convolution."""
    weights: NDArray[np.float32] = model.model.state_dict()[FIRST].numpy()
    return weights


def _stem(cnn: ModelChoice, image: str, of: Compared) -> NDArray[np.float32]:
    """(rows, cols, kernels), after norm and ReLU."""
    found: NDArray[np.float32] = cached.captured(cnn, None, image, ("stem",), of.offset)["stem"]
    maps: NDArray[np.float32] = found[0].transpose(1, 2, 0)
    return maps
