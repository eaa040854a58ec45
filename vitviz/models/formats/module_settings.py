"""Read from a live ViT what the names and shapes of its tensors do not show.

Attributes are timm's; nothing is imported from there. `timm_models.json` holds the same values of all published names.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor, nn

_ROTARY = {
    "RotaryEmbeddingCat": "cat",
    "RotaryEmbeddingDinoV3": "dinov3",
    "RotaryEmbeddingMixed": "mixed",
    "NoneType": "none",
}
_ACTIVATIONS = {"GELUTanh": "gelu_tanh", "QuickGELU": "quick_gelu", "ReLU": "relu", "SiLU": "silu"}
_RES_POST = ("ResPostBlock", "EvaBlockPostNorm")


def read_module(module: nn.Module) -> dict[str, Any]:
    """Return the settings of a timm ViT or Eva under timm's names; empty for another module."""
    blocks: Any = getattr(module, "blocks", None)
    stacked = isinstance(blocks, nn.ModuleList | nn.Sequential) and len(blocks) > 0
    first: Any = blocks[0] if stacked else None
    if first is None or not hasattr(getattr(first, "attn", None), "num_heads"):
        return windows | read_layers(module) if (windows := _read_swin(module)) else {}
    norm = first.norm1
    values: dict[str, Any] = {
        "num_heads": first.attn.num_heads,
        "layer_norm_eps": getattr(norm, "eps", None),
        "norm_layer": "rms" if type(norm).__name__.lower() == "rmsnorm" else "layer",
        "norm_place": "res_post" if type(first).__name__ in _RES_POST else "pre",
        "global_pool": getattr(module, "global_pool", None),
        "img_size": getattr(getattr(module, "patch_embed", None), "img_size", None),
        **_read_rotary(getattr(module, "rope", None)),
    }
    values["act_layer"] = _read_activation(first)
    pool = getattr(module, "attn_pool", None)
    if pool is not None:
        values["attn_pool_num_heads"] = pool.num_heads
        values["attn_pool_act_layer"] = _read_activation(pool)
        values["pool_include_prefix"] = getattr(module, "pool_include_prefix", True)  # Eva's takes all tokens
    return {name: value for name, value in values.items() if value is not None}


def read_layers(module: nn.Module) -> dict[str, Any]:
    """Return the settings of any other ViT that all of its layers share: heads, activation, epsilon, image size."""
    parts = list(module.modules())
    heads = {
        count
        for part in parts
        for count in (getattr(part, "num_heads", None), getattr(part, "heads", None))
        if isinstance(count, int) and not isinstance(count, bool)
    }
    acts = {kind for part in parts if (kind := _name_activation(part)) is not None}
    norms = {part.eps for part in parts if isinstance(part, nn.LayerNorm)}
    size = getattr(module, "image_size", None) or getattr(
        getattr(module, "patch_embed", None), "img_size", None
    )
    values: dict[str, Any] = {"img_size": _computed_size(module) if size is None else size}
    # A Swin's stages differ, and its bias tables show its heads.
    for name, found in (("num_heads", heads), ("act_layer", acts), ("layer_norm_eps", norms)):
        if len(found) == 1:
            values[name] = found.pop()
    if values.get("act_layer") == "quick_gelu":
        values["quick_gelu"] = True
    return {name: value for name, value in values.items() if value is not None}


def read_open_clip(tower: nn.Module) -> dict[str, Any]:
    """Return the settings of open_clip's image tower, and its preparation of images, or open_clip's default."""
    trunk: Any = getattr(tower, "trunk", tower)
    values = read_module(trunk) or read_layers(trunk)
    stated = getattr(tower, "preprocess_cfg", None) or {
        "mean": getattr(tower, "image_mean", None),
        "std": getattr(tower, "image_std", None),
    }
    if (pool := getattr(tower, "pool_type", None)) is not None:
        values["pool_type"] = pool
    return values | {"vision_cfg": {}, "preprocess_cfg": dict(stated)}


def _computed_size(module: nn.Module) -> list[int] | None:
    """Return (height, width) of the images of vit-pytorch's SimpleViT, whose positions are no parameter."""
    table, patch = getattr(module, "pos_embedding", None), getattr(module, "patch_size", None)
    if not isinstance(table, Tensor) or isinstance(table, nn.Parameter) or not isinstance(patch, tuple):
        return None
    quarter = table.shape[1] // 4
    cols = int((table[:, 2 * quarter : 3 * quarter] == 0).all(dim=1).sum())  # sines of row 0
    return [len(table) // cols * patch[0], cols * patch[0]] if cols else None


def _name_activation(act: nn.Module) -> str | None:
    """Return the name of an activation; None for another module."""
    if isinstance(act, nn.GELU):
        return "gelu" if act.approximate == "none" else "gelu_tanh"
    return _ACTIVATIONS.get(type(act).__name__)


def _read_swin(module: nn.Module) -> dict[str, Any]:
    """Return the windows of a timm Swin: those of Swin V2 show in no tensor."""
    stages: Any = getattr(module, "layers", None)
    first = getattr(stages[0], "blocks", None) if isinstance(stages, nn.Sequential) and len(stages) else None
    window = getattr(first[0].attn, "window_size", None) if first else None
    if window is None:
        return {}
    before = [getattr(stage.blocks[0].attn, "pretrained_window_size", (0, 0))[0] for stage in stages]
    embed: Any = module.patch_embed
    values: dict[str, Any] = {"window_size": window[0], "img_size": list(embed.img_size)}
    return values | ({"pretrained_window_sizes": before} if any(before) else {})


def _read_activation(owner: Any) -> str | None:
    """Return the activation of a module's MLP by its name; None for a module without one."""
    act = getattr(getattr(owner, "mlp", None), "act", None)
    return None if act is None else _name_activation(act) or type(act).__name__


def _read_rotary(rope: Any) -> dict[str, Any]:
    kind = _ROTARY.get(type(rope).__name__, "unknown")
    if kind == "none":
        return {"rope_type": "none"}
    reference = getattr(rope, "ref_feat_shape", None)
    values = {
        "rope_type": kind if not getattr(rope, "in_pixels", False) else "unknown",
        "rope_temperature": getattr(rope, "temperature", None),
        "rope_grid_indexing": getattr(rope, "grid_indexing", None),
        "rope_grid_offset": getattr(rope, "grid_offset", None),
        "rope_rotate_half": getattr(rope, "rotate_half", None),
        "ref_feat_shape": None if reference is None else list(reference),
    }
    return {name: value for name, value in values.items() if value is not None}


@cache
def _read_table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(
        Path(__file__).with_name("timm_models.json").read_text("utf-8")
    )
    return table


def find_timm_model(architecture: Any) -> Mapping[str, Any]:
    """Return the settings of a timm architecture, 'vit_pe_core_base_patch16_224' or with a tag; empty if unknown."""
    return _read_table().get(str(architecture).removeprefix("timm/").partition(".")[0], {})
