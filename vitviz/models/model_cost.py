"""Parameters and multiply-adds in closed form, by part: known without torch and without weights, however large."""

from collections.abc import Iterator
from functools import singledispatch
from itertools import pairwise
from math import prod

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    SwinConfig,
    ViTConfig,
)
from vitviz.config_fields import Size, as_shape, format_size
from vitviz.config_models import BIAS_UNITS, mlp_width

EMBEDDING, POSITIONS, LAYERS, ATTENTION, HEAD = "embedding", "positions", "layers", "attention", "head"
MLP, NORMS = "MLP", "norms"
Counts = dict[str, int]  # by part, in the order of the data
_BYTES = 4  # of a published weight: fp32
_POOLED = 49  # cells that the head of ConvAttention reads


@singledispatch
def parameters(config: ModelConfig) -> Counts:
    """Return the parameters by part: embedding (or stem), positions with [CLS] and its like, layers, norm and head.

    A ViT's layer has (4 + 2r) D^2 weights in its linear maps, r the MLP's ratio (ViT paper, table 1 and appendix A).
    """
    raise ValueError(f"parameters of a {type(config).__name__} are not known in closed form")


def prefix(config: ModelConfig) -> int:
    """Parameters of the tokens before the patches themselves, which `parameters` counts with the positions."""
    return len(config.prefix_tokens) * config.embed_dim if isinstance(config, ViTConfig) else 0


def published_megabytes(config: ViTConfig | SwinConfig) -> float:
    """Return the size of a published fp32 file in MB of 10^6 bytes, without its header."""
    return _BYTES * sum(parameters(config).values()) / 1e6


@singledispatch
def multiply_adds(config: ModelConfig, size_px: Size) -> Counts:
    """Return the multiply-adds of one image by part; what papers call 'FLOPs'.

    A ViT's layer over T tokens: (4 + 2r) T D^2 in its linear maps ('layers') and 2 T^2 D in its two products with
    attention ('attention'); a Swin's: 2 M^2 T C (Swin paper, eq. 2). Norms, softmax and biases are not counted.

    Raises:
        ValueError: if patches or windows do not tile the image.
    """
    raise ValueError(f"multiply-adds of a {type(config).__name__} are not known in closed form")


@singledispatch
def tokens(config: ModelConfig, size_px: Size) -> int | None:
    """Return the number of tokens with prefix tokens, for a Swin of its first stage; None for a CNN."""
    return None


def _grid(size_px: Size, patch_px: int) -> tuple[int, int]:
    height, width = as_shape(size_px)
    if height % patch_px or width % patch_px:
        raise ValueError(f"patches of {patch_px} px do not tile an image of {format_size(size_px)} px")
    return height // patch_px, width // patch_px


def _square(size_px: Size) -> int:
    if isinstance(size_px, tuple):
        raise ValueError(f"only a ViT takes images of {format_size(size_px)} px")
    return size_px


# ---------------------------------------------------------------- a ViT, a DeiT, a hybrid


@parameters.register
def _(config: ViTConfig) -> Counts:
    width, places = config.embed_dim, config.grid[0] * config.grid[1]
    places += len(config.prefix_tokens) if config.position_on_prefix else 0
    flat = config.in_chans * config.patch_size**2
    table = {"learned": places * width, "pixels": (flat + 1) * width}.get(config.positions, 0)
    read = 2 * width if config.readout == "cls_mean" else width
    norms = config.final_norm + config.pooled_norm
    classifier = _heads(config) * (read + 1) * config.num_classes + read * config.projection
    return {
        EMBEDDING: _embedding(config),
        POSITIONS: table + prefix(config) + _learned_angles(config),
        LAYERS: config.depth * sum(block_parameters(config).values()),
        HEAD: _norm(config, width) * norms + _pool(config) + classifier,
    }


