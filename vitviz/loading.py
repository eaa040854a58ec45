"""Open any Vision Transformer: a shipped or published name, a file, a folder, or a live module."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn
from tqdm import tqdm

from vitviz import checkpoints
from vitviz.checkpoint_header import CheckpointError, read_header
from vitviz.config_fields import Size
from vitviz.devices import Device, DType, choose_device, choose_dtype, find_device, place_model
from vitviz.models import published_weights
from vitviz.models.file_download import NoNetworkError
from vitviz.models.formats import apply_given, open_model
from vitviz.models.formats.checkpoint_settings import check_labels
from vitviz.models.formats.module_check import check_module, unwrap
from vitviz.models.formats.module_settings import read_layers, read_module, read_open_clip
from vitviz.models.formats.safetensors_header import check_quantised
from vitviz.models.formats.source import check_plain
from vitviz.models.formats.uploaded_weights import TemporaryFolder, write_upload
from vitviz.models.hub import fetch_hub_folder, find_hub_folder, is_hub_id, list_hub_folder
from vitviz.models.loaded_model import LoadedModel, list_image_sizes
from vitviz.models.pretrained import load_pretrained
from vitviz.models.pretrained_list import PRETRAINED, PretrainedError, UnknownArchitectureError
from vitviz.upload_limits import WEIGHTS_BYTES

_SETTINGS = (
    "num_heads",
    "img_size",
    "mean",
    "std",
    "crop_pct",
    "interpolation",
    "global_pool",
    "act_layer",
    "rope_type",
    "architecture",
)


def load(
    source: str | Path | nn.Module | Mapping[str, Tensor] | LoadedModel,
    *,
    labels: Sequence[str] | None = None,
    step: int | None = None,
    device: Device = None,
    dtype: DType = None,
    **settings: Any,
) -> LoadedModel:
    """Return a model with its image preparation and class names, frozen and in evaluation mode.

    Args:
        source: a safetensors file, a folder or a zipped folder of vitviz, timm, transformers, torchvision, open_clip or
            vit-pytorch; the name of a shipped model ('digits_vit') or of published weights ('deit_tiny_patch16_224',
            which are downloaded once); the id of a model on the hub ('owner/name', or 'owner/name@revision'),
            downloaded into the hub's own cache; a state dict; or a live module, whose weights are copied.
        labels: class names, one per output; None: those of the files.
        step: of a vitviz checkpoint with several moments of its training; None: the last.
        device: 'cpu', 'cuda', 'cuda:1' or 'mps', where the model computes; None: where a live module is, else this
            machine's accelerator, or the CPU if there is none. Results are arrays in fp32 on every device.
        dtype: 'float32', 'bfloat16' or 'float16', in which the model computes; None: float32.
        settings: by timm's names, over what the files state, for every source: num_heads, img_size (one number, or
            height and width), mean, std, crop_pct, interpolation, global_pool, act_layer; and where the files state
            neither: architecture, a name of timm's, or rope_type='none' if there are no rotary positions.

    Raises:
        TypeError: if the source is none of these, or a setting is unknown or fixed by the weights.
        ValueError: if this machine has no such device, or the dtype is none of the three.
        PretrainedError: if the model cannot be opened, or a live module computes something else, in one sentence.
        CheckpointError: if a vitviz checkpoint is damaged, or has no such step.

    Example:
        >>> import vitviz
        >>> model = vitviz.load("digits_vit")
        >>> model.config.depth, model.config.num_heads, model.classes[:3]
        (4, 4, ('0', '1', '2'))
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable | None):
        raise TypeError(f"labels must be a sequence of class names, received {labels!r:.60}")
    names = None if labels is None else tuple(labels)
    if unknown := sorted(settings.keys() - set(_SETTINGS)):
        raise TypeError(f"load() takes no setting {unknown[0]!r}; known are: {', '.join(_SETTINGS)}")
    module = source.model if isinstance(source, LoadedModel) else source
    if device is None and isinstance(module, nn.Module):
        device = find_device(module)
    else:
        device = choose_device(device)
    number_format = choose_dtype(dtype)
    settings = {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic | Tensor) else value
        for name, value in settings.items()
    }
    return place_model(_open(source, names, step, settings), device, number_format)


