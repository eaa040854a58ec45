"""timm's checkpoints: the names are this project's; the authors' first files of DINOv2 and Swin differ.

`describe_timm_model` is the way back: timm's architecture and arguments of a shape.
"""

import re
from dataclasses import fields, replace
from typing import Any

import torch

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.formats.tensor_names import (
    Format,
    State,
    describe_swin,
    describe_vit,
    fill_biases,
    join,
    read_activation,
    read_patches,
    rename,
)
from vitviz.models.pretrained_list import PretrainedError

_RENAMED = (
    (r"\.mlp\.w12\.", ".mlp.fc1."),  # DINOv2-g
    (r"\.mlp\.w1\.", ".mlp.fc1_g."),  # the authors' DINOv3 with a gated MLP
    (r"\.mlp\.w2\.", ".mlp.fc1_x."),
    (r"\.mlp\.w3\.", ".mlp.fc2."),
    (r"\.gamma_([12])$", r".ls\1.gamma"),  # Eva
    (r"^storage_tokens$", "reg_token"),  # the authors' DINOv3
)
_DINOV3_PERIODS = "rope_embed.periods"
_NATIVELY_QUICK_GELU = re.compile(  # by timm's notes on tags; its architecture computes GELU
    r"_clip_\d+\.(?:openai|dfn5b|metaclip_(?:400m|2pt5b))$|large_patch14_clip_224\.dfn2b$"
    r"|huge_patch14_clip_224\.metaclip2_worldwide$|base_patch32_clip_224\.laion400m_e32$"
)
_POOLS = {None: None, "token": "cls", "avg": "mean", "map": "map", "": None}
_SHARED = ("patch_size", "in_chans", "num_classes", "embed_dim", "num_heads", "mlp_ratio", "qkv_bias")
_GIVEN = ("depth", "readout", "distilled", "num_registers", "final_norm", "layer_scale", "positions")
_TRAINED_ONLY = (
    "image_size",
    "dropout",
    "attention_dropout",
    "drop_path",
    "positions_antialias",
    "positions_align_corners",
    "convention",
    "class_output",
    "rope_theta",
)
_STATE_NAME = "state architecture='NAME' with timm's name of the model"
_STATE_POSITIONS = f"{_STATE_NAME}, or rope_type='none' if it has no rotary positions"


def translate_vit(state: State) -> State:
    """Return the tensors of a timm ViT, DeiT or Eva, or of its authors' files, under this project's names."""
    state = _mask_biases(rename(state, _RENAMED))
    state = join(state, "fc1", ("fc1_g", "fc1_x"))
    state = join(state, "qkv", ("q_proj", "k_proj", "v_proj"))
    state = fill_biases(state, "attn.proj", "mlp.fc1", "mlp.fc2", "head")
    if "projection.weight" in state:  # of an open_clip model with a timm tower
        state["head.weight"] = state.pop("projection.weight")
    table = state.get("pos_embed")
    if "register_tokens" in state and "cls_token" in state and table is not None and table.ndim == 3:
        # In the DINOv2 authors' files [CLS] has a position, and registers have another name and none.
        state["reg_token"] = state.pop("register_tokens")
        state["cls_token"] = state["cls_token"] + table[:, :1]
        state["pos_embed"] = table[:, 1:]
    return state


def _mask_biases(state: State) -> State:
    """Return the state with one bias of queries, keys and values: Eva has none of keys, DINOv3's authors mask it."""
    masked = {}
    for name, tensor in state.items():
        owner, _, part = name.rpartition(".")
        if part == "bias_mask" or part == "v_bias":
            continue
        if part == "q_bias":
            name, tensor = f"{owner}.qkv.bias", torch.cat([tensor, tensor * 0, state[f"{owner}.v_bias"]])
        elif f"{name}_mask" in state:
            tensor = torch.where(state[f"{name}_mask"] == 1, tensor, torch.zeros_like(tensor))
        masked[name] = tensor
    return masked


def check_periods(state: State) -> None:
    """Check that the rotary periods in a file of DINOv3's authors are those of base 100.

    Raises:
        PretrainedError: if they are not.
    """
    periods = state.pop(_DINOV3_PERIODS, None)
    if periods is None or periods.is_meta:
        return
    expected = 100.0 ** (torch.arange(len(periods)) / len(periods))
    if not torch.allclose(periods.float(), expected, rtol=1e-2):
        raise PretrainedError("its rotary periods are not those of DINOv3 (base 100)")


