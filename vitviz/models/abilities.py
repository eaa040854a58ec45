"""Report the features that a model supports, with a reason for each unsupported one.

supported = abilities(config)
if not supported.positions:
st.info(supported.positions.why_not)
"""

import tomllib
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from vitviz.config import CNNConfig, ModelConfig, SwinConfig, ViTConfig
from vitviz.config_fields import format_size

ConfigKind = TypeVar("ConfigKind", ViTConfig, SwinConfig, CNNConfig)


@dataclass(frozen=True)
class Ability:
    """Truthy if a model supports a feature; otherwise `why_not` explains why in one or two sentences."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


@dataclass(frozen=True)
class Abilities:
    """The features that pages require of a model."""

    attention: Ability  # patches attend to one another, globally or inside windows
    heads_over_all: Ability  # attention over all tokens: (heads, N, N)
    windows: Ability  # attention inside windows that shift from block to block
    blocks: Ability  # blocks that add to one residual stream
    logit_lens: Ability  # the head can be applied after any block
    logit_shares: Ability  # a class logit is a sum of shares of heads and MLPs
    rollout: Ability  # a product of attention over all layers
    whole_record: Ability  # all layers' intermediates of an image fit into memory
    hidden_patches: Ability  # patches that can be hidden from attention alone
    prefix: Ability  # tokens before the patches: [CLS], [DIST], registers
    cls_readout: Ability  # the class is predicted from [CLS]
    distillation: Ability  # a distillation token with its own head
    class_head: Ability  # class probabilities, and so methods that explain a class
    positions: Ability  # a position embedding table; zeros if nothing is added
    learned_positions: Ability  # position embeddings that are trained
    embedding: Ability  # E: one projection matrix per patch
    filters: Ability  # first-layer weights that can be drawn as images
    stem: Ability  # convolutions before the tokens: a hybrid
    any_size: Ability  # accepts other image and patch sizes
    receptive_field: Ability  # the receptive field follows from the kernels alone
    distance: Ability  # attention distance can be measured
    layers: Ability  # layers with one feature vector per image position
    new_head: Ability  # a head that can be replaced for another dataset
    larger_images: Ability  # position embeddings that can be interpolated to a larger grid
    many_images: Ability  # an input so small that dozens of changed images run at once


MOST_PX_OF_MANY = 64  # input size of a model that runs on every strength of a change
MOST_RECORDED_TOKENS = 1000  # beyond it pages hold the attention of one layer at a time
_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REASONS: dict[str, str] = _STATED["reasons"]
_OF_PATCHES = (
    "attention",
    "heads_over_all",
    "rollout",
    "hidden_patches",
    "embedding",
    "filters",
    "distance",
    "layers",
)


@lru_cache(maxsize=256)
def abilities(config: ModelConfig) -> Abilities:
    """Return the supported features of a model with this config."""
    general = {} if isinstance(config, ViTConfig | SwinConfig) else _STATED["no_transformer"]
    stated = general | _STATED[config.kind]
    lacks = {name: REASONS.get(reason, reason) for name, reason in stated.items()}
    if isinstance(config, ViTConfig):
        lacks |= _lacks_of_vit(config)
    if isinstance(config, SwinConfig) and config.cosine:
        lacks |= dict.fromkeys(("windows", "logit_shares"), REASONS["swin_v2"])
    if isinstance(config, SwinConfig) and not config.masked:
        lacks["windows"] = REASONS["no_mask"]
    if isinstance(config, SwinConfig | CNNConfig) and _last_side(config) == 1:
        lacks["layers"] = REASONS["one_place"]
    if (longest_px := max(config.image_shape)) > MOST_PX_OF_MANY:
        lacks["many_images"] = REASONS["large_input"].format(most_px=MOST_PX_OF_MANY, px=longest_px)
    output = getattr(config, "class_output", "softmax")
    if config.num_classes and output != "softmax":
        lacks |= dict.fromkeys(("logit_lens", "logit_shares", "distillation"), REASONS[f"{output}_output"])
    if config.num_classes and output == "raw":
        lacks["class_head"] = REASONS["raw_output"]
    if not config.num_classes:
        lacks |= dict.fromkeys(("class_head", "logit_shares"), REASONS["headless"])
        lacks.setdefault("distillation", REASONS["headless"])
    return Abilities(**{field.name: Ability(lacks.get(field.name, "")) for field in fields(Abilities)})


def as_vit(config: ModelConfig) -> ViTConfig:
    """Return the config of a model that has `heads_over_all` or `blocks`; raises TypeError if it is no ViT's."""
    return _narrow(config, ViTConfig)


