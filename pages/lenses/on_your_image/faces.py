"""Nets that learned faces in seconds, asked about faces that are put together wrong: what an experiment has kept."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import numpy as np
import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.stores import cached
from vitviz.data.dataset import DatasetError
from vitviz.data.faces import EACH, TEST, arranged, faces_dataset
from vitviz.experiments.faces import BACKGROUND, NAME, TITLES, TRAIN
from vitviz.experiments.result import Result, kept_result, told
from vitviz.plots.faces import faces_figure
from vitviz.text import percent, plain

ROWS = {  # arrangement: what it is called
    "whole": "whole",
    "wrong": "parts in wrong places",
    "turned": "upside down",
    "shuffled": "patches shuffled",
    BACKGROUND: "no face at all",
}
LEARNED = EACH - TEST
ASKED = ("wrong", "shuffled")  # what the lecture's sentence is about
_PX = 96
_SHOWN = 1  # of the test faces


def stored() -> Result | None:
    """What was measured; None where nothing is."""
    return kept_result(NAME)


def draw() -> None:
    """One face in every arrangement, every seed as a dot, what they say, and how they were made."""
    st.subheader("Over many faces, learned from nothing else", anchor=False)
    found = stored()
    if found is None:
        st.info(
            f"Nothing was measured here yet: `python -m vitviz.experiment {NAME}`.", icon=":material/timer:"
        )
        return
    _strip()
    counted = shares(found)
    page.figure(
        faces_figure(
            list(ROWS.values()),
            {TITLES[name]: list(rows.values()) for name, rows in counted.items()},
            selection.mode(),
        ),
        "on_picture.faces",
    )
    page.caption(describe(found))
    page.caption(
        f"{found.settings['epochs']:g} epochs of {LEARNED} faces and as many backgrounds, less the"
        f" {percent(TRAIN.validation_fraction, 0)} that are held out, from scikit-image's part of *Labeled Faces in the"
        " Wild*, none of them put together wrong; the same recipe for all. Who only has to tell"
        " faces from backgrounds need not learn where a face's parts belong."
        f" `{found.command}`, {plain(told(found.made))}."
    )


def shares(found: Result) -> dict[str, dict[str, list[float]]]:
    """By model and arrangement the share that is called a face, one a seed."""
    return {
        name: {
            row: [entry["faces"][row] / entry["of"] for entry in found.where(model=name) if "faces" in entry]
            for row in ROWS
        }
        for name in TITLES
        if any("faces" in entry for entry in found.where(model=name))
    }


def describe(found: Result) -> str:
    """To whom a face with its parts in wrong places, or in shuffled patches, is still a face."""
    counted = shares(found)
    said = [f"Of {found.rows[0]['of']} test faces so many are still called a face."]
    for row in ASKED:
        each = "; ".join(f"{TITLES[name]} {_said(rows[row])}" for name, rows in counted.items())
        said.append(f"With {'its ' if row == 'wrong' else ''}{ROWS[row]}: {each}.")
        if {"cnn", "vit"} <= counted.keys():
            said.append(verdict(counted["cnn"][row], counted["vit"][row]))
    return " ".join(said)


def verdict(cnn: Sequence[float], vit: Sequence[float]) -> str:
    """Whether the CNN takes more such faces for faces than the ViT, seed for seed."""
    if len(cnn) == len(vit) == 1:
        return "One seed each: whether the lecture is right about them is not known."
    if min(cnn) > max(vit):
        more = "Every CNN takes more of them for faces than any ViT"
        if max(vit) < 0.5:
            return f"{more}: as the lecture says."
        return f"{more}: what the lecture says, but a ViT, too, takes most of them for faces ({percent(mean(vit), 0)})."
    if min(vit) > max(cnn):
        return "Every ViT takes more of them for faces than any CNN: the lecture says the opposite."
    return "The seeds of CNN and ViT overlap: no sign of the difference that the lecture claims."


def _said(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{percent(values[0], 0)} (one seed)"
    ends = (
        f"all {len(values)} seeds"
        if min(values) == max(values)
        else f"{100 * min(values):.0f} to {100 * max(values):.0f} over {len(values)} seeds"
    )
    return f"{percent(mean(values), 0)} ({ends})"


def _strip() -> None:
    try:
        pictures = _pictures()
    except DatasetError:
        return
    names = [ROWS[name] for name in ROWS if name != BACKGROUND]
    with st.container(horizontal=True, gap="small"):
        for name, picture in zip(names, pictures, strict=True):
            st.image(picture, caption=name, alt=f"A test face, {name}", width=_PX)


@cached.shared(most=1)
def _pictures() -> list[np.ndarray]:
    data = faces_dataset()
    face = data.test_images[data.labels_of("test") == 1][_SHOWN : _SHOWN + 1]
    return [
        np.repeat(arranged(face, name)[0], 3, axis=2).repeat(_PX // 24, 0).repeat(_PX // 24, 1)
        for name in ROWS
        if name != BACKGROUND
    ]
