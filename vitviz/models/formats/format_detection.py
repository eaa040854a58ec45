"""Recognise a checkpoint by its tensors' names and open it as one of this project's models."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import vitviz.models.formats.open_clip as open_clip
import vitviz.models.formats.timm as timm
import vitviz.models.formats.torchvision as torchvision
import vitviz.models.formats.transformers as transformers
import vitviz.models.formats.vit_pytorch as vit_pytorch
from vitviz.config import ModelConfig, Preparation, SwinConfig, ViTConfig
from vitviz.config_fields import Size, as_shape, format_size
from vitviz.models.formats.checkpoint_settings import Settings, check_labels
from vitviz.models.formats.config_keys import check_keys, complete
from vitviz.models.formats.module_settings import find_timm_model
from vitviz.models.formats.name_cleaning import check_heads, clean_names
from vitviz.models.formats.preparation_settings import override_preparation, read_preparation
from vitviz.models.formats.safetensors_header import COMPUTED, Shapes
from vitviz.models.formats.source import find_source
from vitviz.models.formats.state_loading import (
    WeightsMismatchError,
    check_shapes,
    explain_mismatch,
    fit_positions,
    load_into,
)
from vitviz.models.formats.tensor_names import UNSUPPORTED, Format, State, read_activation
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.zoo import empty_model
from vitviz.text import cut, plural
from vitviz.upload_limits import check_buildable

UNSAID = "images that its file does not name"  # what the weights were trained on
FORMATS = (
    transformers.SIGLIP,
    transformers.CLIP,
    transformers.SWIN,
    transformers.DINOV3,
    transformers.VIT,
    torchvision.SWIN,
    torchvision.VIT,
    open_clip.VIT,
    vit_pytorch.SIMPLE_VIT,
    vit_pytorch.VIT,
    timm.SWIN,
    timm.DINOV3,
    timm.EVA,
    timm.VIT,
)
_OTHER_PARTS = re.compile(  # beside an image encoder, without a part in its features
    r"^(?:text_model|text|transformer|token_embedding|ln_final|logit_|text_projection|text_embed|positional_embedding"
    r"|criterion|loss|mask_token|decoder|lm_head|dino_head|ibot_head|dino_loss|ibot_patch_loss|head\.(?:mlp|last_layer)"
    r"|projector|predictor|projection_head)"
)
_TOWER = re.compile(r"(?:^|\.)visual\.trunk\.$")
_HEAD = re.compile(r"(?:\w+\.)*?(?:head|classifier|fc)(?:\.\d)?\.(?:weight|bias)")


@dataclass(frozen=True)
class Recognised:
    """A checkpoint's format, what stands before its names, and its tensors without that."""

    format: Format
    prefix: str
    names: dict[str, str]  # publisher's name without the prefix -> the file's


def open_model(
    source: Path | str | bytes | Mapping[str, Tensor],
    config: Mapping[str, Any] | None = None,
    *,
    labels: tuple[str, ...] | list[str] | None = None,
    preparation: Preparation | None = None,
    title: str = "",
    given: Mapping[str, Any] | None = None,
) -> LoadedModel:
    """Open a ViT or Swin of timm, transformers, torchvision, open_clip or vit-pytorch.

    The model's `notes` say what the files do not state and was assumed.

    Args:
        source: a safetensors file, a folder with one (or shards) and its JSON files, a file's bytes, or a state dict.
        config: the content of `config.json`, or single values such as {"num_heads": 4}; overrides the files'.
        labels: class names, one per output; None: those of the files, else numbers.
        preparation: of images; None: as the files state it, else ImageNet's mean and standard deviation.
        title: name of the model; empty: publisher, architecture and size.
        given: settings by timm's names (`GIVEN`) that override `config`, the files and the tensors.

    Raises:
        PretrainedError: in one sentence that names the format, what is unknown and what to do; nothing is loaded.
    """
    tensor_source = find_source(source, config, given)
    settings = complete(tensor_source.settings.complete())
    recognised = recognise(tensor_source.shapes, settings)
    layout = recognised.format
    native, shapes, origins = _describe(recognised, tensor_source.shapes, settings)
    check_keys(tensor_source.settings, native)
    native = _override(native, settings)
    if native.num_classes:
        native = replace(native, class_output=settings.class_output(native.num_classes))  # type: ignore[arg-type]
    _check_fit(native, shapes, recognised, origins)
    # Everything that can be wrong with the settings is known before a tensor is read.
    own_format = (
        read_preparation(settings, native.image_size, native.in_chans) if preparation is None else preparation
    )
    model_config = _resize(native, own_format.image_size, settings)
    if layout is transformers.SWIN and isinstance(model_config, SwinConfig):
        transformers.check_windows(model_config)
    classes = _labels(labels, settings, model_config.num_classes)
    tensors = tensor_source.read()
    state = layout.translate({name: tensors[full] for name, full in recognised.names.items()})
    return LoadedModel(
        model=_build(native, model_config, state, layout.title),
        config=model_config,
        preparation=own_format,
        classes=classes,
        title=title or _title(layout, model_config),
        trained_on=UNSAID,
        step=0,
        # One file may be opened as two models that differ in their settings.
        digest=f"{tensor_source.digest}:{_digest(model_config, own_format, classes)}",
        notes=tuple(settings.notes),
        not_verified="Only a file was opened, so there is no module to compare its outputs with.",
    )


