"""Find a checkpoint's tensors and settings: in a file, a folder, bytes, or a mapping of tensors."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as parse_tensors
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import (
    MAX_HEADER_BYTES,
    START_BYTES,
    Shapes,
    check_header,
    check_quantised,
    header_bytes,
)
from vitviz.models.formats.tensor_names import State
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut
from vitviz.upload_limits import WEIGHTS_BYTES, WEIGHTS_JSON_BYTES, WEIGHTS_SHARDS

CONFIGS = ("config.json", "open_clip_config.json")
PROCESSOR_CONFIGS = ("processor_config.json", "preprocessor_config.json")
INDEX = ".safetensors.index.json"
_READ_BYTES = 2**20


@dataclass(frozen=True)
class Source:
    """A checkpoint whose tensors are not read yet.

    Attributes:
        shapes: of every tensor, under its publisher's name.
        read: returns the tensors; those of a file are mapped into memory.
        digest: of the tensors' bytes.
    """

    shapes: Shapes
    read: Callable[[], State]
    settings: Settings
    digest: str


def find_source(
    source: Path | str | bytes | Mapping[str, Tensor],
    config: Mapping[str, Any] | None,
    given: Mapping[str, Any] | None = None,
) -> Source:
    """Return a checkpoint after reading its headers and JSON files.

    Args:
        source: as `open_model` takes it.
        config: values that override those of the files.
        given: values that override all others, by timm's names.

    Raises:
        PretrainedError: if there is no safetensors file, it is broken or too large, or a JSON file is broken.
    """
    settings = Settings(dict(config or {}), given=dict(given or {}))
    if isinstance(source, Mapping):
        return _from_tensors(source, settings)
    if isinstance(source, bytes | bytearray | memoryview):
        raw = bytes(source)
        return Source(check_header(raw), lambda: _parse(raw), settings, hashlib.sha256(raw).hexdigest())
    path = Path(source)
    try:
        folder = path if path.is_dir() else path.parent
        files, indexed = _list_files(path) if path.is_dir() else ([path], frozenset())
        read = {name: _read_json(folder / name) for name in CONFIGS if (folder / name).is_file()}
        values: dict[str, Any] = {}
        for table in (*reversed(read.values()), settings.values):
            values |= table
        settings = replace(settings, values=values, processor=_read_processor(folder))
        return _from_files(files, settings, indexed)
    except OSError as error:
        raise PretrainedError(f"the weights cannot be read: {error.strerror or error}") from error


def _read_processor(folder: Path) -> Mapping[str, Any]:
    """Return the image processor's values: transformers prefers those inside processor_config.json."""
    whole, alone = (_read_json(folder / n) if (folder / n).is_file() else {} for n in PROCESSOR_CONFIGS)
    inside = whole.get("image_processor")
    return inside if isinstance(inside, dict) else alone


def _from_tensors(state: Mapping[str, Tensor], settings: Settings) -> Source:
    check_quantised(map(str, state))
    check_plain(state)
    tensors = {str(name): tensor.detach() for name, tensor in state.items() if isinstance(tensor, Tensor)}
    if not tensors:
        inner = next((f": pass its {cut(repr(k))}" for k, v in state.items() if isinstance(v, Mapping)), "")
        raise PretrainedError(f"the mapping holds no tensors{inner}")
    digest = hashlib.sha256()
    for name, tensor in tensors.items():
        digest.update(name.encode())
        if tensor.ndim:
            flat = tensor.cpu().clone(memory_format=torch.contiguous_format).flatten()
            digest.update(flat.view(torch.uint8).numpy().tobytes())
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    return Source(shapes, lambda: tensors, settings, digest.hexdigest())


