"""Why LayerNorm: what it averages, beside batch, instance and group norm, on a model's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection, substitute
from pages.stores import cached
from vitviz.analysis.norms import GROUPS, NORMS, Normed, moved_by_others, normed
from vitviz.data.datasets import default_pictures, note_of, tested
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.normalisation import norms_figure
from vitviz.text import join_words, plural, signed

PICTURES, TOKENS, CHANNELS = 3, 8, 16  # drawn; more could not be told apart
NONE = "none"  # a guess
MATH = r"""
All four compute $y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta$; they differ in the numbers of the
array (images $B$, tokens $N$, channels $D$) over which the mean $\mu$ and the variance $\sigma^2$ are taken:

| | averages over | as many means as |
|---|---|---|
| LayerNorm (Ba et al. 2016) | channels of one token | $B N$ |
| Batch norm (Ioffe and Szegedy 2015) | images and tokens, one channel | $D$ |
| Instance norm (Ulyanov et al. 2016) | tokens of one image, one channel | $B D$ |
| Group norm (Wu and He 2018) | tokens of one image, a group of $D/G$ channels | $B G$ |

Batch norm alone mixes images: in training a token's value depends on who else is in the batch, and afterwards running
means stand in for them.
"""


@dataclass(frozen=True)
class NormControls(widgets.ControlValues, page="experiments"):
    """The norm that is predicted to mix images, and the value whose mean is shown: its position, counted from 1."""

    norm_guess: str
    norm_picture: int
    norm_token: int
    norm_channel: int


def draw() -> None:
    """The number that is asked about, the four norms side by side, and what each does with it."""
    choice = selection.get_model_choice()
    able = abilities(choice.config)
    if not able.blocks:
        substitute.offer_substitute(
            able.blocks.why_not, "experiments.norms_instead", fits=lambda c: bool(abilities(c).blocks)
        )
        return
    one = as_vit(choice.config)
    pictures = default_pictures(choice.trained_on, choice.preparation.in_chans)
    tokens, others = _load_tokens(pictures, 0), _load_tokens(pictures, PICTURES)
    picture, token, channel = _choose_value(*tokens.shape[1:])
    at = (picture - 1, token - 1, channel - 1)
    shown = tokens[:, :TOKENS, :CHANNELS]
    groups = max(count for count in range(1, GROUPS + 1) if one.embed_dim % count == 0)
    found = {name: normed(tokens, name, at, groups) for name in NORMS}
    members = {NORMS[name]: result.members[:, :TOKENS, :CHANNELS] for name, result in found.items()}
    moves = {name: round(moved_by_others(tokens, name, others, groups), 4) for name in NORMS}
    answered = prediction_gate.require_prediction(
        NormControls.key("norm_guess"),
        "norms",
        "Bright values share their mean with the framed value. Under which norm does image 1 change when the other"
        f" {PICTURES - 1} images of its batch do?",
        {**NORMS, NONE: "None of them"},
        lambda guess: describe_prediction(moves, guess),
    )
    page.untrained_note(choice.trained_on)
    page.figure(norms_figure(shown, members, at, selection.get_theme()), "experiments.norms_figure")
    page.caption(
        f"What enters block 1 of {choice.shown} for the first {plural(PICTURES, 'test image')} of"
        f" {note_of(pictures).title}{_note_other_dataset(choice.trained_on, pictures)}: the first {shown.shape[1]} of"
        f" {plural(tokens.shape[1], 'token')}, the first {shown.shape[2]} of {one.embed_dim} channels, for group norm"
        f" in {plural(groups, 'group')}. Bright values share their mean with the framed value,"
        f" {signed(float(tokens[at]), 3)}."
    )
    if answered:
        _draw_table(found, at, moves)
    else:
        page.caption("Predict to see each norm's output and the influence of the other images.")
    page.drawers("experiments.norms", math=MATH, code=(normed, moved_by_others))


def _draw_table(found: Mapping[str, Normed], at: tuple[int, int, int], moves: Mapping[str, float]) -> None:
    """Draw each norm's output for the value, and the influence of the other images on the first."""
    rows = {
        "Norm": list(NORMS.values()),
        "Values per mean": [int(result.members.sum()) for result in found.values()],
        "Number of means": [result.means for result in found.values()],
        "Mean": [round(result.mean, 3) for result in found.values()],
        "Deviation": [round(result.deviation, 3) for result in found.values()],
        "Output": [round(float(result.values[at]), 3) for result in found.values()],
        "Change of image 1 with the others": list(moves.values()),
    }
    st.dataframe(rows, hide_index=True, key="experiments.norms_table")
    page.caption(describe_batch_dependence(list(NORMS.values()), list(moves.values())))


def describe_prediction(moves: Mapping[str, float], guess: str) -> str:
    """Return True if a guess about who mixes images was right; by norm how far image 1 moves, root mean square."""
    mixing = [NORMS[name] for name, move in moves.items() if move]
    right = bool(moves[guess]) if guess in moves else not mixing
    said = f"{join_words(mixing)} alone" if mixing else "none of them"
    return f"Your prediction: {NORMS.get(guess, 'none of them')}: {'right' if right else 'not so'}, {said}."


def describe_batch_dependence(names: list[str], moves: list[float]) -> str:
    """Return which norms make an image depend on the others of its batch, from the numbers."""
    moved = [f"{name} ({move:.2g})" for name, move in zip(names, moves, strict=True) if move]
    rest = [name for name, move in zip(names, moves, strict=True) if not move]
    return (
        f"Other images in the batch change what image 1 becomes under {', '.join(moved) or 'none'} (root mean"
        f" square, where a deviation is 1); under {', '.join(rest) or 'none'} they do not."
    )


def _choose_value(tokens: int, channels: int) -> tuple[int, int, int]:
    """Return the number that is asked about: one of those that are drawn."""
    most = [min(TOKENS, tokens), min(CHANNELS, channels)]
    with page.row():
        picture = widgets.slider(NormControls.key("norm_picture"), "Picture", 1, PICTURES, 1)
        token = widgets.slider(NormControls.key("norm_token"), "Token", 1, most[0], min(3, most[0]))
        channel = widgets.slider(NormControls.key("norm_channel"), "Channel", 1, most[1], min(6, most[1]))
    return picture, token, channel


def _note_other_dataset(trained_on: str | None, pictures: str) -> str:
    """Words for a model that learned from another set than the images are of."""
    return "" if trained_on in (None, pictures, tested(pictures)) else ", a dataset it was not trained on"


def _load_tokens(pictures: str, first: int) -> np.ndarray:
    """Return (images, tokens, channels) that enter block 1, of a set's test images from `first` on."""
    choice, now = selection.get_model_choice(), selection.get_current()
    keys = [f"{pictures}:{index}" for index in range(first, first + PICTURES)]
    captures = [
        cached.capture_activations(choice, now.step, key, ("blocks.0.input",), (0.5, 0.5)) for key in keys
    ]
    return np.concatenate([found["blocks.0.input"] for found in captures])