def block_parameters(config: ViTConfig) -> Counts:
    """Return the parameters of one block of a ViT: attention, MLP, and its norms with LayerScale."""
    width, hidden = config.embed_dim, mlp_width(config.embed_dim, config.mlp_ratio)
    inner = config.width_per_head * config.num_heads
    attention = _qkv(config) + (3 * inner if config.qkv_bias else 0)
    attention += (inner + 1) * width if config.output_projection else 0
    norms = 2 * _norm(config, width) + (2 * width if config.layer_scale is not None else 0)
    norms += 2 * _norm(config, config.width_per_head) if config.qk_norm else 0
    norms += _norm(config, inner) * config.attn_norm + _norm(config, hidden) * config.mlp_norm
    mlp = (width + 1) * hidden * (2 if config.gated_mlp else 1) + (hidden + 1) * width
    return {ATTENTION: attention, MLP: mlp, NORMS: norms}


def _norm(config: ViTConfig, width: int) -> int:
    """Return the parameters of a norm: RMSNorm has no bias."""
    return width if config.norm_layer == "rms" else 2 * width


def _pool(config: ViTConfig) -> int:
    """Return the parameters of attention pooling: query, its map, keys and values, projection, norm and MLP."""
    if config.readout != "map":
        return 0
    width = config.embed_dim
    hidden = mlp_width(width, config.pool_ratio or config.mlp_ratio)
    maps = 4 * (width + 1) * width + (width + 1) * hidden + (hidden + 1) * width
    return width + maps + _norm(config, width)


def _learned_angles(config: ViTConfig) -> int:
    """Return the learned frequencies of rotary positions: two per pair of values, head and block."""
    if not config.rotary or config.rope_type != "mixed":
        return 0
    return config.depth * config.num_heads * config.width_per_head


def _qkv(config: ViTConfig) -> int:
    """Return the weights of the maps to q, k and v; heads that map their own slice have fewer."""
    inner = config.width_per_head * config.num_heads
    return 3 * config.embed_dim * inner // (config.num_heads if config.head_input == "slice" else 1)


def _heads(config: ViTConfig) -> int:
    return 2 if config.two_heads else 1


def _embedding(config: ViTConfig) -> int:
    if not config.stem:
        flat = config.in_chans * config.patch_size**2
        token_norms = config.embed_norm + (config.patch_norms or config.patch_norm)
        norms = _norm(config, config.embed_dim) * token_norms + 2 * flat * config.patch_norms
        return flat * config.embed_dim + (config.embed_dim if config.embed_bias else 0) + norms
    widths = (config.in_chans, *config.stem)
    convolutions = sum(9 * before * after + 2 * after for before, after in pairwise(widths))
    return convolutions + (widths[-1] + 1) * config.embed_dim


@tokens.register
def _(config: ViTConfig, size_px: Size) -> int:
    return prod(_grid(size_px, config.patch_size)) + len(config.prefix_tokens)


@multiply_adds.register
def _(config: ViTConfig, size_px: Size) -> Counts:
    width, grid = config.embed_dim, _grid(size_px, config.patch_size)
    count = prod(grid)
    length = count + len(config.prefix_tokens)
    hidden = mlp_width(width, config.mlp_ratio) * (1.5 if config.gated_mlp else 1)
    inner = config.width_per_head * config.num_heads
    flat = config.in_chans * config.patch_size**2 * width
    maps = _qkv(config) + (width * inner if config.output_projection else 0) + int(2 * width * hidden)
    read = 2 * width if config.readout == "cls_mean" else width
    return {
        EMBEDDING: _stem(config, count) if config.stem else count * flat,
        POSITIONS: count * flat if config.positions == "pixels" else 0,
        LAYERS: config.depth * length * maps,
        ATTENTION: config.depth * 2 * length**2 * inner,
        HEAD: _pool_products(config, length)
        + _heads(config) * read * config.num_classes
        + read * config.projection,
    }