def check_plain(state: Mapping[str, Any]) -> None:
    """Check that tensors hold their values.

    Raises:
        PretrainedError: if one is quantised, sharded, on the meta device or not initialised.
    """
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor):
            continue
        if is_lazy(tensor):
            raise PretrainedError(f"{cut(str(name))} has no shape before the module's first run: run it once")
        if type(tensor) not in (Tensor, nn.Parameter) or tensor.is_quantized:
            kind = "a quantised tensor" if tensor.is_quantized else f"of type {type(tensor).__name__}"
            raise PretrainedError(
                f"its weights are quantised or sharded: {cut(str(name))} is {kind}; pass those that they were made from"
            )
        if tensor.layout != torch.strided:
            raise PretrainedError(
                f"{cut(str(name))} is a tensor of layout {tensor.layout}: pass to_dense() of it"
            )
        if tensor.is_meta:
            raise PretrainedError(
                f"its weights have no values: {cut(str(name))} is on the meta device; load the weights first"
            )


def _from_files(files: list[Path], settings: Settings, indexed: frozenset[str]) -> Source:
    if sum(file.stat().st_size for file in files) > WEIGHTS_BYTES:
        raise PretrainedError(f"the weights have more than the {WEIGHTS_BYTES >> 30} GB that are taken")
    shapes: Shapes = {}
    for file in files:
        added = _read_header(file)
        if double := added.keys() & shapes.keys():
            raise PretrainedError(f"two of its files hold {cut(min(double))}")
        shapes |= added
    if lost := sorted(indexed - shapes.keys()):
        raise PretrainedError(f"the index names {cut(lost[0])}, which none of its files holds")
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(_READ_BYTES):
                digest.update(block)
    return Source(shapes, lambda: map_tensors(files), settings, digest.hexdigest())


def _read_header(file: Path) -> Shapes:
    with file.open("rb") as stream:
        raw = stream.read(START_BYTES)
        raw += stream.read(max(0, min(8 + header_bytes(raw), MAX_HEADER_BYTES + 8) - len(raw)))
    return check_header(raw, file.stat().st_size)


def map_tensors(files: list[Path]) -> State:
    """Return all tensors, mapped from their files: pages that are not used take no memory."""
    state: State = {}
    for file in files:
        try:
            with safe_open(file, framework="pt") as opened:
                state |= {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        except (SafetensorError, ValueError, KeyError, RuntimeError) as error:
            raise _broken(error) from error
    return state


def _parse(raw: bytes) -> State:
    try:
        return parse_tensors(raw)
    except (SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise _broken(error) from error


def _broken(error: Exception) -> PretrainedError:
    return PretrainedError(f"the file is not a whole safetensors file: {cut(str(error), 150)}; save it again")


def _list_files(folder: Path) -> tuple[list[Path], frozenset[str]]:
    """Return a folder's safetensors files (an index's shards, or the only file) and the tensors of the index."""
    indices = sorted(folder.glob(f"*{INDEX}"))
    if indices:
        shards = _read_json(indices[0]).get("weight_map")
        names = sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else []
        if not 1 <= len(names) <= WEIGHTS_SHARDS or any(Path(name).name != name for name in names):
            raise PretrainedError(f"{indices[0].name} must name 1 to {WEIGHTS_SHARDS} files of its folder")
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise PretrainedError(f"{indices[0].name} names {cut(missing[0])}, which the folder lacks")
        return [folder / name for name in names], frozenset(map(str, shards or ()))
    files = sorted(folder.glob("*.safetensors"))
    named = [file for file in files if file.name == "model.safetensors"]
    if len(files) == 1 or named:
        return named or files, frozenset()
    if files:
        raise PretrainedError(
            f"the folder holds {len(files)} safetensors files without an index: keep one, or add model{INDEX}"
        )
    others = sorted(
        file
        for suffix in ("bin", "pth", "pt", "ckpt", "msgpack", "h5")
        for file in folder.glob(f"*.{suffix}")
    )
    if others:
        _read_header(others[0])
    raise PretrainedError("the folder holds no safetensors file")


def _read_json(file: Path) -> dict[str, Any]:
    if file.stat().st_size > WEIGHTS_JSON_BYTES:
        raise PretrainedError(f"{file.name} has more than the {WEIGHTS_JSON_BYTES >> 20} MB that are read")
    try:
        values = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise PretrainedError(f"{file.name} is not JSON") from error
    if not isinstance(values, dict):
        raise PretrainedError(f"{file.name} must hold an object")
    return values
