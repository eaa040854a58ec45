"""Rename and join tensors of another project into this project's; shapes alone are enough (torch's meta device)."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.config_fields import Size, as_shape, format_size, join_size
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import MAX_CLASSES, Shapes
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.token_layout import list_wide_grids
from vitviz.text import plural

Entry = TypeVar("Entry")
State = dict[str, Tensor]
Rules = tuple[tuple[str, str], ...]  # (pattern, replacement), applied in this order

_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
RULES: dict[str, Rules] = {name: tuple(map(tuple, rules)) for name, rules in _STATED["rules"].items()}
UNSUPPORTED: dict[str, dict[str, str]] = _STATED["unsupported"]  # what it is: pattern, lacks, stated, why
HEAD_WIDTH = 64  # of nearly all ViTs
_WIDE_HEADS = {1152: 16, 1280: 16, 1408: 16, 1664: 16, 1792: 16}  # SO400M, H, g, G, bigE: width -> heads


@dataclass(frozen=True)
class Format:
    """One publisher's checkpoint of one architecture, as its names and shapes differ from this project's.

    Attributes:
        title: publisher and architecture, with an article.
        mark: pattern of one tensor's name that only this format has; its group 'prefix' is the prefix of all names.
        translate: its tensors -> this project's, without the prefix.
        describe: shapes in this project's names, and settings -> the config.
        unread: pattern of tensors that do not affect the image's features.
        needs: pattern of a second tensor's name that the format has, without the prefix.
    """

    title: str
    mark: str
    translate: Callable[[State], State]
    describe: Callable[[Shapes, Settings], ModelConfig]
    unread: str = r"$^"
    needs: str = ""


def rename(state: Mapping[str, Tensor], rules: Rules) -> State:
    """Return the tensors under their new names."""
    renamed = {}
    for name, tensor in state.items():
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        renamed[name] = tensor
    return renamed


def join(state: State, target: str, parts: tuple[str, ...]) -> State:
    """Concatenate 'X.PART.weight' (and biases; a missing one is zero) to 'X.TARGET.weight' wherever parts occur."""
    joined = {name: tensor for name, tensor in state.items() if not _part_of(name, parts)}
    owners = {
        name.rpartition(f".{parts[0]}.weight")[0] for name in state if name.endswith(f".{parts[0]}.weight")
    }
    for owner in sorted(owners):
        weights = [_need(state, f"{owner}.{part}.weight") for part in parts]
        biases = [state.get(f"{owner}.{part}.bias") for part in parts]
        joined[f"{owner}.{target}.weight"] = torch.cat(weights)
        if any(bias is not None for bias in biases):
            pairs = zip(weights, biases, strict=True)
            joined[f"{owner}.{target}.bias"] = torch.cat(
                [weight[:, 0] * 0 if b is None else b for weight, b in pairs]
            )
    return joined


def _part_of(name: str, parts: tuple[str, ...]) -> bool:
    return name.rpartition(".")[0].rpartition(".")[2] in parts


def _need(entries: Mapping[str, Entry], name: str) -> Entry:
    if name not in entries:
        raise PretrainedError(f"the file has no {name}, nothing was loaded")
    return entries[name]


def fill_biases(state: State, *layers: str) -> State:
    """Add zero biases to layers that have none in any block: the same map, written with a bias."""
    filled = dict(state)
    for layer in layers:
        pattern = re.compile(rf"(?:.*\.)?{re.escape(layer)}\.(weight|bias)")
        numbered = [(name, match[1]) for name in state if (match := pattern.fullmatch(name))]
        if any(kind == "bias" for _, kind in numbered):
            continue
        for name, _ in numbered:
            filled[f"{name.removesuffix('weight')}bias"] = state[name].flatten(1)[:, 0] * 0
    return filled


def count(shapes: Shapes, pattern: str) -> int:
    """Return one more than the largest index that a name matching `pattern` has; 0 without one."""
    matches = (re.match(pattern, name) for name in shapes)
    return max((int(match[1]) + 1 for match in matches if match and len(match[1]) < 5), default=0)


def describe_vit(shapes: Shapes, settings: Settings, **differences: object) -> ViTConfig:
    """Return the config of a ViT by its tensors' shapes.

    Args:
        shapes: in this project's names.
        settings: of the checkpoint's JSON files.
        differences: fields of the config that do not follow from shapes.
    """
    width, chans, patch = read_patches(shapes)
    depth = count(shapes, r"blocks\.(\d+)\.")
    fc2 = _sides(shapes, "blocks.0.mlp.fc2.weight", 2)
    hidden, gated = fc2[1], _sides(shapes, "blocks.0.mlp.fc1.weight", 2)[0] == 2 * fc2[1]
    inner = _sides(shapes, "blocks.0.attn.qkv.weight", 2)[0] // 3
    per_head = shapes.get("blocks.0.attn.q_norm.weight", (0,))[0] or None
    heads = _heads(settings, width, inner // per_head if per_head else None)
    registers = shapes["reg_token"][1] if len(shapes.get("reg_token", ())) == 3 else 0
    classes = _classes(shapes.get("head.weight"))
    fields: dict[str, object] = {
        "patch_size": patch,
        "in_chans": chans,
        "num_classes": classes,
        "embed_dim": width,
        "depth": depth,
        "num_heads": heads,
        "head_dim": 0 if inner == width else inner // heads,
        "mlp_ratio": hidden / width,
        "gated_mlp": gated,
        "activation": "silu" if gated else read_activation(settings),
        "qkv_bias": "blocks.0.attn.qkv.bias" in shapes,
        "qk_norm": per_head is not None,
        "embed_bias": "patch_embed.proj.bias" in shapes,
        "distilled": "dist_token" in shapes,
        "dist_head": "dist_token" not in shapes or "head_dist.weight" in shapes or not classes,
        "num_registers": registers,
        "readout": "cls" if "cls_token" in shapes else "mean",
        "norm_eps": settings.number("layer_norm_eps", 1e-6),
    }
    fields |= _norms(shapes) | differences
    if fields["readout"] in ("mean", "map") and "cls_token" in shapes:
        fields["unread_cls"] = True
    if fields.get("positions", "learned") == "learned":
        prefix = ("cls_token" in shapes) + ("dist_token" in shapes) + registers
        fields |= _positions(shapes, settings, prefix, patch)
    else:
        fields.setdefault("image_size", _image_size(settings, patch))
    return ViTConfig(**fields)  # type: ignore[arg-type]


def _norms(shapes: Shapes) -> dict[str, object]:
    """Return which norms and scales the file has."""
    return {
        "layer_scale": 1.0 if "blocks.0.ls1.gamma" in shapes else None,
        "embed_norm": "norm_pre.weight" in shapes,
        "final_norm": "norm.weight" in shapes,
        "pooled_norm": "fc_norm.weight" in shapes,
        "norm_layer": "layer" if "blocks.0.norm1.bias" in shapes else "rms",
        "attn_norm": "blocks.0.attn.norm.weight" in shapes,
        "mlp_norm": "blocks.0.mlp.norm.weight" in shapes,
        "patch_norm": "patch_embed.norm.weight" in shapes and "patch_embed.norm_pixels.weight" not in shapes,
    }


def read_patches(shapes: Shapes) -> tuple[int, int, int]:
    """Return width, channels and side of the patches' projection."""
    width, chans, patch, other = _sides(shapes, "patch_embed.proj.weight", 4)
    if patch != other:
        raise PretrainedError(f"its patches are {patch} x {other} px; only square patches are supported")
    if chans not in (1, 3):
        raise PretrainedError(f"its images have {chans} channels; only 1 (grey) or 3 (RGB) are supported")
    return width, chans, patch


