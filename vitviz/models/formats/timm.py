"""timm's checkpoints: the names are this project's; the authors' first files of DINOv2 and Swin differ.

`describe_timm_model` is the way back: timm's architecture and arguments of a shape.
"""

import re
from dataclasses import fields, replace
from typing import Any

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
    rename,
)
from vitviz.models.pretrained_list import PretrainedError

_DINOV2_GIANT = ((r"\.mlp\.w12\.", ".mlp.fc1."), (r"\.mlp\.w3\.", ".mlp.fc2."))
_QUICK_GELU = re.compile(r"quickgelu|clip.*openai")
_POOLS = {None: None, "token": "cls", "avg": "mean", "": None}
_SHARED = ("patch_size", "in_chans", "num_classes", "embed_dim", "num_heads", "mlp_ratio", "qkv_bias")
_GIVEN = ("depth", "readout", "distilled", "num_registers", "final_norm", "layer_scale", "positions")
_TRAINED_ONLY = (
    "image_size",
    "dropout",
    "attention_dropout",
    "drop_path",
    "positions_antialias",
    "convention",
    "rope_theta",
)


def translate_vit(state: State) -> State:
    """Return a timm ViT's or DeiT's tensors under this project's names."""
    state = join(rename(state, _DINOV2_GIANT), "fc1", ("fc1_g", "fc1_x"))
    state = fill_biases(state, "attn.proj", "mlp.fc1", "mlp.fc2", "head")
    table = state.get("pos_embed")
    if "register_tokens" in state and "cls_token" in state and table is not None and table.ndim == 3:
        # In the DINOv2 authors' files [CLS] has a position, and registers have another name and none.
        state["reg_token"] = state.pop("register_tokens")
        state["cls_token"] = state["cls_token"] + table[:, :1]
        state["pos_embed"] = table[:, 1:]
    return state


def describe_timm_vit(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a timm ViT or DeiT."""
    pool = settings.get("global_pool")
    if not isinstance(pool, str | None) or pool not in _POOLS or settings.get("pool_include_prefix"):
        raise PretrainedError(
            f"its pooling (global_pool {pool!r:.40}) is not supported: only 'token', and 'avg' of the patches, are"
        )
    differences: dict[str, object] = {}
    has_cls = "cls_token" in shapes
    readout = _POOLS[pool] or ("cls" if has_cls and "fc_norm.weight" not in shapes else "mean")
    if readout == "cls" and not has_cls:
        readout = "first_patch"
    differences["readout"] = readout
    if _QUICK_GELU.search(str(settings.get("architecture"))):
        differences["activation"] = "quick_gelu"
    if "norm_pre.weight" in shapes:  # timm's CLIP towers
        differences["norm_eps"] = 1e-5
        if settings.get("architecture", "act_layer") is None:
            settings.assume(
                "The file does not state its activation: GELU is assumed (OpenAI's weights need QuickGELU)."
            )
    return describe_vit(shapes, settings, **differences)


def translate_swin(state: State) -> State:
    """Return a timm Swin's tensors; the authors' own files end a stage by merging, where timm's begin with it."""
    if "layers.0.downsample.reduction.weight" not in state:
        return state

    def renamed(name: str) -> str:
        name = re.sub(r"^layers\.(\d+)\.downsample", lambda m: f"layers.{int(m[1]) + 1}.downsample", name)
        return re.sub(r"^head\.(?!fc\.)", "head.fc.", name)

    return {renamed(name): tensor for name, tensor in state.items()}


def describe_timm_swin(shapes: Shapes, settings: Settings) -> SwinConfig:
    """Return the config of a timm Swin."""
    config = describe_swin(shapes, settings, "timm")
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
    if config.positions == "rotary":
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