def _open(
    source: Any, names: tuple[str, ...] | None, step: int | None, settings: dict[str, Any]
) -> LoadedModel:
    """Return the model of a source on the CPU, or a loaded model as it is."""
    path = _find_file(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
    if path is not None and _is_checkpoint(path):
        return _name_classes(apply_given(checkpoints.open_model(path, step), settings), names)
    if step is not None:
        raise TypeError(f"step must be None for a model that is no vitviz checkpoint, received {step!r}")
    if isinstance(source, LoadedModel):
        return _name_classes(apply_given(source, settings), names)
    if isinstance(source, Mapping):
        return open_model(source, labels=names, given=settings)
    if isinstance(source, nn.Module):
        return _open_module(source, names, settings)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a model must be a name, a path or a torch module, received {type(source).__name__}")
    if path is None and is_hub_id(str(source)) and str(source).removeprefix("timm/") not in PRETRAINED:
        return open_model(_fetch_from_hub(str(source)), labels=names, title=str(source), given=settings)
    if path is None:
        published = _load_published(str(source).removeprefix("timm/"), settings.pop("img_size", None))
        return _name_classes(apply_given(published, settings), names)
    if path.is_file() and path.suffix.lower() == ".zip":
        folder = TemporaryFolder()
        unpacked = write_upload(path.read_bytes(), folder.path, WEIGHTS_BYTES, is_zip=True)
        return open_model(unpacked, labels=names, title=path.stem, given=settings)
    return open_model(path, labels=names, given=settings)


def _is_checkpoint(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        read_header(path)
    except CheckpointError:
        return False  # another project's file
    return True


def _name_classes(model: LoadedModel, labels: tuple[str, ...] | None) -> LoadedModel:
    """Return the model with other class names, if any are given."""
    if labels is None:
        return model
    return replace(model, classes=check_labels(labels, len(model.classes)))


def list_shipped() -> dict[str, Path]:
    """Return the checkpoints on this machine by name; a wheel carries one of those in a checkout."""
    folder = next(
        (folder for folder in published_weights.SHIPPED_FOLDERS if folder.is_dir()),
        published_weights.SHIPPED_FOLDERS[0],
    )
    files = sorted(folder.glob("*.safetensors"))
    return {file.stem: file for file in files if file.stem not in PRETRAINED}


def _find_file(source: str | Path) -> Path | None:
    path = Path(source)
    return path if path.exists() else list_shipped().get(str(source))


def _fetch_from_hub(hub_id: str) -> Path:
    """Return the folder of a model on the hub: its newest commit, or the cached one without a network."""
    try:
        listed = list_hub_folder(hub_id)
        with tqdm(
            desc=hub_id, total=listed.nbytes, unit="B", unit_scale=True, leave=False, disable=None
        ) as bar:
            return fetch_hub_folder(listed, progress=lambda done, _: bar.update(done - bar.n))
    except NoNetworkError as error:
        cached = find_hub_folder(hub_id)
        if cached is None:
            raise NoNetworkError(
                f"{error}; {hub_id!r} is no file or folder on this machine either"
            ) from error
        return cached


def _load_published(name: str, image_size: Size | None) -> LoadedModel:
    try:
        return load_pretrained(name, image_size=image_size)
    except UnknownArchitectureError as error:
        if name.endswith((".safetensors", "/")) or name.startswith((".", "/")):
            raise PretrainedError(f"there is no file or folder {name}") from error
        shipped = ", ".join(list_shipped()) or "none"
        more = (
            ""
            if published_weights.SHIPPED_FOLDERS[0].is_dir()
            else " (a checkout of the repository has more)"
        )
        raise PretrainedError(
            f"{name!r} is no file, folder, shipped or published model; shipped: {shipped}{more};"
            " published: run python -m vitviz.fetch for the list"
        ) from error


def _open_module(module: nn.Module, labels: tuple[str, ...] | None, given: Mapping[str, Any]) -> LoadedModel:
    """Open a live module, run a copy of it once, and refuse it if the outputs differ."""
    state = module.state_dict()
    check_quantised(state)
    check_plain(state)
    weights = {n: tensor.detach().cpu().clone() for n, tensor in state.items() if isinstance(tensor, Tensor)}
    loaded = open_model(
        weights, _read_module_config(unwrap(module)), labels=labels, title=type(module).__name__, given=given
    )
    try:
        reason = check_module(module, loaded)
    except PretrainedError as error:
        if not given.keys() & {"num_heads", "act_layer", "global_pool", "img_size"}:
            raise
        reason = f"settings were given over those of the module: {error}"
    if reason and list_image_sizes(loaded):
        raise PretrainedError(
            f"its positions fit a grid of {' × '.join(map(str, loaded.vit.config.grid))}, on whose images the module"
            " does not run; state the size of its images, img_size=(height, width)"
        )
    return replace(loaded, verified=None if reason else True, not_verified=reason)


def open_shared(module: nn.Module, labels: tuple[str, ...], given: Mapping[str, Any]) -> LoadedModel:
    """Open a live module that `load` has checked, on its own weights where no conversion needs a copy.

    Raises:
        PretrainedError: if a weight is not finite.
    """
    inner = unwrap(module)
    state = {
        name: tensor.detach() for name, tensor in inner.state_dict().items() if isinstance(tensor, Tensor)
    }
    return open_model(state, _read_module_config(inner), labels=labels, given=given)


def _read_module_config(module: nn.Module) -> dict[str, Any]:
    """Return what a module's tensors do not show: its heads, and the settings that its publisher keeps in it."""
    config = getattr(module, "config", None)
    if config is not None and hasattr(config, "to_dict"):
        return dict(config.to_dict())
    visual = getattr(module, "visual", None)  # open_clip's
    tower = visual if isinstance(visual, nn.Module) else module
    if type(tower).__module__.startswith("open_clip."):
        return read_open_clip(tower)
    stated = getattr(module, "pretrained_cfg", None)
    settings = dict(stated) if isinstance(stated, Mapping) else {}
    names = settings.get("label_names")
    if isinstance(names, list | tuple) and len(names) != getattr(tower, "num_classes", len(names)):
        del settings["label_names"]  # of the published head, before this one replaced it
    if own := read_module(tower):
        return settings | own
    return settings | read_layers(tower)
