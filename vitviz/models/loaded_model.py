"""Hold a loaded model with its config, classes and origin."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.attention import sigmoid, softmax
from vitviz.config import ModelConfig, Preparation, ViTConfig
from vitviz.config_fields import Size
from vitviz.models.swin import SwinTransformer
from vitviz.models.token_layout import TokenLayout, list_wide_grids
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import empty_model


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A frozen model in evaluation mode, with its image preparation and the origin of its weights."""

    model: nn.Module
    config: ModelConfig
    preparation: Preparation
    classes: tuple[str, ...]
    title: str
    trained_on: str | None  # None: random weights, which every page states
    step: int
    digest: str
    began_with: str | None = None  # title of its initial weights; None: random
    notes: tuple[str, ...] = ()  # what was assumed when weights of another project were opened
    verified: bool | None = None  # True: its outputs equal those of the live module that it was opened from
    not_verified: str = ""  # why its outputs were compared with nothing

    def __post_init__(self) -> None:
        self.model.eval().requires_grad_(False)

    def __repr__(self) -> str:
        return f"LoadedModel({self.title!r}, {type(self.model).__name__}, {len(self.classes)} classes)"

    @property
    def cache_key(self) -> str:
        """Key of results that depend on these weights."""
        return self.digest

    def layout(self, height_px: int, width_px: int) -> TokenLayout:
        """Return the tokens that an image of this size becomes: a ViT's sequence, a Swin's first grid, a CNN's last."""
        layout: TokenLayout = self.model.layout(height_px, width_px)  # type: ignore[operator]
        return layout

    def probabilities(self, logits: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Return class probabilities (..., classes); of a regression, its values.

        A model with a softmax output already returns them; those of several labels are independent of one another.
        """
        return read_outputs(self.config, logits)

    def read_logits(self, logits: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Return the logits, up to a constant, of outputs (..., classes) that may have passed a softmax."""
        return np.log(logits.clip(1e-30)) if getattr(self.config, "softmax_output", False) else logits

    @property
    def vit(self) -> VisionTransformer:
        """The model as a ViT.

        Raises:
            TypeError: if it is another model; check `vitviz.models.abilities` first.
        """
        if not isinstance(self.model, VisionTransformer):
            raise TypeError(f"{self.title} must be a ViT, received a {type(self.model).__name__}")
        return self.model

    @property
    def swin(self) -> SwinTransformer:
        """The model as a Swin.

        Raises:
            TypeError: if it is another model; check `vitviz.models.abilities` first.
        """
        if not isinstance(self.model, SwinTransformer):
            raise TypeError(f"{self.title} must be a Swin, received a {type(self.model).__name__}")
        return self.model


def read_outputs(config: ModelConfig, logits: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return what a model's outputs (..., classes) mean: softmax, independent sigmoids, or the values themselves."""
    kind = getattr(config, "class_output", "softmax")
    if kind == "raw" or getattr(config, "softmax_output", False):
        return logits
    return sigmoid(logits) if kind == "sigmoid" else softmax(logits)


# How the note of an assumption about a setting begins.
_NOTES = {
    "num_heads": "The file does not state its number of heads",
    "image_size": "The file does not state its grid",
    "labels": "The files name no classes",
    "mean": "The files state no mean and standard deviation",
}


def list_assumptions(notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes on what is assumed, without those on what is not read or has no name."""
    return tuple(note for note in notes if "assum" in note)


def drop_notes(notes: Sequence[str], stated: Sequence[str]) -> tuple[str, ...]:
    """Return the notes without those on settings that are stated by now: num_heads, image_size, labels, mean."""
    return tuple(note for note in notes if not note.startswith(tuple(_NOTES[name] for name in stated)))


def list_head_counts(config: ModelConfig) -> list[int]:
    """Return the numbers of heads that fit the same weights, at most 32; none where the weights fix it."""
    if not isinstance(config, ViTConfig) or config.head_dim or config.qk_norm:
        return []
    if config.head_input != "all" or config.rotary:
        return []
    most = max(32, config.num_heads)  # of a page's maps and of the memory that they take
    return [heads for heads in range(1, most + 1) if config.embed_dim % heads == 0]


def list_image_sizes(loaded: LoadedModel) -> list[Size]:
    """Return the sizes of images that fit the same positions, the model's own first; none where the file states it."""
    if not any(note.startswith(_NOTES["image_size"]) for note in loaded.notes):
        return []
    config = loaded.vit.config
    (rows, cols), patch = config.grid, config.patch_size
    grids = list_wide_grids(rows * cols)
    return [config.image_size, *((h * patch, w * patch) for a, b in grids for h, w in ((a, b), (b, a)))]


def change_image_size(loaded: LoadedModel, size: Size) -> LoadedModel:
    """Return a model with the same weights, whose positions are read as another grid.

    Raises:
        ValueError: if the size is none of `list_image_sizes`.
    """
    sizes = list_image_sizes(loaded)
    if size not in sizes:
        raise ValueError(f"image_size must be one of {sizes}, received {size}")
    config = replace(loaded.vit.config, image_size=size)
    preparation = replace(loaded.preparation, image_size=size)
    model = empty_model(config)
    model.load_state_dict(loaded.model.state_dict(), assign=True)
    digest = f"{loaded.digest}:{size} px"
    return replace(loaded, model=model, config=config, preparation=preparation, digest=digest)
