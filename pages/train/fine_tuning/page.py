"""Assemble the fine-tuning page: a pretrained backbone against the same model from scratch."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import published_weights
from pages.train.fine_tuning import tuning_race, weight_changes
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.training.lesson_recipe import fine_tune, parameter_groups, replace_head

RECIPE = r"""
The lecture fine-tunes `vit_small_patch16_224`, pretrained on ImageNet, on CIFAR-10:

1. **New head**: a linear layer $384 \times 10$ replaces the head of 1,000 classes.
2. **Images** are resized from 32 to 224 px and normalised with ImageNet's mean and standard deviation; augmentation
   shifts each by up to 4 px and flips it with probability 0.5.
3. **Two learning rates**: $10^{-3}$ for every parameter with 'head' in its name, $10^{-5}$ for all others; AdamW,
   weight decay 0.01, batch size 32, cosine schedule over ten epochs.

`python -m vitviz.fine_tune vit_small_patch16_224 --out checkpoints/small.safetensors` runs this recipe if the weights
can be downloaded; the app then lists the checkpoint as a model. At 224 px, ten epochs of 50,000 images would take days
on two cores (estimated, not measured); the code is tested on sixty images with random weights. On this page the same
steps run with small backbones in a minute; downloaded weights of up to 15 million parameters (ViT-Ti/16, DeiT-Ti/16)
are listed under *Start from*.
"""


def draw_recipe() -> None:
    st.markdown(RECIPE)
    titles = [entry.title for entry in published_weights.list_downloaded()]
    listed = ", ".join(titles) or "none"
    page.caption(
        f"Downloaded published models: {listed} ({len(titles)} of {len(PRETRAINED)} supported ones)."
    )
    selection.link_to("which_model", "List of published models")
    page.drawers("fine_tuning.recipe", code=(replace_head, parameter_groups, fine_tune))


VIEWS = {
    "race": ("Fine-tune", tuning_race.draw),
    "changed": ("Weight changes", weight_changes.draw),
    "recipe": ("The lecture's recipe", draw_recipe),
}


page.header("fine_tuning")
widgets.choose_section("fine_tuning.view", VIEWS)()
with page.row():
    selection.link_to("studies", "Fine-tuning on few images", **{"studies.study": "image_count"})
    selection.link_to("studies", "Fine-tuning methods", **{"studies.study": "tuning_methods"})
