"""Read and write the directory of a recorded run: the curves and moments of a training in a user's own loop.

Files: config.json, records.jsonl (one line per call), status.json, images/N.png and moments/STEP.npz.
"""

import json
import time
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from vitviz.config import Preparation, ViTConfig, from_dict, to_dict
from vitviz.data.image_decoding import ImageError, decode_image
from vitviz.growth import unpack_rows
from vitviz.models.token_layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots.attention_images import png
from vitviz.training.atomic_files import read_json, read_lines, read_whole, write_status, write_whole
from vitviz.training.run_config import clean_name

FORMAT = 2  # of config.json; a version that trains its own runs only reads format 1
KIND = "recorded"
MOST_IMAGES = 64
MOST_MOMENT_BYTES = 64 * 2**20
FloatArray = NDArray[np.floating[Any]]


class RecordedRunError(ValueError):
    """A directory that is no recorded run, or a damaged one."""


@dataclass(frozen=True)
class RecordedConfig:
    """The model, images and pin of a recorded run; `classes` is empty if the model has no classifier head."""

    name: str
    model: ViTConfig
    preparation: Preparation
    classes: tuple[str, ...]
    images: int
    pin: Pin
    created: float

    @property
    def layout(self) -> TokenLayout:
        """The tokens of the model."""
        return TokenLayout(self.model.prefix_tokens, self.model.grid, self.model.patch_size)

    @property
    def queries(self) -> list[int]:
        """The tokens whose attention is stored: [CLS] if the model has one, and the pinned patch."""
        patch = self.pin.token(self.layout)
        return [0, patch] if self.model.prefix_tokens else [patch]


@dataclass(frozen=True, eq=False)
class Moment:
    """The measurements of one step; None where the model has no such table.

    Attributes:
        positions: (patches, D), the position embedding of each patch.
        embedding: (D, C, P, P), the filters of E.
        distance_px: (layers, heads), mean over the images.
        norms: (layers, groups) of `vitviz.analysis.sinks.summarise_norms`.
        outputs: (images, classes), the logits.
        rows: (images, queries, layers, heads, tokens) uint8, with `peaks` (images, queries, layers, heads) the
            attention of `RecordedConfig.queries`.
        whole: (layers, heads, tokens, tokens) uint8 with `whole_peaks`, the whole attention of the first image.
    """

    positions: FloatArray | None
    embedding: FloatArray | None
    distance_px: FloatArray
    norms: FloatArray
    outputs: FloatArray
    rows: NDArray[np.uint8]
    peaks: FloatArray
    whole: NDArray[np.uint8] | None = None
    whole_peaks: FloatArray | None = None

    def attention(self, config: RecordedConfig, image: int, token: int) -> FloatArray | None:
        """Return a query's attention to all tokens (layers, heads, tokens); None if it is not stored."""
        if token in config.queries:
            query = config.queries.index(token)
            return unpack_rows(self.rows[image, query], self.peaks[image, query])
        if image or self.whole is None or self.whole_peaks is None:
            return None
        return unpack_rows(self.whole[..., token, :], self.whole_peaks[..., token])


