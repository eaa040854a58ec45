"""Draw controls of the lab's form from the settings that configs declare."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.controls import popover, widgets
from vitviz.config import SETTINGS, ModelConfig, TrainConfig
from vitviz.config_fields import Setting
from vitviz.text import parse_int

PREFIX = "live_lab."
_LONGEST_LIST = 40


def select_settings(names: str) -> tuple[Setting, ...]:
    return tuple(SETTINGS[name] for name in names.split())


OPTIMIZER = select_settings(
    "learning_rate schedule warmup_fraction optimizer weight_decay momentum label_smoothing gradient_clip"
    " ema_decay precision stays_in_eval"
)
AUGMENTATION = select_settings("shift_px erase_px mixup_alpha cutmix_alpha flip")
DATA = select_settings(
    "stop_accuracy patience train_fraction validation_fraction batch_size seed threads snapshots"
)
DISTILLATION = select_settings("distillation distillation_weight distillation_temperature")


def get_key(setting: Setting) -> str:
    """Return a control's key in the session and in links; families other than the ViT have their own."""
    return f"{PREFIX}{'' if setting.owner in ('vit', 'train') else f'{setting.owner}_'}{setting.name}"


def read_value(setting: Setting, config: ModelConfig | TrainConfig) -> Any:
    """Return the initial value of a setting's control for a config; 0 turns an optional number off."""
    initial = getattr(config, setting.name)
    if setting.is_list:
        return ", ".join(map(str, initial))
    return float(initial or 0.0) if setting.type is float else initial


def draw_fields(
    settings: Sequence[Setting],
    config: ModelConfig | TrainConfig,
    explain_disabled: Callable[[Setting], str | None] = lambda _: None,
) -> dict[str, Any]:
    """Draw controls in rows of two; return their values by name. `explain_disabled` returns a reason or None."""
    if popover.is_closed():
        return {setting.name: _draw_control(setting, config, None) for setting in settings}
    values: dict[str, Any] = {}
    for first in range(0, len(settings), 2):  # row by row keeps neighbours aligned
        pair = settings[first : first + 2]
        for column, setting in zip(st.columns(2, vertical_alignment="bottom"), pair, strict=False):
            with column:
                reason = explain_disabled(setting) or _explain_unused(setting, config)
                values[setting.name] = _draw_control(setting, config, reason)
    return values


def parse_fields(settings: Sequence[Setting], shown: dict[str, Any]) -> dict[str, Any]:
    """Convert drawn values to those of the config.

    Raises:
        ValueError: if a list contains anything but integers.
    """
    return {setting.name: _parse_value(setting, shown[setting.name]) for setting in settings}


def _parse_value(setting: Setting, shown: Any) -> Any:
    if not setting.is_list:
        return None if setting.optional and shown == 0 else shown
    numbers = [parse_int(part.strip()) for part in shown.split(",") if part.strip()]
    integers = tuple(number for number in numbers if number is not None and number >= 0)
    if len(integers) < len(numbers):
        raise ValueError(f"{setting.label.lower()} must be integers separated by commas, received {shown!r}")
    return integers


def _explain_unused(setting: Setting, config: ModelConfig | TrainConfig) -> str | None:
    if setting.only is None:
        return None
    name = setting.only.field
    condition = st.session_state.get(PREFIX + name, getattr(config, name))
    return None if condition in setting.only.values else setting.only.reason


def _draw_control(setting: Setting, config: ModelConfig | TrainConfig, disabled_reason: str | None) -> Any:
    key, label, start = get_key(setting), setting.title, read_value(setting, config)
    help_text = setting.help
    why_not = disabled_reason and f"Disabled: {disabled_reason}."
    if setting.type is int:
        return widgets.number(key, label, 0, setting.top, start, help=help_text, why_not=why_not)
    if setting.type is bool:
        return widgets.toggle(key, label, start, help=help_text, why_not=why_not)
    if setting.is_list:
        return widgets.text(key, label, start, _LONGEST_LIST, help=help_text, why_not=why_not)
    if setting.options:
        options, format_func = list(setting.options), setting.format
        return widgets.select(
            key, label, options, start, format_func=format_func, help=help_text, why_not=why_not
        )
    return widgets.real(key, label, start, setting.step, help=help_text, why_not=why_not)
