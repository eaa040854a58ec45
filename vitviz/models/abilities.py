"""Report what a model supports, and for everything else the sentence that says why not.

able = abilities(config)
if not able.positions:
    say(able.positions.why_not)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

from vitviz.config import CNNConfig, ModelConfig, SwinConfig, ViTConfig


@dataclass(frozen=True)
class Ability:
    """True where a model has it; else `why_not` is one sentence, or two, for the user."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


@dataclass(frozen=True)
class Abilities:
    """The features of a model that pages ask for."""

    attention: Ability  # patches of the image attend to one another: everywhere, or inside windows
    heads_over_all: Ability  # heads whose rows run over all tokens: (heads, N, N)
    windows: Ability  # heads whose rows run over a window, which shifts from block to block
    blocks: Ability  # blocks that add to one stream of tokens, each with its record
    logit_lens: Ability  # tokens that the head can read after any block
    rollout: Ability  # a product of attention over all layers
    hidden_patches: Ability  # patches that can be hidden from attention alone
    prefix: Ability  # tokens before the patches: [CLS], [DIST], registers
    cls_readout: Ability  # an answer that is read from [CLS]
    distillation: Ability  # a second token with a head of its own
    class_head: Ability  # class probabilities, and so methods that explain a class
    positions: Ability  # a table of positions, of zeros where nothing is added
    learned_positions: Ability  # a table that is weights, and has snapshots
    embedding: Ability  # E: one matrix for a whole patch
    filters: Ability  # a first map whose weights can be drawn as images
    stem: Ability  # convolutions before the tokens: a hybrid
    any_size: Ability  # images and patches of other sizes than its own
    receptive_field: Ability  # kernels alone say what a layer can read
    distance: Ability  # how far its layers look can be measured
    layers: Ability  # layers that each say something of every place of the image
    new_head: Ability  # a head that can be replaced, so that the body learns another set
    larger_pictures: Ability  # positions that can be stretched to the grid of a larger image


HEADLESS = "This model has no head for classes: it gives features, so nothing is predicted and no class is explained."
_NO_ATTENTION = "This model has no attention between patches of the image: choose a ViT or a Swin."
_NO_HEADS = "It asks for heads that see the whole image, a ViT's."
_NO_WINDOWS = "This model has no windows: only a Swin attends inside them."
_NO_BLOCK = "This page follows a token through a block of a ViT."
_NO_STREAM = "This model has no stream of tokens that its head could read."
_NO_ROLLOUT = "Rollout is a product of attention over all layers, and this model has no such layers."
_NO_TOKENS = "This model has no tokens, so none can be hidden from it."
_NO_PREFIX = "This model has no prefix tokens, so there is nothing to leave out."
_NO_CLS = "This model averages its patches and has no [CLS]: the rows of all patches are averaged."
_FIRST_PATCH = "This model reads its answer from the first patch and has no [CLS]."
_NO_DISTILLATION = "This model has no distillation token: it has not learned from a teacher through one."
_NO_TABLE = "Only a learned table is stretched; computed encodings are computed anew for every grid."
_NO_FILTERS = "This model's first map reads the whole image at once: there are no filters to draw."
_NO_STEM = "This model has no convolutional stem."
_NO_NEW_HEAD = "This model's head cannot be replaced here: a ViT's, a Swin's and a CNN's can."
_NO_LARGER = "Only a ViT's positions can be resized here."
_NO_SIZES = "This model is shown at the size it was built for."
_NO_DISTANCE = "This model attends over no grid of patches, so there is no distance to measure."
_NO_LAYERS = "This model has no row of layers that each say something of every place of the image."
_ONE_PATCH = "This model has one patch only: there are no places to tell apart."
_ONE_PLACE = "The last layer of this model has one place only: there are no places to tell apart."
_NO_FIELD = "Its receptive field is the whole image: no kernel limits what a layer can read."

_ROWS = (
    "This model's tokens are rows of pixels, not patches: it cuts the image with a reshape, a bug that the"
    " experiments try."
)
_NO_SHORTCUT = (
    "This model has no residual connections, as an experiment asked: its blocks add to no stream of tokens."
)
_NO_MASK = "This Swin's shifted windows have no mask, as an experiment asked: this page is about those that have one."
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

