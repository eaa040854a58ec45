"""vit-pytorch's ViT and SimpleViT: linear maps of unfolded patches, two norms around them, heads of any width."""

from dataclasses import replace

from vitviz.config import ViTConfig
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.formats.tensor_names import RULES, Format, State, describe_vit, fill_biases, rename
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import plural

_CHANS = 3  # a linear map does not say how its inputs divide into channels and pixels


def translate(state: State) -> State:
    """Return a ViT's tensors: pixels in the order of a convolution's kernel (C, P, P) instead of (P, P, C)."""
    state = rename(state, RULES["vit_pytorch"])
    if "cls_token" in state and 0 in state["cls_token"].shape:
        del state["cls_token"]
    for name in ("cls_token", "pos_embed"):
        if name in state and state[name].ndim == 2:
            state[name] = state[name][None]
    side = _patch_side(tuple(state["patch_embed.proj.weight"].shape))
    for name in ("patch_embed.proj.weight", "patch_embed.norm_pixels.weight", "patch_embed.norm_pixels.bias"):
        if name in state:
            last_first = state[name].reshape(*state[name].shape[:-1], side, side, _CHANS).movedim(-1, -3)
            state[name] = last_first if name.endswith("proj.weight") else last_first.flatten()
    return state


def _patch_side(shape: tuple[int, ...]) -> int:
    side = round((shape[-1] / _CHANS) ** 0.5) if len(shape) == 2 else 0
    if not side or side * side * _CHANS != shape[-1]:
        raise PretrainedError(f"its patches, of {shape[-1]} values, are no squares of {_CHANS} channels")
    return side


def describe(shapes: Shapes, settings: Settings, **differences: object) -> ViTConfig:
    """Return the config of a vit-pytorch ViT."""
    inner = shapes["blocks.0.attn.qkv.weight"][0] // 3
    per_head = settings.integer("dim_head") or (64 if inner % 64 == 0 else inner)
    heads = settings.integer("heads", "num_heads")
    if heads is None:
        heads = max(inner // per_head, 1)
        settings.assume(
            f"The file does not state its number of heads: assuming {plural(heads, 'head')} of {per_head} values."
        )
    return describe_vit(
        shapes,
        replace(settings, values={**settings.values, "num_heads": heads}),
        patch_norms="patch_embed.norm_pixels.weight" in shapes,
        output_projection="blocks.0.attn.proj.weight" in shapes,
        norm_eps=settings.number("layer_norm_eps", 1e-5),
        **differences,
    )


def translate_simple(state: State) -> State:
    """Return a SimpleViT's tensors: the layers of its MLPs and its head have other names than a ViT's."""
    simple = (
        (r"\.to_out\.weight$", ".to_out.0.weight"),
        (r"\.1\.net\.3\.", ".1.net.4."),
        (r"^linear_head\.", "mlp_head."),
    )
    return fill_biases(translate(rename(state, simple)), "attn.proj")


def describe_simple(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a vit-pytorch SimpleViT, whose positions are computed and in no tensor."""
    return describe(shapes, settings, positions="sincos_2d_concat")


SIMPLE_VIT = Format(
    "a vit-pytorch SimpleViT",
    r"^(?P<prefix>(?:[\w-]+\.)*?)transformer\.layers\.0\.0\.to_out\.weight$",
    translate_simple,
    describe_simple,
    needs=r"^linear_head\.weight$",
)
VIT = Format(
    "a vit-pytorch ViT",
    r"^(?P<prefix>(?:[\w-]+\.)*?)transformer\.layers\.0\.0\.to_qkv\.weight$",
    translate,
    describe,
    needs=r"^to_patch_embedding\.2\.weight$",
)
