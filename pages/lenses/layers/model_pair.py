"""The two models that the page looks at: the sidebar's, and another one beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.selection import selection, subject, substitute
from pages.selection.subject import Subject
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.token_colours import FloatArray
from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.layers import Layer, Said, layers_of, said_in
from vitviz.text import plain

SMALL_PX = 64


@dataclass(frozen=True)
class Other(widgets.Chosen, page="layers"):
    """Which model stands beside the sidebar's, by its key."""

    other: str


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two models on the chosen picture."""

    now: Subject

    @property
    def title(self) -> str:
        """The model's name, as it is."""
        return self.now.model.title

    @property
    def shown(self) -> str:
        """The name for Markdown and captions: a run's or an upload's is a stranger's text."""
        return plain(self.title)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """From the first map to the last block."""
        return layers_of(self.now.model.config)

    @property
    def known(self) -> str:
        """What changes when the weights do."""
        return f"{self.now.model.digest}@{self.now.model.step}"

    @property
    def is_cnn(self) -> bool:
        """Whether kernels alone say what a layer reads."""
        return bool(self.now.able.receptive_field)

    @property
    def prefix(self) -> tuple[str, ...]:
        """Names of the tokens before the places."""
        return self.now.layout.prefix

    def said(self) -> list[Said]:
        """What every layer says of the chosen picture."""
        return _said(self.known, self, self.now.image, self.now.offset)

    def brightness(self) -> FloatArray:
        """(1, H, W) of the chosen picture as the model sees it."""
        shown: FloatArray = self.now.prepared.shown[None].mean(axis=-1)
        return shown


@cached.per_picture(shared=24, upload=6)
def _said(known: str, _side: Side, image: str, offset: cached.Offset) -> list[Said]:
    now = _side.now
    height, width = now.prepared.input.shape[-2:]
    with alone(now.model):
        found = now.capture(tuple(layer.record for layer in _side.layers))
    return said_in(now.model, found.arrays, (height, width))


def alone(model: LoadedModel) -> threadpool_limits:
    """One thread for a small model: threads that wait for each other take forty times as long on busy cores."""
    return threadpool_limits(1 if model.preparation.image_size <= SMALL_PX else None)


def own() -> Side:
    """The sidebar's model."""
    return Side(subject.current())


def beside(one: Side) -> Side:
    """The other model on the same picture, as its control says; draws the control."""
    models = {
        key: choice
        for key, choice in selection.models().items()
        if key != one.now.choice.key and abilities(choice.config).layers
    }
    default = default_beside(one, models)
    widgets.follow_default(Other.key("other"), default)
    key = widgets.select(
        Other.key("other"),
        "Beside it",
        list(models),
        default,
        format_func=lambda name: models[name].title,
        help="The CNN or the ViT nearest to the sidebar's model, until you choose another one.",
    )
    return Side(subject.of(models[key], None, one.now.image))


def default_beside(one: Side, models: Mapping[str, ModelChoice]) -> str:
    """A CNN beside a Transformer, a ViT beside a CNN: the nearest by channels, data, classes and size."""

    def fits(config: ModelConfig) -> bool:
        able = abilities(config)
        return bool(able.layers and (able.blocks if one.is_cnn else able.receptive_field))

    found = substitute.nearest(fits).key
    return found if found in models else next(iter(models))
