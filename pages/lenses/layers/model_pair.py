"""Load the two compared models: the sidebar's and a second one."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import streamlit as st
from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.selection import nearest_model, selection, subject
from pages.selection.subject import Subject
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.token_colours import FloatArray
from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.layers import Layer, LayerOutput, list_layers, read_layer_outputs
from vitviz.text import plain

SMALL_PX = 64


@dataclass(frozen=True)
class OtherModelControls(widgets.ControlValues, page="layers"):
    """The key of the second model."""

    other: str


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """One of the two models on the selected image."""

    subject: Subject

    @property
    def title(self) -> str:
        return self.subject.model.title

    @property
    def safe_title(self) -> str:
        """The name escaped for Markdown, because titles of runs and uploads are untrusted."""
        return plain(self.title)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return list_layers(self.subject.model.config)

    @property
    def cache_key(self) -> Hashable:
        """Key of results that depend on the weights and the image."""
        return self.subject.cache_key

    @property
    def image(self) -> str:
        """Key of the selected image."""
        return self.subject.image

    @property
    def is_cnn(self) -> bool:
        """Return True if kernels alone determine what a layer reads."""
        return bool(self.subject.able.receptive_field)

    @property
    def prefix(self) -> tuple[str, ...]:
        """Names of the tokens before the patches."""
        return self.subject.layout.prefix

    def compute_brightness(self) -> FloatArray:
        """Return (1, H, W), the brightness of the model's input."""
        brightness: FloatArray = self.subject.prepared.shown[None].mean(axis=-1)
        return brightness


@cached.per_image(shared=24, upload=6)
def read_layers(compared: ComparedModel) -> list[LayerOutput]:
    """Return every layer's output for the selected image."""
    model_subject = compared.subject
    height, width = model_subject.prepared.input.shape[-2:]
    with limit_threads(model_subject.model):
        captured = model_subject.capture(tuple(layer.record for layer in compared.layers))
    return read_layer_outputs(model_subject.model, captured.arrays, (height, width))


def limit_threads(model: LoadedModel) -> threadpool_limits:
    """Use one thread for a small model: on busy cores, waiting threads take forty times as long."""
    return threadpool_limits(1 if model.preparation.image_size <= SMALL_PX else None)


def load_current() -> ComparedModel:
    """Return the sidebar's model on the selected image."""
    return ComparedModel(subject.load_current())


def choose_other(current: ComparedModel) -> ComparedModel:
    """Draw the control of the second model; return it on the same image."""
    models = {
        key: choice
        for key, choice in selection.list_models().items()
        if key != current.subject.choice.key and abilities(choice.config).layers
    }
    default = find_default_other(current, models)
    widgets.follow_default(OtherModelControls.key("other"), default)
    with st.container(width=230):
        key = widgets.select(
            OtherModelControls.key("other"),
            "Compare with",
            list(models),
            default,
            format_func=lambda name: models[name].title,
            help="By default the CNN or ViT most similar to the sidebar's model.",
        )
    return ComparedModel(subject.load_subject(models[key], None, current.subject.image))


def find_default_other(current: ComparedModel, models: Mapping[str, ModelChoice]) -> str:
    """Return the CNN nearest to a transformer, or the ViT nearest to a CNN, by channels, data, classes and size."""

    def fits(config: ModelConfig) -> bool:
        able = abilities(config)
        return bool(able.layers and (able.blocks if current.is_cnn else able.receptive_field))

    nearest = nearest_model.find_nearest_model(fits).key
    return nearest if nearest in models else next(iter(models))
