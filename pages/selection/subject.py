"""Resolve a model, a step and an image once: loaded weights, a prepared image, attention weights and logits."""

from collections.abc import Hashable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from pages.selection import selection, substitutes
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.attention import FloatArray, WindowRows
from vitviz.data.image_preprocessing import Prepared
from vitviz.models.abilities import Abilities, abilities, as_swin, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import TokenLayout
from vitviz.plots.photo import Photo
from vitviz.probe.capture import Capture
from vitviz.probe.explorer_layers import ATTENTION, WINDOWS, read_windows
from vitviz.probe.layers import RecordedLayer, list_layers
from vitviz.text import plain


@dataclass(frozen=True, eq=False)
class Subject:
    """One model at one step, applied to one image; `layout` holds the image's tokens."""

    choice: ModelChoice
    step: int
    image: str
    offset: tuple[float, float]
    model: LoadedModel
    prepared: Prepared
    layout: TokenLayout

    @property
    def cache_key(self) -> Hashable:
        """Key of results that depend on the model's weights and the image."""
        return self.model.cache_key, self.image, self.offset

    @property
    def able(self) -> Abilities:
        return abilities(self.model.config)

    @property
    def title(self) -> str:
        return self.model.title

    @property
    def safe_title(self) -> str:
        """Return the title escaped for Markdown, because titles of runs and uploads are untrusted."""
        return plain(self.title)

    @property
    def layers(self) -> tuple[RecordedLayer, ...]:
        return list_layers(self.model.config)

    @property
    def readout(self) -> str:
        return as_vit(self.model.config).readout if self.able.blocks else "mean"

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names; empty for a model without a head."""
        return self.model.classes if self.able.class_head else ()

    @property
    def class_note(self) -> str:
        """Return the note that belongs to a prediction for a photo, or ''."""
        return substitutes.describe_classes(self.choice, self.image)

    def ground(self, seen: bool | None = None) -> Photo:
        """Return the background of maps: the original crop, or (`seen`) the model's input; by default a small input."""
        return shared_cache.encode_photo(self.image, self.model.preparation, self.offset, seen)

    def capture(self, patterns: tuple[str, ...]) -> Capture:
        """Return named intermediates from one cached forward pass."""
        return shared_cache.capture_loaded(self.model, self.image, patterns, self.offset)


@dataclass(frozen=True, eq=False)
class CapturedSubject(Subject):
    """A subject with the attention and the logits of one forward pass.

    captured_layers: from 1: all, or at most one where all together are too large.
    attn: by layer (heads, query, key); empty for a Swin or a model without attention.
    windows: a Swin's attention by layer: the block's name such as 'layers.0.blocks.1', its rows on the stage's grid.
    logits: (classes,).
    """

    captured_layers: tuple[int, ...]
    attn: tuple[FloatArray, ...]
    windows: tuple[tuple[str, WindowRows], ...]
    logits: FloatArray

    @property
    def probabilities(self) -> FloatArray:
        """Return the class probabilities, shape (classes,)."""
        return self.model.probabilities(self.logits)

    def attention_of(self, layer: int) -> FloatArray:
        """Return the attention weights of a captured layer (from 1), shape (heads, query, key)."""
        return self.attn[self.captured_layers.index(layer)]


def load_subject(
    choice: ModelChoice, step: int | None, image: str, offset: tuple[float, float] | None = None
) -> Subject:
    """Load any model, step (None: the last) and image, cropped at an offset (None: the sidebar's)."""
    step = choice.last_step if step is None else step
    model = shared_cache.load_model(choice, step)
    offset = selection.get_current().offset if offset is None else offset
    prepared = shared_cache.prepare_image(image, model.preparation, offset)
    layout = model.layout(*prepared.input.shape[-2:])
    return Subject(
        choice=choice, step=step, image=image, offset=offset, model=model, prepared=prepared, layout=layout
    )


def load_current() -> Subject:
    current = selection.get_current()
    return load_subject(selection.get_model_choice(), current.step, current.image)


def capture_attention(subject: Subject, layer: int | None = None) -> CapturedSubject:
    """Run the model on the image; keep its logits and its attention.

    Args:
        layer: from 1; captured alone where the attention of all layers is too large.
    """
    if isinstance(subject, CapturedSubject) and (layer is None or layer in subject.captured_layers):
        return subject
    able = subject.able
    one_layer = ("logits",) if layer is None else (f"blocks.{layer - 1}.attn",)
    capture = subject.capture(WINDOWS if able.windows else ATTENTION if able.whole_record else one_layer)
    names = [name for name in capture.arrays if fnmatchcase(name, ATTENTION[0])]
    windows = read_windows(as_swin(subject.model.config), capture) if able.windows else []
    return CapturedSubject(
        **{field.name: getattr(subject, field.name) for field in fields(Subject)},
        captured_layers=tuple(int(name.split(".")[1]) + 1 for name in names)
        or tuple(range(1, len(windows) + 1)),
        attn=tuple(capture[name][0] for name in names),
        windows=tuple(windows),
        logits=capture.logits[0],
    )


def name_token(layout: TokenLayout, token: int) -> str:
    """Return '[CLS]' or 'the patch in row 3, column 5', counted from 1."""
    if token < layout.num_prefix_tokens:
        return f"[{layout.prefix[token].upper()}]"
    row, col = divmod(token - layout.num_prefix_tokens, layout.grid[1])
    return f"the patch in row {row + 1}, column {col + 1}"
