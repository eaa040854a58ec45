"""Validation accuracy of hybrid, ViT, CNN and Swin during training, from the records in their checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import captions
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import catalogue
from vitviz.analysis.hybrids import time_to_accuracy
from vitviz.checkpoint_header import Header
from vitviz.plots.hybrids import Course, courses_figure
from vitviz.text import percent

CHECKPOINTS = {  # by family
    "CNN": "cifar10_cnn",
    "Hybrid": "cifar10_hybrid",
    "ViT": "cifar10_vit",
    "Swin": "cifar10_swin",
}
PREDICTIONS = {
    "never": "Later, or never",
    "1": "Up to twice as soon",
    "2": "2 to 4 times as soon",
    "4": "More than 4 times as soon",
}
AXES = {"seconds": "Seconds", "pictures": "Images seen"}
UNITS = {"seconds": "s", "pictures": "images"}


@dataclass(frozen=True)
class CurveControls(widgets.ControlValues, page="hybrids"):
    """The x axis, a key of `AXES`, and the predicted speed of the hybrid, a key of `PREDICTIONS`."""

    over: str
    sooner: str


def load_headers() -> dict[str, Header]:
    paths = {family: catalogue.CHECKPOINTS / f"{name}.safetensors" for family, name in CHECKPOINTS.items()}
    return {family: catalogue.read_header(path) for family, path in paths.items() if path.is_file()}


def build_course(family: str, header: Header, over: str) -> Course:
    """Return the validation accuracy that the training recorded, over one of `AXES`."""
    records = [r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"]
    batch = 1 if header.train is None else header.train.batch_size
    x = [float(r["seconds"]) if over == "seconds" else float(r["step"] * batch) for r in records]
    return Course(family, family, np.array(x), np.array([float(r["accuracy"]) for r in records]))


def list_machines(headers: Mapping[str, Header]) -> list[str]:
    return sorted({str(header.card.get("machine", "an unnamed machine")) for header in headers.values()})


@st.fragment
def draw() -> None:
    headers = load_headers()
    if not {"Hybrid", "ViT"} <= headers.keys():
        st.info(
            "Training records are missing: the CIFAR-10 checkpoints are not installed.",
            icon=":material/block:",
        )
        return
    machines = list_machines(headers)
    axes = tuple(AXES) if len(machines) == 1 else ("pictures",)
    with page.row():
        over = widgets.segmented(
            CurveControls.key("over"),
            "Over",
            axes,
            format_func=AXES.__getitem__,
            help=None if "seconds" in axes else "Seconds on different machines are not comparable.",
        )
    predicted = _ask_speed(headers, axes[0])
    courses = [
        build_course(family, header, over)
        for family, header in headers.items()
        if predicted or family == "ViT"
    ]
    title = {"seconds": "seconds of training", "pictures": "images seen"}[over]
    page.figure(courses_figure(courses, title, UNITS[over], selection.get_theme()), f"hybrids.{over}")
    page.caption(
        captions.describe_curves(courses, UNITS[over])
        if predicted
        else "The ViT's curve. Predict to see the others."
    )
    page.caption(captions.PUBLISHED_TRAINING)
    page.provenance(captions.describe_trainings(headers, machines))
    selection.link_to("data", "Compare dataset sizes, with several seeds", **{"data.view": "time"})


def _ask_speed(headers: Mapping[str, Header], over: str) -> bool:
    """Ask when the hybrid reaches the ViT's best accuracy; return True if the other curves may be shown."""
    hybrid, vit = (build_course(family, headers[family], over) for family in ("Hybrid", "ViT"))
    best = float(vit.accuracy.max())
    vit_x, hybrid_x = (time_to_accuracy(course.x, course.accuracy, best) for course in (vit, hybrid))
    return prediction_gate.require_prediction(
        CurveControls.key("sooner"),
        ("CIFAR-10", over),
        f"The ViT reaches {percent(best)} after {vit_x or 0:,.0f}\N{NO-BREAK SPACE}{UNITS[over]}."
        " When does the hybrid reach it?",
        PREDICTIONS,
        lambda prediction: judge_prediction(vit_x or 0.0, hybrid_x, prediction, UNITS[over]),
    )


def judge_prediction(vit: float, hybrid: float | None, prediction: str, unit: str) -> str:
    """Return the verdict on a key of `PREDICTIONS`; vit, hybrid: until the ViT's best accuracy, None if never."""
    ratio = vit / hybrid if hybrid else 0.0
    correct = "never" if ratio <= 1 else next(low for low in ("4", "2", "1") if ratio > float(low))
    measured = (
        f"after {hybrid:,.0f}\N{NO-BREAK SPACE}{unit}, {captions.describe_speed(vit, hybrid)}"
        if hybrid
        else "the hybrid never reaches it"
    )
    if prediction == correct:
        return f"Your prediction is correct: {measured}."
    return f"Your prediction: {PREDICTIONS[prediction].lower()}. Measured: {measured}."