def _build(
    native: ViTConfig | SwinConfig, config: ViTConfig | SwinConfig, state: State, title: str
) -> nn.Module:
    """Return the model with the tensors, whose positions are resized from the native grid to the config's."""
    if isinstance(native, ViTConfig) and isinstance(config, ViTConfig):
        state = fit_positions(state, native, config.grid)
    model = empty_model(config)
    load_into(model, state, title)
    return model


def _check_fit(
    native: ViTConfig | SwinConfig, shapes: Shapes, recognised: Recognised, origins: Mapping[str, str]
) -> None:
    """Check that a file has the tensors of the model that they describe.

    Raises:
        PretrainedError: naming the blocks that fit and the first tensor that does not.
    """
    wanted = empty_model(native).state_dict()
    try:
        check_shapes(wanted, shapes, recognised.format.title)
    except WeightsMismatchError as error:
        reason = explain_mismatch(error, wanted, shapes, origins)
        raise PretrainedError(
            f"{recognised.format.title} was recognised: {reason}; nothing was loaded"
        ) from error


def apply_given(loaded: LoadedModel, given: Mapping[str, Any]) -> LoadedModel:
    """Return a model of this project's own or published weights with the caller's settings, by timm's names.

    Raises:
        TypeError: if the weights fix what the caller gives otherwise.
        PretrainedError: if the settings make no model or no preparation.
    """
    if not given:
        return loaded
    settings, native = Settings(given=dict(given)), loaded.config
    for name in given.keys() & {"architecture", "rope_type"}:
        raise TypeError(f"the file of this model states {name}, received {given[name]!r}")
    preparation = override_preparation(loaded.preparation, settings, native.in_chans)
    digest = f"{loaded.digest}:{_digest(*sorted(given.items()))}"
    changed = replace(loaded, preparation=preparation, digest=digest)
    if not given.keys() & {"num_heads", "act_layer", "global_pool", "img_size"}:
        return changed
    if not isinstance(native, ViTConfig | SwinConfig):
        raise TypeError(f"the weights of a {native.kind} fix its settings, received {', '.join(given)}")
    config = _resize(_override(native, settings), preparation.image_size, settings)
    model = _build(native, config, loaded.model.state_dict(), loaded.title)
    return replace(changed, model=model, config=config, notes=(*loaded.notes, *settings.notes))


