"""Open published weights by name in this project's models, with their publisher's preparation and class names."""

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from vitviz import checkpoints
from vitviz.checkpoint_header import CheckpointError
from vitviz.config_fields import Size, as_shape, format_size, join_size
from vitviz.models.file_download import MAX_BYTES
from vitviz.models.formats import apply_given, open_model
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import Pretrained, PretrainedError, find
from vitviz.models.published_weights import fetch
from vitviz.torchvision_fix import import_torchvision


def load_pretrained(name: str, *, image_size: Size | None = None) -> LoadedModel:
    """Return the published weights in one of this project's models, with their own preparation and class names.

    Args:
        name: timm's 'architecture.tag' or architecture, or torchvision's model name, from `PRETRAINED`; its file is
            fetched once into `weights_folder()`.
        image_size: another resolution in px, of a ViT also (height, width); learned positions are resized, a Swin
            keeps its windows.

    Raises:
        UnknownArchitectureError: if the name is outside the list.
        NoNetworkError: if the file cannot be fetched.
        PretrainedError: if the file cannot be read or is another one, or the resolution does not fit.
    """
    entry = find(name)
    size = join_size(as_shape(image_size or entry.opens_at_px))
    try:
        config = replace(entry.config, image_size=size)  # type: ignore[arg-type]  # refused before it is fetched
    except ValueError as error:
        raise PretrainedError(f"{entry.name}: {error}") from error
    path, preparation = fetch(entry), replace(entry.preparation, image_size=size)
    if entry.is_shipped:
        opened = apply_given(_open_shipped(entry, path), {"img_size": size})
    else:
        classes = imagenet_classes() if config.num_classes == 1000 else None
        source, config_values = _read(entry, path), state_config(entry)
        try:
            opened = open_model(source, config_values, labels=classes, preparation=preparation)
        except PretrainedError as error:
            raise PretrainedError(
                f"these are not the weights of {entry.name}: {error}; delete {path.name}"
            ) from error
    if opened.config != config:
        raise PretrainedError(f"{path} is not the published file of {entry.title}: delete it")
    return replace(
        opened,
        preparation=preparation,
        title=entry.title,
        trained_on=entry.trained_on,
        # One file may be opened as two models that prepare images differently.
        digest=f"{opened.digest.partition(':')[0]}:{entry.name}@{format_size(size)}",
        notes=(),
        not_verified="",
    )


def state_config(entry: Pretrained) -> dict[str, Any]:
    """Return what an entry's tensors do not show, as a publisher's config states it."""
    shape = {name: getattr(entry.config, name, None) for name in ("num_heads", "window_size")}
    return {"img_size": entry.config.image_size, **shape}


def _open_shipped(entry: Pretrained, path: Path) -> LoadedModel:
    try:
        return checkpoints.open_model(path)
    except CheckpointError as error:
        raise PretrainedError(f"the file of {entry.title} is damaged: {error}") from error


def _read(entry: Pretrained, path: Path) -> bytes | dict[str, Any]:
    """Return what `open_model` takes: the bytes, because a mapped file would change with the file on disk.

    torchvision publishes torch's own format: it is opened only while it is the published file, for tensors alone.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise PretrainedError(f"{path} has {size:,} bytes, more than the limit of {MAX_BYTES:,}")
    if path.suffix == ".safetensors":
        return path.read_bytes()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if not digest.startswith(entry.sha256_start):
        raise PretrainedError(f"{path} is not the published file: its sha256 starts {digest[:8]}; delete it")
    state: dict[str, Any] = torch.hub.load_state_dict_from_url(
        entry.url, model_dir=str(path.parent), map_location="cpu", progress=False, weights_only=True
    )
    return state


@lru_cache(maxsize=1)
def imagenet_classes() -> tuple[str, ...]:
    """Return the 1000 class names of ImageNet-1k, as torchvision spells them."""
    import_torchvision()
    from torchvision.models import ViT_B_16_Weights

    return tuple(ViT_B_16_Weights.DEFAULT.meta["categories"])
