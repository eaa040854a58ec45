"""Store uploaded weights on disk, as a file or an unpacked folder, and map the opened model's tensors from there."""

import shutil
import tempfile
import weakref
from pathlib import Path

from safetensors.torch import save_file

from vitviz.data.bounded_zip import BoundedZip, ZipError, ZipLimits
from vitviz.models.formats.safetensors_header import PickledWeightsError
from vitviz.models.formats.source import map_tensors
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError
from vitviz.upload_limits import WEIGHTS_FILES

_READ = (".safetensors", ".json")
_PICKLED = (".bin", ".pth", ".pt", ".ckpt")
_ZIP = b"PK\x03\x04"


class TemporaryFolder:
    """A new folder that is deleted with this object, at the latest when the process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="vitviz-weights-"))
        self.delete = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


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
