"""Cite published results on the same question, with datasets a thousand times as large."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from vitviz.plots.data_size import pretraining_figure

# Dosovitskiy et al. 2021, table 5 (fine-tuned at a higher resolution); BiT: Kolesnikov et al. 2020, table 2 for the
# two smaller sets, table 1 for the largest.
SETS = {"ImageNet-1k": 1.28, "ImageNet-21k": 14.0, "JFT-300M": 303.0}
ACCURACY: dict[str, tuple[float | None, float, float]] = {
    "BiT (ResNet-152×4)": (81.30, 85.39, 87.54),
    "ViT-B/32": (73.38, 81.28, 80.73),
    "ViT-B/16": (77.91, 83.97, 84.15),
    "ViT-L/32": (71.16, 80.99, 84.37),
    "ViT-L/16": (76.53, 85.15, 87.12),
    "ViT-H/14": (None, 85.13, 88.04),  # not trained on the smallest
}
SOURCES = """
Cited, not measured here: Dosovitskiy et al. 2021, *An image is worth 16x16 words*, [table 5](https://arxiv.org/abs/2010.11929)
(models fine-tuned on ImageNet after a pre-training on each set); Kolesnikov et al. 2020, *Big Transfer*,
[tables 1 and 2](https://arxiv.org/abs/1912.11370), for the convolutional network. Touvron et al. 2021, *DeiT*,
[table 5](https://arxiv.org/abs/2012.12877): with strong augmentation a ViT-B/16 comes to 81.8 % on ImageNet-1k
alone, and to 83.4 % with a convolutional teacher.
"""
NEVER = "never"  # a guess: a ViT leads after none of the sets


@dataclass(frozen=True)
class PaperControls(widgets.ControlValues, page="data"):
    """After which set a ViT is guessed to lead for the first time."""

    papers_guess: str


def draw() -> None:
    """The cited curve, what it says, and how far it is from ours; the ViTs' lines wait for a guess."""
    answered = prediction_gate.require_prediction(
        PaperControls.key("papers_guess"),
        "papers",
        f"The line of {next(iter(ACCURACY))} is a convolutional network's. After which set does the best ViT lie above"
        " it for the first time?",
        {name: f"{name}, {size:g} million images" for name, size in SETS.items()} | {NEVER: "After none"},
        describe_prediction,
    )
    shown = dict(list(ACCURACY.items())[: None if answered else 1])
    page.figure(pretraining_figure(shown, tuple(SETS.values()), selection.get_theme()), "data.papers_figure")
    page.caption(describe_leaders() if answered else "Predict to see the ViTs.")
    st.markdown(SOURCES)
    if answered:
        _draw_table()


def describe_prediction(guess: str) -> str:
    """Return True if a guess of the first set after which a ViT leads was right."""
    first = next((name for place, name in enumerate(SETS) if _find_best_vit(place)[1] > 0), NEVER)
    said = {NEVER: "after none"} | {name: f"after {name}" for name in SETS}
    return f"Your prediction: {said[guess]}: {'right' if guess == first else f'measured: {said[first]}'}."


def _draw_table() -> None:
    st.dataframe(
        {
            "set": list(SETS),
            "pictures": [f"{size:g} M" for size in SETS.values()],
            **{title: list(values) for title, values in ACCURACY.items()},
        },
        hide_index=True,
        placeholder=page.MISSING,
    )


def cite_papers(section: str) -> None:
    """One line beside what is measured here: the same question on sets a thousand times as large."""
    told = {
        "sizes": f"[Dosovitskiy et al. 2021, table 5](https://arxiv.org/abs/2010.11929): {describe_leaders()}",
        "time": "[Dosovitskiy et al. 2021, section 4.4](https://arxiv.org/abs/2010.11929): hybrids are slightly better"
        " than ViTs for little compute, and the difference vanishes for larger models.",
        "augmented": "[Steiner et al. 2022](https://arxiv.org/abs/2106.10270): with more compute, augmentation and"
        " regularisation a ViT comes to what one trained on ten times as many images comes to.",
    }
    page.caption(f":material/menu_book: *Published, with larger models and datasets:* {told[section]}")


def describe_leaders() -> str:
    """Return who leads at either end, computed from the cited numbers."""
    names = list(SETS)
    few, many = _find_best_vit(0), _find_best_vit(-1)
    return (
        f"After {names[0]} ({SETS[names[0]]:g} million images) the best ViT of the table, {few[0]}, lies"
        f" {_format_points(few[1])} the convolutional network; after {names[-1]} ({SETS[names[-1]]:g}"
        f" million) the best,"
        f" {many[0]}, lies {_format_points(many[1])} it. {_compare_sizes('ViT-L/16', 'ViT-B/16')}"
    )


def _find_best_vit(place: int) -> tuple[str, float]:
    """Return the best ViT after one of the sets, and how far it lies above the convolutional network."""
    convolutional, *vits = ACCURACY
    bar = ACCURACY[convolutional][place] or 0.0
    found = {title: (ACCURACY[title][place] or 0.0) - bar for title in vits}
    title = max(found, key=found.__getitem__)
    return title, found[title]


def _format_points(points: float) -> str:
    return f"{abs(points):.1f} points {'below' if points < 0 else 'above'}"


def _compare_sizes(large: str, small: str) -> str:
    """Return where a larger model is better than a smaller one."""
    better = [
        name for name, a, b in zip(SETS, ACCURACY[large], ACCURACY[small], strict=True) if (a or 0) > (b or 0)
    ]
    worse = [name for name in SETS if name not in better]
    return f"{large} is above {small} after {' and '.join(better)}, and below it after {' and '.join(worse)}."
