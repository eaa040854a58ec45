"""Images to begin with: those that scikit-image installs."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitviz.data.image_decoding import ImageError, decode_image


@dataclass(frozen=True)
class Sample:
    """A sample image: its file in scikit-image's package, its title, its source and licence."""

    name: str
    title: str
    file: str
    source: str


NOTES = tomllib.loads(Path(__file__).with_name("sample_notes.toml").read_text("utf-8"))
_SAMPLES = tuple(Sample(**entry) for entry in NOTES["samples"])


def pictures_folder() -> Path | None:
    """Return where scikit-image keeps its images; None where it is not installed."""
    package = find_spec("skimage")  # finds it without importing it
    folders = package.submodule_search_locations if package else None
    return Path(folders[0]) / "data" if folders else None


@lru_cache(maxsize=1)
def samples() -> tuple[Sample, ...]:
    """Return the sample images whose files are on this machine, in the order to show them."""
    folder = pictures_folder()
    return tuple(sample for sample in _SAMPLES if folder is not None and (folder / sample.file).is_file())


def sample_names() -> tuple[str, ...]:
    """Return the keys of the sample images on this machine; each opens with `load_sample`."""
    return tuple(sample.name for sample in samples())


def sample(name: str) -> Sample:
    """Return the title and source of a sample image.

    Raises:
        ImageError: if there is no such sample here.
    """
    for candidate in samples():
        if candidate.name == name:
            return candidate
    raise ImageError(
        f"There is no sample image '{name}': choose one of {', '.join(sample_names()) or 'none'}."
    )


def load_sample(name: str) -> NDArray[np.uint8]:
    """Return a sample image, (H, W, 3) uint8.

    Raises:
        ImageError: if there is no such sample here.
    """
    folder = pictures_folder()
    file = sample(name).file
    if folder is None:
        raise ImageError("The sample images need scikit-image: run `pip install -r requirements.txt`.")
    return decode_image((folder / file).read_bytes())
