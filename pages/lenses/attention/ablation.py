"""Ablation of heads, layers and patches, encoded in a link, and the change of the prediction.

A link holds both in one string, `64.v_.16.g`: the number of patches and the ablated ones, then the number of heads and
the ablated ones, layer by layer. The ablated indices are bits of base64url digits (six per digit, lowest bit first)
without trailing zeros; 3,136 patches take at most 523 characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import downloads, query_params, session_keys, view_state, widgets
from pages.frame import page
from pages.lenses.attention.captions import describe_ablation
from pages.lenses.attention.map_controls import read_background
from pages.lessons import open_lesson
from pages.selection import model_weights, selection, substitutes
from pages.selection.subject import CapturedSubject
from pages.views.event_values import read_index, read_index_pair, read_list
from pages.views.figures import draw_bars
from pages.views.register import register
from vitviz.models import abilities, token_layout
from vitviz.plots.attention_images import png, veiled_image
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo
from vitviz.probe.explanation_maps import predict_ablated

_ablation_view = register(__file__, "ablation_view")
VIEW_KEY = "attention.ablate"
HIDING = {"hidden": "masked in attention", "blanked": "blanked in the image"}
HIDING_HELP = (
    "Masked: no token attends to the patches. Blanked: painted with the colour that the model reads as 0."
)
ALL_MASKED = "All keys are masked, and this model has no prefix token to attend to. Restore a patch."
MOST_CLASSES = 8
_DIGITS = ascii_uppercase + ascii_lowercase + digits + "-_"
_CODE = re.compile(r"([0-9]{1,5})\.([A-Za-z0-9_-]*)\.([0-9]{1,5})\.([A-Za-z0-9_-]*)")


@dataclass(frozen=True)
class AblatableParts:
    """The grid (rows, columns) of patches and the number of heads in every layer."""

    grid: tuple[int, int]
    heads: tuple[int, ...]

    @property
    def patches(self) -> int:
        return self.grid[0] * self.grid[1]


@dataclass(frozen=True)
class Ablation:
    """Ablated patches in reading order and ablated heads as (layer, head); all count from 0."""

    patches: tuple[int, ...] = ()
    heads: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_view(cls, state: Mapping[str, Any], parts: AblatableParts) -> Ablation:
        """Read a view's state and drop indices that the model does not have."""
        indices, pairs = map(read_index, read_list(state.get("patches"))), read_list(state.get("heads"))
        patches = {i for i in indices if i is not None and i < parts.patches}
        heads = {pair for pair in map(read_index_pair, pairs) if pair is not None}
        return cls(
            tuple(sorted(patches)),
            tuple(
                sorted(
                    (layer, head)
                    for layer, head in heads
                    if layer < len(parts.heads) and head < parts.heads[layer]
                )
            ),
        )

    @classmethod
    def parse(cls, text: str, parts: AblatableParts) -> Ablation | None:
        """Decode a link; return None for anything that `encode` has not written for these parts."""
        match = _CODE.fullmatch(text)
        if match is None or (int(match[1]), int(match[3])) != (parts.patches, sum(parts.heads)):
            return None
        patches, heads = _decode(match[2], parts.patches), _decode(match[4], sum(parts.heads))
        if patches is None or heads is None:
            return None
        pairs = [(layer, head) for layer, count in enumerate(parts.heads) for head in range(count)]
        return cls(patches, tuple(pairs[i] for i in heads))

    def encode(self, parts: AblatableParts) -> str:
        offsets = (0, *accumulate(parts.heads))
        heads = [offsets[layer] + head for layer, head in self.heads]
        return f"{parts.patches}.{_encode(self.patches)}.{sum(parts.heads)}.{_encode(heads)}"


def draw(subject: CapturedSubject) -> None:
    able = subject.able
    if not able.class_head:
        substitutes.draw_refusal(able.class_head.why_not, "attention", "class_head")
        return
    with page.row():
        blanked = _read_hiding(able)
        with page.options("attention.ablate"):
            background = subject.ground(read_background(subject, maps=False).seen)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        ablation = draw_view(subject, background, blanked=blanked)
    if not blanked and len(ablation.patches) == subject.layout.num_tokens:
        right.info(ALL_MASKED)
        return
    before = subject.probabilities
    after = predict_ablated(
        subject.model, subject.prepared.input, ablation.heads, ablation.patches, blanked=blanked
    )
    with right:
        draw_change(subject, before, after)
    patches, heads = len(ablation.patches), len(ablation.heads)
    page.caption(describe_ablation(subject, before, after, patches, heads), subject.class_note)
    open_lesson.report_facts(patches_left_out=patches, heads_left_out=heads)
    page.drawers(
        "attention.ablate",
        math=page.read_math(__file__),
        code=(predict_ablated,),
        numbers=partial(draw_downloads, subject, background, ablation, before, after),
    )


