"""transformers' checkpoints: ViT, DeiT, DINOv2 and DINOv3 ViT, both Swins, and the image sides of CLIP and SigLIP."""

from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.formats.tensor_names import (
    RULES,
    Format,
    State,
    describe_swin,
    describe_vit,
    fill_biases,
    join,
    read_activation,
    rename,
)
from vitviz.models.formats.timm import translate_swin as move_mergings
from vitviz.models.pretrained_list import PretrainedError


def translate(state: State) -> State:
    """Return a ViT's or Swin's tensors under this project's names."""
    state = rename(rename(state, RULES["transformers_embeddings"]), RULES["transformers_blocks"])
    for parts in (("query", "key", "value"), ("q_proj", "k_proj", "v_proj")):
        state = join(state, "qkv", parts)
    if any(".mlp.gate_proj." in name for name in state):
        state = join(state, "fc1", ("gate_proj", "up_proj"))
    state = rename(state, ((r"\.mlp\.up_proj\.", ".mlp.fc1."),))
    state = fill_biases(state, "attn.proj", "mlp.fc1", "mlp.fc2")
    table = state.get("pos_embed")
    if table is not None and table.ndim == 2:  # CLIP's
        state["pos_embed"] = table = table[None]
    if "cls_token" in state and state["cls_token"].ndim == 1:
        state["cls_token"] = state["cls_token"][None, None]
    registers = state.pop("register_tokens", None)
    if registers is not None and registers.numel():
        state["reg_token"] = registers
        if table is not None and "cls_token" in state:
            # Registers are inserted after positions were added to [CLS] and the patches.
            state["cls_token"] = state["cls_token"] + table[:, :1]
            state["pos_embed"] = table[:, 1:]
    return state


_SIGLIP = (
    (r"^vision_model\.", ""),
    (r"^head\.probe$", "attn_pool.latent"),
    (r"^head\.attention\.out_proj\.", "attn_pool.proj."),
    (r"^head\.layernorm\.", "attn_pool.norm."),
    (r"^head\.mlp\.", "attn_pool.mlp."),
)


def translate_siglip(state: State) -> State:
    """Return the tensors of SigLIP's image side, whose head pools the patches by the attention of a learned query.

    A classifier of transformers reads the mean of the patches instead.
    """
    state = translate(rename(state, _SIGLIP))
    if "head.bias" in state:
        unread = ("attn_pool.", "head.attention.")
        return {name: tensor for name, tensor in state.items() if not name.startswith(unread)}
    for part in ("weight", "bias"):
        joined = state.pop(f"head.attention.in_proj_{part}", None)
        if joined is not None:
            width = len(joined) // 3
            state[f"attn_pool.q.{part}"], state[f"attn_pool.kv.{part}"] = joined[:width], joined[width:]
    return state