class RecordedRun:
    """A recorded run's directory.

    Raises:
        RecordedRunError: if the directory is none.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.config = _read_config(self.directory)

    @classmethod
    def create(
        cls, directory: Path, config: RecordedConfig, images: list[NDArray[np.uint8]]
    ) -> "RecordedRun":
        """Write a new recorded run.

        Raises:
            FileExistsError: if the directory already holds files.
            OSError: if it cannot be written.
        """
        if directory.exists() and any(directory.iterdir()):
            raise FileExistsError(f"{directory} already holds files: name a new folder")
        for name in ("images", "moments"):
            (directory / name).mkdir(parents=True)
        for number, image in enumerate(images):
            write_whole(directory / "images" / f"{number}.png", png(image))
        values = {
            "format": FORMAT,
            "kind": KIND,
            "name": config.name,
            "created": config.created,
            "images": config.images,
            "pin": str(config.pin),
            "classes": list(config.classes),
            "model": to_dict(config.model),
            "preparation": to_dict(config.preparation),
        }
        write_whole(directory / "config.json", json.dumps(values, indent=1).encode())
        run = cls(directory)
        run.write_status("running", 0, 0.0)
        return run

    def write_status(self, state: str, step: int, seconds: float, message: str = "") -> None:
        """Write the state ('running', 'done' or 'stopped'), with the time as a heartbeat."""
        values = {
            "state": state,
            "step": step,
            "seconds": seconds,
            "message": message,
            "heartbeat": time.time(),
        }
        write_status(self.directory / "status.json", values)

    def status(self) -> dict[str, Any]:
        """Return the last written state, step, seconds, message and heartbeat; empty if missing."""
        return read_json(self.directory / "status.json")

    def records(self, after_byte: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return the records after a byte, and the next byte."""
        return read_lines(self.directory / "records.jsonl", after_byte)

    def write_moment(self, step: int, moment: Moment) -> None:
        """Write what was measured at a step; tables in half precision."""
        arrays = {name: value for name, value in vars(moment).items() if value is not None}
        halves = {
            name: value if value.dtype == np.uint8 else np.asarray(value, np.float16)
            for name, value in arrays.items()
        }
        path = self.directory / "moments" / f"{step:09d}.npz"
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as file:
            np.savez(file, allow_pickle=False, **halves)
        draft.replace(path)

    def steps(self) -> list[int]:
        """Return the steps with a moment, ascending."""
        names = (path.stem for path in (self.directory / "moments").glob("*.npz"))
        return sorted(int(name) for name in names if name.isdecimal())

    def moment(self, step: int) -> Moment:
        """Read what was measured at a step.

        Raises:
            RecordedRunError: if the file is missing, damaged or does not fit the model.
        """
        path = self.directory / "moments" / f"{step:09d}.npz"
        try:
            if path.stat().st_size > MOST_MOMENT_BYTES:
                raise ValueError(f"it has more than {MOST_MOMENT_BYTES >> 20} MiB")
            with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
                moment = Moment(**{field.name: _read_array(file, field.name) for field in fields(Moment)})
            _check_moment(moment, self.config)
        except (OSError, ValueError, TypeError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            raise RecordedRunError(f"the moment of step {step} cannot be read: {error}") from error
        return moment

    def image(self, number: int) -> NDArray[np.uint8]:
        """Return an image (H, W, 3).

        Raises:
            RecordedRunError: if it is damaged or missing.
        """
        try:
            return decode_image(read_whole(self.directory / "images" / f"{number}.png"))
        except ImageError as error:
            raise RecordedRunError(f"image {number + 1} cannot be read: {error}") from error


def is_recorded_run(directory: Path) -> bool:
    """Return True if a directory states that it is a recorded run."""
    return read_json(directory / "config.json").get("kind") == KIND


def _read_config(directory: Path) -> RecordedConfig:
    values = read_json(directory / "config.json")
    if values.get("kind") != KIND:
        raise RecordedRunError(
            f"{directory} is no recorded run: its config.json is missing or of another kind"
        )
    if values.get("format") != FORMAT:
        raise RecordedRunError(
            f"expected a recorded run of format {FORMAT}, received {values.get('format')!r}: update vitviz"
        )
    try:
        model, preparation = from_dict(values["model"]), from_dict(values["preparation"])
        pin = Pin.parse(str(values["pin"]))
        if not isinstance(model, ViTConfig) or not isinstance(preparation, Preparation) or pin is None:
            raise ValueError("its model, preparation or pin is of the wrong kind")
        images, classes = int(values["images"]), tuple(clean_name(name) for name in values["classes"])
        if not 1 <= images <= MOST_IMAGES or len(classes) not in (0, model.num_classes):
            raise ValueError("its numbers of images or classes do not fit")
        return RecordedConfig(
            name=clean_name(values["name"]),
            model=model,
            preparation=preparation,
            classes=classes,
            images=images,
            pin=pin,
            created=float(values.get("created", 0.0)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordedRunError(f"the recorded run's config is invalid: {error}") from error


def _read_array(file: Any, name: str) -> Any:
    if name not in file.files:
        return None
    array = file[name]
    return array if array.dtype == np.uint8 else np.asarray(array, np.float32)


def _check_moment(moment: Moment, config: RecordedConfig) -> None:
    """Check the shapes of a moment against the model.

    Raises:
        ValueError: naming the array that does not fit.
    """
    model, layout = config.model, config.layout
    heads, tokens = (model.depth, model.num_heads), layout.num_tokens
    queries = (config.images, len(config.queries), *heads)
    wanted: dict[str, tuple[int, ...]] = {
        "positions": (layout.num_patches, model.embed_dim),
        "embedding": (model.embed_dim, model.in_chans, model.patch_size, model.patch_size),
        "distance_px": heads,
        "outputs": (config.images, max(len(config.classes), 1)),
        "rows": (*queries, tokens),
        "peaks": queries,
        "whole": (*heads, tokens, tokens),
        "whole_peaks": (*heads, tokens),
    }
    for name, shape in wanted.items():
        array = getattr(moment, name)
        if array is None and name in ("positions", "embedding", "whole", "whole_peaks"):
            continue
        if array is None or (name != "outputs" or config.classes) and array.shape != shape:
            raise ValueError(
                f"{name} has the shape {None if array is None else array.shape}, expected {shape}"
            )
    if moment.norms is None or moment.norms.ndim != 2 or len(moment.norms) != model.depth:
        raise ValueError(f"norms need one row for each of {model.depth} layers")
