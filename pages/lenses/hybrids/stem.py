"""The stem's maps becoming tokens, step by step, on the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import papers
from pages.questions import prediction_gate
from pages.selection import selection, subject, substitute
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.hybrids import enlarging, field_box, stem_fields_px
from vitviz.analysis.journey import Embedded, Journey, Maps
from vitviz.config import ModelConfig, ViTConfig
from vitviz.models import parameter_count
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.hybrid import ConvStem
from vitviz.plots import hybrids as plots
from vitviz.text import percent, plural

TOKENS = "tokens"


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="hybrids"):
    """Which step is shown: a convolution, from 1, or 'tokens'."""

    step: int | str


@dataclass(frozen=True)
class Guess(widgets.Chosen, page="hybrids"):
    """How many px a place is guessed to read, a side."""

    reads: str


def is_hybrid(config: ModelConfig) -> bool:
    """Whether a model has a convolutional stem."""
    return bool(abilities(config).stem)


def shown() -> tuple[ModelChoice, int | None]:
    """The sidebar's model and step if it is a hybrid; else the nearest one."""
    chosen = selection.choice()
    if is_hybrid(chosen.config):
        return chosen, selection.current().step
    found = substitute.nearest(is_hybrid)
    return found, found.last_step


def draw() -> None:
    """The picture with what one place reads, and beside it the maps, or the tokens."""
    choice, step = shown()
    substitute.say_which(
        choice, lacks="convolutional stem", button="Choose this hybrid", key="hybrids.choose"
    )
    image, note = substitute.picture(choice)
    if note:
        st.markdown(f":gray[{note}]")
    _draw_steps(choice, step, image)


@st.fragment
def _draw_steps(choice: ModelChoice, step: int | None, image: str) -> None:
    config = as_vit(choice.config)
    steps: list[int | str] = [*range(1, len(config.stem) + 1), TOKENS]
    names = {at: "Tokens" if at == TOKENS else f"Convolution {at}" for at in steps}
    with page.row():
        chosen = Choice(
            widgets.segmented(
                Choice.key("step"), "Step", steps, len(config.stem), format_func=names.__getitem__
            )
        )
    way = cached.journey(choice, step, image, selection.current().offset)
    found = subject.of(choice, step, image)
    answered = guessed(config, choice.key)
    left, right = st.columns([2, 3], gap="medium")
    at = len(config.stem) if chosen.step == TOKENS else int(chosen.step)
    maps = stem_maps(way)[at - 1]
    token = selection.current().pin.cell(config.grid)
    cell = _cell(divmod(token, config.grid[1]), config.grid, maps.shape[1:])
    field = stem_fields_px(config)[at - 1]
    with left:
        seen = found.prepared.shown
        read = field_box(cell, maps.shape[1:], field, len(seen), enlarging(config))
        box = read if answered else patch_box(config, token)
        page.figure(plots.field_figure(seen, box, selection.mode()), "hybrids.field")
    with right:
        if chosen.step == TOKENS:
            tokens = tokens_of(way)
            page.figure(plots.tokens_figure(tokens, token, selection.mode()), "hybrids.tokens")
        else:
            page.figure(plots.sheet_figure(maps, cell, selection.mode()), "hybrids.maps")
    page.caption(
        describe(config, way, chosen.step, cell, field)
        if answered
        else f"Outlined in the picture: the {config.patch_size} × {config.patch_size} px that this place stands for. A"
        " guess shows what it has read."
    )
    papers.say("stem")
    page.drawers("hybrids.stem", math=MATHEMATICS, code=(ConvStem,))


def guessed(config: ViTConfig, key: str) -> bool:
    """Asks how much a place reads behind all convolutions; whether what it reads may be shown."""
    patch, reads, whole = config.patch_size, round(stem_fields_px(config)[-1]), config.image_size
    options = {f"{px}": f"{px} × {px} px" for px in sorted({patch, reads, min(4 * patch, whole), whole})}
    options[f"{patch}"] += ", its patch"
    options[f"{whole}"] += ", the whole picture"
    return prediction_gate.first(
        Guess.key("reads"),
        key,
        f"After {plural(len(config.stem), 'convolution')} of 3 × 3, a place of a map stands for {patch} × {patch} px."
        " How much of the picture has it read?",
        options,
        lambda guess: (
            f"You said {guess} × {guess} px: {'right' if guess == f'{reads}' else 'not so'}, it has read"
            f" {said_px(config, reads)}."
        ),
    )