def _pool_products(config: ViTConfig, length: int) -> int:
    """Return the multiply-adds of attention pooling: keys and values of every token, one query's products, an MLP."""
    if config.readout != "map":
        return 0
    width, read = config.embed_dim, length if config.pool_prefix else length - len(config.prefix_tokens)
    hidden = mlp_width(width, config.pool_ratio or config.mlp_ratio)
    return 2 * read * width**2 + 2 * read * width + 2 * width**2 + 2 * width * hidden


def _stem(config: ViTConfig, patches: int) -> int:
    """Return a hybrid's convolutions: the last h = ceil(log2 P) halve the map, those before them keep it."""
    halvings = (config.patch_size - 1).bit_length()
    widths, pixels = (config.in_chans, *config.stem), patches * 4**halvings
    total = 0
    for index, (before, after) in enumerate(pairwise(widths)):
        pixels //= 4 if index >= len(config.stem) - halvings else 1
        total += pixels * 9 * before * after
    return total + patches * widths[-1] * config.embed_dim


# ---------------------------------------------------------------- a Swin


@parameters.register
def _(config: SwinConfig) -> Counts:
    """Return a norm after the embedding, a table of biases a block, mergings without a bias after a norm over 4 C."""
    widths, side = config.stage_widths, config.image_size // config.patch_size
    layers = sum(8 * width**2 + (4 if config.cosine else 8) * width for width in widths[:-1])
    for depth, width, heads in zip(config.depths, widths, config.num_heads, strict=True):
        # A window never spans more than the grid in timm's convention; in torchvision's it keeps its size.
        window = min(config.window_size, side) if config.convention == "timm" else config.window_size
        hidden = mlp_width(width, config.mlp_ratio)
        maps = 4 * width**2 + width + (3 * width if config.qkv_bias else 0)
        table = (2 * window - 1) ** 2 * heads
        if config.cosine:  # a temperature a head, and the network of offsets
            table = heads + (2 + 1 + heads) * BIAS_UNITS
        layers += depth * (maps + (2 * width + 1) * hidden + width + 4 * width + table)
        side = -(-side // 2)
    first = config.embed_dim
    return {
        EMBEDDING: (config.in_chans * config.patch_size**2 + 1) * first + 2 * first,
        POSITIONS: 0,
        LAYERS: layers,
        HEAD: 2 * widths[-1] + (widths[-1] + 1) * config.num_classes,
    }


@tokens.register
def _(config: SwinConfig, size_px: Size) -> int:
    return prod(_grid(size_px, config.patch_size))


@multiply_adds.register
def _(config: SwinConfig, size_px: Size) -> Counts:
    cells, widths = _grid(_square(size_px), config.patch_size)[0], config.stage_widths
    counts = {
        EMBEDDING: cells**2 * config.in_chans * config.patch_size**2 * config.embed_dim,
        POSITIONS: 0,
        LAYERS: 0,
        ATTENTION: 0,
        HEAD: widths[-1] * config.num_classes,
    }
    for stage, (depth, width) in enumerate(zip(config.depths, widths, strict=True)):
        if stage:
            cells = -(-cells // 2)
            counts[LAYERS] += cells**2 * 2 * width * width  # 4 C -> 2 C, with 2 C the stage's width
        window = min(config.window_size, cells)
        if cells % window:
            raise ValueError(f"windows of {window} x {window} do not tile {cells} x {cells} tokens")
        counts[LAYERS] += depth * cells**2 * (4 * width**2 + 2 * width * mlp_width(width, config.mlp_ratio))
        counts[ATTENTION] += depth * 2 * window**2 * cells**2 * width
    return counts


# ---------------------------------------------------------------- a CNN


@parameters.register
def _(config: CNNConfig) -> Counts:
    layers = 0
    for before, after, stride, count in _blocks(config):
        layers += count * (9 * (before + after) * after + 4 * after)
        if not config.pooled and (stride > 1 or before != after):
            layers += count * (before * after + 2 * after)
    return {
        EMBEDDING: _stem_values(config) * config.widths[0] + (0 if config.whitened else 2 * config.widths[0]),
        POSITIONS: 0,
        LAYERS: layers,
        HEAD: (config.widths[-1] + 1) * config.num_classes,
    }


@multiply_adds.register
def _(config: CNNConfig, size_px: Size) -> Counts:
    layers, side = 0, config.stage_side(_square(size_px), 0)
    embedding = side**2 * _stem_values(config) * config.widths[0]
    for before, after, stride, count in _blocks(config):
        smaller = side // stride if config.whitened else -(-side // stride)
        # Plain blocks pool after their first convolution, residual ones stride in it.
        cost = (side if config.pooled else smaller) ** 2 * 9 * before * after + smaller**2 * 9 * after**2
        if not config.pooled and (stride > 1 or before != after):
            cost += smaller**2 * before * after
        layers += count * cost
        side = smaller
    return {
        EMBEDDING: embedding,
        POSITIONS: 0,
        LAYERS: layers,
        ATTENTION: 0,
        HEAD: config.widths[-1] * config.num_classes,
    }


def _stem_values(config: CNNConfig) -> int:
    """Return how many values a filter of the stem reads."""
    return (4 if config.whitened else 9) * config.in_chans


def _blocks(config: CNNConfig) -> Iterator[tuple[int, int, int, int]]:
    """Return (channels in, channels out, stride, how many) of equal blocks of two 3 x 3 convolutions, in order."""
    for stage, (width, count) in enumerate(zip(config.widths, config.blocks, strict=True)):
        if count:
            yield config.widths[max(stage - 1, 0)], width, 2 if stage else 1, 1
            yield width, width, 1, count - 1


# ---------------------------------------------------------------- the lecture's two small nets


@parameters.register
def _(config: ConvAttentionConfig) -> Counts:
    channels = config.channels
    head = (channels * _POOLED + 1) * config.num_classes
    maps = 3 if config.attends else 1
    return {EMBEDDING: 0, POSITIONS: 0, LAYERS: maps * (9 * config.in_chans + 1) * channels, HEAD: head}


@tokens.register
def _(config: ConvAttentionConfig, size_px: Size) -> int:
    return _square(size_px) ** 2


@multiply_adds.register
def _(config: ConvAttentionConfig, size_px: Size) -> Counts:
    pixels, channels = _square(size_px) ** 2, config.channels
    return {
        EMBEDDING: 0,
        POSITIONS: 0,
        LAYERS: (3 if config.attends else 1) * pixels * 9 * config.in_chans * channels,
        ATTENTION: 2 * pixels**2 * channels if config.attends else 0,
        HEAD: channels * _POOLED * config.num_classes,
    }


@parameters.register
def _(config: FlatAttentionConfig) -> Counts:
    first, second = config.widths
    return {
        EMBEDDING: (config.in_chans * config.image_size**2 + 1) * first,
        POSITIONS: 0,
        LAYERS: 3 * (first + 1) * first + (first + 1) * second + 3 * (second + 1) * second,
        HEAD: (second + 1) * config.num_classes,
    }


@tokens.register
def _(config: FlatAttentionConfig, size_px: Size) -> int:
    return 1


@multiply_adds.register
def _(config: FlatAttentionConfig, size_px: Size) -> Counts:
    first, second = config.widths
    return {
        EMBEDDING: config.in_chans * config.image_size**2 * first,
        POSITIONS: 0,
        LAYERS: 3 * first**2 + first * second + 3 * second**2,
        ATTENTION: 2 * (first + second),  # one token: a score and a product
        HEAD: second * config.num_classes,
    }


MOST_MILLIONS = 100.0  # ViT-B; thirty users must not fill the server with ViT-H


def millions(config: ModelConfig) -> float:
    """Return the parameters of the layers in millions, without positions, embedding and head."""
    return parameters(config)[LAYERS] / 1e6


def too_large(config: ModelConfig) -> bool:
    """Return True if a model has more than this app shows: neither listed, nor offered, nor fetched."""
    return millions(config) > MOST_MILLIONS
