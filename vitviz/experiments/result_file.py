"""Write and read files of results with their provenance."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.training.atomic_files import write_whole

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
RESULTS = CHECKPOINTS / "results"
MOST_BYTES = 400_000
CURVE_PICTURES = 1000  # of validation at most, behind a point of a curve
TEST_IMAGES = {"digits": 359, "shapes": 2_000, "mnist": 10_000, "cifar10": 10_000}

Row = Mapping[str, Any]  # plain JSON values; the cell's own, and what was measured of it


class ResultError(ValueError):
    """A file of results that is missing, damaged or too large."""


@dataclass(frozen=True)
class Made:
    """The commit, date and machine of some rows."""

    commit: str
    date: str  # ISO, of the day
    machine: str


@dataclass(frozen=True)
class Result:
    """The results of `python -m vitviz.experiment NAME`.

    Attributes:
        rows: one for each cell; 'made' in a row is an index into `made`, 'core_seconds' what it cost, 'test_images'
            behind its 'test'.
        missing: how many cells of the experiment were not measured.
    """

    name: str
    title: str
    command: str
    settings: Row
    made: tuple[Made, ...]
    rows: tuple[Row, ...]
    missing: int = 0

    def where(self, **values: Any) -> list[Row]:
        """Return the rows with these values."""
        names = tuple(values)  # a file's hundreds of rows are gone through once, not at every question
        groups = self._sorted.get(names)
        if groups is None:
            groups = {}
            for row in self.rows:
                groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
            self._sorted[names] = groups
        return [*groups.get(tuple(values.values()), ())]

    def machine_of(self, row: Row) -> str:
        """Return the machine on which a row was measured."""
        return self.made[int(row["made"])].machine

    @cached_property
    def _sorted(self) -> dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]]:
        """The rows by the values of some of their names."""
        return {}


def result_path(name: str, folder: Path | None = None) -> Path:
    """Return the path of an experiment's results."""
    return (folder or RESULTS) / f"{name}.json"


def write_result(results: Result, folder: Path | None = None) -> Path:
    """Write a file of results atomically, one row per line.

    Raises:
        ResultError: if it would hold more than 400,000 bytes.
    """
    head = {name: getattr(results, name) for name in ("name", "title", "command", "settings")}
    head |= {"made": [vars(made) for made in results.made], "missing": results.missing}
    lines = [f"{json.dumps(key)}:{_compact(entry)}" for key, entry in head.items()]
    rows = ",\n".join(map(_compact, results.rows))
    encoded = ("{" + ",\n".join([*lines, f'"rows":[\n{rows}\n]']) + "}\n").encode()
    if (size := len(encoded)) > MOST_BYTES:
        raise ResultError(f"results of {results.name} have {size:,} bytes, the limit is {MOST_BYTES:,}")
    path = result_path(results.name, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, encoded)
    return path


def read_result(name: str, folder: Path | None = None) -> Result:
    """Return the stored results of an experiment; cached until the file changes.

    Raises:
        ResultError: if there is no such file, it is damaged, or a cell was not measured.
    """
    path = result_path(name, folder)
    try:
        state = path.stat()
        stored = _read(path, state.st_mtime_ns, state.st_size)
    except FileNotFoundError as error:
        raise ResultError(
            f"the results of {name!r} are missing: run `python -m vitviz.experiment {name}` to write {path}"
        ) from error
    except OSError as error:
        raise ResultError(f"{path.name} is damaged: {error}") from error
    if stored.missing or not stored.rows:
        raise ResultError(f"the results of {name!r} are incomplete: run `python -m vitviz.experiment {name}`")
    return stored


def read_result_if_any(name: str) -> Result | None:
    """Return the stored results of an experiment; None if they are missing or damaged."""
    try:
        return read_result(name)
    except ResultError:
        return None


@lru_cache(maxsize=16)
def _read(path: Path, modified_ns: int, size: int) -> Result:
    try:
        values: dict[str, Any] = json.loads(path.read_bytes())
        made = tuple(Made(**entry) for entry in values["made"])
        images = TEST_IMAGES.get(values["settings"].get("dataset"), 0)
        rows = tuple({**row, "test_images": images} if "test" in row else row for row in values["rows"])
        return Result(**values | {"made": made, "rows": rows})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultError(f"{path.name} is damaged: {error}") from error


def describe_provenance(made: Sequence[Made]) -> str:
    """Return the date, machine and commit of measurements in one line."""
    dates = sorted({entry.date for entry in made})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machines = "; ".join(sorted({entry.machine for entry in made}))
    commits = ", ".join(sorted({entry.commit for entry in made}))
    return f"measured {when} on {machines}, commit {commits}"


def pack_correct(right: NDArray[np.bool_]) -> str:
    """Return which images are classified correctly as text: their number, and one bit an image in base64."""
    return f"{len(right)} {base64.b64encode(np.packbits(right).tobytes()).decode('ascii')}"


def unpack_correct(text: str) -> NDArray[np.bool_]:
    """Return which images are classified correctly, see `pack_correct`.

    Raises:
        ResultError: if the text is damaged.
    """
    try:
        images, bits = text.split(" ")
        packed = np.frombuffer(base64.b64decode(bits, validate=True), np.uint8)
        if len(packed) != -(-int(images) // 8):
            raise ValueError(f"{images} images in {len(packed)} bytes")
        return np.unpackbits(packed, count=int(images)).astype(bool)
    except ValueError as error:
        raise ResultError(f"the predictions are damaged: {error}") from error


def _compact(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
