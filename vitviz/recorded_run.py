"""Read and write the directory of a recorded run: the curves and moments of a training in a user's own loop.

Files: config.json, records.jsonl (one line per call), status.json, images/N.png, moments/STEP.npz and, if asked for,
weights/STEP.safetensors.
"""

import io
import json
import time
from dataclasses import dataclass, fields
from itertools import islice
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.sinks import group_prefix
from vitviz.config import Preparation, ViTConfig, config_of, to_dict
from vitviz.data.bounded_zip import BoundedZip, ZipLimits
from vitviz.data.image_decoding import ImageError, decode_image
from vitviz.growth import unpack_rows
from vitviz.models.token_layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots.attention_images import png
from vitviz.training.atomic_files import json_object, read_json, read_whole, write_status, write_whole
from vitviz.training.run_config import clean_name
from vitviz.upload_limits import MAX_LAYERS, MAX_WIDTH, check_buildable

FORMAT = 2  # of config.json; a version that trains its own runs only reads format 1
KIND = "recorded"
STATES = ("running", "done", "stopped")
MOST_IMAGES = 64
MOST_MOMENT_BYTES = 64 * 2**20
MOST_RECORDS, MOST_LINE_BYTES, MOST_RECORDS_BYTES = 10_000, 300, 2**21  # twice what a recorder writes
MOST_STEPS = 10**9  # which a file's name can count
MOST_HEADER_BYTES = 1000  # of an array, which states its type and shape
_HALVES = ("positions", "embedding", "peaks", "whole_peaks")  # stored in half precision
_VALUES = ("seconds", "loss", "accuracy")  # of a record; a missing one is None
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


@dataclass(frozen=True)
class RecordedStatus:
    """The state of a recording ('running', 'done', 'stopped' or ''), its last step, and when it was written."""

    state: str
    step: int
    message: str
    heartbeat: float


