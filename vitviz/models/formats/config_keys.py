"""Say what every key of a publisher's configuration does here, and check the keys that tensors show too."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vitviz.config import SwinConfig, ViTConfig
from vitviz.config_models import mlp_width
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut

Row = Mapping[str, Any]


def _list_rows(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section's rows by key, those of keys with one sentence too, and `like`."""
    shared = [(use, *entry) for use in ("read", "ignored") for entry in section.get(use, {}).items()]
    rows = {key: row for key, row in section.items() if key not in ("read", "ignored")}
    return rows | {key: {use: sentence} for use, sentence, keys in shared for key in keys}


_SECTIONS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PARTS: Mapping[str, Mapping[str, Row]] = {
    name: _list_rows(section) for name, section in _SECTIONS.pop("parts").items()
}
_TABLE = {name: _list_rows(section) for name, section in _SECTIONS.items()}
_PARTS = {"clip": "vision_config", "siglip": "vision_config", "vision-encoder-decoder": "encoder"}
_PART_TYPES = {"clip": "clip_vision_model", "siglip": "siglip_vision_model"}
# Of live modules.
_MODULE: Mapping[str, Row] = dict.fromkeys(("layer_norm_eps", "norm_place", "attn_pool_act_layer"), {})
MODEL_TYPES = tuple(name for name in _TABLE if name != "shared")


@cache
def list_keys(model_type: str) -> Mapping[str, Row]:
    """Return the rows of a model type by key; empty for an unknown type."""
    if model_type not in MODEL_TYPES:
        return {}
    own = _TABLE[model_type]
    like = own.get("like")
    inherited = _TABLE[like] if isinstance(like, str) else {}
    return {key: row for key, row in {**_TABLE["shared"], **inherited, **own}.items() if key != "like"}


def complete(settings: Settings) -> Settings:
    """Return the settings with the publisher's defaults behind all that is stated."""
    model_type, stated = _find_part(settings.values)
    defaults = {
        key: row["default"]
        for key, row in list_keys(model_type).items()
        if "default" in row and "read" in row and stated.get(key) is None
    }
    if not defaults:
        return settings
    return settings.behind("class_defaults", defaults)


def check_keys(settings: Settings, config: ViTConfig | SwinConfig) -> None:
    """Check the files' keys against the tensors, and note those that have no row.

    Raises:
        PretrainedError: if a value contradicts the tensors, or is not computed here.
    """
    model_cfg = settings.values.get("model_cfg")
    has_parts = False
    for name, rows in PARTS.items():
        for values in (settings.values, model_cfg):
            part = values.get(name) if isinstance(values, Mapping) else None
            if isinstance(part, Mapping):
                if isinstance(config, SwinConfig):
                    rows = {**rows, "act_layer": {"refused": "a Swin's activation", "unless": ["gelu"]}}
                has_parts = True
                _check_rows(part, rows, config, name)
                _note_unread(settings, name, part, rows)
    if isinstance(settings.values.get("pretrained_cfg"), Mapping):  # timm's config.json
        _check_rows(settings.values, PARTS["timm"], config, "config.json")
    model_type, stated = _find_part(settings.values)
    if rows := list_keys(model_type):
        _check_rows(stated, rows, config, "config.json")
        _note_unread(settings, "config.json", stated, rows)
    elif "architecture" in settings.values:  # timm's, in older files without pretrained_cfg
        _check_rows(settings.values, PARTS["pretrained_cfg"], config, "config.json")
    if not rows and has_parts:  # of timm or open_clip, whose values may stand at the top level, too
        known = {key: row for part in PARTS.values() for key, row in part.items()}
        _note_unread(
            settings, "the configuration", settings.values, {**known, **PARTS, **_TABLE["shared"], **_MODULE}
        )


def _note_unread(settings: Settings, place: str, stated: Mapping[str, Any], rows: Mapping[str, Row]) -> None:
    unread = sorted(key for key, value in stated.items() if key not in rows and value is not None)
    if unread:
        settings.assume(f"Keys of {place} that were not read: {cut(', '.join(unread), 120)}.")


def _check_rows(
    stated: Mapping[str, Any], rows: Mapping[str, Row], config: ViTConfig | SwinConfig, place: str
) -> None:
    for key, value in stated.items():
        row = rows.get(key)
        if row is None or value is None:
            continue
        if "refused" in row and value not in row["unless"]:
            raise PretrainedError(
                f"{place} states {key} {cut(repr(value), 40)}: {row['refused']} is not computed here"
            )
        if "checked" in row and not _agrees(value, shown := _read_field(config, row["checked"])):
            raise PretrainedError(
                f"{place} states {key} {cut(repr(value), 40)}, but its tensors show"
                f" {'none' if shown is None else repr(shown)}, so its publisher's"
                " model is another one"
            )


def _find_part(values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the model type and the values of the image encoder."""
    model_type = str(values.get("model_type"))
    part = values.get(_PARTS.get(model_type, ""))
    if not isinstance(part, Mapping):
        return model_type, values
    return str(part.get("model_type") or _PART_TYPES.get(model_type)), part


def _read_field(config: ViTConfig | SwinConfig, name: str) -> Any:
    """Return what the tensors show; None where a model of this kind has no such value."""
    if name == "mlp_hidden":
        return mlp_width(config.embed_dim, config.mlp_ratio) if isinstance(config, ViTConfig) else None
    if name == "num_classes" and isinstance(
        config, ViTConfig
    ):  # timm counts a projection's outputs as classes
        return config.num_classes or config.projection
    return getattr(config, name, None)


def _agrees(stated: Any, shown: Any) -> bool:
    if isinstance(stated, list | tuple):
        pair = len(stated) == 2 and not isinstance(shown, tuple)
        return all(side == shown for side in stated) if pair else tuple(stated) == shown
    return bool(stated == shown)
