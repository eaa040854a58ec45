"""Leave heads, layers or patches out, and see how far the answer rests on them."""

from __future__ import annotations

import numpy as np
import streamlit as st
import torch

from pages.inside.attention import explore, predictions
from pages.inside.attention.ablate_view import Ablation
from pages.inside.attention.ablate_view import ablate as draw_ablation
from pages.shell import controls, page
from pages.shell.subject import Subject, probabilities
from pages.views.bars import bars
from vitviz.analysis.faithfulness import blank_patches
from vitviz.config import SwinConfig
from vitviz.probe.capture import capture
from vitviz.words import percent

HIDING = {"hidden": "hidden from attention", "blanked": "blanked in the picture"}


def ablated(subject: Subject, left_out: Ablation, blanked: bool) -> np.ndarray:
    """(classes,) probabilities without the heads and patches that are left out: one forward pass."""
    heads = explore.layers_of(subject)
    head_mask = torch.ones(len(heads), max(heads))
    for layer, head in left_out.heads:
        head_mask[layer, head] = 0
    shown = np.ones(subject.layout.num_patches, dtype=bool)
    shown[list(left_out.patches)] = False
    image, masks = subject.prepared.input[None], {"head_mask": head_mask}
    if blanked:
        image = blank_patches(image[0], shown[None], subject.layout.grid)
    elif left_out.patches:
        masks["token_mask"] = torch.from_numpy(shown)
    found = capture(subject.model.model, image, record=False, **masks)
    return probabilities(subject.model, found.logits[0])


def describe(subject: Subject, before: np.ndarray, now: np.ndarray, left_out: Ablation) -> str:
    """What moved most, from the probabilities."""
    top, after = int(before.argmax()), int(now.argmax())
    parts = []
    if left_out.patches:
        parts.append(f"{len(left_out.patches)} of {subject.layout.num_patches} patches")
    if left_out.heads:
        parts.append(f"{len(left_out.heads)} of {sum(explore.layers_of(subject))} heads")
    if not parts:
        return (
            f"With everything in place the answer is {subject.classes[top]} with {percent(before[top])}."
            " Paint patches out, or silence heads."
        )
    text = (
        f"Without {' and '.join(parts)}, the probability of {subject.classes[top]} goes from"
        f" {percent(before[top])} to {percent(now[top])}"
    )
    return text + (
        "."
        if after == top
        else f", and the answer becomes {subject.classes[after]} with {percent(now[after])}."
    )


def draw(subject: Subject) -> None:
    """Picture to paint on, heads to silence, probabilities before and after."""
    if not subject.classes:
        st.info(predictions.HEADLESS, icon=":material/block:")
        return
    swin = isinstance(subject.model.config, SwinConfig)
    hiding = controls.segmented(
        "attention.hiding",
        "Painted patches are",
        list(HIDING),
        "blanked" if swin else "hidden",
        format_func=HIDING.__getitem__,
        disabled=swin,
        help="Swin merges patches, so none can be hidden from attention alone: they are blanked in the picture."
        if swin
        else "Hidden: no token attends to them, nothing else changes. Blanked: the picture has the mean colour there.",
    )
    blanked = swin or hiding == "blanked"
    left, right = st.columns([3, 2], gap="medium")
    with left:
        left_out = draw_ablation(
            subject.prepared.shown, subject.layout.grid, explore.layers_of(subject), key="attention.ablate"
        )
    before = subject.probabilities
    nothing_left = len(left_out.patches) == subject.layout.num_patches and not subject.layout.prefix
    with right:
        if nothing_left and not blanked:
            st.info("No key is left to attend to: this model has no token beside its patches.")
            return
        now = ablated(subject, left_out, blanked)
        top = int(before.argmax())
        order = np.argsort(-np.maximum(before, now), kind="stable")[:8]
        if top not in order:
            order[-1] = top
        st.markdown("**Probability now, and its change in points**")
        strong = int(np.flatnonzero(order == top)[0])
        bars(
            [subject.classes[i] for i in order],
            now[order],
            before[order],
            strong=strong,
            key="attention.after",
        )
        st.caption("The line in each bar is the probability with everything in place.")
    page.caption(describe(subject, before, now, left_out))
    page.drawers("attention.ablate", math=MATHEMATICS, try_this=TRY_THIS)


MATHEMATICS = r"""
A silenced head adds nothing to the tokens: $\mathrm{MSA}(z)=W_o\,[g_1 A_1V_1;\dots;g_H A_HV_H]$ with $g_h=0$. A patch
that is hidden has the score $-\infty$ as a key in every layer, so $A_{q,k}=0$ and the rows still sum to 1; it is still
a query, which counts where a model averages its patches.
"""
TRY_THIS = """
- Predict first: how many heads of the first layer can you silence before the answer changes?
- Hide the background, then the object. Which of them does the answer rest on?
- Compare *hidden* and *blanked*: a blank patch is still a token, and it still speaks.
"""