def _sides(shapes: Shapes, name: str, rank: int) -> tuple[int, ...]:
    """Return a tensor's shape of so many sides, none of them 0."""
    shape = _need(shapes, name)
    if len(shape) != rank or 0 in shape:
        raise PretrainedError(f"{name} must have {rank} sides of at least 1, received {shape}")
    return shape


def _classes(head: tuple[int, ...] | None) -> int:
    if head is None:
        return 0
    if len(head) != 2 or not 1 <= head[0] <= MAX_CLASSES:
        raise PretrainedError(
            f"the head must have the shape (classes, width) with at most {MAX_CLASSES:,} classes, received {head}"
        )
    return head[0]


def _heads(settings: Settings, width: int, known: int | None) -> int:
    heads = known or settings.integer("num_attention_heads", "num_heads", "heads")
    if heads is None and (head_width := settings.integer("head_width")):
        heads = width // head_width
    if heads is not None:
        return heads
    heads = _WIDE_HEADS.get(width) or max(1, width // HEAD_WIDTH)
    settings.assume(
        f"The file does not state its number of heads: assuming {plural(heads, 'head')} of {width / heads:g} values."
    )
    return heads


def read_activation(settings: Settings) -> str:
    """Return the stated activation of the MLPs; GELU where none is stated."""
    stated = settings.get("hidden_act", "act_layer")
    names = {
        None: "gelu",
        "gelu": "gelu",
        "gelu_new": "gelu_tanh",
        "gelu_pytorch_tanh": "gelu_tanh",
        "gelu_python_tanh": "gelu_tanh",
        "gelu_accurate": "gelu_tanh",
        "gelu_fast": "gelu_tanh",
        "gelu_python": "gelu",
        "gelu_tanh": "gelu_tanh",
        "quick_gelu": "quick_gelu",
        "relu": "relu",
        "silu": "silu",
        "swish": "silu",
    }
    if not isinstance(stated, str | None) or stated not in names:
        raise PretrainedError(
            f"the configuration's activation {stated!r:.40} is not supported;"
            " known are gelu, gelu_tanh, quick_gelu, relu and silu"
        )
    return names[stated]


def _positions(shapes: Shapes, settings: Settings, prefix: int, patch: int) -> dict[str, object]:
    """Return the image's size and whether prefix tokens have positions, by the table's length.

    A size that the caller gives names the table's own grid if it has as many patches.
    """
    length = _sides(shapes, "pos_embed", 3)[1]
    stated = _stated_size(settings, patch, native=True)
    given = settings.size("img_size") if "img_size" in settings.given else None
    known = given if stated is None else stated
    orders = (True, False) if shapes.get("reg_token") is None else (False, True)
    for on_prefix in orders:
        if known is not None and _count_patches(known, patch) == length - prefix * on_prefix:
            return {"image_size": known, "position_on_prefix": on_prefix}
    if stated is not None:
        return {"image_size": stated}  # the table's shape tells the difference
    for on_prefix in orders:
        patches = length - prefix * on_prefix
        side = isqrt(max(patches, 0))
        if side >= 1 and side**2 == patches:
            without = ", without prefix tokens" if prefix and not on_prefix else ""
            others = " or ".join(f"{rows} × {cols}" for rows, cols in list_wide_grids(patches))
            also = f" ({others} would fit too)" if others else ""
            if without or also:
                settings.assume(
                    f"The file does not state its grid: its {length} positions are assumed to be a square one of"
                    f" {side} × {side}{without}{also}; img_size=(height, width) states another one."
                )
            return {"image_size": side * patch, "position_on_prefix": on_prefix}
    raise PretrainedError(
        f"its {length} positions are no square grid of patches, with {prefix} prefix tokens or without;"
        " state the size of its images, img_size=(height, width)"
    )


def _count_patches(size: Size, patch: int) -> int:
    height, width = as_shape(size)
    return (height // patch) * (width // patch)


def _image_size(settings: Settings, patch: int) -> Size:
    stated = _stated_size(settings, patch)
    if stated is None:
        settings.assume("The files state no image size: 224 px are assumed.")
    return stated or max(224 - 224 % patch, patch)


def _stated_size(settings: Settings, patch: int, native: bool = False) -> Size | None:
    """Return the size of images as it is stated.

    Args:
        native: of the files, not of the caller, whose images may have another size.

    Raises:
        PretrainedError: if patches do not divide it: each publisher treats the rest in a way of its own.
    """
    size = (settings.of_files if native else settings).size("image_size", "img_size", "input_size")
    if size is None:
        return None
    smaller = join_size([max(side - side % patch, patch) for side in as_shape(size)])
    if smaller == size or native and "img_size" in settings.given:
        return smaller
    rest = max(side % patch for side in as_shape(size))
    raise PretrainedError(
        f"its image_size {size} is no multiple of patch_size {patch}, so its publisher cuts or pads every image by"
        f" {rest} px, which is not computed here; img_size={smaller} opens it at the next smaller size"
    )


def describe_swin(shapes: Shapes, settings: Settings, convention: str) -> SwinConfig:
    """Return the config of a Swin by its tensors' shapes; arguments as `describe_vit`."""
    width, chans, patch = read_patches(shapes)
    stages = count(shapes, r"layers\.(\d+)\.blocks\.")
    if not stages:
        raise PretrainedError("the file has no layers.0.blocks.0, nothing was loaded")
    firsts = [f"layers.{stage}.blocks.0" for stage in range(stages)]
    cosine = f"{firsts[0]}.attn.logit_scale" in shapes
    read = _read_cosine_windows if cosine else _read_windows
    windows = read(shapes, settings, firsts, patch)
    hidden, last_width = _sides(shapes, f"{firsts[-1]}.mlp.fc1.weight", 2)
    fields: dict[str, object] = {
        "patch_size": patch,
        "in_chans": chans,
        "num_classes": _classes(shapes.get("head.fc.weight")),
        "embed_dim": width,
        "depths": tuple(count(shapes, rf"layers\.{stage}\.blocks\.(\d+)\.") for stage in range(stages)),
        "mlp_ratio": hidden / last_width,
        "qkv_bias": "layers.0.blocks.0.attn.qkv.bias" in shapes,
        "norm_eps": settings.number("layer_norm_eps", 1e-5),
        "convention": "timm" if cosine else convention,
        "cosine": cosine,
    }
    return SwinConfig(**fields | windows)  # type: ignore[arg-type]


def _read_windows(shapes: Shapes, settings: Settings, firsts: list[str], patch: int) -> dict[str, object]:
    """Return heads, windows and image size by the tables of relative positions."""
    tables = [_sides(shapes, f"{first}.attn.relative_position_bias_table", 2) for first in firsts]
    windows = [(round(rows**0.5) + 1) // 2 for rows, _ in tables]
    for window, (rows, _) in zip(windows, tables, strict=True):
        if (2 * window - 1) ** 2 != rows:
            raise PretrainedError(f"a table of {rows} relative positions belongs to no square window")
    if any(window > windows[0] for window in windows):
        raise PretrainedError(
            f"its windows grow from stage to stage (as in Swin-S3): {', '.join(map(str, windows))} tokens"
        )
    return {
        "image_size": _square_size(settings, patch) or _native_side(windows, patch, settings),
        "num_heads": tuple(heads for _, heads in tables),
        "window_size": windows[0],
    }


def _read_cosine_windows(
    shapes: Shapes, settings: Settings, firsts: list[str], patch: int
) -> dict[str, object]:
    """Return heads, windows and image size of a Swin V2, whose windows show in no tensor."""
    window, side = settings.integer("window_size"), _square_size(settings, patch)
    if window is None or side is None:
        raise PretrainedError(
            "the names of a Swin V2 show neither its windows nor its image size: state architecture='NAME' with timm's"
            " name of the model"
        )
    before = settings.get("pretrained_window_sizes") or ()
    return {
        "image_size": side,
        "num_heads": tuple(_sides(shapes, f"{first}.attn.logit_scale", 3)[0] for first in firsts),
        "window_size": window,
        "pretrained_windows": tuple(before) if any(before) else (),
    }


def _square_size(settings: Settings, patch: int) -> int | None:
    size = _stated_size(settings, patch)
    if isinstance(size, tuple):
        raise PretrainedError(
            f"this Swin reads images of {format_size(size)} px: only square images of a Swin are supported"
        )
    return size


def _native_side(windows: list[int], patch: int, settings: Settings) -> int:
    """Return the image's side in px: known where a stage's grid is smaller than a window, else assumed."""
    for stage, window in enumerate(windows):
        if window < windows[0]:
            return (window << stage) * patch
    side = patch * windows[0] << len(windows) - 1
    settings.assume(
        f"The file does not state its image size: {side} px are assumed, one window in the last stage."
    )
    return side
