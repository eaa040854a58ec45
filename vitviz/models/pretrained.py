"""Published weights in this project's models: by name from their publisher, or from a local safetensors file."""

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch

from vitviz.checkpoint_header import CheckpointError
from vitviz.checkpoints import load_checkpoint
from vitviz.config import SwinConfig, ViTConfig
from vitviz.config_fields import Size, as_shape, format_size, join_size
from vitviz.models.file_download import MAX_BYTES
from vitviz.models.formats import timm, torchvision
from vitviz.models.formats.safetensors_header import COMPUTED
from vitviz.models.formats.source import find_source
from vitviz.models.formats.state_loading import fit_positions, load_into
from vitviz.models.formats.tensor_names import State
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import Pretrained, PretrainedError, find
from vitviz.models.published_weights import fetch
from vitviz.models.zoo import empty_model
from vitviz.torchvision_fix import import_torchvision


def load_pretrained(
    name: str, source: Path | bytes | None = None, *, image_size: Size | None = None
) -> LoadedModel:
    """Return the published weights in one of this project's models, with their own preparation and class names.

    Args:
        name: timm's 'architecture.tag' or architecture, or torchvision's model name, from `PRETRAINED`.
        source: a local safetensors file (or its bytes) of this architecture; None fetches the published file
            once into `weights_folder()`.
        image_size: another resolution in px, of a ViT also (height, width); learned positions are resized, a Swin
            keeps its windows.

    Raises:
        UnknownArchitectureError: if the name is outside the list.
        NoNetworkError: if the file cannot be fetched.
        WeightsMismatchError: if the tensors are not the model's.
        PretrainedError: if the file cannot be read, or the resolution does not fit.
    """
    entry = find(name)
    size = join_size(as_shape(image_size or entry.opens_at_px))
    config = entry.config
    # refused before anything is fetched
    if any(side < config.patch_size or side % config.patch_size for side in as_shape(size)):
        raise PretrainedError(
            f"{entry.name} cuts patches of {config.patch_size} px, which do not divide {format_size(size)} px"
        )
    if isinstance(size, tuple) and not isinstance(config, ViTConfig):
        raise PretrainedError(f"{entry.name} takes square images here, received {format_size(size)} px")
    if entry.is_shipped and source is None:
        state, digest = _open_shipped(entry)
    else:
        state, digest = _fetched(entry) if source is None else _read(source)
        state = rename(state, entry)
    if isinstance(config, ViTConfig):
        resized = replace(config, image_size=size)
        state, config = fit_positions(state, config, resized.grid), resized
    model = empty_model(config)  # no time for random weights that are replaced at once
    load_into(model, state, entry.name)
    classes = config.num_classes
    return LoadedModel(
        model=model,
        config=config,
        preparation=replace(entry.preparation, image_size=size),
        classes=imagenet_classes() if classes == 1000 else tuple(map(str, range(classes))),
        title=entry.title,
        trained_on=entry.trained_on,
        step=0,
        # One file may be opened as two models that prepare images differently.
        digest=f"{digest}:{entry.name}@{format_size(size)}",
    )


def _open_shipped(entry: Pretrained) -> tuple[State, str]:
    try:
        checkpoint = load_checkpoint(fetch(entry))
    except CheckpointError as error:
        raise PretrainedError(f"the file of {entry.title} is damaged: {error}") from error
    (state,) = checkpoint.snapshots.values()
    return state, checkpoint.identity


def rename(state: State, entry: Pretrained) -> State:
    """Return the published file's tensors under this project's names, without computed tables."""
    state = {name: tensor for name, tensor in state.items() if not name.endswith(COMPUTED)}
    of_timm, of_torchvision = (timm.VIT, timm.SWIN), (torchvision.VIT, torchvision.SWIN)
    formats = of_timm if entry.format == "timm" else of_torchvision
    return formats[isinstance(entry.config, SwinConfig)].translate(state)


def _read(source: Path | bytes) -> tuple[State, str]:
    try:
        if not isinstance(source, bytes):
            if (size := source.stat().st_size) > MAX_BYTES:
                raise PretrainedError(f"the file has {size} bytes, more than the {MAX_BYTES} that are taken")
            source = source.read_bytes()
    except OSError as error:
        raise PretrainedError(f"the weights cannot be read: {error.strerror or error}") from error
    tensor_source = find_source(source, None)
    return tensor_source.read(), tensor_source.digest


def _fetched(entry: Pretrained) -> tuple[State, str]:
    target = fetch(entry)
    if target.suffix == ".safetensors":
        return _read(target)
    # torchvision publishes torch's own format: it is opened only while it is the published file, for tensors alone.
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    if not digest.startswith(entry.sha256_start):
        raise PretrainedError(
            f"{target} is not the published file: its sha256 starts {digest[:8]}; delete it"
        )
    state = torch.hub.load_state_dict_from_url(
        entry.url, model_dir=str(target.parent), map_location="cpu", progress=False, weights_only=True
    )
    return state, digest


@lru_cache(maxsize=1)
def imagenet_classes() -> tuple[str, ...]:
    """Return the 1000 class names of ImageNet-1k, as torchvision spells them."""
    import_torchvision()
    from torchvision.models import ViT_B_16_Weights

    return tuple(ViT_B_16_Weights.DEFAULT.meta["categories"])