def _override(config: ViTConfig | SwinConfig, settings: Settings) -> ViTConfig | SwinConfig:
    """Return the config with the caller's heads, activation and pooling.

    Raises:
        TypeError: if the weights fix what the caller gives otherwise.
    """
    given = {
        name: settings.given[name]
        for name in ("num_heads", "act_layer", "global_pool")
        if name in settings.given
    }
    if isinstance(config, SwinConfig):
        fixed: dict[str, object] = {
            "num_heads": config.num_heads,
            "act_layer": "gelu",
            "global_pool": "avg",
        }
        for name, wanted in given.items():
            if (tuple(wanted) if isinstance(wanted, list) else wanted) != fixed[name]:
                raise TypeError(f"the weights of this Swin fix {name} = {fixed[name]!r}, received {wanted!r}")
        return config
    changes: dict[str, Any] = {}
    if "num_heads" in given and (heads := settings.integer("num_heads")) != config.num_heads:
        if config.qk_norm:
            raise TypeError(
                f"the weights of this ViT fix num_heads = {config.num_heads}, received {given['num_heads']!r}"
            )
        inner = config.width_per_head * config.num_heads
        changes |= {"num_heads": heads, "head_dim": 0 if inner == config.embed_dim else inner // (heads or 1)}
    if "act_layer" in given:
        changes["activation"] = read_activation(settings)
    if "global_pool" in given:
        changes |= _override_pool(config, given["global_pool"])
    try:
        return replace(config, **changes)
    except ValueError as error:
        raise PretrainedError(str(error)) from error


def _override_pool(config: ViTConfig, pool: object) -> dict[str, Any]:
    readouts = {"token": "cls", "avg": "mean"}
    if pool not in readouts:
        raise TypeError(f"global_pool must be 'token' or 'avg', received {pool!r}")
    has_cls = config.readout in ("cls", "cls_mean") or config.unread_cls
    readout = readouts[str(pool)]
    if config.readout == readout:
        return {}
    if config.readout in ("cls_mean", "map") or config.distilled or (readout == "cls" and not has_cls):
        raise TypeError(f"the weights of this ViT fix its pooling, received global_pool = {pool!r}")
    return {"readout": readout, "unread_cls": has_cls and readout == "mean"}


def _resize(native: ViTConfig | SwinConfig, size: Size, settings: Settings) -> ViTConfig | SwinConfig:
    """Return the config at the size of the prepared images."""
    if size == native.image_size:
        return native
    if any(side % native.patch_size for side in as_shape(size)):
        raise PretrainedError(
            f"patches of {native.patch_size} px do not divide images of {format_size(size)} px"
        )
    if isinstance(size, tuple) and isinstance(native, SwinConfig):
        raise PretrainedError(f"a Swin takes square images here, received {format_size(size)} px")
    resizes = str(settings.get("model_type")).startswith("dinov2")
    if isinstance(native, ViTConfig) and native.positions == "learned" and not resizes:
        settings.assume(
            f"The positions were learned at {format_size(native.image_size)} px and are resized to images of"
            f" {format_size(size)} px."
        )
    return replace(native, image_size=size)  # type: ignore[arg-type]


def _digest(*settings: object) -> str:
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:16]


def _labels(given: tuple[str, ...] | list[str] | None, settings: Settings, classes: int) -> tuple[str, ...]:
    if given is not None:
        return check_labels(given, classes)
    stated = settings.labels(classes)
    if stated is None and classes:
        settings.assume("The files name no classes: outputs have numbers.")
    return stated or tuple(map(str, range(classes)))


def recognise(shapes: Shapes, settings: Settings) -> Recognised:
    """Return the format of a checkpoint by its tensors' names.

    Raises:
        PretrainedError: if it is none that opens here, or holds several models or unknown parts.
    """
    files = clean_names(shapes)
    shapes = {name: shapes[full] for name, full in files.items()}
    _refuse_by_name(shapes, settings)
    name = settings.given.get("architecture")
    if name is not None and not find_timm_model(name):
        raise PretrainedError(
            f"architecture {cut(repr(name), 60)} is none of timm's ViTs and Swins that open"
        )
    for layout in FORMATS:
        prefixes = sorted(
            {match["prefix"] for name in shapes if (match := re.match(layout.mark, name))},
            key=lambda prefix: (len(prefix), prefix),
        )
        prefixes = [
            prefix
            for prefix in prefixes
            if any(
                name.startswith(prefix) and re.search(layout.needs, name.removeprefix(prefix))
                for name in shapes
            )
        ]
        if len(prefixes) > 1:
            raise PretrainedError(
                f"the file holds {len(prefixes)} models ({', '.join(map(cut, prefixes[:3]))}): save one of them alone"
            )
        if prefixes:
            recognised = _strip(layout, prefixes[0], shapes, settings)
            check_heads(recognised.names)
            return replace(recognised, names={name: files[full] for name, full in recognised.names.items()})
    example = cut(min(shapes), 60)
    raise PretrainedError(
        "no vision transformer of timm, transformers, torchvision, open_clip or vit-pytorch was recognised: tensors"
        f" are named like {example}"
    )


def _refuse_by_name(shapes: Shapes, settings: Settings) -> None:
    """Refuse the models that are known and not computed here.

    Raises:
        PretrainedError: naming the architecture and the reason.
    """
    stated = [str(settings.get(key)).partition(".")[0] for key in ("model_type", "architecture")]
    for title, entry in UNSUPPORTED.items():
        lacks = "lacks" in entry and any(re.search(entry["lacks"], name) for name in shapes)
        named = "pattern" in entry and any(re.search(entry["pattern"], name) for name in shapes)
        if (named and not lacks) or any(re.fullmatch(entry.get("stated", "$^"), name) for name in stated):
            raise PretrainedError(f"this is {title}: {entry['why']}")


