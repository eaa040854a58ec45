"""One picture, one slider, several models: every answer moves as the slider does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.on_your_picture import model_choice, papers, prediction, stored_results, view_state
from pages.lenses.on_your_picture.model_choice import Compared
from pages.lenses.on_your_picture.sweep_view import sweep_view
from pages.lenses.on_your_picture.view_state import Hand
from pages.stores import cached
from vitviz.analysis import changes
from vitviz.analysis.changes import CHANGES, Setting
from vitviz.config import Preparation
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import image_changes as plots
from vitviz.probe.robustness import Sweep, sweep
from vitviz.text import percent, plain

VIEW = "on_picture.sweep"
# It sets models farthest apart where its slider begins, here and over many: a test adds both up.
FIRST = "noise"
MATHEMATICS = r"""
A model $f$ gives a picture $x$ the class $\arg\max_c f_c(x)$. A change $T_s$ of strength $s$, with $T_{s_0}(x) = x$,
leaves the answer alone as long as $\arg\max_c f_c(T_s(x)) = \arg\max_c f_c(x)$. Under the panels lies, on one scale a
model over the whole slider:

- **attention**: the row of the last layer that the answer is read from, the mean of its heads: [CLS]'s, or where the
  model averages its patches the mean of theirs;
- **gradient × input** for a model without such a row: $\max\bigl(0, \sum x \cdot \partial f_c / \partial x\bigr)$ over
  squares of 2 × 2 pixels, $c$ the class that it answers (Shrikumar et al. 2016).
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="on_picture"):
    """Which of `CHANGES` is applied, and the seed of what is random in it."""

    kind: str
    seed: int


def choose() -> Choice:
    """Draws the controls of the change, side by side in the row that is open."""
    with st.container(width=200):
        kind = widgets.select(
            Choice.key("kind"), "Change", list(CHANGES), FIRST, format_func=lambda name: CHANGES[name].title
        )
    if kind not in ("noise", "shuffle"):
        widgets.hold(Choice)
        return Choice(kind, 0)
    with st.container(width=140):
        return Choice(kind, widgets.number(Choice.key("seed"), "Seed", 0, 999, 0))


@st.fragment
def draw() -> None:
    """The controls, the question, the picture with its slider, what comes of it."""
    with page.row():
        said = choose()
        choices = model_choice.choose()
    if not choices:
        return
    of = model_choice.compared(choices)
    moved, begun = view_state.now(said.kind, of.image, VIEW)
    setting = moved.setting(said.seed, said.kind)
    found = sweeps(of, said.kind, setting)
    keys = [choice.key for choice in of.choices]
    guessed = prediction.read(keys, (said.kind, of.image, *keys))
    if not guessed.guess:
        prediction.ask(keys, of.names, prediction.prompt(said.kind))
    revealed = bool(guessed.guess)
    start = plots.Start(begun.hand.__dict__, begun.mark, of.truth, revealed, setting.place)
    show(of, changed_of(of, said.kind, setting), found, start)
    tell(of, said.kind, moved, found, guessed.guess)
    stored_results.tell(of, said.kind, revealed=revealed)
    papers.say("change")
    page.drawers(
        "on_picture.change",
        math=MATHEMATICS,
        code=(changes.changed, sweep, CHANGES[said.kind].apply),
        numbers=partial(numbers, of, said.kind, found),
    )


def show(of: Compared, what: plots.Changed, found: Sequence[Sweep], start: plots.Start) -> None:
    """The picture with its slider, and every model's answer to it."""
    answered = [
        plots.Answered(name, one.by, one.probabilities, one.views)
        for name, one in zip(of.names, found, strict=True)
    ]
    ground = model_choice.ground(of.image, of.preparation, of.offset)
    curve = stored_results.curve(of, what.name)
    sweep_view(plots.payload(what, answered, ground, of.classes, start, curve), key=VIEW)


def sweeps(of: Compared, change: str, setting: Setting) -> list[Sweep]:
    """Every model over the whole slider."""
    found = []
    for choice, step in zip(of.choices, of.steps, strict=True):
        model = cached.loaded(choice, step)
        found.append(_swept(model.digest, model, of.image, of.preparation, of.offset, change, setting))
    return found


