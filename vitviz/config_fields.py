"""Declare a config's fields once: label, help, options, range, and when a field has no effect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, reduce
from math import isfinite
from operator import or_
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

Size = int | tuple[int, int]  # side of a square, or (height, width)
OFF, NONE = "off", "none"  # texts of None and of an empty tuple
ANY = "(-inf, inf)"
_ITEMS = {int: "integers of at least {}", float: "finite numbers", str: "texts"}


@dataclass(frozen=True)
class Condition:
    """A field has an effect only while another field has one of some values; otherwise, a reason."""

    field: str
    values: tuple[object, ...]
    reason: str


@dataclass(frozen=True)
class Setting:
    """One field of a config, as forms, tables, experiments and errors show it.

    Attributes:
        label: name in forms, without the unit.
        help: explanation in one sentence; empty if the generic form does not offer the field.
        within: allowed values as an interval, such as '(0, 10]'; of integers, '[1, inf)' unless stated.
        unit: unit, such as 'px'.
        step: step of a form's control.
        top: largest integer that a form offers, because models share the machine.
        only: condition under which the field has an effect.
        name, owner, type: the field's name, its config's kind, and its type without None.
        optional: True if None is allowed.
    """

    label: str
    help: str = ""
    within: str = ""
    options: Mapping[Any, str] = field(default_factory=dict)
    unit: str = ""
    step: float = 1.0
    top: int = 1000
    only: Condition | None = None
    name: str = ""
    owner: str = ""
    type: Any = None
    optional: bool = False

    @property
    def title(self) -> str:
        """Return the label with its unit: 'Patch size, px'."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def is_list(self) -> bool:
        """True if the field holds a tuple."""
        return get_origin(self.type) is tuple

    @property
    def is_size(self) -> bool:
        """True if the field holds a `Size`."""
        return bool(self.type == Size)

    def format(self, value: Any) -> str:
        """Return a value as a form shows it."""
        if value is None:
            return OFF
        if self.is_size:
            return format_size(value)
        if isinstance(value, bool):
            return "on" if value else OFF
        if isinstance(value, tuple | list):
            return ", ".join(self.options.get(part, str(part)) for part in value) or NONE
        return f"{value:g}" if isinstance(value, float) else self.options.get(value, str(value))

    def check(self, value: Any) -> None:
        """Raise ValueError if a value has the wrong type or lies outside the range."""
        if value is None and self.optional:
            return
        if self.is_size:
            pair = isinstance(value, tuple) and len(value) == 2
            expected = self._explain_size(value if pair else (value,))
        elif self.is_list:
            expected = self._explain_items(value)
        elif get_origin(self.type) is Literal:
            choices = get_args(self.type)
            expected = "" if value in choices else f"be one of {', '.join(choices)}"
        else:
            expected = self._explain_scalar(value)
        if expected:
            raise ValueError(f"{self.name} must {expected}, received {value!r}")

    def _explain_items(self, items: tuple[Any, ...]) -> str:
        kind = get_args(self.type)[0]
        if all(is_a(part, kind) and (kind is not int or _is_within(part, self.within)) for part in items):
            return ""
        return f"hold {_ITEMS[kind].format(self.within[1:2])}"

    def _explain_size(self, sides: tuple[Any, ...]) -> str:
        if all(is_a(side, int) and _is_within(side, self.within) for side in sides):
            return ""
        return f"be an integer of at least {self.within[1:2]}, or two (height, width)"

    def _explain_scalar(self, scalar: Any) -> str:
        typed = is_a(scalar, self.type)
        if self.type is bool:
            return "" if typed else "be True or False"
        if self.type is str:
            return "" if typed else "be a text"
        if typed and _is_within(scalar, self.within):
            return ""
        if self.type is float:
            return f"lie in {self.within}" if typed else "be a finite number"
        low, high = self.within[1:-1].split(", ")
        if high != "inf":
            return f"be an integer in {self.within}"
        return "be an integer" if low == "-inf" else f"be an integer of at least {low}"


def declare(default: Any, label: str, help: str = "", within: str = "", **more: Any) -> Any:
    """Return a dataclass field with its default and its `Setting`."""
    return field(default=default, metadata={"setting": Setting(label, help, within, **more)})


def later(default: Any, label: str, within: str = "") -> Any:
    """Return a field as `declare` does that `as_fields` leaves out at its default: what was written before holds."""
    setting = Setting(label, within=within)
    return field(default=default, metadata={"setting": setting, "later": True})


def as_fields(config: Any) -> dict[str, Any]:
    """Return a config's values by name, without fields of `later` at their defaults."""
    values = {each.name: getattr(config, each.name) for each in fields(config)}
    return {
        each.name: values[each.name]
        for each in fields(config)
        if not each.metadata.get("later") or values[each.name] != each.default
    }


def describe(config: Any) -> str:
    """Return a config as Python writes it: what digests of opened models are made of."""
    values = ", ".join(f"{name}={value!r}" for name, value in as_fields(config).items())
    return f"{type(config).__name__}({values})"


def _read_settings(config_class: Any) -> dict[str, Setting]:
    """Return the settings of a config's class by name."""
    hints, settings = get_type_hints(config_class), {}
    for config_field in fields(config_class):
        setting: Setting = config_field.metadata.get("setting", Setting(config_field.name.replace("_", " ")))
        hint, optional = hints[config_field.name], NoneType in get_args(hints[config_field.name])
        if optional:
            hint = reduce(or_, (part for part in get_args(hint) if part is not NoneType))
        is_integer = hint is int or get_args(hint)[:1] == (int,)  # a size too
        settings[config_field.name] = replace(
            setting,
            within=setting.within or ("[1, inf)" if is_integer else ANY),
            name=config_field.name,
            owner=getattr(config_class, "kind", ""),
            type=hint,
            optional=optional,
        )
    return settings


list_settings: Callable[[Any], dict[str, Setting]] = cache(_read_settings)


def check_fields(config: Any) -> None:
    """Make lists tuples, as JSON has lists, a square's two sides one, and check all fields of a frozen config."""
    for name, setting in list_settings(type(config)).items():
        value = getattr(config, name)
        if setting.is_size and isinstance(value, list | tuple):
            object.__setattr__(config, name, value := join_size(value))
        if setting.is_list:
            if not isinstance(value, list | tuple):
                raise ValueError(f"{name} must be a list, received {value!r}")
            object.__setattr__(config, name, value := tuple(value))
        setting.check(value)


def as_shape(size: Size) -> tuple[int, int]:
    """Return a size as (height, width)."""
    return size if isinstance(size, tuple) else (size, size)


def join_size(shape: Sequence[int]) -> Size:
    """Return (height, width) as a size: one number for a square, so that squares are stored as they always were."""
    return shape[0] if len(shape) == 2 and shape[0] == shape[1] else tuple(shape)  # type: ignore[return-value]


def format_size(size: Size) -> str:
    """Return '224' for a square, '224 × 160' for height and width."""
    return " × ".join(map(str, size)) if isinstance(size, tuple) else str(size)


def is_a(value: object, kind: type) -> bool:
    """Return True if a value is of a type; a bool is no number, and a float is any finite number."""
    if kind is bool or kind is str:
        return isinstance(value, kind)
    allowed = int if kind is int else int | float
    finite = not isinstance(value, float) or isfinite(value)
    return isinstance(value, allowed) and not isinstance(value, bool) and finite


def _is_within(number: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = low < number if interval[0] == "(" else low <= number
    return above and (number < high if interval[-1] == ")" else number <= high)
