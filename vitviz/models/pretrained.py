"""Published weights in this project's models: by name from their publisher, or from a local safetensors file."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors

from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.download import MAX_BYTES, weights_folder
from vitviz.models.formats import timm, torchvision
from vitviz.models.formats.header import COMPUTED
from vitviz.models.formats.naming import State
from vitviz.models.formats.state_loading import fit_positions, load_into
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, PretrainedError, find
from vitviz.models.published_weights import fetch
from vitviz.models.zoo import empty_model
from vitviz.text import cut
from vitviz.torchvision_fix import import_torchvision

__all__ = [
    "PRETRAINED",
    "Pretrained",
    "PretrainedError",
    "fetch",
    "find",
    "load_pretrained",
    "weights_folder",
]


def load_pretrained(
    name: str, source: Path | bytes | None = None, *, image_size: int | None = None
) -> LoadedModel:
    """Return the published weights in one of this project's models, with their own preparation and class names.

    Args:
        name: timm's 'architecture.tag' or architecture, or torchvision's model name, from `PRETRAINED`.
        source: a local safetensors file (or its bytes) of this architecture; None fetches the published file
            once into `weights_folder()`.
        image_size: another resolution in px; learned positions are resized, a Swin keeps its windows.

    Raises:
        UnknownArchitectureError: if the name is outside the list.
        NoNetworkError: if the file cannot be fetched.
        WeightsMismatchError: if the tensors are not the model's.
        PretrainedError: if the file cannot be read, or the resolution does not fit.
    """
    entry = find(name)
    side = image_size or entry.opens_at_px
    config = _config_at(entry, side)  # refused before anything is fetched
    state, digest = _fetched(entry) if source is None else _local(source)
    return _assembled(entry, config, side, state, digest)


def rename(state: State, entry: Pretrained) -> State:
    """Return the published file's tensors under this project's names, without computed tables."""
    state = {name: tensor for name, tensor in state.items() if not name.endswith(COMPUTED)}
    if isinstance(entry.config, SwinConfig):
        return timm.translate_swin(state) if entry.format == "timm" else torchvision.translate_swin(state)
    return timm.translate_vit(state) if entry.format == "timm" else torchvision.translate_vit(state)


def _assembled(
    entry: Pretrained, config: ViTConfig | SwinConfig, side: int, state: State, digest: str
) -> LoadedModel:
    state = rename(state, entry)
    if isinstance(config, ViTConfig) and isinstance(entry.config, ViTConfig):
        state = fit_positions(state, entry.config, config.grid)
    model = empty_model(config)  # no time for random weights that are replaced at once
    load_into(model, state, entry.name)
    return LoadedModel(
        model=model,
        config=config,
        preparation=replace(entry.preparation, image_size=side),
        classes=imagenet_classes()
        if config.num_classes == 1000
        else tuple(map(str, range(config.num_classes))),
        title=entry.title,
        trained_on=entry.trained_on,
        step=0,
        # One file may be opened as two models that prepare images differently.
        digest=f"{digest}:{entry.name}@{side}",
    )


def _config_at(entry: Pretrained, side: int) -> ViTConfig | SwinConfig:
    config = entry.config
    if side < config.patch_size or side % config.patch_size:
        raise PretrainedError(
            f"{entry.name} cuts patches of {config.patch_size} px, which do not divide {side} px"
        )
    return replace(config, image_size=side) if isinstance(config, ViTConfig) else config


def _local(source: Path | bytes) -> tuple[State, str]:
    try:
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if size > MAX_BYTES:
            raise PretrainedError(f"the file has {size} bytes, more than the {MAX_BYTES} that are taken")
        raw = source if isinstance(source, bytes) else source.read_bytes()
        return parse_tensors(raw), hashlib.sha256(raw).hexdigest()
    except OSError as error:
        raise PretrainedError(f"the weights cannot be read: {error.strerror or error}") from error
    except (SafetensorError, ValueError, KeyError) as error:
        if isinstance(error, PretrainedError):
            raise
        raise PretrainedError(f"the file is not a whole safetensors file: {cut(str(error), 200)}") from error


def _fetched(entry: Pretrained) -> tuple[State, str]:
    target = fetch(entry)
    if target.suffix == ".safetensors":
        return _local(target)
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