@cached.per_picture(shared=120, upload=60)
def _swept(
    digest: str,
    _model: LoadedModel,
    image: str,
    preparation: Preparation,
    offset: cached.Offset,
    change: str,
    setting: Setting,
) -> Sweep:
    return sweep(_model, _series(image, preparation, offset, change, setting))


@cached.per_picture(shared=32, upload=12)
def _series(
    image: str, preparation: Preparation, offset: cached.Offset, change: str, setting: Setting
) -> NDArray[np.uint8]:
    return changes.series(cached.prepared(image, preparation, offset).shown, change, setting)


def changed_of(of: Compared, change: str, setting: Setting) -> plots.Changed:
    """The picture at every strength, as it travels."""
    frames = _series(of.image, of.preparation, of.offset, change, setting)
    chosen = CHANGES[change]
    return plots.Changed(
        name=change,
        title=chosen.title,
        values=chosen.values,
        start=chosen.start,
        frames=frames,
        border=tuple(round(float(value)) for value in changes.border_colour(of.seen)),
        orders=np.stack([changes.order_of(of.grain_px, value, setting.seed) for value in chosen.values])
        if change == "shuffle"
        else None,
        noise=changes.noise_of(of.grain_px, setting.seed) if change == "noise" else None,
    )


def tell(of: Compared, change: str, moved: Hand, found: Sequence[Sweep], guessed: str) -> None:
    """What the slider's place says, and where a guess was made what its whole way says."""
    page.caption(describe(of, change, moved, found))
    if guessed:
        keys = [choice.key for choice in of.choices]
        outlasted = [prediction.outlasted(one.answers, CHANGES[change].start) for one in found]
        st.markdown(prediction.measured(guessed, keys, of.names, outlasted, change, of.grain_px))
        prediction.keep(guessed, keys, of.names, outlasted, change)
        prediction.again()


def describe(of: Compared, change: str, moved: Hand, found: Sequence[Sweep]) -> str:
    """Who still answers as before at the slider's place, and whose answer has lost most."""
    start, classes = CHANGES[change].start, of.classes
    words = plots.strength_words(change, CHANGES[change].values[moved.at], of.grain_px)
    firsts = [int(one.answers[start]) for one in found]
    keeps = sum(int(one.answers[moved.at]) == first for one, first in zip(found, firsts, strict=True))
    falls = [
        float(one.probabilities[start, first] - one.probabilities[moved.at, first])
        for one, first in zip(found, firsts, strict=True)
    ]
    most = int(np.argmax(falls))
    one, first = found[most], firsts[most]
    if moved.at == start:
        return "Nothing is changed: these are the answers to the picture itself. Move the slider."
    where = "Taken apart" if change == "pieces" else f"At {words}"
    text = f"{where}, {keeps} of {len(found)} models answer as they did to the unchanged picture."
    if falls[most] <= 0:
        return f"{text} None is less sure of its first answer."
    before, now = one.probabilities[start, first], one.probabilities[moved.at, first]
    return (
        f"{text} {plain(of.names[most])} loses most: its {plain(classes[first])} goes from {percent(before)} to"
        f" {percent(now)}."
    )


def numbers(of: Compared, change: str, found: Sequence[Sweep]) -> None:
    """Every probability at every strength, to take away."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("model", "strength", "value", "class", "probability")
    }
    classes = of.classes
    for name, one in zip(of.names, found, strict=True):
        for value, row in zip(CHANGES[change].values, one.probabilities, strict=True):
            columns["model"] += [name] * len(classes)
            columns["strength"] += [plots.strength_words(change, value, of.grain_px)] * len(classes)
            columns["value"] += [value] * len(classes)
            columns["class"] += list(classes)
            columns["probability"] += [float(chance) for chance in row]
    st.dataframe(columns, hide_index=True, height=240)
    page.csv("Probabilities (CSV)", columns, "on_your_picture.csv", "on_picture.csv")
