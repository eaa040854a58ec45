"""Load the two compared models: the sidebar's and a second one."""

from collections.abc import Collection

import streamlit as st
from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.selection import selection, subject, substitutes
from pages.selection.subject import Subject
from pages.stores import shared_cache
from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities
from vitviz.probe.layers import LayerOutput, read_layer_outputs

SMALL_PX = 64


@shared_cache.per_image(shared=24, upload=6)
def read_layers(compared: Subject) -> list[LayerOutput]:
    """Return every layer's output for the selected image."""
    height, width = compared.prepared.input.shape[-2:]
    # On busy cores, the waiting threads of a small model take forty times as long.
    with threadpool_limits(1 if compared.model.preparation.image_size <= SMALL_PX else None):
        captured = compared.capture(tuple(layer.record for layer in compared.layers))
    return read_layer_outputs(compared.model, captured.arrays, (height, width))


def choose_other(current: Subject) -> Subject:
    """Draw the control of the second model; return it on the same image."""
    models = selection.list_models()
    titles = {
        key: choice.title
        for key, choice in models.items()
        if key != current.choice.key and abilities(choice.config).layers
    }
    default = find_default_other(current, titles)
    widgets.follow_default("layers.other", default)
    with st.container(width=230):
        key = widgets.select(
            "layers.other",
            "Compare with",
            titles,
            default,
            help="By default the CNN or ViT most similar to the sidebar's model.",
        )
    return subject.load_subject(models[key], None, current.image)


def find_default_other(current: Subject, keys: Collection[str]) -> str:
    """Return the CNN nearest to a transformer, or the ViT nearest to a CNN, by channels, data, classes and size."""

    def fits(config: ModelConfig) -> bool:
        able = abilities(config)
        return bool(able.layers and (able.blocks if current.able.receptive_field else able.receptive_field))

    nearest = substitutes.find_nearest_model(fits).key
    return nearest if nearest in keys else next(iter(keys))