def as_swin(config: ModelConfig) -> SwinConfig:
    """Return the config of a model that has `windows`; raises TypeError if it is no Swin's."""
    return _narrow(config, SwinConfig)


def as_cnn(config: ModelConfig) -> CNNConfig:
    """Return the config of a model that has a `receptive_field`; raises TypeError if it is no CNN's."""
    return _narrow(config, CNNConfig)


def as_cut(config: ModelConfig) -> ViTConfig | SwinConfig:
    """Return the config of a model that cuts the image into patches; raises TypeError if it is no ViT's or Swin's."""
    return as_swin(config) if config.kind == SwinConfig.kind else as_vit(config)


def _narrow(config: ModelConfig, kind: type[ConfigKind]) -> ConfigKind:
    if not isinstance(config, kind):
        raise TypeError(f"config must be a {kind.__name__}, received a {type(config).__name__}")
    return config


def _last_side(config: SwinConfig | CNNConfig) -> int:
    """Return the side of the last stage's feature map: each later stage of a Swin halves it, rounding up."""
    if isinstance(config, CNNConfig):
        return config.stage_side(config.image_size, len(config.widths) - 1)
    return -(-(config.image_size // config.patch_size) >> (len(config.depths) - 1))


def _lacks_of_vit(config: ViTConfig) -> dict[str, str]:
    """Return the features that a ViT's options rule out, with the reasons."""
    lacks = {}
    if not config.prefix_tokens:
        lacks["prefix"] = REASONS["no_prefix"]
    if config.readout != "cls":
        lacks["cls_readout"] = (
            REASONS["first_patch"] if config.readout == "first_patch" else REASONS["no_cls"]
        )
    if config.unread_cls:
        lacks["cls_readout"] = REASONS["unread_cls"]
    if config.readout == "map":
        lacks |= dict.fromkeys(("cls_readout", "logit_lens", "logit_shares"), REASONS["attention_pool"])
    if config.readout == "cls_mean":
        lacks |= {"cls_readout": REASONS["cls_and_mean"], "logit_lens": REASONS["cls_and_mean"]}
    if not config.distilled:
        lacks["distillation"] = REASONS["no_distillation"]
    elif not config.dist_head:
        lacks["distillation"] = REASONS["no_dist_head"]
    if config.positions != "learned":
        lacks["learned_positions"] = REASONS["no_table"]
    if config.positions == "rotary":
        lacks |= dict.fromkeys(("positions", "learned_positions", "larger_images"), REASONS["rotary"])
    if config.patch_norm:
        lacks["embedding"] = REASONS["normed_tokens"]
    if config.patch_norms:
        lacks["embedding"] = REASONS["normed_pixels"]
    if not config.stem:
        lacks["stem"] = REASONS["no_stem"]
    else:
        lacks["embedding"] = REASONS["hybrid_tokens"].format(count=len(config.stem))
        lacks["any_size"] = REASONS["hybrid_sizes"]
    if config.grid == (1, 1):
        lacks["layers"] = REASONS["one_patch"]
    tokens = config.grid[0] * config.grid[1] + len(config.prefix_tokens)
    if tokens > MOST_RECORDED_TOKENS:
        megabytes = 4e-6 * config.depth * config.num_heads * tokens**2
        lacks["whole_record"] = REASONS["large_record"].format(
            px=format_size(config.image_size), megabytes=megabytes
        )
    if config.embed == "reshape":
        lacks |= dict.fromkeys(_OF_PATCHES, REASONS["rows"])
    return lacks | _lacks_of_blocks(config)


def _lacks_of_blocks(config: ViTConfig) -> dict[str, str]:
    """Return the features that the norms and the shortcuts of a ViT's blocks rule out."""
    lacks: dict[str, str] = {}
    if not config.plain_blocks:
        lacks |= dict.fromkeys(("blocks", "logit_shares"), REASONS["more_norms"])
    if config.norm_layer == "rms":
        lacks["logit_lens"] = REASONS["rms_norm"]
    if not config.residual:
        lacks |= dict.fromkeys(("blocks", "logit_shares", "rollout"), REASONS["no_shortcut"])
    return lacks