def translate_dinov3(state: State) -> State:
    """Return the tensors of the DINOv3 authors' files; a norm of training is not read."""
    state = dict(state)
    check_periods(state)
    return translate_vit(state)


def describe_timm_vit(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a timm ViT or DeiT."""
    read_patches(shapes)  # broken tensors are named before missing settings
    if settings.get("rope_type") is None:
        unnormed = "norm.weight" not in shapes and "fc_norm.weight" not in shapes
        pooled = "attn_pool.latent" in shapes  # SigLIP's, without a norm before the blocks; PE has one
        if "norm_pre.weight" in shapes and (unnormed or pooled):
            raise PretrainedError(
                f"its names are those of timm's PE, whose rotary positions they do not show: {_STATE_POSITIONS}"
            )
        if "pos_embed" not in shapes or unnormed and "cls_token" not in shapes:
            raise PretrainedError(f"its names do not show its positions: {_STATE_POSITIONS}")
    if settings.get("norm_place") is None and _may_be_res_post(shapes):
        raise PretrainedError(
            "its names are those of timm's vit_base_patch16_rpn_224, with norms after the sublayers, and of a plain ViT"
            f" without biases of queries, keys and values: {_STATE_NAME}"
        )
    return _describe(shapes, settings)


def _may_be_res_post(shapes: Shapes) -> bool:
    layers = (
        "blocks.0.attn.qkv.bias",
        "blocks.0.ls1.gamma",
        "blocks.0.attn.q_norm.weight",
        "norm_pre.weight",
    )
    plain = "blocks.0.norm1.bias" in shapes and not any(name in shapes for name in (*layers, "cls_token"))
    return plain and "fc_norm.weight" in shapes


def describe_eva(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a timm Eva, whose names do not show its rotary positions."""
    if settings.get("rope_type") is None and "rope.freqs" not in shapes:
        raise PretrainedError(f"its names do not show whether it has rotary positions: {_STATE_POSITIONS}")
    return _describe(shapes, settings)


def describe_dinov3(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a ViT in the DINOv3 authors' files."""
    return describe_vit(shapes, settings, positions="rotary", rope_theta=100.0, norm_eps=1e-5)


def _describe_readout(shapes: Shapes, settings: Settings) -> dict[str, object]:
    """Return which tokens a config's head reads."""
    # The caller's is applied to the whole config; an open_clip tower without a pooling has its trunk's.
    pool = settings.of_files.get("timm_pool") or settings.of_files.get("global_pool")
    has_pool, has_cls = "attn_pool.latent" in shapes, "cls_token" in shapes
    if not isinstance(pool, str | None) or pool not in _POOLS or (pool == "map") > has_pool:
        raise PretrainedError(
            f"its pooling (global_pool {pool!r:.40}) is not supported: known are 'token', 'map', and 'avg' of patches"
        )
    if has_pool:
        return {"readout": "map", **_describe_pool(shapes, settings)}
    has_prefix = has_cls or "reg_token" in shapes
    if settings.get("pool_include_prefix") and has_prefix and pool not in ("token", ""):
        raise PretrainedError(
            "the mean over patches and prefix tokens (pool_include_prefix) is not supported"
        )
    if pool == "":
        settings.assume(
            "Its publisher's model classifies every token (global_pool ''): the first one is read."
        )
    readout = _POOLS[pool] or ("cls" if has_cls and "fc_norm.weight" not in shapes else "mean")
    return {"readout": "first_patch" if readout == "cls" and not has_cls else readout}


def _describe(shapes: Shapes, settings: Settings) -> ViTConfig:
    differences, has_cls = _describe_readout(shapes, settings), "cls_token" in shapes
    if "quickgelu" in str(settings.get("architecture")):
        differences["activation"] = "quick_gelu"
    elif settings.get("swiglu_mlp"):
        differences["activation"] = "silu"  # timm's Eva gates by SiLU, whatever its act_layer is
    elif settings.get("act_layer") is not None:
        differences["activation"] = read_activation(settings)
    if differences.get("activation") != "quick_gelu" and is_natively_quick_gelu(settings):
        settings.assume(
            "Its weights are natively QuickGELU, but its architecture states GELU, which is computed as timm does it;"
            " act_layer='quick_gelu' gives the original results."
        )
    differences["norm"] = settings.get("norm_place") or "pre"
    # timm's CLIP towers, BEiT-3 and AIMv2
    clip, sub_norms = "norm_pre.weight" in shapes, "blocks.0.attn.norm.weight" in shapes
    if clip or sub_norms or "patch_embed.norm.weight" in shapes:
        differences["norm_eps"] = settings.number("layer_norm_eps", 1e-5)
    if settings.get("architecture", "act_layer") is None and (clip or not has_cls):
        other = "OpenAI's weights need QuickGELU" if clip else "some SigLIPs need its tanh form"
        settings.assume(f"The file does not state its activation: GELU is assumed ({other}).")
    if "head.weight" in shapes and "head.bias" not in shapes:
        differences["projection"] = shapes["head.weight"][0]
        shapes = {name: shape for name, shape in shapes.items() if name != "head.weight"}
    return describe_vit(shapes, settings, **differences, **_describe_rotary(shapes, settings))


def is_natively_quick_gelu(settings: Settings) -> bool:
    """Return True if timm's notes or tag say that the weights were trained with QuickGELU."""
    name, tag = str(settings.get("architecture")).removeprefix("timm/"), settings.get("tag")
    whole = name if "." in name or not tag else f"{name}.{tag}"
    return "natively QuickGELU" in str(settings.get("notes")) or bool(_NATIVELY_QUICK_GELU.search(whole))


def _describe_pool(shapes: Shapes, settings: Settings) -> dict[str, object]:
    """Return what attention pooling adds to a config."""
    hidden, width = shapes["attn_pool.mlp.fc1.weight"]
    heads = settings.integer("attn_pool_num_heads")
    own = settings.get("pool_include_prefix")
    if own is None and ("cls_token" in shapes or "reg_token" in shapes):
        raise PretrainedError(
            f"its names do not show whether its attention pooling reads the prefix tokens: {_STATE_NAME}"
        )
    return {
        "pool_heads": heads or 0,
        "pool_activation": settings.get("attn_pool_act_layer") or "gelu",
        "pool_ratio": hidden / width,
        "pool_prefix": bool(own),
        "unread_cls": "cls_token" in shapes,
    }


def _describe_rotary(shapes: Shapes, settings: Settings) -> dict[str, object]:
    """Return a config's fields of rotary positions, as `module_settings.read_module` names them."""
    kind = "mixed" if "rope.freqs" in shapes else settings.get("rope_type")
    if (stated := settings.get("use_rot_pos_emb")) is not None and "rope_type" not in settings.given:
        kind = ("cat" if kind in (None, "none") else kind) if stated else "none"
    if kind in (None, "none"):
        return {} if "pos_embed" in shapes else {"positions": "none"}
    if kind not in ("cat", "dinov3", "mixed"):
        raise PretrainedError(
            f"its rotary positions ({kind!r:.40}) are not supported: known are cat, dinov3, mixed"
        )
    if settings.get("rope_grid_indexing") is None:
        raise PretrainedError(
            f"rope_type {kind!r} alone does not say how its positions are counted: {_STATE_NAME}"
        )
    reference = settings.get("ref_feat_shape")
    if isinstance(reference, list | tuple) and len(set(reference)) > 1:
        raise PretrainedError(
            f"its rotary positions refer to a grid of {reference!r:.40}, which is no square"
        )
    if isinstance(reference, list | tuple):
        reference = reference[0]
    beside = "pos_embed" in shapes
    return {
        "positions": "learned" if beside else "rotary",
        "rotary_beside": beside,
        "rope_type": kind,
        "rope_theta": settings.number("rope_temperature", 100.0 if kind == "dinov3" else 10000.0),
        "rope_interleaved": not settings.get("rope_rotate_half"),
        "rope_columns_first": settings.get("rope_grid_indexing") == "xy",
        "rope_offset": settings.number("rope_grid_offset", 0.0),
        "rope_reference": reference or 0,
    }


def translate_swin(state: State) -> State:
    """Return a timm Swin's tensors; the authors' own files end a stage by merging, where timm's begin with it."""
    state = _mask_biases(state)
    if "layers.0.downsample.reduction.weight" not in state:
        return state

    def renamed(name: str) -> str:
        name = re.sub(r"^layers\.(\d+)\.downsample", lambda m: f"layers.{int(m[1]) + 1}.downsample", name)
        return re.sub(r"^head\.(?!fc\.)", "head.fc.", name)

    return {renamed(name): tensor for name, tensor in state.items()}


def describe_timm_swin(shapes: Shapes, settings: Settings) -> SwinConfig:
    """Return the config of a timm Swin."""
    if (pool := settings.of_files.get("global_pool")) not in (None, "avg"):
        raise PretrainedError(f"its pooling (global_pool {pool!r:.40}) is not supported: only 'avg' is")
    config = describe_swin(shapes, settings, "timm")
    if config.cosine:
        return config
    stated = settings.integer("window_size")
    return replace(config, window_size=stated) if stated else config


def describe_timm_model(config: ModelConfig) -> tuple[str, dict[str, Any]]:
    """Return the name of a timm architecture and the arguments that give it this shape.

    Raises:
        ValueError: if timm has no such model.
    """
    if isinstance(config, SwinConfig):
        shared = {name: getattr(config, name) for name in (*_SHARED, "depths", "window_size")}
        if not config.masked:
            raise ValueError("timm has no Swin without the mask of its shifted windows")
        _check_windows(config)
        return "swin_tiny_patch4_window7_224", {**shared, "img_size": config.image_size}
    if not isinstance(config, ViTConfig):
        raise ValueError(f"only a ViT, DeiT or Swin has a counterpart in timm, received a {config.kind}")
    _check_vit(config)
    arguments = {
        **{name: getattr(config, name) for name in (*_SHARED, "depth")},
        "img_size": config.image_size,
        "class_token": config.readout == "cls",
        "global_pool": "token" if config.readout == "cls" else "avg",
        "fc_norm": False,
        "final_norm": config.final_norm,
        "init_values": config.layer_scale,
        "reg_tokens": config.num_registers,
    }
    if config.distilled:
        del arguments["class_token"]
    return f"{'deit_tiny_distilled' if config.distilled else 'vit_tiny'}_patch16_224", arguments


def _check_vit(config: ViTConfig) -> None:
    """Check that timm has a ViT of this shape."""
    unlike = [
        field.name
        for field in fields(config)
        if field.name not in (*_SHARED, *_GIVEN, *_TRAINED_ONLY)
        and getattr(config, field.name) != field.default
    ]
    if config.rotary:
        raise ValueError(
            "timm has rotary positions only in models of another architecture, so this ViT has no counterpart"
        )
    if config.distilled and config.num_registers:
        raise ValueError("timm has no DeiT with a distillation token and registers")
    if config.readout not in ("cls", "mean") or config.positions == "pixels":
        unlike += ["positions" if config.readout in ("cls", "mean") else "readout"]
    if unlike:
        different = ", ".join(f"{name} = {getattr(config, name)!r}" for name in unlike)
        raise ValueError(f"timm has no ViT with {different}; keep the model's own files")


def _check_windows(config: SwinConfig) -> None:
    """Check that windows divide every grid: timm pads the others in another way than torchvision."""
    for stage in range(len(config.depths)):
        side = config.image_size // config.patch_size // 2**stage
        if side % min(config.window_size, side) and config.convention != "timm":
            raise ValueError(
                f"windows of {config.window_size} do not divide the {side} x {side} tokens of stage {stage}"
            )


DINOV3 = Format(
    "a DINOv3 ViT in its authors' names",
    r"^(?P<prefix>(?:[\w-]+\.)*?)storage_tokens$",
    translate_dinov3,
    describe_dinov3,
    unread=r"^local_cls_norm\.",
    needs=r"^patch_embed\.proj\.weight$",
)
EVA = Format(
    "a timm Eva",
    r"^(?P<prefix>(?:[\w-]+\.)*?)blocks\.0\.(?:attn\.q_bias|attn\.q_proj\.weight|gamma_1)$",
    translate_vit,
    describe_eva,
    needs=r"^patch_embed\.proj\.weight$",
)
VIT = Format(
    "a timm ViT",
    r"^(?P<prefix>(?:[\w-]+\.)*?)blocks\.0\.attn\.qkv\.weight$",
    translate_vit,
    describe_timm_vit,
    needs=r"^patch_embed\.proj\.weight$",
)
SWIN = Format(
    "a timm Swin",
    r"^(?P<prefix>(?:[\w-]+\.)*?)layers\.0\.blocks\.0\.attn\.qkv\.weight$",
    translate_swin,
    describe_timm_swin,
    needs=r"^patch_embed\.proj\.weight$",
)
