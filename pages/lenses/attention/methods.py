"""Methods side by side on the same picture."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention import method_choice, method_maps, predictions
from pages.lenses.attention.map_controls import Ground
from pages.lenses.attention.method_maps import Maps
from pages.selection import selection
from pages.selection.subject import Subject
from pages.views.maps import maps as draw_maps
from vitviz.analysis import rollout
from vitviz.analysis.map_similarity import rank_correlation
from vitviz.analysis.methods import METHODS
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.pin import Pin
from vitviz.plots.attention import maps_view
from vitviz.plots.attention_images import attention_image, png
from vitviz.probe.relevance import gradient_rollout
from vitviz.text import percent, signed


def share_of_top(values: np.ndarray) -> float:
    """Share of a map's mass on its five strongest patches."""
    total = float(values.sum())
    return float(np.sort(values)[-5:].sum() / total) if total else 0.0


def describe_maps(found: Maps) -> str:
    """How concentrated the maps are, and which two agree most and least."""
    names = list(found)
    pairs = {
        (a, b): rank_correlation(found[a], found[b]) for i, a in enumerate(names) for b in names[i + 1 :]
    }
    if not pairs:
        (only,) = names
        return (
            f"{METHODS[only].title}: five patches hold {percent(share_of_top(found[only]), 0)} of its mass."
        )
    close, far = max(pairs, key=lambda pair: pairs[pair]), min(pairs, key=lambda pair: pairs[pair])
    sharp = max(names, key=lambda name: share_of_top(found[name]))
    held = percent(share_of_top(found[sharp]), 0)
    text = f"{METHODS[sharp].title} is the sharpest: five patches hold {held} of its mass."
    if len(pairs) > 1:
        text += (
            f" {METHODS[close[0]].title} and {METHODS[close[1]].title.lower()} agree most (rank correlation"
            f" {signed(pairs[close])}), {METHODS[far[0]].title.lower()} and {METHODS[far[1]].title.lower()} least"
            f" ({signed(pairs[far])})."
        )
    return text


def panels(subject: Subject, found: Maps, ground: Ground, key: str, notes: list[str] | None = None) -> None:
    """The maps side by side, each with its formula and source, or with notes of their own; a click pins a patch."""
    grid = subject.layout.grid
    data = maps_view(
        subject.ground(ground.seen),
        np.stack(list(found.values())),
        [METHODS[name].title for name in found],
        grid,
        lines=[f"{METHODS[name].line}. {METHODS[name].source}." for name in found] if notes is None else (),
        notes=notes or [f"five patches hold {percent(share_of_top(values), 0)}" for values in found.values()],
        drawn=ground.maps(subject),
    )
    picked = draw_maps(data, key=key)
    if picked is not None and picked < grid[0] * grid[1]:
        selection.set_pin(Pin.of_cell(grid, picked))


def draw(subject: Subject) -> None:
    """Every method's map of the same picture, one pointer over all."""
    chosen, ground = method_choice.choose(subject)
    found = method_maps.maps(subject, chosen)
    able = subject.able
    if not able.rollout:
        st.info(able.rollout.why_not, icon=":material/block:")
    if not found:
        st.info(able.class_head.why_not, icon=":material/block:")
        return
    panels(subject, found, ground, "attention.methods")
    page.caption(describe_maps(found) + " Each map has its own scale.")
    if subject.readout == "mean" and "raw" in found:
        page.caption(able.cls_readout.why_not)
    if chosen.target is None:
        page.caption(f"{able.class_head.why_not} The two methods that need a class are left out.")
    predictions.draw(subject)
    page.drawers(
        "attention.methods",
        math=MATHEMATICS,
        code=(rollout.rollout, gradient_rollout) if able.rollout else (),
        numbers=partial(keep, subject, found, ground),
        asks=ASKS,
    )


def keep(subject: Subject, found: Maps, ground: Ground) -> None:
    """The maps as numbers, and as pictures of the crop's own size."""
    rows, cols = subject.layout.grid
    row, col = np.divmod(np.arange(rows * cols), cols)
    columns = {"row": row + 1, "column": col + 1} | {METHODS[name].title: found[name] for name in found}
    st.dataframe(columns, hide_index=True, height=240)
    photo, drawn = subject.ground(ground.seen), ground.drawn()
    with st.container(horizontal=True):
        for name, values in found.items():
            page.download(
                f"{METHODS[name].title}, PNG",
                lambda values=values: png(attention_image(photo.pixels, values, (rows, cols), drawn)),  # type: ignore[misc]
                f"{name}.png",
                f"attention.methods.png.{name}",
            )
        page.csv("Maps, CSV", columns, "methods.csv", "attention.methods.csv")


MATHEMATICS = "\n\n".join(
    f"**{method.title}** · {method.source}\n\n$$\n{method.latex}\n$$" for method in METHODS.values()
) + (
    "\n\nThe map is the readout's row without prefix tokens: the [CLS] row, the mean of the [CLS] and [DIST] rows of a"
    " DeiT (whose answer is the mean of the two tokens' logits), or the mean of all patch rows where the model averages"
    " its patches. Raw attention is the last layer's, with the mean of its heads."
)
ASKS = (Question("Whose order of patches takes the class away soonest?", model_measures.TruestMap()),)
