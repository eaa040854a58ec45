"""Collect, compare and format the settings of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages.selection import selection
from pages.stores import catalogue
from pages.train.lab import model_form
from vitviz.analysis.run_comparison import find_varying_names
from vitviz.config import SETTINGS, to_dict
from vitviz.data.uploaded_datasets import hide_secret_name, is_uploaded

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

NO_VALUE = "–"


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
    return SETTINGS[name].label if name in SETTINGS else name.capitalize()


def format_setting(name: str, setting: Any) -> str:
    """Format a setting's value as in the form: 'Digits', 'AdamW', 'on'; '–' if there is none."""
    if setting is None or setting == () or setting == []:
        return NO_VALUE
    if name == "dataset":
        return hide_secret_name(setting) if is_uploaded(setting) else catalogue.get_dataset_title(setting)
    if name == "model":
        return model_form.KINDS.get(setting, str(setting))
    if name == "distill_from":
        return _format_teacher(str(setting))
    if name == "frozen" and len(setting) > 1:
        return "backbone"
    return f"{setting:.4g}" if isinstance(setting, float) else SETTINGS[name].format(setting)


def _format_teacher(path: str) -> str:
    """Return a teacher's title; users should not see its path."""
    key = model_form.find_teacher_key(path)
    return "deleted model" if key is None else selection.list_models()[key].title