def _strip(layout: Format, prefix: str, shapes: Shapes, settings: Settings) -> Recognised:
    """Sort tensors into the model's, unread ones, and a head outside the prefix."""
    if prefix:
        settings.assume(f"The prefix '{cut(prefix)}' was removed from the names of its weights.")
    names, unread, outside = {}, [], []
    for name in shapes:
        if name.endswith(COMPUTED):
            continue
        short = name.removeprefix(prefix)
        if not name.startswith(prefix):
            outside.append(name)
        elif re.match(layout.unread, short):
            unread.append(name)
        else:
            names[short] = name
    if _TOWER.search(prefix) and f"{prefix.removesuffix('trunk.')}head.proj.weight" in outside:
        proj = f"{prefix.removesuffix('trunk.')}head.proj.weight"  # open_clip's projection of a timm tower
        names["projection.weight"] = proj
        outside.remove(proj)
    if _TOWER.search(prefix) and any(
        name.startswith(f"{prefix.removesuffix('trunk.')}head.mlp.") for name in outside
    ):
        raise PretrainedError(
            "its timm tower's features are projected by an MLP (timm_proj 'mlp'), which is not computed here"
        )
    heads = [name for name in outside if _HEAD.fullmatch(name)]
    target = "classifier" if layout in (transformers.VIT, transformers.SWIN) else "head"
    target = "head.fc" if layout is timm.SWIN else "heads.head" if layout is torchvision.VIT else target
    if len({name.rpartition(".")[0] for name in heads}) == 1 and f"{target}.weight" not in names:
        names |= {f"{target}.{name.rpartition('.')[2]}": name for name in heads}
        settings.assume(f"The head is '{cut(heads[0].rpartition('.')[0])}'.")
        outside = [name for name in outside if name not in heads]
    unknown = [name for name in outside if not _OTHER_PARTS.match(name)]
    if unknown:
        raise PretrainedError(
            f"beside {layout.title} (prefix '{cut(prefix)}') the file holds {len(unknown)} other tensors"
            f" ({cut(unknown[0])}, …): save the image encoder alone"
        )
    if unread := [*unread, *outside]:
        settings.assume(f"Not read: {_list_parts(unread)}.")
    return Recognised(layout, prefix, names)


def _list_parts(names: list[str]) -> str:
    """Return the parts of a model that tensors belong to, each with its number of tensors."""
    parts = Counter(".".join(name.split(".")[: 2 if name.startswith("head.") else 1]) for name in names)
    counts = [f"{cut(part)} ({plural(count, 'tensor')})" for part, count in parts.most_common(6)]
    return ", ".join(counts) + (", …" if len(parts) > 6 else "")


def _describe(
    recognised: Recognised, shapes: Shapes, settings: Settings
) -> tuple[ViTConfig | SwinConfig, Shapes, dict[str, str]]:
    """Return the config, the shapes in this project's names, by translating tensors without storage, and their origins.

    Tensors that are only renamed have an origin: this project's name -> the file's.
    """
    layout = recognised.format
    try:
        with torch.device("meta"):
            state = {name: torch.empty(shapes[full]) for name, full in recognised.names.items()}
            moved = layout.translate(state)
        translated = {name: tuple(tensor.shape) for name, tensor in moved.items()}
        config = layout.describe(translated, settings)
        _check_size(config, len(shapes))
    except PretrainedError as error:
        raise PretrainedError(f"{layout.title} was recognised, but {error}") from error
    except KeyError as error:
        raise PretrainedError(
            f"{layout.title} was recognised, but the file has no {cut(str(error.args[0]))} (timm's name)"
        ) from error
    except (
        ValueError,
        RuntimeError,
        TypeError,
        OverflowError,
        IndexError,
        ZeroDivisionError,
    ) as error:
        raise PretrainedError(
            f"{layout.title} was recognised, but its tensors and configuration make no model: {cut(str(error), 200)}"
        ) from error
    assert isinstance(config, ViTConfig | SwinConfig)
    files = {id(tensor): recognised.names[name] for name, tensor in state.items()}
    return config, translated, {name: files[id(t)] for name, t in moved.items() if id(t) in files}


def _check_size(config: ModelConfig, tensors: int) -> None:
    """Check what the model computes beside its tensors; the head's width is that of a tensor."""
    assert isinstance(config, ViTConfig | SwinConfig)
    check_buildable(replace(config, num_classes=min(config.num_classes, 1)), tensors)


def _title(layout: Format, config: ViTConfig | SwinConfig) -> str:
    depth = config.depth if isinstance(config, ViTConfig) else sum(config.depths)
    name = layout.title.removeprefix("an ").removeprefix("a ")
    return f"{name}, {depth} layers of width {config.embed_dim}, {format_size(config.image_size)} px"
