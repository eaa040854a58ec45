"""Two models, two steps or two pictures side by side, one pointer over both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention.explore import GROUP, on_pick
from pages.lenses.attention.map_controls import Look, choose
from pages.selection import attention_maps, selection
from pages.selection import subject as subjects
from pages.selection.subject import Subject
from pages.stores import catalogue
from pages.views.explorer import explorer, view_options
from vitviz.analysis.attention import readout_row
from vitviz.analysis.map_similarity import rank_correlation
from vitviz.models.abilities import abilities
from vitviz.models.layer_order import heads_by_layer
from vitviz.text import plain, signed

KINDS = {"step": "another step", "model": "another model", "image": "another picture"}
ONE_STEP = "This model has one step only: choose another model or picture."
EXAMPLES = 12  # of each set of pictures that is always there


@dataclass(frozen=True)
class Beside(widgets.Chosen, page="attention"):
    """What stands on the right: of which kind, and which of that kind."""

    beside: str
    beside_step: int
    beside_model: str
    beside_image: str


def choose_other(subject: Subject) -> Subject | None:
    """What stands on the right; None where it cannot be looked at, with the reason said."""
    with page.row():
        with st.container(width="content"):
            kind = widgets.segmented(
                Beside.key("beside"), "Beside it", list(KINDS), format_func=KINDS.__getitem__
            )
        with st.container(width=230):
            return {"step": _other_step, "model": _other_model, "image": _other_image}[kind](subject)


def _other_step(subject: Subject) -> Subject | None:
    steps = subject.choice.steps
    if len(steps) == 1:
        st.info(ONE_STEP)
        return None
    step = widgets.select_slider(
        Beside.key("beside_step"), "Step", steps, steps[0], format_func=lambda at: f"{at:,}"
    )
    return subjects.of(subject.choice, step, subject.image)


def _other_model(subject: Subject) -> Subject:
    models = {
        key: choice
        for key, choice in selection.models().items()
        if key != subject.choice.key and abilities(choice.config).attention
    }
    key = widgets.select(
        Beside.key("beside_model"), "Model", list(models), format_func=lambda name: models[name].title
    )
    return subjects.of(models[key], None, subject.image)


def _other_image(subject: Subject) -> Subject:
    pictures = [f"sample:{name}" for name in catalogue.samples()]
    pictures += [f"{name}:{i}" for name in ("digits", "shapes") for i in range(EXAMPLES)]
    image = widgets.select(
        Beside.key("beside_image"),
        "Picture",
        [name for name in pictures if name != subject.image],
        format_func=picture_name,
    )
    return subjects.of(subject.choice, subject.step, image)


def picture_name(image: str) -> str:
    """'Chelsea the cat', or 'Digits, test picture 3'."""
    kind, _, name = image.partition(":")
    if kind == "sample":
        return catalogue.sample_title(name)
    return f"{catalogue.data_title(kind)}, test picture {name}"


def _side(subject: Subject, name: str, look: Look) -> None:
    """One explorer; a model with fewer layers or heads shows its last."""
    heads = heads_by_layer(subject.model.config)
    layer = min(look.layer, len(heads))
    head = min(look.head, heads[layer - 1]) if isinstance(look.head, int) else look.head
    step = f" · step {subject.step:,}" if subject.model.trained_on else ""
    st.markdown(f"**{plain(subject.model.title)}**{step}")
    page.untrained_note(subject.model.trained_on)
    key = f"attention.{name}"
    gaze = replace(look.gaze, layer=layer, head=head)
    ground = subject.ground(look.ground.seen)
    explorer(*attention_maps.view_of(subject, gaze, ground, GROUP), key=key, on_change=partial(on_pick, key))


def describe(one: Subject, other: Subject, layer: int) -> str | None:
    """How alike the two readouts' attention is in one layer, where both have one row over the same grid."""
    if not (one.able.heads_over_all and other.able.heads_over_all) or one.layout.grid != other.layout.grid:
        return None
    layers = [min(layer, len(side.attn)) for side in (one, other)]
    rows = [
        readout_row(side.attn[at - 1].mean(axis=0), side.layout.prefix, side.readout)
        for side, at in zip((one, other), layers, strict=True)
    ]
    same = rank_correlation(*rows)
    where = f"layer {layer}" if layers[0] == layers[1] else f"layers {layers[0]} and {layers[1]}"
    return (
        f"In {where}, with the mean of the heads, the two rank the patches"
        f" {'much alike' if same > 0.6 else 'differently'}: the rank correlation of what their readouts look at is"
        f" {signed(same)}. Pointer and pin are shared by place."
    )


def draw(subject: Subject) -> None:
    """Two explorers that follow one pointer."""
    look = choose(subject)
    view_options(GROUP, str(selection.current().pin), look.options)
    other = choose_other(subject)
    if other is None:
        return
    left, right = st.columns(2, gap="medium")
    with left:
        _side(subject, "left", look)
    with right:
        _side(other, "right", look)
    text = describe(subject, other, look.layer)
    if text is not None:
        page.caption(text)
