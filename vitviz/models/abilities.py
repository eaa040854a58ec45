"""Report the features that a model supports, with a reason for each unsupported one.

supported = abilities(config)
if not supported.positions:
st.info(supported.positions.why_not)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

from vitviz.config import CNNConfig, ModelConfig, SwinConfig, ViTConfig


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
HEADLESS = "This model has no classifier head: it outputs features, not class predictions."
_NO_ATTENTION = "This model has no attention between patches: choose a ViT or a Swin."
_NO_HEADS = "This needs global attention over the whole image: choose a ViT."
_NO_WINDOWS = "This model has no windows: choose a Swin."
_NO_BLOCK = "This page follows a token through a ViT block: choose a ViT."
_NO_STREAM = "This model has no residual stream of tokens to which its head could be applied."
_NO_SUM = (
    "A logit is a sum of shares only where heads and MLPs add to a stream that the head reads linearly: choose a ViT, a"
    " DeiT, a hybrid or a Swin."
)
_NO_ROLLOUT = "Rollout multiplies the attention matrices of all layers; this model has none."
_NO_TOKENS = "This model has no tokens, so none can be masked."
_NO_PREFIX = "This model has no prefix tokens to mask."
_NO_CLS = "This model has no [CLS]: it averages its patches, so the rows of all patches are averaged."
_UNREAD_CLS = (
    "The head averages the patches and does not read [CLS], so the rows of all patches are averaged."
)
_FIRST_PATCH = "This model has no [CLS]: it predicts from the first patch."
_NO_DISTILLATION = "This model has no distillation token."
_NO_TABLE = "Only learned position embeddings are interpolated; encodings from a formula are recomputed for every grid."
_NO_FILTERS = "This model's first layer covers the whole image: there are no filters to draw."
_NO_STEM = "This model has no convolutional stem."
_NO_NEW_HEAD = "The head of this model cannot be replaced: choose a ViT, a Swin or a CNN."
_NO_LARGER = "Only the position embeddings of a ViT can be interpolated."
_NO_SIZES = "This model only accepts its own image size."
_NO_DISTANCE = "This model has no attention over a grid of patches, so there is no distance to measure."
_NO_LAYERS = "This model has no layers with one feature vector per image position."
_ONE_PATCH = "This model has a single patch, so there are no positions to compare."
_ONE_PLACE = "The last layer of this model has a single position, so there are no positions to compare."
_NO_FIELD = "The receptive field of this model is the whole image: no kernel limits it."

_ROWS = (
    "This model's tokens are rows of pixels, not patches: a reshape replaces the patch embedding, a bug studied in"
    " the experiments."
)
_NO_SHORTCUT = "This model was trained without residual connections, so it has no residual stream."
_NO_MASK = "This Swin was trained without the mask of its shifted windows, which this page needs."
_ROTARY = (
    "This model has rotary positions: it turns queries and keys by an angle that depends on the patch's row and column,"
    " and adds no table to the tokens."
)
_CLS_AND_MEAN = (
    "The head of this model reads [CLS] and the mean of the patches side by side, so it fits no single token."
)
_NORMED_PIXELS = (
    "This model normalises the pixels of every patch before it multiplies them by E, so E alone does not give its"
    " tokens."
)
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

_NO_TRANSFORMER = {  # of every model that is neither a ViT nor a Swin
    "attention": _NO_ATTENTION,
    "heads_over_all": _NO_HEADS,
    "windows": _NO_WINDOWS,
    "blocks": _NO_BLOCK,
    "logit_lens": _NO_STREAM,
    "logit_shares": _NO_SUM,
    "rollout": _NO_ROLLOUT,
    "hidden_patches": _NO_TOKENS,
    "prefix": _NO_PREFIX,
    "cls_readout": "This model has no [CLS]: it predicts from the whole image.",
    "distillation": _NO_DISTILLATION,
    "learned_positions": _NO_TABLE,
    "any_size": _NO_SIZES,
    "stem": _NO_STEM,
    "larger_images": _NO_LARGER,
}
_LACKS: dict[str, dict[str, str]] = {
    "vit": {"windows": _NO_WINDOWS, "receptive_field": _NO_FIELD},
    "swin": {
        "heads_over_all": _NO_HEADS,
        "blocks": _NO_BLOCK,
        "logit_lens": "The head fits only the last stage of a Swin: earlier stages have tokens of another width.",
        "rollout": "Rollout is not defined for a Swin, which merges patches and attends inside shifting windows."
        " Gradient × input needs no attention.",
        "hidden_patches": "A Swin merges patches, so patches are masked in the image, not in its attention.",
        "prefix": _NO_PREFIX,
        "cls_readout": _NO_CLS,
        "distillation": _NO_DISTILLATION,
        "positions": "A Swin has no position embeddings: it adds a relative position bias to the attention scores.",
        "learned_positions": _NO_TABLE,
        "stem": _NO_STEM,
        "larger_images": _NO_LARGER,
        "any_size": "A Swin only accepts its own image size, because its windows depend on it.",
        "receptive_field": "The receptive field of a Swin follows from its shifted windows, not from kernels.",
    },
    "cnn": _NO_TRANSFORMER
    | {
        "positions": "A CNN has no position embeddings: its feature maps keep the image's rows and columns until the"
        " final pooling removes them.",
        "embedding": "A CNN applies small overlapping filters and never cuts the image into patches.",
    },
    "conv_attention": _NO_TRANSFORMER
    | {
        "new_head": _NO_NEW_HEAD,
        "positions": "This model has no position embeddings: its queries, keys and values are convolutions.",
        "embedding": "This model has no patches: its queries, keys and values are 3 × 3 convolutions of the image.",
        "filters": _NO_FILTERS,
        "receptive_field": _NO_FIELD,
        "distance": _NO_DISTANCE,
        "layers": _NO_LAYERS,
    },
    "flat_attention": _NO_TRANSFORMER
    | {
        "new_head": _NO_NEW_HEAD,
        "positions": "This model has a single token, the whole image, so it needs no position embeddings.",
        "embedding": "This model has no patches: its single token is the flattened image.",
        "filters": _NO_FILTERS,
        "receptive_field": _NO_FIELD,
        "distance": _NO_DISTANCE,
        "layers": _NO_LAYERS,
    },
}


@lru_cache(maxsize=256)
def abilities(config: ModelConfig) -> Abilities:
    """Return the supported features of a model with this config."""
    lacks = dict(_LACKS[config.kind])
    if isinstance(config, ViTConfig):
        lacks |= _lacks_of_vit(config)
    if isinstance(config, SwinConfig) and not config.masked:
        lacks["windows"] = _NO_MASK
    if isinstance(config, SwinConfig | CNNConfig) and _last_side(config) == 1:
        lacks["layers"] = _ONE_PLACE
    if config.image_size > MOST_PX_OF_MANY:
        lacks["many_images"] = (
            f"This page runs a model on dozens of changed images, so it needs an input of at most {MOST_PX_OF_MANY} px;"
            f" this model has {config.image_size} px."
        )
    if not config.num_classes:
        lacks |= dict.fromkeys(("class_head", "logit_shares"), HEADLESS)
        lacks.setdefault("distillation", HEADLESS)
    return Abilities(**{field.name: Ability(lacks.get(field.name, "")) for field in fields(Abilities)})


def as_vit(config: ModelConfig) -> ViTConfig:
    """Return the config of a model that has `heads_over_all` or `blocks`.

    Raises:
        TypeError: if it is no ViT's.
    """
    if not isinstance(config, ViTConfig):
        raise TypeError(f"config must be a ViT's, received a {type(config).__name__}")
    return config


def as_swin(config: ModelConfig) -> SwinConfig:
    """Return the config of a model that has `windows`.

    Raises:
        TypeError: if it is no Swin's.
    """
    if not isinstance(config, SwinConfig):
        raise TypeError(f"config must be a Swin's, received a {type(config).__name__}")
    return config


def as_cnn(config: ModelConfig) -> CNNConfig:
    """Return the config of a model that has a `receptive_field`.

    Raises:
        TypeError: if it is no CNN's.
    """
    if not isinstance(config, CNNConfig):
        raise TypeError(f"config must be a CNN's, received a {type(config).__name__}")
    return config


def as_cut(config: ModelConfig) -> ViTConfig | SwinConfig:
    """Return the config of a model that has an `embedding`: it cuts the image into patches.

    Raises:
        TypeError: if it is neither a ViT's nor a Swin's.
    """
    return as_swin(config) if config.kind == SwinConfig.kind else as_vit(config)


def _last_side(config: SwinConfig | CNNConfig) -> int:
    """Return the side of the last stage's feature map: each later stage halves it, rounding up."""
    stages, first = (
        (len(config.depths), config.image_size // config.patch_size)
        if isinstance(config, SwinConfig)
        else (len(config.widths), config.image_size)
    )
    return -(-first // (1 << (stages - 1)))


def _lacks_of_vit(config: ViTConfig) -> dict[str, str]:
    """Return the features that a ViT's options rule out, with the reasons."""
    lacks = {}
    if not config.prefix_tokens:
        lacks["prefix"] = _NO_PREFIX
    if config.readout != "cls":
        lacks["cls_readout"] = _FIRST_PATCH if config.readout == "first_patch" else _NO_CLS
    if config.unread_cls:
        lacks["cls_readout"] = _UNREAD_CLS
    if config.readout == "cls_mean":
        lacks |= {"cls_readout": _CLS_AND_MEAN, "logit_lens": _CLS_AND_MEAN}
    if not config.distilled:
        lacks["distillation"] = _NO_DISTILLATION
    elif not config.dist_head:
        lacks["distillation"] = (
            "The distillation token of this model has no head: the class is predicted from [CLS]."
        )
    if config.positions != "learned":
        lacks["learned_positions"] = _NO_TABLE
    if config.positions == "rotary":
        lacks |= dict.fromkeys(("positions", "learned_positions", "larger_images"), _ROTARY)
    if config.patch_norms:
        lacks["embedding"] = _NORMED_PIXELS
    if not config.stem:
        lacks["stem"] = _NO_STEM
    else:
        lacks["embedding"] = (
            f"This hybrid computes its tokens with {len(config.stem)} overlapping 3 × 3 convolutions, so there is no"
            " single matrix E."
        )
        lacks["any_size"] = "A hybrid only accepts its own patch size, which its convolutions fix."
    if config.grid == (1, 1):
        lacks["layers"] = _ONE_PATCH
    tokens = config.grid[0] * config.grid[1] + len(config.prefix_tokens)
    if tokens > MOST_RECORDED_TOKENS:
        megabytes = 4e-6 * config.depth * config.num_heads * tokens**2
        lacks["whole_record"] = (
            f"At {config.image_size} px the attention of all layers takes {megabytes:,.0f} MB, so this page needs the"
            " model at a smaller image size."
        )
    if config.embed == "reshape":
        lacks |= dict.fromkeys(_OF_PATCHES, _ROWS)
    if not config.residual:
        lacks |= dict.fromkeys(("blocks", "logit_shares", "rollout"), _NO_SHORTCUT)
    return lacks