def describe_siglip(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of SigLIP's image side."""
    stated = settings.get("hidden_act") is not None
    activation = read_activation(settings) if stated else "gelu_tanh"
    differences: dict[str, object] = {"activation": activation, "positions_antialias": False}
    if "head.bias" in shapes:
        settings.assume("Its classifier reads the mean of the patches: its attention pooling is not read.")
    elif "attn_pool.latent" not in shapes:
        raise PretrainedError("it has no pooling (vision_use_head), so no vector stands for the whole image")
    else:
        hidden, width = shapes["attn_pool.mlp.fc1.weight"]
        differences |= {"readout": "map", "pool_activation": activation, "pool_ratio": hidden / width}
    return describe_vit(shapes, settings, **differences)


def describe(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a ViT, DeiT, DINOv2, DINOv3 ViT or CLIP's image side."""
    kind = settings.get("model_type")
    differences: dict[str, object] = {"norm_eps": settings.number("layer_norm_eps", _default_eps(shapes))}
    # As transformers resizes a table: DINOv2's class with registers alone antialiases.
    differences["positions_antialias"] = "reg_token" in shapes
    if settings.get("layer_norm_eps") is None:
        settings.assume(
            f"The files state no epsilon of the LayerNorms: {differences['norm_eps']:g} is assumed."
        )
    head = shapes.get("head.weight", ())
    width = shapes["patch_embed.proj.weight"][0] if shapes.get("patch_embed.proj.weight") else 0
    if len(head) == 2 and head[1] == 2 * width:
        differences["readout"] = "cls_mean"  # DINOv2's classifier
    if "norm_pre.weight" in shapes:
        if "head.bias" in shapes:
            raise PretrainedError("CLIP with a classifier is not supported: only its image side is")
        differences["projection"] = head[0] if head else 0
        stated = settings.get("hidden_act") is not None
        differences["activation"] = read_activation(settings) if stated else "quick_gelu"
        if not stated:
            settings.assume(
                "The file does not state its activation: QuickGELU is assumed (LAION's weights need GELU)."
            )
        shapes = {name: shape for name, shape in shapes.items() if name != "head.weight"}
    if "pos_embed" not in shapes:
        differences |= {"positions": "rotary", "rope_theta": settings.number("rope_theta", 100.0)}
        if settings.get("hidden_act") is not None:  # of the gated MLP, too; DINOv2's is SwiGLU in any case
            differences["activation"] = read_activation(settings)
    if settings.get("pooling_type", "vision_use_head") not in (None, False):
        raise PretrainedError(f"the pooling of {kind!r:.40} is not supported")
    config = describe_vit(shapes, settings, **differences)
    if str(kind).startswith("dinov2") and isinstance(config.image_size, tuple):
        raise PretrainedError(
            f"the positions of a DINOv2 of transformers are a square grid, and its image_size {config.image_size} is"
            " not: its publisher's class resizes them as if they were"
        )
    return config


def _default_eps(shapes: Shapes) -> float:
    if "norm_pre.weight" in shapes or "pos_embed" not in shapes:
        return 1e-5  # CLIP, DINOv3
    return 1e-6 if "blocks.0.ls1.gamma" in shapes else 1e-12  # DINOv2; ViT and DeiT


def translate_swin(state: State) -> State:
    """Return a Swin's tensors: each stage ends by merging, as in the authors' own files."""
    state = translate(state)
    return move_mergings(rename(state, ((r"^head\.", "head.fc."),)))


def describe_transformers_swin(shapes: Shapes, settings: Settings) -> SwinConfig:
    """Return the config of a Swin."""
    if settings.get("use_absolute_embeddings") or "pos_embed" in shapes:
        raise PretrainedError("a Swin with absolute position embeddings is not supported")
    if settings.get("hidden_act") not in (None, "gelu"):
        raise PretrainedError(
            f"a Swin's activation {settings.get('hidden_act')!r:.40} is not supported: only gelu is"
        )
    return describe_swin(shapes, settings, "torchvision")


def check_windows(config: SwinConfig) -> None:
    """Check that the windows of a Swin V2 tile the grid of every stage.

    Raises:
        PretrainedError: if not: transformers pads such a grid before its shift, timm after it.
    """
    side = config.image_size // config.patch_size
    for stage in range(len(config.depths)):
        if config.cosine and side % min(config.window_size, side):
            raise PretrainedError(
                f"its windows of {config.window_size} tokens do not tile the {side} × {side} tokens of stage"
                f" {stage + 1}: transformers' Swin V2 pads them before its shift, which is not computed here"
            )
        side = -(-side // 2)


_PREFIX = r"^(?P<prefix>(?:[\w-]+\.)*?)"
VIT = Format(
    "a transformers ViT",
    _PREFIX
    + r"(?:(?:vit|deit|dinov2|dinov2_with_registers)\.)?embeddings\.patch_embeddings\.projection\.weight$",
    lambda state: translate(rename(state, ((r"^(?:vit|deit|dinov2|dinov2_with_registers)\.", ""),))),
    describe,
    unread=r"^(?:(?:vit|deit|dinov2|dinov2_with_registers)\.)?pooler\.|^decoder\.",
    needs=r"(?:^|\.)embeddings\.cls_token$",
)
DINOV3 = Format(
    "a transformers DINOv3 ViT",
    _PREFIX + r"(?:dinov3_vit\.)?embeddings\.register_tokens$",
    lambda state: translate(rename(state, ((r"^dinov3_vit\.", ""),))),
    describe,
    needs=r"(?:^|\.)embeddings\.patch_embeddings\.weight$",
)
SWIN = Format(
    "a transformers Swin",
    _PREFIX + r"(?:swin(?:v2)?\.)?encoder\.layers\.0\.blocks\.0\.layernorm_before\.weight$",
    lambda state: translate_swin(rename(state, ((r"^swin(?:v2)?\.", ""),))),
    describe_transformers_swin,
    needs=r"(?:^|\.)embeddings\.patch_embeddings\.projection\.weight$",
)
SIGLIP = Format(
    "a transformers SigLIP image encoder",
    _PREFIX + r"(?:vision_model\.)?embeddings\.patch_embedding\.weight$",
    translate_siglip,
    describe_siglip,
    unread=r"^(?:text_model\.|logit_(?:scale|bias)$)",
    needs=r"(?:^|\.)head\.(?:probe|attention\.in_proj_weight)$",
)
CLIP = Format(
    "a transformers CLIP image encoder",
    _PREFIX + r"(?:vision_model\.)?embeddings\.patch_embedding\.weight$",
    lambda state: translate(rename(state, ((r"^vision_model\.", ""),))),
    describe,
    unread=r"^(?:text_model\.|text_projection\.|logit_scale$)",
    needs=r"(?:^|\.)pre_layrnorm\.weight$",
)
