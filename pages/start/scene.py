"""What the map says beside its numbers: the model's family and words, and the lens that each part leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.map_words import ModelWords

if TYPE_CHECKING:
    from vitviz.analysis.journey import Journey

# The lens of a part, by the first word of its id, and what the link is called.
_LENSES = {
    "patches": ("patches", "Cut and multiply on a page of its own"),
    "embed": ("filters", "What E looks for"),
    "prefix": ("patches", "The sequence, token by token"),
    "positions": ("positions", "How alike positions are"),
    "block": ("block", "Every step of this layer"),
    "norm": ("attention", "What the answer is read from"),
    "head": ("attention", "What explains the answer"),
    "classes": ("attention", "What explains the answer"),
    "pool": ("attention", "What the answer is read from"),
    "stem": ("filters", "What its filters look for"),
    "stage": ("filters", "What its filters look for"),
    "merge": ("swin", "Windows and merging, step by step"),
}


def model_words(config: ModelConfig, readout: str) -> ModelWords:
    """What the map's sentences must know of a model."""
    able = abilities(config)
    if able.blocks:
        vit = as_vit(config)
        return ModelWords(readout, vit.norm == "pre", vit.final_norm, bool(vit.stem), distilled=vit.distilled)
    return ModelWords(readout, windows=bool(able.windows), convolutions=bool(able.receptive_field))


def lens_of(part: str, config: ModelConfig) -> tuple[str, str, dict[str, object]]:
    """(slug, label, the page's controls) of the lens that is about a part; slug '' where there is none."""
    able = abilities(config)
    first, _, number = part.partition(".")
    if first not in _LENSES:
        return "", "", {}
    slug, label = _LENSES[first]
    if first == "block" and able.windows:
        return "swin", "Windows and merging, step by step", {}
    if first == "block":
        return slug, label, {"block.layer": int(number)}
    if first in ("head", "classes") and able.distillation:
        return "distillation", "What the two heads say", {}
    if slug == "attention" and not able.attention:
        return "filters", "What its filters look for", {}
    return slug, label, {}


def family(config: ModelConfig) -> str:
    """'vit', 'swin' or 'cnn', as the view words it."""
    return config.kind


def journey_words(config: ModelConfig, journey: Journey) -> ModelWords:
    """`model_words` of a journey that has been made."""
    return model_words(config, journey.readout)
