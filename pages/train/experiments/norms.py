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
from vitviz.text import listed, plural, signed

PICTURES, TOKENS, CHANNELS = 3, 8, 16  # drawn; more could not be told apart
NONE = "none"  # a guess
MATH = r"""
All four compute $y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta$; they differ in the numbers of the
array (pictures $B$, tokens $N$, channels $D$) over which the mean $\mu$ and the variance $\sigma^2$ are taken:

| | averages over | as many means as |
|---|---|---|
| LayerNorm (Ba et al. 2016) | channels of one token | $B N$ |
| Batch norm (Ioffe and Szegedy 2015) | pictures and tokens, one channel | $D$ |
| Instance norm (Ulyanov et al. 2016) | tokens of one picture, one channel | $B D$ |
| Group norm (Wu and He 2018) | tokens of one picture, a group of $D/G$ channels | $B G$ |

Batch norm alone mixes pictures: in training a token's value depends on who else is in the batch, and afterwards running
means stand in for them.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="experiments"):
    """Which norm is guessed to mix pictures, and the number whose mean is asked about: its place, counted from 1."""

    norm_guess: str
    norm_picture: int
    norm_token: int
    norm_channel: int


def draw() -> None:
    """The number that is asked about, the four norms side by side, and what each does with it."""
    choice = selection.choice()
    able = abilities(choice.config)
    if not able.blocks:
        substitute.offer(
            able.blocks.why_not, "experiments.norms_instead", fits=lambda c: bool(abilities(c).blocks)
        )
        return
    one = as_vit(choice.config)
    pictures = default_pictures(choice.trained_on, choice.preparation.in_chans)
    tokens, others = _tokens(pictures, 0), _tokens(pictures, PICTURES)
    picture, token, channel = _choose(*tokens.shape[1:])
    at = (picture - 1, token - 1, channel - 1)
    shown = tokens[:, :TOKENS, :CHANNELS]
    groups = max(count for count in range(1, GROUPS + 1) if one.embed_dim % count == 0)
    found = {name: normed(tokens, name, at, groups) for name in NORMS}
    members = {NORMS[name]: result.members[:, :TOKENS, :CHANNELS] for name, result in found.items()}
    moves = {name: round(moved_by_others(tokens, name, others, groups), 4) for name in NORMS}
    answered = prediction_gate.first(
        Choice.key("norm_guess"),
        "norms",
        "Bright is what shares its mean with the framed number. Under which norm does picture 1 change when the other"
        f" {PICTURES - 1} pictures of its batch do?",
        {**NORMS, NONE: "None of them"},
        lambda guess: judged(moves, guess),
    )
    page.untrained_note(choice.trained_on)
    page.figure(norms_figure(shown, members, at, selection.mode()), "experiments.norms_figure")
    page.caption(
        f"What enters block 1 of {choice.shown} for the first {plural(PICTURES, 'test picture')} of"
        f" {note_of(pictures).title}{_strange(choice.trained_on, pictures)}: the first {shown.shape[1]} of"
        f" {plural(tokens.shape[1], 'token')}, the first {shown.shape[2]} of {one.embed_dim} channels, for group norm"
        f" in {plural(groups, 'group')}. Bright is what shares its mean with the framed number,"
        f" {signed(float(tokens[at]), 3)}."
    )
    if answered:
        _table(found, at, moves)
    else:
        page.caption("A guess shows what each makes of the number, and of the other pictures.")
    page.drawers("experiments.norms", math=MATH, code=(normed, moved_by_others))


def _table(found: Mapping[str, Normed], at: tuple[int, int, int], moves: Mapping[str, float]) -> None:
    """What every norm does with the number, and how far other pictures of the batch move the first."""
    rows = {
        "Norm": list(NORMS.values()),
        "Numbers in a mean": [int(result.members.sum()) for result in found.values()],
        "Means in all": [result.means for result in found.values()],
        "Mean": [round(result.mean, 3) for result in found.values()],
        "Deviation": [round(result.deviation, 3) for result in found.values()],
        "The number becomes": [round(float(result.values[at]), 3) for result in found.values()],
        "Picture 1 moves with the others by": list(moves.values()),
    }
    st.dataframe(rows, hide_index=True, key="experiments.norms_table")
    page.caption(describe(list(NORMS.values()), list(moves.values())))


def judged(moves: Mapping[str, float], guess: str) -> str:
    """Whether a guess about who mixes pictures was right; by norm how far picture 1 moves, root mean square."""
    mixing = [NORMS[name] for name, move in moves.items() if move]
    right = bool(moves[guess]) if guess in moves else not mixing
    said = f"{listed(mixing)} alone" if mixing else "none of them"
    return f"You said {NORMS.get(guess, 'none of them')}: {'right' if right else 'not so'}, {said}."


def describe(names: list[str], moves: list[float]) -> str:
    """Which norms make a picture depend on the others of its batch, from the numbers."""
    moved = [f"{name} ({move:.2g})" for name, move in zip(names, moves, strict=True) if move]
    rest = [name for name, move in zip(names, moves, strict=True) if not move]
    return (
        f"Other pictures in the batch change what picture 1 becomes under {', '.join(moved) or 'none'} (root mean"
        f" square, where a deviation is 1); under {', '.join(rest) or 'none'} they do not."
    )


def _choose(tokens: int, channels: int) -> tuple[int, int, int]:
    """The number that is asked about: one of those that are drawn."""
    most = [min(TOKENS, tokens), min(CHANNELS, channels)]
    with page.row():
        picture = widgets.slider(Choice.key("norm_picture"), "Picture", 1, PICTURES, 1)
        token = widgets.slider(Choice.key("norm_token"), "Token", 1, most[0], min(3, most[0]))
        channel = widgets.slider(Choice.key("norm_channel"), "Channel", 1, most[1], min(6, most[1]))
    return picture, token, channel


def _strange(trained_on: str | None, pictures: str) -> str:
    """Words for a model that learned from another set than the pictures are of."""
    return (
        ""
        if trained_on in (None, pictures, tested(pictures))
        else ", which are not like those that it learned from"
    )


def _tokens(pictures: str, first: int) -> np.ndarray:
    """(pictures, tokens, channels) that enter block 1, of a set's test pictures from `first` on."""
    choice, now = selection.choice(), selection.current()
    keys = [f"{pictures}:{index}" for index in range(first, first + PICTURES)]
    captures = [cached.captured(choice, now.step, key, ("blocks.0.input",), (0.5, 0.5)) for key in keys]
    return np.concatenate([found["blocks.0.input"] for found in captures])
