"""What the attention explorer looks at: the nouns, resolved to a model, a prepared picture and its attention."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from pages.selection import selection
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.attention import WindowRows, rows_of_windows
from vitviz.data.preparation import Prepared
from vitviz.models.abilities import Abilities, abilities, as_swin, as_vit
from vitviz.models.layout import TokenLayout
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.attention import Head, Quantised, Strip, layer_codes, strip_view
from vitviz.plots.photo import Photo
from vitviz.probe.capture import Capture

# What the browser gets of a capture, quantised; gone with the capture, so an upload's goes with its visit.
_LAYERS: WeakKeyDictionary[Capture, dict[int, Quantised]] = WeakKeyDictionary()
_STRIPS: WeakKeyDictionary[Capture, dict[Head, Strip]] = WeakKeyDictionary()
ATTENTION = ("blocks.*.attn",)
WINDOWS = ("layers.*.attn", "layers.*.window_index")


@dataclass(frozen=True, eq=False)
class Subject:
    """One model at one step looking at one picture."""

    choice: ModelChoice
    step: int
    image: str
    offset: tuple[float, float]
    model: LoadedModel
    prepared: Prepared

    @property
    def able(self) -> Abilities:
        """What the model has, and why not where it has not."""
        return abilities(self.model.config)

    def ground(self, seen: bool) -> Photo:
        """What maps are drawn on: the original crop, or what the model sees."""
        return cached.photo(self.image, self.model.preparation, self.offset, seen)

    @cached_property
    def layout(self) -> TokenLayout:
        """The sequence that the picture becomes."""
        return self.model.layout(*self.prepared.input.shape[-2:])

    @cached_property
    def readout(self) -> str:
        """'cls', 'mean' or 'first_patch'."""
        return as_vit(self.model.config).readout if self.able.blocks else "mean"

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; empty for a model without a head."""
        return self.model.classes if self.able.class_head else ()

    def capture(self, patterns: tuple[str, ...]) -> Capture:
        """Named intermediates of the picture, from one cached pass."""
        return cached.captured(self.choice, self.step, self.image, patterns, self.offset)

    @cached_property
    def attn(self) -> np.ndarray:
        """(depth, heads, query, key)."""
        return self.capture(ATTENTION).attention()[:, 0]

    def layer(self, layer: int) -> Quantised:
        """The chosen layer with all heads, in eight bits; made once."""
        kept = _LAYERS.setdefault(self.capture(ATTENTION), {})
        if layer not in kept:
            kept[layer] = layer_codes(self.attn, layer)
        return kept[layer]

    def strip(self, head: Head) -> Strip:
        """The chosen head with all layers, as it travels; made once."""
        kept = _STRIPS.setdefault(self.capture(ATTENTION), {})
        if head not in kept:
            kept[head] = strip_view(self.attn, head)
        return kept[head]

    @cached_property
    def logits(self) -> np.ndarray:
        """(classes,)."""
        logits: np.ndarray = self.capture(WINDOWS if self.able.windows else ATTENTION).logits[0]
        return logits

    @property
    def probabilities(self) -> np.ndarray:
        """(classes,)."""
        return probabilities(self.model, self.logits)

    @cached_property
    def windows(self) -> list[tuple[str, WindowRows]]:
        """Swin's blocks in order of depth: name such as 'layers.0.blocks.1', and its rows on the stage's grid."""
        return self.windows_of(self.capture(WINDOWS))

    def windows_of(self, found: Capture) -> list[tuple[str, WindowRows]]:
        """The blocks of a capture that recorded `WINDOWS`."""
        names = [
            f"layers.{stage}.blocks.{block}"
            for stage, depth in enumerate(as_swin(self.model.config).depths)
            for block in range(depth)
        ]
        return [
            (name, rows_of_windows(found[f"{name}.attn"][0], found[f"{name}.window_index"])) for name in names
        ]


def probabilities(model: LoadedModel, logits: np.ndarray) -> np.ndarray:
    """Class probabilities (..., classes); a model whose output is a softmax already gives them itself."""
    return model.probabilities(logits)


def of(
    choice: ModelChoice, step: int | None, image: str, offset: tuple[float, float] | None = None
) -> Subject:
    """The subject of any model, step (None: the last) and picture, cropped at an offset (None: the sidebar's)."""
    model = cached.loaded(choice, step)
    at = choice.last_step if step is None else step
    offset = selection.current().offset if offset is None else offset
    return Subject(choice, at, image, offset, model, cached.prepared(image, model.preparation, offset))


def current() -> Subject:
    """The subject of the sidebar's nouns."""
    now = selection.current()
    return of(selection.choice(), now.step, now.image)


def token_name(layout: TokenLayout, token: int) -> str:
    """'[CLS]', or 'the patch in row 3, column 5'; counted from 1."""
    if token < layout.num_prefix_tokens:
        return f"[{layout.prefix[token].upper()}]"
    row, col = divmod(token - layout.num_prefix_tokens, layout.grid[1])
    return f"the patch in row {row + 1}, column {col + 1}"
