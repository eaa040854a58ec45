"""Store uploaded weights on disk, as a file or an unpacked folder, and map the opened model's tensors from there."""

import secrets
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

from safetensors.torch import save_file

from vitviz.data.bounded_zip import BoundedZip, ZipError, ZipLimits
from vitviz.locks import try_hold
from vitviz.models.formats.safetensors_header import PickledWeightsError
from vitviz.models.formats.source import map_tensors
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError
from vitviz.upload_limits import WEIGHTS_FILES

_READ = (".safetensors", ".json")
_PICKLED = (".bin", ".pth", ".pt", ".ckpt")
_PREFIX, _LOCK = "vitviz-weights-", ".lock"
_ZIP = b"PK\x03\x04"


class TemporaryFolder:
    """A new folder that is deleted with this object, at the latest when the process ends or after it was killed.

    The process holds a lock beside the folder; `remove_leftovers` deletes folders whose lock nobody holds.
    """

    def __init__(self) -> None:
        lock = None
        while lock is None:
            self.path = Path(tempfile.gettempdir(), f"{_PREFIX}{secrets.token_hex(8)}")
            lock = try_hold(self.path.with_suffix(_LOCK))
        self.delete = weakref.finalize(self, _delete, self.path, lock)
        self.path.mkdir(mode=0o700)


def _delete(path: Path, lock: IO[bytes]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.with_suffix(_LOCK).unlink(missing_ok=True)
    lock.close()


def remove_leftovers() -> None:
    """Delete the folders of processes that were killed."""
    for file in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_LOCK}"):
        with suppress(OSError):  # another user's, or just deleted
            if (lock := try_hold(file)) is not None:
                _delete(file.with_suffix(""), lock)


def write_upload(upload: bytes, folder: Path, limit_bytes: int, *, is_zip: bool) -> Path:
    """Write an uploaded file into a folder and return what `open_model` takes: the file, or the folder of a zip.

    Of a zip, only safetensors and JSON files beside each other are written, under their plain names.

    Raises:
        PretrainedError: if the zip is broken, larger than the limit, or has no safetensors file.
    """
    if not is_zip:
        file = folder / "model.safetensors"
        file.write_bytes(upload)
        return file
    try:
        archive = BoundedZip(upload, ZipLimits(WEIGHTS_FILES, limit_bytes))
        files = [info for info in archive.files if "__MACOSX" not in info.filename]
        weights = [info for info in files if info.filename.endswith(".safetensors")]
        if not weights:
            if any(info.filename.endswith(_PICKLED) for info in files):
                raise PickledWeightsError
            raise PretrainedError("the zip holds no safetensors file")
        home = min((info.filename.rpartition("/")[0] for info in weights), key=len)
        for info in files:
            parent, _, name = info.filename.rpartition("/")
            if parent == home and name.endswith(_READ) and Path(name).name == name and "\\" not in name:
                (folder / name).write_bytes(archive.read(info, info.file_size))
    except ZipError as error:
        raise PretrainedError(f"the zip cannot be opened: {error}") from error
    return folder


def is_folder_zip(name: str, upload: bytes) -> bool:
    """Return True for a zip of files; PyTorch's own format is a zip too, and is not."""
    return name.lower().endswith(".zip") and upload[:4] == _ZIP


def move_to_disk(model: LoadedModel, folder: Path) -> int:
    """Replace the tensors of a model by the pages of a file in an otherwise emptied folder; return its bytes."""
    state = {name: tensor.contiguous() for name, tensor in model.model.state_dict().items()}
    file = folder / "mapped.weights"
    save_file(state, file)
    model.model.load_state_dict(map_tensors([file]), assign=True)
    model.model.requires_grad_(False)
    del state
    for other in folder.iterdir():
        if other.is_dir():
            shutil.rmtree(other)
        elif other != file:
            other.unlink()
    return file.stat().st_size
