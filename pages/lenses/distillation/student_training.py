"""Configure a distillation experiment with own hyperparameters and open it in the live lab."""

from dataclasses import replace

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
EPOCHS = 12  # of the full dataset; fewer images are seen more often, for the same number of updates


def draw() -> None:
    if f"checkpoint:{TEACHER}" not in selection.list_models():
        page.caption("The teacher, a CNN trained on digits, is missing on this server.")
        return
    entries = build_lineup(*_draw_controls())
    selection.link_to(
        "live_lab",
        "Train the three models in the live lab",
        **{"live_lab.train": "several", "live_lab.lineup": lineup.encode(entries)},
    )
    page.caption(
        f"Three models from one seed on the same digits, {entries[0].train.epochs:g} epochs each: no teacher, hard"
        " distillation, soft distillation. The teacher was trained on all training digits; in the paper, teacher and"
        " student are trained on the same images."
    )


def _draw_controls() -> tuple[float, float, float]:
    """Return the share of the training images, and the teacher's weight λ and temperature τ."""
    with page.row():
        with st.container(width=200):
            share = widgets.select_slider(
                "distillation.lesson_share",
                "Training images",
                SHARES,
                1.0,
                format_func=lambda part: f"{100 * part:g} %",
                help="Share of scikit-learn's training digits; the teacher was trained on all of them.",
            )
        with st.container(width=200):
            weight = widgets.slider(
                "distillation.lesson_weight",
                "Weight of the teacher, λ",
                0.05,
                0.95,
                0.5,
                0.05,
                help="Used in soft distillation; hard distillation uses 0.5.",
            )
        with st.container(width=200):
            temperature = widgets.slider(
                "distillation.lesson_temperature",
                "Temperature, τ",
                1.0,
                10.0,
                3.0,
                0.5,
                help="Higher temperatures flatten the teacher's probabilities.",
            )
    return share, weight, temperature


def build_lineup(share: float, weight: float, temperature: float) -> tuple[Entry, ...]:
    """Return twin, hard and soft student with the same backbone, recipe and images.

    Args:
        share: of the training images.
        weight, temperature: λ and τ of soft distillation.
    """
    preset = TRAINING_PRESETS[RECIPE]
    assert isinstance(preset.model, ViTConfig)
    train = replace(preset.train, train_fraction=share, epochs=EPOCHS / share)
    hard = replace(train, distill_from=f"checkpoints/{TEACHER}.safetensors")
    soft = replace(
        hard,
        distillation="soft",
        distillation_weight=weight,
        distillation_temperature=temperature,
    )
    student = replace(preset.model, distilled=True)
    return (
        Entry(RECIPE, "Twin, no teacher", preset.model, train),
        Entry(RECIPE, "Hard distillation", student, hard),
        Entry(RECIPE, f"Soft λ {weight:g} τ {temperature:g}", student, soft),
    )
