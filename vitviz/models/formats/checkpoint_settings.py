"""Find the values that a checkpoint's JSON files state, and its labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vitviz.config_fields import Size
from vitviz.models.formats.module_settings import find_timm_model
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut

LONGEST_LABEL = 200  # characters
_NESTED = (
    "model_args",
    "vision_config",
    "encoder",  # transformers' VisionEncoderDecoder
    "vision_cfg",
    "pretrained_cfg",
    "preprocess_cfg",
    "model_cfg",
    "timm_model",
    "class_defaults",  # of transformers' config classes
)
_NAMELESS = "LABEL_"  # transformers' names of classes that nobody named


@dataclass(frozen=True)
class Settings:
    """The values of a checkpoint's JSON files, found by name in nested objects too, and notes on assumptions.

    Attributes:
        values: of the model's files.
        notes: what the files do not state.
        processor: content of the image processor's file.
        given: what the caller gives over all files, by timm's names.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    processor: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)

    def behind(self, name: str, values: Mapping[str, Any]) -> "Settings":
        """Return the settings with further values behind all that is stated, under a name of `_NESTED`."""
        return replace(self, values={**self.values, name: values})

    def has_given(self, *names: str) -> bool:
        """Return True if the caller gives all of these."""
        return all(name in self.given for name in names)

    @property
    def of_files(self) -> "Settings":
        """The settings without what the caller gives; notes are shared."""
        return replace(self, given={})

    def get(self, *names: str) -> Any:
        """Return the first value stated under one of these names; None without one."""
        for table in (self.given, *self._tables(self.values, 0)):
            for name in names:
                if table.get(name) is not None:
                    return table[name]
        return None

    def _tables(self, table: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
        inner = [table[name] for name in _NESTED if isinstance(table.get(name), dict) and depth < 3]
        tables = [table, *(nested for each in inner for nested in self._tables(each, depth + 1))]
        arguments = table.get("model_args")  # timm builds with these whatever stands beside them
        return [arguments, *tables] if isinstance(arguments, dict) else tables

    def complete(self) -> "Settings":
        """Return the settings with what is known of the named timm architecture, behind all that is stated."""
        known = find_timm_model(self.get("architecture", "timm_model_name"))
        return replace(self, values={**self.values, "timm_model": known}) if known else self

    def integer(self, *names: str) -> int | None:
        """Return a stated whole number of at least 1; a pair of equal numbers counts as one.

        Raises:
            PretrainedError: if it is something else.
        """
        entry = self.get(*names)
        if isinstance(entry, dict):
            entry = entry.get("shortest_edge") or [entry.get("height"), entry.get("width")]
        if isinstance(entry, list | tuple) and entry and all(side == entry[-1] for side in entry[-2:]):
            entry = entry[-1]
        if entry is None or isinstance(entry, int) and not isinstance(entry, bool) and 1 <= entry < 2**31:
            return entry
        stated = next(name for name in names if self.get(name) is not None)
        raise PretrainedError(
            f"the configuration's {stated} must be a whole number of at least 1, received {cut(repr(entry))}"
        )

    def size(self, *names: str) -> Size | None:
        """Return a stated size of images, such as 224, [224, 160], [3, 224, 160] or {"height": 224, "width": 160}.

        Raises:
            PretrainedError: if it is something else.
        """
        entry = self.get(*names)
        if isinstance(entry, dict) and entry.get("shortest_edge") is None:
            entry = [entry.get("height"), entry.get("width")]
        if not isinstance(entry, list | tuple) or len(entry) < 2 or entry[-2] == entry[-1]:
            return self.integer(*names)
        height, width = (Settings({names[0]: side}).integer(names[0]) for side in entry[-2:])
        if height is None or width is None:
            raise PretrainedError(
                f"the configuration's {names[0]} must be one number or two, received {cut(repr(entry))}"
            )
        return height, width

    def number(self, name: str, default: float) -> float:
        """Return a stated number.

        Raises:
            PretrainedError: if it is something else.
        """
        entry = self.get(name)
        if entry is None:
            return default
        if isinstance(entry, bool) or not isinstance(entry, int | float):
            raise PretrainedError(f"the configuration's {name} must be a number, received {cut(repr(entry))}")
        return float(entry)

    def assume(self, note: str) -> None:
        """Note what the files do not state."""
        if note not in self.notes:
            self.notes.append(note)

    def class_output(self, classes: int) -> str:
        """Return what turns the logits into what is shown, as transformers' pipeline does it.

        Raises:
            PretrainedError: if the problem type is unknown.
        """
        stated = self.get("problem_type")
        outputs = {
            None: "softmax",
            "single_label_classification": "softmax",
            "multi_label_classification": "sigmoid",
            "regression": "raw",
        }
        if not isinstance(stated, str | None) or stated not in outputs:
            raise PretrainedError(
                f"the configuration's problem_type {cut(repr(stated), 60)} is not one of"
                f" {', '.join(filter(None, outputs))}"
            )
        if classes == 1 and outputs[stated] == "softmax":
            self.assume("Its only output is read as a sigmoid's: the probability of one label.")
            return "sigmoid"
        return outputs[stated]

    def labels(self, classes: int) -> tuple[str, ...] | None:
        """Return the stated class names, in the order of the outputs; None where the files name no class.

        Raises:
            PretrainedError: if they are not one text per class.
        """
        names, key = self.get("label_names", "labels"), "label_names"
        if names is None and (names := self.get("id2label")) is not None:
            key = "id2label"
        if isinstance(names, dict) or key == "id2label":
            if not isinstance(names, dict) or {str(index) for index in names} != set(
                map(str, range(len(names)))
            ):
                raise PretrainedError(f"the configuration's {key} must name the classes 0, 1, 2, …")
            names = [names.get(str(index), names.get(index)) for index in range(len(names))]
        if names is None or classes == 0:
            return None
        described = self.get("label_descriptions")
        if isinstance(described, dict) and isinstance(names, list):
            names = [described.get(name, name) if isinstance(name, str) else name for name in names]
        labels = check_labels(names, classes)
        return None if all(label.startswith(_NAMELESS) for label in labels) else labels


def check_labels(names: Any, classes: int) -> tuple[str, ...]:
    """Return class names, one per output.

    Raises:
        PretrainedError: if they are not.
    """
    if not isinstance(names, list | tuple) or not all(
        isinstance(name, str) and 0 < len(name) <= LONGEST_LABEL for name in names
    ):
        raise PretrainedError(f"labels must be texts of 1 to {LONGEST_LABEL} characters")
    if len(names) != classes:
        raise PretrainedError(f"expected {classes:,} labels, one per class, received {len(names):,}")
    return tuple(names)
