"""What the papers measured of the same question, cited: the sets are a thousand times as large."""

from __future__ import annotations

import streamlit as st

from pages.shell import nouns, page
from vitviz.plots.data_size import pretraining_figure

# Dosovitskiy et al. 2021, table 5 (fine-tuned at a higher resolution); BiT: Kolesnikov et al. 2020, table 1.
SETS = {"ImageNet-1k": 1.28, "ImageNet-21k": 14.0, "JFT-300M": 303.0}
ACCURACY = {
    "BiT (ResNet-152×4)": (81.30, 85.39, 87.54),
    "ViT-B/32": (73.38, 81.28, 80.73),
    "ViT-B/16": (77.91, 83.97, 84.15),
    "ViT-L/32": (71.16, 80.99, 84.37),
    "ViT-L/16": (76.53, 85.15, 87.12),
}
SOURCES = """
Cited, not measured here: Dosovitskiy et al. 2021, *An image is worth 16x16 words*, [table 5](https://arxiv.org/abs/2010.11929)
(models fine-tuned on ImageNet after a pre-training on each set); Kolesnikov et al. 2020, *Big Transfer*,
[table 1](https://arxiv.org/abs/1912.11370), for the convolutional network. Touvron et al. 2021, *DeiT*,
[table 7](https://arxiv.org/abs/2012.12877): with strong augmentation a ViT-B/16 comes to 81.8 % on ImageNet-1k
alone, and to 83.4 % with a convolutional teacher.
"""


def draw() -> None:
    """The cited curve, what it says, and how far it is from ours."""
    page.figure(pretraining_figure(ACCURACY, tuple(SETS.values()), nouns.mode()), "data.papers_figure")
    page.caption(describe())
    st.markdown(SOURCES)
    st.dataframe(
        {
            "set": list(SETS),
            "pictures": [f"{size:g} M" for size in SETS.values()],
            **{title: list(values) for title, values in ACCURACY.items()},
        },
        hide_index=True,
    )


def describe() -> str:
    """Who leads at either end, computed from the cited numbers."""
    convolutional = next(iter(ACCURACY))
    first = {title: values[0] - ACCURACY[convolutional][0] for title, values in ACCURACY.items()}
    last = {title: values[-1] - ACCURACY[convolutional][-1] for title, values in ACCURACY.items()}
    vits = [title for title in ACCURACY if title != convolutional]
    best_few, best_many = (max(vits, key=values.__getitem__) for values in (first, last))
    names = list(SETS)
    return (
        f"After {names[0]} ({SETS[names[0]]:g} million pictures) the best ViT here, {best_few}, lies"
        f" {-first[best_few]:.1f} points below the convolutional network; after {names[-1]} ({SETS[names[-1]]:g}"
        f" million) {best_many} lies {abs(last[best_many]):.1f} points"
        f" {'below' if last[best_many] < 0 else 'above'} it. The"
        " larger ViT needs the larger set: ViT-L/16 is below ViT-B/16 after the smallest set, and above it after the"
        " others."
    )
