"""Encode several models, each a preset with changes, as a short text for a link and as a run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

from vitviz.config import ModelConfig, Preparation, TrainConfig, config_of, model_from_dict, to_dict
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import MOST_MEMBERS, Member, RunConfig, clean_name

PRESET = "several"  # prefix of RunConfig.preset; the first model's recipe follows a colon
SHARED = ("dataset", "validation_fraction", "threads")  # one set of held-out images, one process
_BETWEEN, _PART = ";", "~"  # separators of models, and of the fields of one
_PLAIN = '",.[]:-_+ ()'
# Three families on digits, trained long enough to converge within a lesson.
READY = 'digits_live~="ViT";digits_swin~="Swin"~epochs=12;digits_cnn~="CNN"~epochs=12'


@dataclass(frozen=True)
class LineupEntry:
    """One model of a line-up, with the preset that it is based on."""

    recipe: str
    title: str
    model: ModelConfig
    train: TrainConfig


def encode(entries: Sequence[LineupEntry]) -> str:
    """Return the line-up as text, such as 'digits_live~="ViT"~depth=3;digits_cnn~="CNN"';
    only changed fields are written.
    """
    return _BETWEEN.join(_encoded(entry) for entry in entries)


def decode(text: str) -> tuple[LineupEntry, ...]:
    """Return the line-up that `encode` wrote.

    Raises:
        ValueError: if a preset or value is invalid, or there are too many models.
    """
    parts = [part for part in text.split(_BETWEEN) if part]
    if len(parts) > MOST_MEMBERS:
        raise ValueError(f"a run can train at most {MOST_MEMBERS} models, received {len(parts)}")
    return tuple(_decoded(part) for part in parts)


def run_config(entries: Sequence[LineupEntry], preparation: Preparation) -> RunConfig:
    """Return a run that trains all models; shared settings are taken from the first.

    Raises:
        ValueError: if there are fewer than two, or they are incompatible.
    """
    if not entries:
        raise ValueError("a run of several models needs at least two, received none")
    first = entries[0]
    shared = {name: getattr(first.train, name) for name in SHARED}
    members = tuple(
        Member(f"model_{i + 1}", entry.title, entry.model, replace(entry.train, **shared))
        for i, entry in enumerate(entries)
    )
    name = clean_name(", ".join(entry.title for entry in entries))
    return RunConfig(first.model, preparation, first.train, name, f"{PRESET}:{first.recipe}", members=members)


def is_lineup(config: RunConfig) -> bool:
    """Return True if a run is of this kind."""
    return bool(config.members) and (config.preset or "").partition(":")[0] == PRESET


def entries_of(config: RunConfig, otherwise: str) -> tuple[LineupEntry, ...]:
    """Return the line-up of a run; `otherwise` replaces an unknown preset."""
    recipe = (config.preset or "").partition(":")[2]
    recipe = recipe if recipe in TRAINING_PRESETS else otherwise
    return tuple(
        LineupEntry(recipe, member.title, member.model, config.recipe(member)) for member in config.members
    )


def _encoded(entry: LineupEntry) -> str:
    preset = TRAINING_PRESETS[entry.recipe]
    fields = {"": entry.title}
    model = to_dict(entry.model)
    if entry.model.kind != preset.model.kind:
        fields |= {"kind": entry.model.kind} | _diff_fields(model, to_dict(type(entry.model)()))
    else:
        fields |= _diff_fields(model, to_dict(preset.model))
    fields |= _diff_fields(to_dict(entry.train), to_dict(preset.train))
    values = (f"{name}={_quoted(field)}" for name, field in fields.items())
    return _PART.join([entry.recipe, *values])


def _quoted(field: Any) -> str:
    text = json.dumps(field, separators=(",", ":"), ensure_ascii=False)
    return quote(text, safe=_PLAIN).replace(_PART, "%7E")  # which `quote` leaves as it is


def _diff_fields(current: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in current.items() if field != base[name]}


def _decoded(text: str) -> LineupEntry:
    recipe, *parts = text.split(_PART)
    if recipe not in TRAINING_PRESETS:
        raise ValueError(f"expected the name of a training preset, received {recipe[:40]!r}")
    preset = TRAINING_PRESETS[recipe]
    fields: dict[str, Any] = {}
    for part in parts:
        name, _, encoded = part.partition("=")
        try:
            fields[name] = json.loads(unquote(encoded))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the value of {name[:40]!r} is not valid JSON") from error
    title = clean_name(str(fields.pop("", preset.title)))
    train = to_dict(preset.train)
    train_fields = {name: fields.pop(name) for name in [*fields] if name in train and name != "kind"}
    kind = fields.pop("kind", preset.model.kind)
    before = to_dict(preset.model) if kind == preset.model.kind else {"kind": kind}
    model, recipe_of = model_from_dict(before | fields), config_of(TrainConfig, train | train_fields)
    if recipe_of.start_from is not None:
        raise ValueError("the models of a line-up must start from random weights; remove start_from")
    return LineupEntry(recipe, title, model, recipe_of)
