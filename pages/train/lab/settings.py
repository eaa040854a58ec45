"""The settings of runs side by side: which differ, and each as it is said to a visitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages.selection import selection
from pages.stores import catalogue
from pages.train.lab import fields, model_form
from vitviz.analysis.comparison import differences
from vitviz.config import to_dict
from vitviz.data.own_datasets import is_own, spoken

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

NONE = "–"
_OPTIONS = {
    field.name: field.options
    for group in (fields.OPTIMISER, model_form.VIT, model_form.DETAILS)
    for field in group
    if field.options is not None
}


def of(config: RunConfig) -> dict[str, Any]:
    """Every setting of a run by its name in the config; 'model' is the kind of model."""
    model, train = to_dict(config.model), to_dict(config.train)
    return {"model": model.pop("kind")} | model | {k: v for k, v in train.items() if k != "kind"}


def unlike(*configs: RunConfig) -> list[str]:
    """Names of the settings in which configs differ."""
    return [name for name in differences([of(config) for config in configs]) if name != "kind"]


def title(name: str) -> str:
    """What a setting is called over a column: 'MLP ratio'."""
    words = fields.label(name)
    return words[:1].upper() + words[1:]


def said(name: str, value: Any) -> str:
    """A setting's value in the words of the form: 'Digits', 'AdamW', 'on'; '–' where there is none."""
    if value is None or value == () or value == []:
        return NONE
    if name == "dataset":
        return spoken(value) if is_own(value) else catalogue.data_title(value)
    if name == "model":
        return model_form.KINDS.get(value, str(value))
    if name == "distill_from":
        return _teacher(str(value))
    if name == "frozen":
        return "patch embedding" if tuple(value) == ("patch_embed",) else "the body"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return _OPTIONS.get(name, {}).get(value, f"{value:.4g}" if isinstance(value, float) else str(value))


def _teacher(path: str) -> str:
    """A teacher's title; its path is no visitor's business."""
    key = model_form.teacher_of(path)
    return "a model that is gone" if key is None else selection.models()[key].title
