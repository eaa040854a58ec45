"""The lesson's recipe for published weights: what it does, the code, and what it costs here."""

from __future__ import annotations

import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.stores import published
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.training.lesson_recipe import fine_tune, head_swapped, parameter_groups

RECIPE = r"""
The lesson takes `vit_small_patch16_224`, trained on ImageNet, to CIFAR-10:

1. **Head swap**: the head of 1,000 classes is dropped, a linear map $384 \times 10$ takes its place.
2. **Images**: 32 px are enlarged to 224 px; while training each is shifted by up to 4 px and flipped half of
   the time; mean and standard deviation are ImageNet's.
3. **Two learning rates**, told apart by name: every parameter with 'head' in its name at $10^{-3}$, all others at
   $10^{-5}$; AdamW, weight decay 0.01, batches of 32, a cosine over ten epochs.

`python -m vitviz.fine_tune vit_small_patch16_224 --out checkpoints/small.safetensors` does this where the weights
can be fetched; the file is then among the models of this app. At 224 px on two cores ten epochs of 50,000 images
would take days (estimated, not measured); the code is tested on sixty images, with random weights. On this page
the same steps run with small backbones in a minute, and published weights with up to 15 million parameters (ViT-Ti/16,
DeiT-Ti/16) can be chosen under *Begin with* once they are here.
"""


def draw() -> None:
    """The recipe, its code, and which published weights are here."""
    st.markdown(RECIPE)
    here = [entry.title for entry in published.list_downloaded()]
    listed = ", ".join(here) if here else "none"
    page.caption(f"Of {len(PRETRAINED)} published models that can be opened, on this machine: {listed}.")
    selection.link_to("which_model", "List of published models")
    page.drawers("fine_tuning.recipe", code=(head_swapped, parameter_groups, fine_tune))
