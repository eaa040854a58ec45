"""How alike: linear CKA between all layers of two models over a set, as one matrix."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import image_set, model_pair, papers, prediction, set_computation
from pages.lenses.layers.image_set import Seen
from pages.lenses.layers.model_pair import Side
from pages.views.register import register
from vitviz.analysis import cka as analysis
from vitviz.lessons.question_kinds import Measured
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import layers as plots
from vitviz.probe.layers import Said, stream
from vitviz.text import signed

_view = register(__file__, "matrix_of_layers")
MOST, USUAL = 512, 256
WHAT = {"places": "all places", "mean": "their mean"}
FORMS = {"debiased": "without bias", "plain": "plain"}
WHAT_WAS = {"places": "all that a layer says is compared", "mean": "the means over places are compared"}
FORM_WAS = {"debiased": "by unbiased estimates", "plain": "by the plain form"}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="layers"):
    """What of a layer is compared, and by which form of CKA."""

    compared: str
    form: str


def draw(one: Side) -> None:
    """The section."""
    papers.ask(
        "Two layers are alike where they tell the same pictures apart in the same way. Are a ViT's layers like a CNN's?"
    )
    other, seen, chosen = read(one)
    both = (one, other)
    wanted = [
        set_computation.task(
            ("grams", side.known, seen, chosen.compared),
            partial(grams, side.now.model, seen, chosen.compared),
        )
        for side in both
    ]
    found = set_computation.results(wanted, f"Comparing the layers over {seen.title}")
    if found is None:
        return
    count = len(one.layers)
    every = [*found[0], *found[1]]
    matrix = analysis.cka(every, every, debiased=chosen.form == "debiased")
    answered = _guessed(both, matrix[:count, count:])
    _view(plots.matrix_view(matrix, _names(both), between=answered), key="layers.matrix")
    how = f"{WHAT_WAS[chosen.compared]}, {FORM_WAS[chosen.form]}"
    page.caption(f"{describe(both, matrix, answered)} Over {seen.title}; {how}.")
    papers.say("alike")
    page.drawers(
        "layers.alike",
        math=MATHEMATICS,
        code=(analysis.gram, analysis.cka, analysis.centred, analysis.centred_without_bias),
        numbers=partial(numbers, both, matrix) if answered else None,
    )


def read(one: Side) -> tuple[Side, Seen, Choice]:
    """Draws the controls."""
    with page.row():
        with st.container(width=230):
            other = model_pair.beside(one)
        with st.container(width="content"):
            compared = widgets.segmented(
                Choice.key("compared"),
                "Compared",
                list(WHAT),
                format_func=WHAT.__getitem__,
                help="All that a layer says of a picture, place by place, or the mean over its places.",
            )
        with page.options("layers.alike"):
            seen = image_set.choose((one, other), MOST, USUAL)
            form = widgets.segmented(
                Choice.key("form"),
                "Form",
                list(FORMS),
                format_func=FORMS.__getitem__,
                help="With few pictures and many features the plain form reads too high.",
            )
    return other, seen, Choice(compared, form)


def grams(model: LoadedModel, seen: Seen, compared: str) -> Generator[float, None, list[analysis.Gram]]:
    """The products between pictures, layer by layer."""
    images = seen.images(model)
    parts: list[list[NDArray[np.float32]]] = []
    for said in stream(model, images, image_set.BATCH):
        parts.append([_rows(layer, compared) for layer in said])
        yield 0.9 * sum(len(part[0]) for part in parts) / len(images)
    found = []
    for layer in range(len(parts[0])):
        found.append(analysis.gram(np.concatenate([part[layer] for part in parts])))
        yield 0.9 + 0.1 * (layer + 1) / len(parts[0])
    return found


def _rows(said: Said, compared: str) -> NDArray[np.float32]:
    return said.mean if compared == "mean" else said.flat


def _names(both: Sequence[Side]) -> list[tuple[str, tuple[str, ...]]]:
    return [(side.title, tuple(layer.title for layer in side.layers)) for side in both]


def describe(both: Sequence[Side], matrix: NDArray[np.float64], answered: bool) -> str:
    """How alike each model's layers are; once guessed, the most alike pair between the two."""
    count = len(both[0].layers)
    own, others = matrix[:count, :count], matrix[count:, count:]
    more = 0 if _within(own) > _within(others) else 1
    ends = "; ".join(
        f"in {side.shown} {signed(float(part[0, -1]))}"
        for side, part in zip(both, (own, others), strict=True)
    )
    between = (
        _between(both, matrix[:count, count:]) if answered else "A guess fills the block between the models."
    )
    return (
        f"First and last layer are alike {ends} (CKA). Over all pairs of its layers, {both[more].shown} is the more"
        f" uniform ({signed(max(_within(own), _within(others)))} against"
        f" {signed(min(_within(own), _within(others)))}). {between}"
    )


def _between(both: Sequence[Side], across: NDArray[np.float64]) -> str:
    row, col = np.unravel_index(int(across.argmax()), across.shape)
    return (
        f"Between the two models {both[0].layers[row].said} and {both[1].layers[col].said} are most alike,"
        f" {signed(float(across.max()))}; the two last layers {signed(float(across[-1, -1]))}."
    )


def _within(matrix: NDArray[np.float64]) -> float:
    """The mean over pairs of different layers."""
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    return float(pairs.mean()) if pairs.size else 1.0


def _guessed(both: Sequence[Side], across: NDArray[np.float64]) -> bool:
    """Asks which of the other's layers is like the last one; whether the block between the models may be shown."""
    layers = both[1].layers
    spans = prediction.Spans(layers)

    def answer() -> Measured:
        values = ", ".join(
            f"{layer.title} {signed(v)}" for layer, v in zip(layers, across[-1].tolist(), strict=True)
        )
        return spans.of([int(across[-1].argmax())], f"Its last layer's CKA with each: {values}.")

    prompt = f"Which layer of {both[1].title} is most like the last layer of {both[0].title}?"
    return prediction.first("alike_guess", prompt, spans.options, answer)


def numbers(both: Sequence[Side], matrix: NDArray[np.float64]) -> None:
    """The whole matrix."""
    names = [f"{side.title}, {layer.title}" for side in both for layer in side.layers]
    columns: dict[str, list[object]] = {"layer": list(names)}
    columns |= {name: matrix[:, i].tolist() for i, name in enumerate(names)}
    st.dataframe(columns, hide_index=True)
    page.csv("CKA (CSV)", columns, "layers_cka.csv", "layers.csv.alike")


MATHEMATICS = r"""
$$
\mathrm{CKA}(X, Y) = \frac{\lVert Y^\top X \rVert_F^2}{\lVert X^\top X \rVert_F\,\lVert Y^\top Y \rVert_F}
= \frac{\langle K', L'\rangle}{\lVert K'\rVert\,\lVert L'\rVert},\qquad K = XX^\top,\quad K' = HKH
$$

One row of $X$ is all that a layer says of one picture, the column means taken away ($H = I - \frac1n 11^\top$):
Kornblith et al. 2019, linear CKA. It is 1 where two representations differ by a rotation and a scale, and does not ask
that they have the same width. With $n$ pictures and more features than pictures the **plain** form is above 0 for
unrelated representations too; **without bias** takes the unbiased estimate of each of the three products (Song et al.
2012; Nguyen, Raghu and Kornblith 2021) and can fall a little below 0. Raghu et al. use the unbiased estimate, batch by
batch; here all pictures are one batch.
"""
