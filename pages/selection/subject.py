"""Resolve a model, a step and an image to loaded weights, a prepared image and attention weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from pages.selection import selection
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.attention import WindowRows, quantise_rows
from vitviz.data.preparation import Prepared
from vitviz.models.abilities import Abilities, abilities, as_swin, as_vit
from vitviz.models.layout import TokenLayout
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.attention import Head, Quantised, Strip, strip_view
from vitviz.plots.photo import Photo
from vitviz.probe.capture import Capture
from vitviz.probe.scenes import ATTENTION, WINDOWS, read_windows

# Quantised attention per capture; garbage-collected with it, so an upload's is removed with the upload.
_LAYERS: WeakKeyDictionary[Capture, dict[int, Quantised]] = WeakKeyDictionary()
_STRIPS: WeakKeyDictionary[Capture, dict[Head, Strip]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Subject:
    """One model at one step, applied to one image."""

    choice: ModelChoice
    step: int
    image: str
    offset: tuple[float, float]
    model: LoadedModel
    prepared: Prepared

    @property
    def able(self) -> Abilities:
        return abilities(self.model.config)

    def ground(self, seen: bool) -> Photo:
        """Return the background of maps: the original crop, or (`seen`) the model's input."""
        return cached.encode_photo(self.image, self.model.preparation, self.offset, seen)

    @cached_property
    def layout(self) -> TokenLayout:
        """Return the token sequence of the image."""
        return self.model.layout(*self.prepared.input.shape[-2:])

    @cached_property
    def readout(self) -> str:
        """Return 'cls', 'mean' or 'first_patch'."""
        return as_vit(self.model.config).readout if self.able.blocks else "mean"

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names; empty for a model without a head."""
        return self.model.classes if self.able.class_head else ()

    def capture(self, patterns: tuple[str, ...]) -> Capture:
        """Return named intermediates from one cached forward pass."""
        return cached.capture_activations(self.choice, self.step, self.image, patterns, self.offset)

    @cached_property
    def attn(self) -> np.ndarray:
        """Return the attention weights, shape (depth, heads, query, key)."""
        return self.capture(ATTENTION).attention()[:, 0]

    @property
    def depth(self) -> int:
        return as_vit(self.model.config).depth

    def attention_of(self, layer: int) -> np.ndarray:
        """Return the attention weights of a layer (from 1), shape (heads, query, key).

        Where all layers together are too large, one layer at a time is captured.
        """
        if self.able.whole_record:
            weights: np.ndarray = self.attn[layer - 1]
            return weights
        alone: np.ndarray = self._capture_layer(layer).attention()[0, 0]
        return alone

    def _capture_layer(self, layer: int) -> Capture:
        return self.capture(ATTENTION if self.able.whole_record else (f"blocks.{layer - 1}.attn",))

    def layer(self, layer: int) -> Quantised:
        """Return a layer's attention of all heads, quantised to eight bits; cached."""
        cache = _LAYERS.setdefault(self._capture_layer(layer), {})
        if layer not in cache:
            cache[layer] = quantise_rows(self.attention_of(layer))
        return cache[layer]

    def strip(self, layer: int, head: Head) -> Strip:
        """Return a head's attention in all layers, or in one if all are too large, as a view message; cached."""
        cache = _STRIPS.setdefault(self._capture_layer(layer), {})
        if head not in cache:
            attn = self.attn if self.able.whole_record else self.attention_of(layer)[None]
            cache[head] = strip_view(attn, head)
        return cache[head]

    @cached_property
    def logits(self) -> np.ndarray:
        """Return the logits, shape (classes,)."""
        patterns = WINDOWS if self.able.windows else ATTENTION if self.able.whole_record else ("logits",)
        logits: np.ndarray = self.capture(patterns).logits[0]
        return logits

    @property
    def probabilities(self) -> np.ndarray:
        """Return the class probabilities, shape (classes,)."""
        return self.model.probabilities(self.logits)

    @cached_property
    def windows(self) -> list[tuple[str, WindowRows]]:
        """Return Swin's blocks in order of depth: name such as 'layers.0.blocks.1' and its rows on the
        stage's grid.
        """
        return self.windows_of(self.capture(WINDOWS))

    def windows_of(self, capture: Capture) -> list[tuple[str, WindowRows]]:
        """Return the blocks of a capture that recorded `WINDOWS`."""
        return read_windows(as_swin(self.model.config), capture)


def load_subject(
    choice: ModelChoice, step: int | None, image: str, offset: tuple[float, float] | None = None
) -> Subject:
    """Load any model, step (None: the last) and image, cropped at an offset (None: the sidebar's)."""
    step = choice.last_step if step is None else step
    model = cached.load_model(choice, step)
    offset = selection.get_current().offset if offset is None else offset
    return Subject(choice, step, image, offset, model, cached.prepare_image(image, model.preparation, offset))


def load_current() -> Subject:
    """Load the sidebar's selection."""
    current = selection.get_current()
    return load_subject(selection.get_model_choice(), current.step, current.image)


def name_token(layout: TokenLayout, token: int) -> str:
    """Return '[CLS]' or 'the patch in row 3, column 5', counted from 1."""
    if token < layout.num_prefix_tokens:
        return f"[{layout.prefix[token].upper()}]"
    row, col = divmod(token - layout.num_prefix_tokens, layout.grid[1])
    return f"the patch in row {row + 1}, column {col + 1}"
