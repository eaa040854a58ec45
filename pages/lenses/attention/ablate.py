"""Leave heads, layers or patches out, and see how far the answer rests on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention.ablate_view import ablate as draw_ablation
from pages.lenses.attention.ablation import LeftOut, Sizes
from pages.lenses.attention.map_controls import choose_ground
from pages.lessons import open_lesson
from pages.selection import selection
from pages.selection.subject import Subject
from pages.views.bars import bars
from vitviz.models.abilities import Abilities
from vitviz.models.layer_order import heads_by_layer
from vitviz.plots.attention_images import png, veiled_image
from vitviz.plots.photo import Photo
from vitviz.probe.explain import without
from vitviz.text import percent, plain

HIDING = {"hidden": "hidden from attention", "blanked": "blanked in the picture"}
HIDING_HELP = "Hidden: no token attends to them, nothing else changes. Blanked: painted in the model's 0."
NOTHING_LEFT = "No key is left to attend to: this model has no token beside its patches."
SHOWN = 8  # classes


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="attention"):
    """What is left out, as a link holds it, and what becomes of painted patches: 'hidden' or 'blanked'."""

    left_out: str
    hiding: str


def ablated(subject: Subject, left_out: LeftOut, blanked: bool) -> np.ndarray:
    """(classes,) probabilities without the heads and patches that are left out."""
    return without(subject.model, subject.prepared.input, left_out.heads, left_out.patches, blanked=blanked)


def describe(subject: Subject, before: np.ndarray, now: np.ndarray, left_out: LeftOut) -> str:
    """What moved most, from the probabilities."""
    top, after = int(before.argmax()), int(now.argmax())
    answer = plain(subject.classes[top])
    parts = []
    if left_out.patches:
        parts.append(f"{len(left_out.patches)} of {subject.layout.num_patches} patches")
    if left_out.heads:
        parts.append(f"{len(left_out.heads)} of {sum(heads_by_layer(subject.model.config))} heads")
    if not parts:
        return (
            f"With everything in place the answer is {answer} with {percent(before[top])}."
            " Paint patches out, or silence heads."
        )
    text = (
        f"Without {' and '.join(parts)}, the probability of {answer} goes from {percent(before[top])} to"
        f" {percent(now[top])}"
    )
    if after == top:
        return f"{text}."
    return f"{text}, and the answer becomes {plain(subject.classes[after])} with {percent(now[after])}."


def draw(subject: Subject) -> None:
    """Picture to paint on, heads to silence, probabilities before and after."""
    able = subject.able
    if not able.class_head:
        st.info(able.class_head.why_not, icon=":material/block:")
        return
    with page.row():
        blanked = _blanked(able)
        with page.options("attention.ablate"):
            ground = subject.ground(choose_ground(subject, maps=False).seen)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        left_out = draw_ablation(
            ground,
            Sizes(subject.layout.grid, tuple(heads_by_layer(subject.model.config))),
            start=selection.current().pin.cell(subject.layout.grid),
            key="attention.ablate",
            link_key=Choice.key("left_out"),
        )
    if not blanked and len(left_out.patches) == subject.layout.num_tokens:
        right.info(NOTHING_LEFT)
        return
    before, now = subject.probabilities, ablated(subject, left_out, blanked)
    with right:
        draw_change(subject, before, now)
    page.caption(describe(subject, before, now, left_out))
    open_lesson.hand_over(patches_left_out=len(left_out.patches), heads_left_out=len(left_out.heads))
    page.drawers(
        "attention.ablate",
        math=MATHEMATICS,
        code=(without,),
        numbers=partial(keep, subject, ground, left_out, before, now),
    )


def _blanked(able: Abilities) -> bool:
    """Draws the choice: whether painted patches are blanked in the picture, not hidden from attention."""
    hiding = widgets.segmented(
        Choice.key("hiding"),
        "Painted patches are",
        list(HIDING),
        "hidden" if able.hidden_patches else "blanked",
        format_func=HIDING.__getitem__,
        help=HIDING_HELP,
        why_not=None if able.hidden_patches else able.hidden_patches.why_not,
    )
    return not able.hidden_patches or hiding == "blanked"


def draw_change(subject: Subject, before: np.ndarray, now: np.ndarray) -> None:
    """The classes that matter before or after, as bars."""
    top = int(before.argmax())
    order = np.argsort(-np.maximum(before, now), kind="stable")[:SHOWN]
    if top not in order:
        order[-1] = top
    st.markdown("**Probability now, and its change in points**")
    strong = int(np.flatnonzero(order == top)[0])
    names = [subject.classes[i] for i in order]
    bars(names, now[order], before[order], strong=strong, key="attention.after")
    page.caption("The line in each bar is the probability with everything in place.")


def keep(subject: Subject, ground: Photo, left_out: LeftOut, before: np.ndarray, now: np.ndarray) -> None:
    """The probabilities, and the picture without what was painted out, at its own size."""
    columns: dict[str, list[object]] = {
        "class": list(subject.classes),
        "with everything": before.tolist(),
        "now": now.tolist(),
    }
    st.dataframe(columns, hide_index=True, height=240)
    grid = subject.layout.grid
    with st.container(horizontal=True):
        page.download(
            "Picture, PNG",
            lambda: png(veiled_image(ground.pixels, left_out.patches, grid)),
            "left_out.png",
            "attention.ablate.png",
        )
        page.csv("Probabilities, CSV", columns, "left_out.csv", "attention.ablate.csv")


MATHEMATICS = r"""
A silenced head adds nothing to the tokens: $\mathrm{MSA}(z)=W_o\,[g_1 A_1V_1;\dots;g_H A_HV_H]$ with $g_h=0$. A patch
that is hidden has the score $-\infty$ as a key in every layer, so $A_{q,k}=0$ and the rows still sum to 1; it is still
a query, which counts where a model averages its patches.
"""
