"""A lesson of one's own: how many pictures, how much the teacher counts, how soft it is; trained live in the lab."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from vitviz.config import ViTConfig
from vitviz.training import lineup
from vitviz.training.lineup import Entry
from vitviz.training.presets import TRAINING_PRESETS

RECIPE, TEACHER = "digits_live", "digits_cnn"
SHARES = (0.1, 0.25, 0.5, 1.0)
EPOCHS = 12  # of all pictures; of fewer as many more, so that every lesson has as many updates


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="distillation"):
    """A lesson: the share of the pictures, the teacher's weight λ, its temperature τ."""

    lesson_share: float
    lesson_weight: float
    lesson_temperature: float


def draw() -> None:
    """The three controls, and the link that opens the lab with twin, hard and soft student ready to start."""
    if f"checkpoint:{TEACHER}" not in selection.models():
        page.caption("The teacher of this lesson, a CNN that reads digits, is not on this server.")
        return
    chosen = _choose()
    entries = lesson(chosen.lesson_share, chosen.lesson_weight, chosen.lesson_temperature)
    selection.link_to(
        "live_lab",
        "Train twin, hard and soft student in the lab",
        **{"live_lab.train": "several", "live_lab.lineup": lineup.encode(entries)},
    )
    page.caption(
        f"Three models from one seed on the same digits, {entries[0].train.epochs:g} epochs each: without a teacher,"
        " with its answers, and with its probabilities. The teacher has learned from all training digits,"
        " also where its student sees a part of them; the paper's saw what its student saw."
    )


def _choose() -> Choice:
    with page.row():
        with st.container(width=200):
            share = widgets.select_slider(
                Choice.key("lesson_share"),
                "Training pictures",
                SHARES,
                1.0,
                format_func=lambda part: f"{100 * part:g} %",
                help="Of scikit-learn's training digits. The teacher has learned from all of them.",
            )
        with st.container(width=200):
            words = "Of the soft lesson; a hard one counts one half."
            weight = widgets.slider(
                Choice.key("lesson_weight"), "Weight of the teacher, λ", 0.05, 0.95, 0.5, 0.05, help=words
            )
        with st.container(width=200):
            words = "The higher, the more even are the teacher's probabilities."
            temperature = widgets.slider(
                Choice.key("lesson_temperature"), "Temperature, τ", 1.0, 10.0, 3.0, 0.5, help=words
            )
    return Choice(share, weight, temperature)


def lesson(share: float, weight: float, temperature: float) -> tuple[Entry, ...]:
    """Twin, hard and soft student: one body, one recipe, the same pictures.

    Args:
        share: of the training pictures.
        weight, temperature: λ and τ of the soft lesson.
    """
    preset = TRAINING_PRESETS[RECIPE]
    assert isinstance(preset.model, ViTConfig)
    train = replace(preset.train, train_fraction=share, epochs=EPOCHS / share)
    taught = replace(train, distill_from=f"checkpoints/{TEACHER}.safetensors")
    soft = replace(
        taught,
        distillation="soft",
        distillation_weight=weight,
        distillation_temperature=temperature,
    )
    student = replace(preset.model, distilled=True)
    return (
        Entry(RECIPE, "Twin, no teacher", preset.model, train),
        Entry(RECIPE, "Hard answers", student, taught),
        Entry(RECIPE, f"Soft λ {weight:g} τ {temperature:g}", student, soft),
    )