def draw_view(subject: CapturedSubject, background: Photo, *, blanked: bool) -> Ablation:
    """Draw the image and the heads of every layer; return the ablated parts and write them into the link."""
    parts = AblatableParts(subject.layout.grid, tuple(token_layout.heads_by_layer(subject.model.config)))
    link_key = "attention.left_out"
    code = query_params.take_value(link_key)
    linked = None if code is None else Ablation.parse(code, parts)
    stored = Ablation.parse(session_keys.get_control_values().get(link_key, ""), parts)
    state = view_state.read_state(
        "attention._begun",
        (VIEW_KEY, "ablation"),
        parts,
        lambda _: linked or stored or Ablation(),
        lambda event, _: Ablation.from_view(event, parts),
        linked=linked is not None,
    )
    ablation = state.values
    widgets.store_value(link_key, ablation.encode(parts))
    header = {
        "grid": list(parts.grid),
        "heads": list(parts.heads),
        "start": selection.get_current().pin.cell(parts.grid),  # where arrow keys start
        "mark": state.mark,
        "ablated": {"patches": list(ablation.patches), "heads": list(ablation.heads)},
        "prefix": subject.layout.num_prefix_tokens,
        "blanked": blanked,
        "weights": model_weights.publish(subject.choice, subject.step),
    }
    message = pack(header | background.header, photo=background.array, input=subject.prepared.input)
    _ablation_view(message, key=VIEW_KEY, states=("ablation",))
    return ablation


def _read_hiding(able: abilities.Abilities) -> bool:
    """Draw the choice of the treatment; return True if ablated patches are blanked in the image."""
    hiding = widgets.segmented(
        "attention.hiding",
        "Ablated patches are",
        HIDING,
        "hidden" if able.hidden_patches else "blanked",
        help=HIDING_HELP,
        why_not=None if able.hidden_patches else able.hidden_patches.why_not,
    )
    return not able.hidden_patches or hiding == "blanked"


def draw_change(subject: CapturedSubject, before: np.ndarray, after: np.ndarray) -> None:
    top = int(before.argmax())
    order = np.argsort(-np.maximum(before, after), kind="stable")[:MOST_CLASSES]
    if top not in order:
        order[-1] = top
    st.markdown("**Probability after ablation, and its change in percentage points**")
    strong = int(np.flatnonzero(order == top)[0])
    names = [subject.classes[i] for i in order]
    draw_bars(names, after[order], before[order], strong=strong, key="attention.after")
    page.caption("The line in each bar marks the probability of the complete model.")


def draw_downloads(
    subject: CapturedSubject, background: Photo, ablation: Ablation, before: np.ndarray, after: np.ndarray
) -> None:
    columns: dict[str, list[object]] = {
        "class": list(subject.classes),
        "complete model": before.tolist(),
        "after ablation": after.tolist(),
    }
    st.dataframe(columns, hide_index=True, height=240)
    grid = subject.layout.grid
    with st.container(horizontal=True):
        downloads.download(
            "Image, PNG",
            lambda: png(veiled_image(background.pixels, ablation.patches, grid)),
            "left_out.png",
            "attention.ablate.png",
        )
        downloads.csv("Probabilities, CSV", columns, "left_out.csv", "attention.ablate.csv")


def _encode(indices: Collection[int]) -> str:
    digit_values = [0] * (max(indices, default=-1) // 6 + 1)
    for index in indices:
        digit_values[index // 6] |= 1 << index % 6
    return "".join(_DIGITS[digit] for digit in digit_values)


def _decode(text: str, count: int) -> tuple[int, ...] | None:
    """Decode base64url digits into indices; return None if one is not below `count`."""
    if len(text) > -(-count // 6):
        return None
    bits: Sequence[int] = [
        6 * position + bit
        for position, digit in enumerate(text)
        for bit in range(6)
        if _DIGITS.index(digit) >> bit & 1
    ]
    return tuple(bits) if not bits or bits[-1] < count else None
