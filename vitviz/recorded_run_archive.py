"""Unpack the zip of a recorded run's folder within limits; an image is written as this project encodes it."""

import re
import time
import zipfile
from pathlib import Path

from vitviz import upload_limits as limits
from vitviz.data.bounded_zip import BoundedZip, ZipError, ZipLimits
from vitviz.data.image_decoding import ImageError
from vitviz.data.image_worker import decode_in_worker
from vitviz.plots.attention_images import png
from vitviz.recorded_run import KIND, MOST_RECORDS_BYTES, RecordedRun, RecordedRunError
from vitviz.training.atomic_files import json_object, write_whole

MOST_PAIRS = 2**26  # pairs of patches at all moments, whose similarities a page holds
_FILE = re.compile(
    r"(config\.json|status\.json|records\.jsonl)|images/[0-9]{1,2}\.png|moments/[0-9]{9}\.npz|weights/[0-9]{9}\.safetensors"
)
_MAX_FILE_BYTES = {
    "config.json": limits.RUN_CONFIG_BYTES,
    "status.json": limits.RUN_STATUS_BYTES,
    "records.jsonl": MOST_RECORDS_BYTES,
}
_IMAGE_BYTES, _IMAGE_PIXELS = 2**20, 512**2  # a recorder's have at most 320 px a side


def is_recorded_zip(zip_bytes: bytes) -> bool:
    """Return True if a zip holds a config.json that states a recorded run."""
    try:
        archive = _open(zip_bytes)
        config = _read(archive, _list_files(archive), "config.json")
    except (ZipError, RecordedRunError):
        return False
    return json_object(config).get("kind") == KIND


def unpack_recorded_run(zip_bytes: bytes, folder: Path) -> RecordedRun:
    """Write the recorded run in a zip into an empty folder; files that are none of a run's are left out.

    Raises:
        RecordedRunError: if the zip or the run in it is damaged or too large.
        OSError: if the files cannot be written.
    """
    try:
        archive = _open(zip_bytes)
        files = _list_files(archive)
        for name in ("images", "moments", "weights"):
            (folder / name).mkdir()
        write_whole(folder / "config.json", _read(archive, files, "config.json"))
        run = RecordedRun(folder)
        pairs = sum(name.startswith("moments/") for name in files) * run.config.layout.num_patches**2
        if pairs > MOST_PAIRS:
            raise RecordedRunError(
                f"it has {pairs:,} pairs of patches at all moments, more than the {MOST_PAIRS:,} that this server"
                " shows: open its folder with 'vitviz app' on your own machine"
            )
        for name in files:
            if name.startswith("images/"):
                image = decode_in_worker(_read(archive, files, name), _IMAGE_PIXELS).pixels
                write_whole(folder / name, png(image))
            elif name not in ("config.json", "status.json"):
                write_whole(folder / name, _read(archive, files, name))
    except ImageError as error:
        raise RecordedRunError(f"{name} cannot be used: {str(error).removesuffix('.')}") from error
    except ZipError as error:
        raise RecordedRunError(f"the zip cannot be used: {error}") from error
    step = max(run.steps(), default=0)
    run.write_status("done", step, 0.0, f"Uploaded {time.strftime('%Y-%m-%d %H:%M')}.")
    return run


def _open(zip_bytes: bytes) -> BoundedZip:
    return BoundedZip(zip_bytes, ZipLimits(limits.RUN_FILES, limits.RUN_UNPACKED_BYTES))


def _list_files(archive: BoundedZip) -> dict[str, zipfile.ZipInfo]:
    """Return the files of the run by their names in its folder, which may lie in other folders of the zip."""
    configs = [info.filename for info in archive.files if info.filename.split("/")[-1] == "config.json"]
    home = min(configs, key=len, default="").removesuffix("config.json")
    named = {info.filename[len(home) :]: info for info in archive.files if info.filename.startswith(home)}
    return {name: info for name, info in named.items() if _FILE.fullmatch(name)}


def _read(archive: BoundedZip, files: dict[str, zipfile.ZipInfo], name: str) -> bytes:
    """Return a file.

    Raises:
        RecordedRunError: if it is missing or too large.
        ZipError: if it is damaged.
    """
    if (info := files.get(name)) is None:
        raise RecordedRunError(f"the zip holds no recorded run: {name} is missing")
    others = _IMAGE_BYTES if name.startswith("images/") else limits.RUN_UNPACKED_BYTES
    most_bytes = _MAX_FILE_BYTES.get(name, others)
    if info.file_size > most_bytes:
        raise RecordedRunError(f"{name} has {info.file_size:,} bytes, the limit is {most_bytes:,}")
    return archive.read(info, most_bytes)