@dataclass(frozen=True, eq=False)
class Moment:
    """The measurements of one step; None where the model has no such table.

    Attributes:
        positions: (patches, D), the position embedding of each patch.
        embedding: (D, C, P, P), the filters of E.
        distance_px: (images, layers, heads), the attention distances.
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

    Example:
        >>> import tempfile, numpy as np, vitviz
        >>> out = tempfile.mkdtemp()
        >>> with vitviz.record(vitviz.load("digits_vit").model, [np.eye(16)], out) as recorder:
        ...     recorder.step(0, loss=2.3)
        >>> run = RecordedRun(out)
        >>> moment = run.moment(run.steps()[-1])
        >>> moment.distance_px.shape, moment.attention(run.config, image=0, token=0).shape
        ((1, 4, 4), (4, 4, 65))
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

    def status(self) -> RecordedStatus:
        """Return the last written status; its state is '' if the file is missing or damaged."""
        values = read_json(self.directory / "status.json")
        state, step = values.get("state"), _to_finite(values.get("step"))
        return RecordedStatus(
            state=state if state in STATES else "",
            step=int(step or 0),
            message=" ".join(str(values.get("message", "")).split())[:200],
            heartbeat=_to_finite(values.get("heartbeat")) or 0.0,
        )

    def records(self) -> list[dict[str, Any]]:
        """Return the records: a step and finite numbers or None."""
        encoded = read_whole(self.directory / "records.jsonl")[:MOST_RECORDS_BYTES]
        lines = islice(io.BytesIO(encoded[: encoded.rfind(b"\n") + 1]), MOST_RECORDS)
        records = [json_object(line) for line in lines if len(line) <= MOST_LINE_BYTES]
        return [
            {"kind": "step", "step": record["step"]}
            | {name: _to_finite(record.get(name)) for name in _VALUES}
            for record in records
            if isinstance(record.get("step"), int) and 0 <= record["step"] < MOST_STEPS
        ]

    def write_moment(self, step: int, moment: Moment) -> None:
        """Write what was measured at a step; tables in half precision."""
        arrays = {name: value for name, value in vars(moment).items() if value is not None}
        for name, value in arrays.items():
            if value.dtype != np.uint8:
                arrays[name] = np.asarray(value, np.float16 if name in _HALVES else np.float32)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        write_whole(self.directory / "moments" / f"{step:09d}.npz", buffer.getvalue())

    def weights_path(self, step: int) -> Path:
        """Return the file for the weights of a step, a checkpoint of one step; most runs store none."""
        return self.directory / "weights" / f"{step:09d}.safetensors"

    def steps(self) -> list[int]:
        """Return the steps with a moment, ascending."""
        names = (path.stem for path in (self.directory / "moments").glob("*.npz"))
        return sorted(int(name) for name in names if len(name) == 9 and name.isdecimal() and name.isascii())

    def moment(self, step: int) -> Moment:
        """Read what was measured at a step.

        Raises:
            RecordedRunError: if the file is missing, damaged or does not fit the model.
        """
        path = self.directory / "moments" / f"{step:09d}.npz"
        try:
            if path.stat().st_size > 2 * MOST_MOMENT_BYTES:
                raise ValueError(f"it has more than {MOST_MOMENT_BYTES >> 20} MiB")
            return _parse_moment(path.read_bytes(), self.config)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise RecordedRunError(f"the moment of step {step} cannot be read: {reason}") from error

    def image(self, number: int) -> NDArray[np.uint8]:
        """Return an image (H, W, 3).

        Raises:
            RecordedRunError: if it is damaged or missing.
        """
        try:
            encoded = read_whole(self.directory / "images" / f"{number}.png")
            if not encoded.startswith(
                b"\x89PNG"
            ):  # other formats are decoded in processes of their own alone
                raise ImageError("it is no PNG")
            return decode_image(encoded)
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
        model, pin = config_of(ViTConfig, values["model"]), Pin.parse(str(values["pin"]))
        if pin is None:
            raise ValueError("its pin is no token")
        check_buildable(model, MAX_LAYERS)
        images, classes = int(values["images"]), tuple(clean_name(name) for name in values["classes"])
        if not 1 <= images <= MOST_IMAGES or len(classes) not in (0, model.num_classes):
            raise ValueError("its numbers of images or classes do not fit")
        return RecordedConfig(
            name=clean_name(values["name"]),
            model=model,
            preparation=config_of(Preparation, values["preparation"]),
            classes=classes,
            images=images,
            pin=pin,
            created=float(values.get("created", 0.0)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordedRunError(f"the recorded run's config is invalid: {error}") from error


def _to_finite(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) and isfinite(value) else None
    except OverflowError:
        return None


def _parse_moment(encoded: bytes, config: RecordedConfig) -> Moment:
    """Return the moment in an archive of arrays that fit the model; nothing else is unpacked.

    Raises:
        ValueError: naming what does not fit.
    """
    shapes = _list_shapes(config)
    archive = BoundedZip(encoded, ZipLimits(len(shapes), MOST_MOMENT_BYTES))
    arrays: dict[str, NDArray[Any] | None] = {field.name: None for field in fields(Moment)}
    for info in archive.files:
        name = info.filename.removesuffix(".npy")
        if name not in shapes:
            raise ValueError("it has an array that is unknown")
        arrays[name] = _parse_array(archive.read(info, info.file_size), name, shapes[name])
    optional = ("positions", "embedding", "whole", "whole_peaks")
    if missing := [name for name, array in arrays.items() if array is None and name not in optional]:
        raise ValueError(f"{missing[0]} is missing")
    return Moment(**arrays)  # type: ignore[arg-type]


def _parse_array(encoded: bytes, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of NumPy's own file format, floats in single precision.

    Raises:
        ValueError: if its type, shape or length is another one, or a value is not finite.
    """
    source = io.BytesIO(encoded)
    if np.lib.format.read_magic(source) != (1, 0):
        raise ValueError(f"{name} is of another version of NumPy's format")
    try:
        stated, is_fortran, dtype = np.lib.format.read_array_header_1_0(source, MOST_HEADER_BYTES)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"{name} has a damaged header") from error
    if name == "outputs" and not shape[1] and len(stated) == 2 and stated[1] <= MAX_WIDTH:
        shape = (shape[0], stated[1])  # features of a model without a classifier head
    if stated != shape or is_fortran:
        raise ValueError(f"{name} has the shape {stated}, expected {shape}")
    types = [np.uint8] if name in ("rows", "whole") else [np.float16, np.float32]
    if dtype not in types or len(encoded) - source.tell() != prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} is no array of {' or '.join(kind.__name__ for kind in types)}")
    array = np.frombuffer(encoded, dtype, offset=source.tell()).reshape(shape)
    if dtype == np.uint8:
        return array
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has a value that is not finite")
    return array.astype(np.float32)


def _list_shapes(config: RecordedConfig) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a moment; of `outputs` without classes only the first side counts."""
    model, layout = config.model, config.layout
    heads, tokens = (model.depth, model.num_heads), layout.num_tokens
    queries = (config.images, len(config.queries), *heads)
    return {
        "positions": (layout.num_patches, model.embed_dim),
        "embedding": (model.embed_dim, model.in_chans, model.patch_size, model.patch_size),
        "distance_px": (config.images, *heads),
        "norms": (model.depth, 2 + len(group_prefix(model.prefix_tokens))),
        "outputs": (config.images, len(config.classes)),
        "rows": (*queries, tokens),
        "peaks": queries,
        "whole": (*heads, tokens, tokens),
        "whole_peaks": (*heads, tokens),
    }