def said_px(config: ViTConfig, field: float) -> str:
    """A field in px of the picture: '9 × 9 px'; about so many where the picture is enlarged first."""
    side = round(field)
    about = "" if enlarging(config) == 1 else "about "
    return f"{about}{side} × {side} px"


def patch_box(config: ViTConfig, token: int) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of a token's own patch, in px."""
    side = config.patch_size
    row, col = divmod(token, config.grid[1])
    return col * side, row * side, (col + 1) * side, (row + 1) * side


def _cell(place: tuple[int, int], grid: tuple[int, int], shape: tuple[int, ...]) -> tuple[int, int]:
    """The place of the pinned token on a map of another size: the cell on which the next steps are centred."""
    return place[0] * shape[0] // grid[0], place[1] * shape[1] // grid[1]


def stem_maps(way: Journey) -> list[np.ndarray]:
    """(channels, rows, cols) after each convolution."""
    (content,) = (part.content for part in way.parts if part.id == "stem")
    assert isinstance(content, Maps)
    return [level.maps for level in content.levels]


def tokens_of(way: Journey) -> np.ndarray:
    """(N, D) as the stem leaves them."""
    (content,) = (part.content for part in way.parts if part.id == "embed")
    assert isinstance(content, Embedded)
    return content.vectors


def describe(config: ViTConfig, way: Journey, step: int | str, cell: tuple[int, int], field: float) -> str:
    """Shapes, what one place reads, and how much of the model the stem is."""
    maps, tokens = stem_maps(way), tokens_of(way)
    weights = parameter_count.parameters(config)
    adds = parameter_count.multiply_adds(config, config.image_size)
    place = f"row {cell[0] + 1}, column {cell[1] + 1}"
    if step == TOKENS:
        channels, rows, cols = maps[-1].shape
        own = f"{config.patch_size} × {config.patch_size} px"
        return (
            f"Every place of the last maps is a token: its {channels} numbers times a matrix of {channels} ×"
            f" {config.embed_dim}, {rows} × {cols} places, {plural(len(tokens), 'token')} of {tokens.shape[1]}. The"
            f" outlined one, {place}, has read {said_px(config, field)}, not the {own} of a patch. The stem holds"
            f" {percent(weights[parameter_count.EMBEDDING] / sum(weights.values()))} of the parameters and does"
            f" {percent(adds[parameter_count.EMBEDDING] / sum(adds.values()))} of the multiply-adds."
        )
    one = maps[int(step) - 1]
    silent = int((one.max(axis=(1, 2)) == 0).sum())
    zero = float((one == 0).mean())
    entering = round(config.image_size * enlarging(config))
    first = (
        "" if entering == config.image_size else f", which is first enlarged to {entering} × {entering} px,"
    )
    return (
        f"After convolution {step}: {one.shape[0]} maps of {one.shape[1]} × {one.shape[2]}, each on its own scale from"
        f" 0. The outlined place, {place}, reads {said_px(config, field)} of the picture{first} (the square; its"
        f" neighbours' squares overlap). The ReLU leaves {percent(zero)} of the numbers at 0, and"
        f" {plural(silent, 'map is', 'maps are')} silent on this picture."
    )


MATHEMATICS = r"""
A **stem** of $3 \times 3$ convolutions, each with a BatchNorm and a ReLU, halves the picture until a place stands for
$P \times P$ px; a $1 \times 1$ convolution makes the $D$ numbers of a token (Xiao et al. 2021; ViT paper, section 3.1).
One place of a map reads $r$ px of what enters the stem, with a kernel of $3$ and the steps $s$ before it:

$$
r_\ell = r_{\ell-1} + 2 \prod_{i<\ell} s_i, \qquad r_0 = 1 .
$$
"""
