"""Two models, two steps or two pictures side by side, one pointer over both."""

from __future__ import annotations

import streamlit as st

from pages.inside.attention import explore
from pages.shell import controls, nouns, page
from pages.shell import subject as subjects
from pages.shell.subject import Subject
from pages.views.explorer import explorer
from vitviz.analysis.methods import rank_correlation
from vitviz.config import SwinConfig, ViTConfig
from vitviz.words import signed

KINDS = {"step": "another step", "model": "another model", "image": "another picture"}


def choose_other(subject: Subject) -> Subject | None:
    """What stands on the right; None where it cannot be looked at, with the reason said."""
    left, right = st.columns([4, 5])
    with left:
        kind = controls.segmented("attention.beside", "Beside it", list(KINDS), format_func=KINDS.__getitem__)
    with right:
        if kind == "step":
            steps = subject.choice.steps
            if len(steps) == 1:
                st.info("This model has one step only: choose another model or picture.")
                return None
            step = controls.select_slider(
                "attention.beside_step", "Step", steps, steps[0], format_func=lambda s: f"{s:,}"
            )
            return subjects.of(subject.choice, step, subject.image)
        if kind == "model":
            models = {
                key: choice
                for key, choice in nouns.models().items()
                if key != subject.choice.key and isinstance(choice.config, ViTConfig | SwinConfig)
            }
            key = controls.select(
                "attention.beside_model", "Model", list(models), format_func=lambda k: models[k].title
            )
            return subjects.of(key, None, subject.image)
        from vitviz.data.samples import sample_names

        pictures = [f"sample:{name}" for name in sample_names()]
        pictures += [f"{name}:{i}" for name in ("digits", "shapes") for i in range(12)]
        image = controls.select(
            "attention.beside_image",
            "Picture",
            [name for name in pictures if name != subject.image],
            format_func=lambda name: name.replace("sample:", "").replace(":", ", test picture ").capitalize(),
        )
        return subjects.of(subject.choice, subject.step, image)


def _side(subject: Subject, name: str, layer: int, head: int | str) -> None:
    heads = explore.layers_of(subject)
    layer = min(layer, len(heads))
    head = min(head, heads[layer - 1]) if isinstance(head, int) else head
    step = f" · step {subject.step:,}" if subject.model.trained_on else ""
    st.markdown(f"**{subject.model.title}**{step}")
    page.untrained_note(subject.model.trained_on)
    key = f"attention.{name}"
    explorer(*explore.view_of(subject, layer, head), key=key, on_change=lambda: explore.on_pick(key))


def describe(one: Subject, other: Subject, layer: int) -> str | None:
    """How alike the two readouts' attention is in one layer, where both have one row over the same grid."""
    if (
        any(isinstance(side.model.config, SwinConfig) for side in (one, other))
        or one.layout.grid != other.layout.grid
    ):
        return None
    from vitviz.analysis.attention import readout_row

    layers = [min(layer, len(side.attn)) for side in (one, other)]
    rows = [
        readout_row(side.attn[at - 1].mean(axis=0), side.layout.prefix, side.readout)
        for side, at in zip((one, other), layers, strict=True)
    ]
    same = rank_correlation(*rows)
    where = f"layer {layer}" if layers[0] == layers[1] else f"layers {layers[0]} and {layers[1]}"
    return (
        f"In {where} the two rank the patches {'much alike' if same > 0.6 else 'differently'}: the rank"
        f" correlation of what their readouts look at is {signed(same)}. Pointer and pin are shared by place."
    )


def draw(subject: Subject) -> None:
    """Two explorers that follow one pointer."""
    with st.container(horizontal=True, vertical_alignment="top", gap="small"):
        layer, head = explore.choose_layer_and_head(subject)
        explore.choose_view("attention")
    other = choose_other(subject)
    if other is None:
        return
    left, right = st.columns(2, gap="medium")
    with left:
        _side(subject, "left", layer, head)
    with right:
        _side(other, "right", layer, head)
    text = describe(subject, other, layer)
    if text is not None:
        page.caption(text)
