"""Hybrid, ViT and CNN over training time on the same pictures, from the records in their own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import papers
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import catalogue
from vitviz.analysis.hybrids import crossing, reached
from vitviz.analysis.recipes import differing
from vitviz.checkpoint_header import Header
from vitviz.plots.hybrids import Course, courses_figure
from vitviz.text import percent, plain

SHOWN = {  # family: the checkpoint
    "CNN": "cifar10_cnn",
    "Hybrid": "cifar10_hybrid",
    "ViT": "cifar10_vit",
    "Swin": "cifar10_swin",
}
SOONER = {
    "never": "Later, or never",
    "1": "Up to twice as soon",
    "2": "2 to 4 times as soon",
    "4": "Sooner still",
}
AXES = {"seconds": "Seconds", "pictures": "Pictures seen"}
NOT_HERE = "The shipped models of CIFAR-10 do not lie on this server, so there are no records to draw."


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="hybrids"):
    """Over what: 'seconds' or 'pictures'; and when the hybrid is guessed to have the ViT's best, one of `SOONER`."""

    over: str
    sooner: str


def headers() -> dict[str, Header]:
    """What the files say, by family; without those that are not here."""
    paths = {family: catalogue.CHECKPOINTS / f"{name}.safetensors" for family, name in SHOWN.items()}
    return {family: catalogue.header(path) for family, path in paths.items() if path.is_file()}


def course(family: str, header: Header, over: str) -> Course:
    """Validation accuracy as the training recorded it."""
    found = [r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"]
    batch = 1 if header.train is None else header.train.batch_size
    x = [float(r["seconds"]) if over == "seconds" else float(r["step"] * batch) for r in found]
    return Course(family, family, np.array(x), np.array([float(r["accuracy"]) for r in found]))


@st.fragment
def draw() -> None:
    """The lines, what they say, and where they come from."""
    known = headers()
    if not {"Hybrid", "ViT"} <= known.keys():
        st.info(NOT_HERE, icon=":material/block:")
        return
    axes = tuple(AXES) if len(machines(known)) == 1 else ("pictures",)
    with page.row():
        over = widgets.segmented(
            Choice.key("over"),
            "Over",
            axes,
            format_func=AXES.__getitem__,
            help=None if "seconds" in axes else "Seconds of different machines are not compared.",
        )
    answered = _guessed(known, axes[0])
    courses = [
        course(family, header, over) for family, header in known.items() if answered or family == "ViT"
    ]
    title = {"seconds": "seconds of training", "pictures": "pictures seen"}[over]
    page.figure(courses_figure(courses, title, _unit(over), selection.mode()), f"hybrids.{over}")
    page.caption(describe(courses, over) if answered else "This is the ViT's line; a guess shows the others.")
    page.caption(origin(known))
    papers.say("training")
    selection.link_to("data", "The same over data sizes, with seeds", **{"data.view": "time"})


def _guessed(known: Mapping[str, Header], over: str) -> bool:
    """Asks when the hybrid has the ViT's best accuracy, over one of `AXES`; whether the other lines may be shown."""
    hybrid, vit = (course(family, known[family], over) for family in ("Hybrid", "ViT"))
    best = float(vit.accuracy.max())
    own, when = (reached(one.x, one.accuracy, best) for one in (vit, hybrid))
    return prediction_gate.first(
        Choice.key("sooner"),
        ("CIFAR-10", over),
        f"The ViT comes to {percent(best)} after {own or 0:,.0f}\N{NO-BREAK SPACE}{_unit(over)}."
        " When does the hybrid have that?",
        SOONER,
        lambda guess: judged(own or 0.0, when, guess, _unit(over)),
    )


def judged(vit: float, hybrid: float | None, guess: str, unit: str) -> str:
    """Whether a guess of `SOONER` was right; how long each takes to the ViT's best accuracy, None: never."""
    times = vit / hybrid if hybrid else 0.0
    right = "never" if times <= 1 else next(low for low in ("4", "2", "1") if times > float(low))
    told = (
        f"after {hybrid:,.0f}\N{NO-BREAK SPACE}{unit}, {_soon(vit, hybrid)}"
        if hybrid
        else "the hybrid never comes to it"
    )
    return f"You said {SOONER[guess].lower()}: {'right' if guess == right else 'not so'}, {told}."


def _soon(vit: float, hybrid: float) -> str:
    return f"{vit / hybrid:.1f} times as soon" if hybrid <= vit else f"{hybrid / vit:.1f} times as late"


def _unit(over: str) -> str:
    return "s" if over == "seconds" else "pictures"


def describe(courses: Sequence[Course], over: str) -> str:
    """When the hybrid reaches the ViT's best, who ends where, and where lines cross."""
    by = {one.family: one for one in courses}
    hybrid, vit = by["Hybrid"], by["ViT"]
    best = float(vit.accuracy.max())
    when = reached(hybrid.x, hybrid.accuracy, best)
    own = reached(vit.x, vit.accuracy, best)
    said = f"The ViT's best, {percent(best)}, comes after {own or 0:,.0f} {_unit(over)}"
    said += (
        f"; the hybrid has it after {when:,.0f}, {_soon(own or 0.0, when)}."
        if when
        else "; the hybrid never reaches it."
    )
    ends = ", ".join(f"{one.family} {percent(float(one.accuracy[-1]))}" for one in courses)
    said += f" At their own ends: {ends}."
    for family in ("CNN", "ViT"):
        other = by.get(family)
        if other is None:
            continue
        met = crossing((hybrid.x, hybrid.accuracy), (other.x, other.accuracy))
        last = min(hybrid.x[-1], other.x[-1])
        ahead = float(np.interp(last, hybrid.x, hybrid.accuracy) - np.interp(last, other.x, other.accuracy))
        leads = f"{'the hybrid' if ahead > 0 else f'the {family}'} is ahead"
        so_far = f"as far as both go, to {last:,.0f} {_unit(over)}"
        said += (
            f" Hybrid and {family} cross last at {met.x:,.0f} {_unit(over)} ({percent(met.accuracy)}); then {leads},"
            f" {so_far}."
            if met
            else f" Hybrid and {family} never cross: {leads} {so_far}."
        )
    return said


def origin(known: Mapping[str, Header]) -> str:
    """On what machine, with how many seeds, and what differs between the trainings.

    Args:
        known: by family.
    """
    on = machines(known)
    trains = {family: header.train for family, header in known.items() if header.train is not None}
    said = differing(trains)
    differ = f" Their trainings differ ({said})." if said else ""
    where = (
        f"All on the same kind of machine: {plain(on[0])}."
        if len(on) == 1
        else f"On different machines, whose seconds are not compared: {'; '.join(map(plain, on))}."
    )
    vit, hybrid = (known[family].train for family in ("ViT", "Hybrid"))
    longer = (vit.epochs or 0) / (hybrid.epochs or 1) if vit and hybrid else 1.0
    slower = (
        f" The ViT's is {longer:.1f} times as long as the hybrid's, so that its best comes late by plan, too."
        if longer > 1
        else ""
    )
    return (
        f"{where} One seed each, as their files recorded it.{differ} The learning rate falls towards the end of each:"
        f" lines are to be compared where they end, too.{slower}"
    )


def machines(known: Mapping[str, Header]) -> list[str]:
    """On what they were trained."""
    return sorted({str(header.card.get("machine", "a machine unnamed")) for header in known.values()})
