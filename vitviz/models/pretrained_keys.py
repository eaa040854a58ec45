"""Published tensors under this project's names; the differences between a file and a model, named."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.pretrained_list import Pretrained, PretrainedError
from vitviz.models.vit import resize_positions

State = dict[str, Tensor]

COMPUTED = ("relative_position_index", "attn_mask", "mask_token")  # in some files, but nothing to load
_TORCHVISION_VIT = (
    (r"^class_token$", "cls_token"),
    (r"^encoder\.pos_embedding$", "pos_embed"),
    (r"^conv_proj\.", "patch_embed.proj."),
    (r"^encoder\.layers\.encoder_layer_(\d+)\.", r"blocks.\1."),
    (r"\.ln_([12])\.", r".norm\1."),
    (r"\.self_attention\.in_proj_", ".attn.qkv."),
    (r"\.self_attention\.out_proj\.", ".attn.proj."),
    (r"\.mlp\.(?:0|linear_1)\.", ".mlp.fc1."),
    (r"\.mlp\.(?:3|linear_2)\.", ".mlp.fc2."),
    (r"^encoder\.ln\.", "norm."),
    (r"^heads\.head\.", "head."),
)
_TORCHVISION_SWIN = (
    (r"^features\.0\.0\.", "patch_embed.proj."),
    (r"^features\.0\.2\.", "patch_embed.norm."),
    (r"\.mlp\.0\.", ".mlp.fc1."),
    (r"\.mlp\.3\.", ".mlp.fc2."),
    (r"^head\.", "head.fc."),
)


class WeightsMismatchError(PretrainedError):
    """Tensors that do not match the model: missing, unexpected or of another shape."""

    def __init__(self, name: str, missing: list[str], unexpected: list[str], misshapen: list[str]) -> None:
        self.missing, self.unexpected, self.misshapen = tuple(missing), tuple(unexpected), tuple(misshapen)
        parts = [
            f"{len(names)} {word} ({', '.join(names[:4])}{', …' if len(names) > 4 else ''})"
            for word, names in (("missing", missing), ("unexpected", unexpected), ("misshapen", misshapen))
            if names
        ]
        super().__init__(f"these are not the weights of {name}, nothing was loaded: {'; '.join(parts)}")


def rename(state: State, entry: Pretrained) -> State:
    """Return the file's tensors under this project's names, without computed tables."""
    state = {name: tensor for name, tensor in state.items() if not name.endswith(COMPUTED)}
    if entry.format == "timm":
        return _old_swin(state) if isinstance(entry.config, SwinConfig) else _old_dinov2(state, entry.config)
    if isinstance(entry.config, ViTConfig):
        return {_substitute(name, _TORCHVISION_VIT): tensor for name, tensor in state.items()}
    return {_torchvision_swin(name): tensor for name, tensor in state.items()}


def _substitute(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in rules:
        name = re.sub(pattern, replacement, name)
    return name


def _torchvision_swin(name: str) -> str:
    """torchvision counts stages and mergings in one list: 1, 3, 5, 7 are stages, 2, 4, 6 lead to the next."""
    name = _substitute(name, _TORCHVISION_SWIN)
    match = re.match(r"^features\.(\d+)\.(.*)$", name)
    if match is None:
        return name
    position, rest = int(match[1]), match[2]
    stage = position // 2
    return f"layers.{stage}.blocks.{rest}" if position % 2 else f"layers.{stage}.downsample.{rest}"


def _old_swin(state: State) -> State:
    """Return the authors' own files end a stage by merging, where timm's later ones begin with it."""
    if "layers.0.downsample.reduction.weight" not in state:
        return state

    def renamed(name: str) -> str:
        name = re.sub(r"^layers\.(\d+)\.downsample", lambda m: f"layers.{int(m[1]) + 1}.downsample", name)
        return re.sub(r"^head\.(?!fc\.)", "head.fc.", name)

    return {renamed(name): tensor for name, tensor in state.items()}


def _old_dinov2(state: State, config: ViTConfig) -> State:
    """Add [CLS]'s position embedding, which the authors' files with registers lack."""
    table = state.get("pos_embed")
    if "register_tokens" not in state or "cls_token" not in state or not config.num_registers:
        return state
    if table is None or table.ndim != 3:  # whoever loads it says what is missing or wrong
        return state
    changed = dict(state)
    changed["reg_token"] = changed.pop("register_tokens")
    changed["cls_token"] = state["cls_token"] + table[:, :1]
    changed["pos_embed"] = table[:, 1:]
    return changed


def fit_positions(state: State, native: ViTConfig, grid: tuple[int, int]) -> State:
    """Resize the table of positions for another grid; a table that is not the native one is left as it is."""
    prefix = len(native.prefix_tokens) if native.position_on_prefix else 0
    expected = (1, prefix + native.grid[0] * native.grid[1], native.embed_dim)
    table = state.get("pos_embed")
    if table is None or tuple(table.shape) != expected or grid == native.grid:
        return state
    return state | {
        "pos_embed": resize_positions(table.float(), native.grid, grid, native.positions_antialias)
    }


def load_into(model: nn.Module, state: State, name: str) -> None:
    """Load every parameter in fp32, or change nothing.

    Raises:
        WeightsMismatchError: naming what is missing, unexpected or misshapen.
        PretrainedError: if a weight is not finite or not a float.
    """
    wanted = model.state_dict()
    missing = [key for key in wanted if key not in state]
    unexpected = [key for key in state if key not in wanted]
    misshapen = [
        f"{key}: expected {tuple(tensor.shape)}, received {tuple(state[key].shape)}"
        for key, tensor in wanted.items()
        if key in state and state[key].shape != tensor.shape
    ]
    if missing or unexpected or misshapen:
        raise WeightsMismatchError(name, missing, unexpected, misshapen)
    for key, tensor in state.items():
        if not tensor.is_floating_point() or not bool(torch.isfinite(tensor).all()):
            raise PretrainedError(
                f"the weights of {name} are broken, nothing was loaded: {key} is not finite"
            )
    model.load_state_dict({key: tensor.float() for key, tensor in state.items()}, assign=True)