_NO_TRANSFORMER = {  # what is true of every model that is neither a ViT nor a Swin
    "attention": _NO_ATTENTION,
    "heads_over_all": _NO_HEADS,
    "windows": _NO_WINDOWS,
    "blocks": _NO_BLOCK,
    "logit_lens": _NO_STREAM,
    "rollout": _NO_ROLLOUT,
    "hidden_patches": _NO_TOKENS,
    "prefix": _NO_PREFIX,
    "cls_readout": "This model has no [CLS]: its answer is read from the whole image.",
    "distillation": _NO_DISTILLATION,
    "learned_positions": _NO_TABLE,
    "any_size": _NO_SIZES,
    "stem": _NO_STEM,
    "larger_pictures": _NO_LARGER,
}
_LACKS: dict[str, dict[str, str]] = {
    "vit": {"windows": _NO_WINDOWS, "receptive_field": _NO_FIELD},
    "swin": {
        "heads_over_all": _NO_HEADS,
        "blocks": _NO_BLOCK,
        "logit_lens": "Swin's tokens change width from stage to stage, so the head cannot read them before the last"
        " stage.",
        "rollout": "Swin merges patches between its stages and attends inside windows that shift, so there is no one"
        " row of attention from its answer to the patches, and rollout is not defined for it. Gradient × input needs"
        " no attention.",
        "hidden_patches": "Swin merges patches, so none can be hidden from attention alone: they are blanked in the"
        " image.",
        "prefix": _NO_PREFIX,
        "cls_readout": _NO_CLS,
        "distillation": _NO_DISTILLATION,
        "positions": "A Swin adds nothing to its tokens: a bias for each offset inside a window is added to the"
        " scores.",
        "learned_positions": _NO_TABLE,
        "stem": _NO_STEM,
        "larger_pictures": _NO_LARGER,
        "any_size": "A Swin is shown at the sizes it was built for: its windows depend on them.",
        "receptive_field": "Windows and their shifts say what a Swin's layer can read, and no kernel does.",
    },
    "cnn": _NO_TRANSFORMER
    | {
        "positions": "A CNN is given no positions: its filters slide over an image that keeps its rows and columns,"
        " and only its last step, the mean or maximum over all places, forgets them. What lies where counts as far"
        " as the filters reach.",
        "embedding": "A CNN slides small overlapping filters over the whole image: it never cuts it into patches.",
    },
    "conv_attention": _NO_TRANSFORMER
    | {
        "new_head": _NO_NEW_HEAD,
        "positions": "Here queries, keys and values are convolutions, which know their neighbours.",
        "embedding": "Here queries, keys and values are 3 × 3 convolutions of the image: no patches.",
        "filters": _NO_FILTERS,
        "receptive_field": _NO_FIELD,
        "distance": _NO_DISTANCE,
        "layers": _NO_LAYERS,
    },
    "flat_attention": _NO_TRANSFORMER
    | {
        "new_head": _NO_NEW_HEAD,
        "positions": "This model has one token, the whole image, so there is no position to tell.",
        "embedding": "Here the whole image is one flat vector, so there is one token and no patch.",
        "filters": _NO_FILTERS,
        "receptive_field": _NO_FIELD,
        "distance": _NO_DISTANCE,
        "layers": _NO_LAYERS,
    },
}


@lru_cache(maxsize=256)
def abilities(config: ModelConfig) -> Abilities:
    """Return what a model of this shape has; depends on nothing but its config."""
    lacks = dict(_LACKS[config.kind])
    if isinstance(config, ViTConfig):
        lacks |= _lacks_of_vit(config)
    if isinstance(config, SwinConfig) and not config.masked:
        lacks["windows"] = _NO_MASK
    if isinstance(config, SwinConfig | CNNConfig) and _last_side(config) == 1:
        lacks["layers"] = _ONE_PLACE
    if not config.num_classes:
        lacks["class_head"] = HEADLESS
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
    """Return the places a side of the last stage's map: every stage but the first halves it, rounded up."""
    stages, first = (
        (len(config.depths), config.image_size // config.patch_size)
        if isinstance(config, SwinConfig)
        else (len(config.widths), config.image_size)
    )
    return -(-first // (1 << (stages - 1)))


def _lacks_of_vit(config: ViTConfig) -> dict[str, str]:
    """Return what a ViT lacks by its options."""
    lacks = {}
    if not config.prefix_tokens:
        lacks["prefix"] = _NO_PREFIX
    if config.readout != "cls":
        lacks["cls_readout"] = _FIRST_PATCH if config.readout == "first_patch" else _NO_CLS
    if not config.distilled:
        lacks["distillation"] = _NO_DISTILLATION
    if config.positions != "learned":
        lacks["learned_positions"] = _NO_TABLE
    if not config.stem:
        lacks["stem"] = _NO_STEM
    else:
        lacks["embedding"] = (
            f"This hybrid reads the image through {len(config.stem)} overlapping 3 × 3 convolutions, so its tokens"
            " are not cut from squares and there is no single matrix E."
        )
        lacks["any_size"] = "A hybrid's convolutions make patches of one size, its own."
    if config.grid == (1, 1):
        lacks["layers"] = _ONE_PATCH
    if config.embed == "reshape":
        lacks |= dict.fromkeys(_OF_PATCHES, _ROWS)
    if not config.residual:
        lacks |= dict.fromkeys(("blocks", "rollout"), _NO_SHORTCUT)
    return lacks
