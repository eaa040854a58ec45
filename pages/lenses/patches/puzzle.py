"""The scrambled puzzle: which models notice that the patches lie elsewhere."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.patches import views
from pages.lenses.patches.embedded_image import Cut
from pages.selection import selection
from pages.stores import cached
from vitviz.analysis import patches
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import as_vit
from vitviz.models.vit import VisionTransformer
from vitviz.plots import patches as plots
from vitviz.probe.embedding import FloatArray, answers_to_a_shuffle, is_blind_twin, without_positions
from vitviz.text import plain, plural

ROUNDING = 1e-5  # probabilities that differ by less differ by the order of a sum
SHOWN = 5


MATHEMATICS = r"""
Let $\Pi$ move the rows of a sequence. Attention, LayerNorm and the MLP do not know where a row stands:

$$
\mathrm{Layer}(\Pi\, z) = \Pi\, \mathrm{Layer}(z)
$$

An answer that is read from [CLS], or from the mean of the patches, is then the same for every order. With
$\mathbf{E}_{pos}$ it is not: the same patch gets another row of the table at another place.

Source: Vaswani et al. 2017, *Attention Is All You Need*, section 3.5, on why positions are added at all.
"""
ASKS = (
    Question(
        "All patches change places. What becomes of the chosen model's answer?", model_measures.Shuffled()
    ),
)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="patches"):
    """How many of a hundred patches move, and which shuffle it is."""

    shuffled: int
    seed: int


@dataclass(frozen=True, eq=False)
class Contender:
    """A model that solves, or does not notice, the puzzle; the digest tells its weights from others."""

    digest: str
    title: str
    note: str
    model: VisionTransformer


@dataclass(frozen=True, eq=False)
class Result:
    """Class probabilities (classes,) of the picture in order and shuffled."""

    contender: Contender
    before: FloatArray
    after: FloatArray

    @property
    def change(self) -> float:
        """The largest change of a class."""
        return patches.largest_difference(self.before, self.after)


def draw(cut: Cut) -> None:
    """The puzzle where the model has an answer and positions; then the drawers."""
    lacking = cut.able.class_head.why_not or cut.able.positions.why_not
    if lacking:
        st.markdown(f":gray[{lacking} Choose a ViT with a head for the puzzle.]")
        return
    _draw_shuffled(cut)
    page.drawers(
        "patches.puzzle",
        math=MATHEMATICS,
        code=(patches.scrambled_order, answers_to_a_shuffle, without_positions),
        asks=ASKS,
    )


@st.fragment
def _draw_shuffled(cut: Cut) -> None:
    """The controls, the shuffled picture, and what each model makes of it."""
    chosen = _read()
    order = patches.scrambled_order(len(cut.found.tokens), chosen.shuffled / 100, chosen.seed)
    results = [_solve(cut, order, contender) for contender in contenders(cut)]
    bars = [_bars(cut, result) for result in results]
    views.puzzle(plots.puzzle(cut.shown, order, cut.patch_px, bars), key="patches.puzzle")
    page.caption(describe(cut, int((order != np.arange(len(order))).sum()), results))


def _read() -> Choice:
    amount, again = st.columns([3, 1], vertical_alignment="bottom")
    with amount:
        share = widgets.slider(Choice.key("shuffled"), "Patches shuffled", 0, 100, 100, 5, format="%d %%")
    with again:
        seed = widgets.number(Choice.key("seed"), "Shuffle number (seed)", 0, 999, 0)
    return Choice(share, seed)


def contenders(cut: Cut) -> list[Contender]:
    """The model, its twin without positions, and one that was trained without them where one is shipped."""
    config = as_vit(cut.config)
    if config.positions == "none":
        return [Contender("", "Without positions", "the model as it is", cut.vit)]
    # A second map of the pixels knows no place.
    added = "the second map of the pixels" if config.positions == "pixels" else "positions"
    models = [
        Contender("", f"With {added}", "the model as it is", cut.vit),
        Contender("", f"Without {added}", "the same weights, nothing added", without_positions(cut.vit)),
    ]
    if not (cut.trained and cut.own_size):
        return models
    same = (cut.choice.trained_on, cut.choice.preparation)
    for other in selection.models().values():
        if is_blind_twin(config, other.config) and (other.trained_on, other.preparation) == same:
            blind = cached.loaded(other)
            models.append(Contender(blind.digest, "Trained without positions", other.title, blind.vit))
            break
    return models


def _solve(cut: Cut, order: NDArray[np.int64], contender: Contender) -> Result:
    key = (*cut.key, contender.digest, contender.title, tuple(order.tolist()))
    return Result(contender, *_answered(cut.image, key, cut.values, order, contender.model))


@cached.per_picture(shared=64, upload=8)
def _answered(
    image: str,
    key: tuple[Hashable, ...],
    _values: FloatArray,
    _order: NDArray[np.int64],
    _model: VisionTransformer,
) -> tuple[FloatArray, FloatArray]:
    return answers_to_a_shuffle(_model, _values, _order)


def _bars(cut: Cut, result: Result) -> dict[str, Any]:
    top = np.argsort(-result.before, kind="stable")[:SHOWN]
    rows = [[class_name(cut, i), float(result.before[i]), float(result.after[i])] for i in top]
    note = f"{result.contender.note} · largest change {chance(result.change)}"
    return {"title": result.contender.title, "note": note, "rows": rows}


def class_name(cut: Cut, index: int) -> str:
    """'cat', or 'class 3' where classes have numbers alone."""
    name = cut.classes[index] if index < len(cut.classes) else str(index)
    return f"class {name}" if name.isdigit() else name


def chance(p: float) -> str:
    """A probability for people: percent, or a power of ten where percent would read 0."""
    return f"{100 * p:.3g} %" if p >= 5e-5 else power_of_ten(p)


def power_of_ten(value: float) -> str:
    """A tiny number as a power of ten: 3·10⁻⁷."""
    if value == 0:
        return "0"
    factor, power = f"{value:.0e}".split("e")
    return f"{factor}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def describe(cut: Cut, moved: int, results: list[Result]) -> str:
    """What the shuffle does to each model, from its probabilities."""
    if not moved:
        return f"All {plural(len(cut.found.tokens), 'patch', 'patches')} lie in order: nothing changes."
    own = results[0]
    best = int(own.before.argmax())
    text = (
        f"{moved} of {plural(len(cut.found.tokens), 'patch', 'patches')} lie elsewhere; upper bars: in order, lower:"
        f" shuffled. {own.contender.title}, p({plain(class_name(cut, best))}) goes from"
        f" {chance(float(own.before[best]))} to {chance(float(own.after[best]))}."
    )
    text += "".join(f" {other.contender.title}, {_blind(cut, other)}" for other in results[1:])
    if not cut.trained:
        text += " The weights are random, so these changes are of nothing learned: compare a trained model."
    return text


def _blind(cut: Cut, result: Result) -> str:
    if not result.change:
        return "no class changes at all: to this model the tokens are a set."
    text = f"no class changes by more than {chance(result.change)}"
    if result.change < ROUNDING:
        return f"{text}, which is rounding: to this model the tokens are a set."
    if as_vit(cut.config).readout == "first_patch":
        return f"{text}: its answer is read from the first patch, and another one stands there now."
    return f"{text}."
