"""Read what a checkpoint's JSON files state: shape, labels and the preparation of images."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vitviz.config import Preparation
from vitviz.models.formats.module_settings import find_timm_model
from vitviz.models.pretrained_list import IMAGENET_MEAN, IMAGENET_STD, PretrainedError
from vitviz.text import cut

LONGEST_LABEL = 200  # characters
_NESTED = (
    "model_args",
    "vision_config",
    "vision_cfg",
    "pretrained_cfg",
    "preprocess_cfg",
    "model_cfg",
    "image_processor",
    "timm_model",
)
_RESAMPLING = {2: "bilinear", 3: "bicubic", "bilinear": "bilinear", "bicubic": "bicubic"}
_NAMELESS = "LABEL_"  # transformers' names of classes that nobody named


@dataclass(frozen=True)
class Settings:
    """The values of a checkpoint's JSON files, found by name in nested objects too, and notes on assumptions."""

    values: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def get(self, *names: str) -> Any:
        """Return the first value stated under one of these names; None without one."""
        for table in self._tables(self.values, 0):
            for name in names:
                if table.get(name) is not None:
                    return table[name]
        return None

    def _tables(self, table: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
        inner = [table[name] for name in _NESTED if isinstance(table.get(name), dict) and depth < 3]
        return [table, *(nested for each in inner for nested in self._tables(each, depth + 1))]

    def complete(self) -> "Settings":
        """Return the settings with what is known of the named timm architecture, behind all that is stated."""
        known = find_timm_model(self.get("architecture"))
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

    def labels(self, classes: int) -> tuple[str, ...] | None:
        """Return the stated class names, in the order of the outputs; None where the files name no class.

        Raises:
            PretrainedError: if they are not one text per class.
        """
        names = self.get("label_names")
        if names is None and (table := self.get("id2label")) is not None:
            if not isinstance(table, dict) or {str(key) for key in table} != set(map(str, range(len(table)))):
                raise PretrainedError("the configuration's id2label must name the classes 0, 1, 2, …")
            names = [table.get(str(index), table.get(index)) for index in range(len(table))]
        if names is None or classes == 0:
            return None
        described = self.get("label_descriptions")
        if isinstance(described, dict) and isinstance(names, list):
            names = [described.get(name, name) if isinstance(name, str) else name for name in names]
        labels = check_labels(names, classes)
        return None if all(label.startswith(_NAMELESS) for label in labels) else labels

    def preparation(self, image_size: int, chans: int) -> Preparation:
        """Return the stated preparation of images; what is not stated is ImageNet's, and noted.

        Raises:
            PretrainedError: if the values make no preparation.
        """
        mean, std = self.get("image_mean", "mean"), self.get("image_std", "std")
        if mean is None or std is None or self.get("do_normalize") is False:
            unnormalised = self.get("do_normalize") is False
            mean, std = ((0.0,), (1.0,)) if unnormalised else (IMAGENET_MEAN, IMAGENET_STD)
            if not unnormalised:
                self.assume("The files state no mean and standard deviation: ImageNet's are used.")
        if isinstance(mean, int | float) and isinstance(std, int | float):
            mean, std = [mean], [std]
        resampling = self.get("resample", "interpolation")
        known = _RESAMPLING.get(resampling) if isinstance(resampling, int | str) else None
        if resampling is not None and known is None:
            self.assume(f"Interpolation {cut(str(resampling), 20)} is not supported: bicubic is used.")
        try:
            mean, std = _for_channels(mean, chans), _for_channels(std, chans)
            return Preparation(
                image_size,
                mean,
                std,
                self._crop(image_size),
                known or "bicubic",  # type: ignore[arg-type]
            )
        except (ValueError, TypeError) as error:
            raise PretrainedError(
                f"the stated preparation of images cannot be used: {cut(str(error), 200)}"
            ) from error

    def _crop(self, image_size: int) -> float:
        """Return the side of the crop over the shorter side of the image."""
        stated = self.get("crop_pct")
        if stated is not None:
            return self.number("crop_pct", 1.0)
        edge = self.get("size")
        edge = edge.get("shortest_edge") if isinstance(edge, dict) else None
        if edge is None or self.get("do_center_crop") is False:
            if self.get("image_mean") is not None:
                self.assume(
                    "Images that are not square are cropped here; the publisher squeezes them instead."
                )
            return 1.0
        crop = self.integer("crop_size") or image_size
        return min(crop / (Settings({"size": edge}).integer("size") or 1), 1.0)


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


def _for_channels(values: Any, chans: int) -> Any:
    if not isinstance(values, list | tuple):
        return values
    if not values:
        raise ValueError("mean and std must have a value for each channel, received none")
    values = tuple(float(v) if isinstance(v, int | float) else v for v in values)
    if len(values) == chans:
        return values
    return values * chans if len(values) == 1 else (sum(values) / len(values),) * chans
