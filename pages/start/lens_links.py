"""Describe the model for the map, and link each part of the map to its lens."""

from pages.controls import query_params, widgets
from pages.stores import registry
from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.map_contents import MapModel
from vitviz.plots.map_words import ModelTraits

Links = dict[str, tuple[str, str, dict[str, str]]]  # part id -> slug, label, query
SWIN = ("swin", "Windows and patch merging")
FILTERS = ("filters", "Its learned filters")
# (slug, link label) of a part's lens, by the first word of the part's id.
_LENSES = {
    "picture": ("patches", "Cut the image into patches"),
    "patches": ("patches", "From patch to token, step by step"),
    "stem": FILTERS,
    "embed": ("filters", "The filters of E"),
    "prefix": ("patches", "The token sequence"),
    "positions": ("positions", "Similarity of positions"),
    "block": ("block", "Every step of this layer"),
    "merge": SWIN,
    "stage": FILTERS,
    "norm": ("attention", "Explain the prediction"),
    "pool": ("attention", "Explain the prediction"),
    "head": ("attention", "Explain the prediction"),
    "classes": ("attention", "Explain the prediction"),
}


def build_map_model(config: ModelConfig, classes: tuple[str, ...], readout: str) -> MapModel:
    """Return the map's description of a model; `readout` comes from its recorded forward pass."""
    able = abilities(config)
    traits = ModelTraits(readout, windows=bool(able.windows), convolutions=bool(able.receptive_field))
    if able.blocks:
        vit = as_vit(config)
        traits = ModelTraits(
            readout,
            vit.norm == "pre",
            vit.final_norm,
            bool(vit.stem),
            distilled=vit.two_heads,
            unread_cls=vit.unread_cls,
            class_output=vit.class_output,
        )
    return MapModel(config.kind, traits, classes)


def find_lens(part: str, config: ModelConfig) -> tuple[str, str, dict[str, object]]:
    """Return (slug, label, page controls) of a part's lens; slug '' if there is none."""
    able = abilities(config)
    first, _, number = part.partition(".")
    slug, label = _LENSES.get(first, ("", ""))
    if first == "block":
        return (slug, label, {"block.layer": int(number)}) if able.blocks else (*SWIN, {})
    if first in ("head", "classes") and able.distillation:
        return "distillation", "Compare the two heads", {}
    if slug == "patches" and not able.embedding:
        slug, label = FILTERS if able.filters else ("", "")
    if slug == "attention" and not able.attention:
        slug, label = FILTERS
    return (slug, label, {}) if slug in registry.BY_SLUG else ("", "", {})


def build_links(parts: list[str], config: ModelConfig, overrides: dict[str, str]) -> Links:
    """Return the links to the parts' lenses with the current selection and pin; `overrides` replaces entries."""
    links: Links = {}
    for part in parts:
        slug, label, controls = find_lens(part, config)
        if slug:
            encoded = {key: widgets.encode_value(setting) for key, setting in controls.items()}
            links[part] = slug, label, query_params.build_query(**overrides, **encoded)
    return links
