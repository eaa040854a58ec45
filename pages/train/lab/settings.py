"""Collect, compare and format the settings of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages.selection import selection
from pages.stores import catalogue
from pages.train.lab import fields, model_form
from vitviz.analysis.run_differences import find_varying_names
from vitviz.config import to_dict
from vitviz.data.uploaded_datasets import hide_secret_name, is_uploaded

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

NO_VALUE = "–"
_OPTIONS = {
    field.name: field.options
    for group in (fields.OPTIMIZER, model_form.VIT, model_form.DETAILS)
    for field in group
    if field.options is not None
}


def collect_settings(config: RunConfig) -> dict[str, Any]:
    """Return all settings of a run by their names in the config; 'model' is the family."""
    model, train = to_dict(config.model), to_dict(config.train)
    return {"model": model.pop("kind")} | model | {k: v for k, v in train.items() if k != "kind"}


def find_differences(*configs: RunConfig) -> list[str]:
    """Return the names of the settings in which configs differ."""
    return [
        name
        for name in find_varying_names([collect_settings(config) for config in configs])
        if name != "kind"
    ]


def get_title(name: str) -> str:
    """Return a setting's column title: 'MLP ratio'."""
    words = fields.get_label(name)
    return words[:1].upper() + words[1:]


def format_setting(name: str, value: Any) -> str:
    """Format a setting's value as in the form: 'Digits', 'AdamW', 'on'; '–' if there is none."""
    if value is None or value == () or value == []:
        return NO_VALUE
    if name == "dataset":
        return hide_secret_name(value) if is_uploaded(value) else catalogue.get_dataset_title(value)
    if name == "model":
        return model_form.KINDS.get(value, str(value))
    if name == "distill_from":
        return _format_teacher(str(value))
    if name == "frozen":
        return "patch embedding" if tuple(value) == ("patch_embed",) else "backbone"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return _OPTIONS.get(name, {}).get(value, f"{value:.4g}" if isinstance(value, float) else str(value))


def _format_teacher(path: str) -> str:
    """Return a teacher's title; users should not see its path."""
    key = model_form.find_teacher_key(path)
    return "deleted model" if key is None else selection.list_models()[key].title
