"""What the map says beside its numbers: the model's family and words, and the lens that each part leads to."""

from __future__ import annotations

from urllib.parse import urlencode

from pages.controls import query_params, widgets
from pages.frame import registry
from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.map import Links
from vitviz.plots.map_contents import Scene
from vitviz.plots.map_words import ModelWords

SWIN = ("swin", "Windows and merging, step by step")
FILTERS = ("filters", "What its filters look for")
# The lens of a part, by the first word of its id, and what the link is called.
_LENSES = {
    "picture": ("patches", "The picture, cut by hand"),
    "patches": ("patches", "Cut and multiply, patch by patch"),
    "stem": FILTERS,
    "embed": ("filters", "What E looks for"),
    "prefix": ("patches", "The sequence, token by token"),
    "positions": ("positions", "How alike the positions are"),
    "block": ("block", "Every step of this layer"),
    "merge": SWIN,
    "stage": FILTERS,
    "norm": ("attention", "What explains the answer"),
    "pool": ("attention", "What explains the answer"),
    "head": ("attention", "What explains the answer"),
    "classes": ("attention", "What explains the answer"),
}


def scene(
    config: ModelConfig, title: str, trained: bool, step: int, classes: tuple[str, ...], readout: str
) -> Scene:
    """What the map says of a model; readout is its journey's."""
    able = abilities(config)
    words = ModelWords(readout, windows=bool(able.windows), convolutions=bool(able.receptive_field))
    if able.blocks:
        vit = as_vit(config)
        words = ModelWords(
            readout, vit.norm == "pre", vit.final_norm, bool(vit.stem), distilled=vit.distilled
        )
    return Scene(title, trained, step, config.kind, words, classes)


def lens_of(part: str, config: ModelConfig) -> tuple[str, str, dict[str, object]]:
    """(slug, label, the page's controls) of the lens that is about a part; slug '' where there is none."""
    able = abilities(config)
    first, _, number = part.partition(".")
    slug, label = _LENSES.get(first, ("", ""))
    if first == "block":
        return (slug, label, {"block.layer": int(number)}) if able.blocks else (*SWIN, {})
    if first in ("head", "classes") and able.distillation:
        return "distillation", "What the two heads say", {}
    if slug == "patches" and not able.embedding:
        slug, label = FILTERS if able.filters else ("", "")
    if slug == "attention" and not able.attention:
        slug, label = FILTERS
    return (slug, label, {}) if slug in registry.BY_SLUG else ("", "", {})


def query_of(part: str, config: ModelConfig, elsewhere: dict[str, str]) -> tuple[str, dict[str, str]]:
    """(slug, query) of a part's lens with this run's nouns and pin; `elsewhere` holds those that are others."""
    slug, _, chosen = lens_of(part, config)
    return slug, query_params.query(
        **elsewhere, **{key: widgets.encode(value) for key, value in chosen.items()}
    )


def links(parts: list[str], config: ModelConfig, elsewhere: dict[str, str]) -> Links:
    """Where each part's lens stands, with this run's nouns and pin; `elsewhere` holds those that are others."""
    found: Links = {}
    for part in parts:
        slug, label, _ = lens_of(part, config)
        if slug:
            found[part] = {
                "slug": slug,
                "label": label,
                "href": f"{slug}?{urlencode(query_of(part, config, elsewhere)[1])}",
            }
    return found
