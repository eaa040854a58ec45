"""Datasets as .npz files: found, checked on reading, written whole or not at all."""

import os
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from vitviz.data.dataset import Dataset, DatasetError
from vitviz.training.atomic_files import drafted

KEYS = ("train_images", "train_labels", "test_images", "test_labels", "classes")


def data_folder() -> Path:
    """Return the folder of the .npz files: $VITVIZ_DATA, or the platform's cache folder."""
    return _folder(os.environ.get("VITVIZ_DATA", "").strip())


@lru_cache(maxsize=8)
def _folder(chosen: str) -> Path:
    return Path(chosen).expanduser() if chosen else user_cache_path("vitviz") / "data"


def data_file(name: str) -> Path:
    """Return the path of the dataset's .npz file."""
    return data_folder() / f"{name}.npz"


@lru_cache(maxsize=64)
def has_arrays(path: Path, modified_ns: int, size_bytes: int) -> bool:
    """Return True if a file holds the arrays of a dataset, judged by its table of contents alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {f"{key}.npy" for key in KEYS} <= set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def read_dataset(name: str, path: Path) -> Dataset:
    """Return the dataset in an .npz file, after validation and without executing anything in it.

    Raises:
        DatasetError: if the file cannot be read, or does not hold what design says it does.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            missing = [key for key in KEYS if key not in stored.files]
            if missing:
                raise ValueError(f"it has no {', '.join(missing)}")
            arrays = {key: stored[key] for key in KEYS}
        return _checked(name, arrays)
    except (ValueError, OSError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{path} cannot be used as the dataset '{name}': {error}. Remove the file to have it downloaded"
            " again, or go on with 'digits' or 'shapes', which need no file."
        ) from error


def write_dataset(dataset: Dataset, path: Path) -> None:
    """Write the .npz file atomically.

    Raises:
        DatasetError: if the set has no labels.
        OSError: if the folder cannot be written.
    """
    train_labels, test_labels = dataset.labels_of("train"), dataset.labels_of("test")
    path.parent.mkdir(parents=True, exist_ok=True)
    with drafted(path) as draft, draft.open("wb") as file:
        np.savez(
            file,
            train_images=dataset.train_images,
            train_labels=train_labels,
            test_images=dataset.test_images,
            test_labels=test_labels,
            classes=np.array(dataset.classes),
        )
        file.flush()
        os.fsync(file.fileno())
        draft.chmod(0o644)  # whatever the umask: the server's other users share the folder


def _checked(name: str, arrays: dict[str, NDArray[Any]]) -> Dataset:
    for key in ("train_labels", "test_labels"):
        if not np.issubdtype(arrays[key].dtype, np.integer):
            raise ValueError(f"{key} must be integers, received {arrays[key].dtype}")
        arrays[key] = arrays[key].astype(np.int64)
    classes = arrays["classes"]
    if classes.dtype.kind != "U" or classes.ndim != 1:
        raise ValueError(f"classes must be a row of text, received {classes.dtype} {classes.shape}")
    return Dataset(
        name,
        arrays["train_images"],
        arrays["train_labels"],
        arrays["test_images"],
        arrays["test_labels"],
        tuple(str(label) for label in classes),
    )
