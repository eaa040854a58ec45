"""How large a model may be that the app shows, and how large a published file is, from the config alone."""

from __future__ import annotations

from vitviz.config import ModelConfig, SwinConfig, ViTConfig

MOST_MILLIONS = 100.0  # ViT-B; thirty visitors must not fill the server with ViT-H
_BYTES = 4  # of a published weight: fp32


def millions(config: ModelConfig) -> float:
    """Parameters of a transformer's blocks, in millions; 1.0 for the small networks that are none."""
    if isinstance(config, ViTConfig):
        return config.depth * (4 + 2 * config.mlp_ratio) * config.embed_dim**2 / 1e6
    if isinstance(config, SwinConfig):
        return (
            sum(
                depth * (4 + 2 * config.mlp_ratio) * width**2
                for depth, width in zip(config.depths, stage_widths(config), strict=True)
            )
            / 1e6
        )
    return 1.0


def too_large(config: ModelConfig) -> bool:
    """Whether a model has more than this app shows: neither listed, nor offered, nor fetched."""
    return millions(config) > MOST_MILLIONS


def stage_widths(config: SwinConfig) -> tuple[int, ...]:
    """Channels of every stage: each merging doubles them."""
    return tuple(config.embed_dim * 2**stage for stage in range(len(config.depths)))


def published_megabytes(config: ViTConfig | SwinConfig) -> float:
    """The size of a published fp32 file in MB of 10^6 bytes, to its header; ViT, DeiT, DINO and Swin as published."""
    return _BYTES * (_vit(config) if isinstance(config, ViTConfig) else _swin(config)) / 1e6


def _vit(config: ViTConfig) -> int:
    """Weights of a published ViT: learned positions, biases everywhere, [CLS]."""
    width, (rows, cols), prefix = config.embed_dim, config.grid, len(config.prefix_tokens)
    tokens = rows * cols + (prefix if config.position_on_prefix else 0)
    heads = 2 if config.distilled else 1
    scales = 2 * width if config.layer_scale is not None else 0
    blocks = config.depth * (_block(width, config.mlp_ratio) + scales)
    ends = 2 * width + heads * (width + 1) * config.num_classes if config.num_classes else 2 * width
    return _embedding(config) + (prefix + tokens) * width + blocks + ends


def _swin(config: SwinConfig) -> int:
    """Weights of a published Swin: a norm after the embedding, bias tables, mergings without a bias."""
    widths, table = stage_widths(config), (2 * config.window_size - 1) ** 2
    stages = sum(
        depth * (_block(width, config.mlp_ratio) + table * heads)
        for depth, width, heads in zip(config.depths, widths, config.num_heads, strict=True)
    )
    merged = sum(8 * width**2 + 8 * width for width in widths[:-1])  # 4 C -> 2 C after a norm over 4 C
    ends = 2 * config.embed_dim + 2 * widths[-1] + (widths[-1] + 1) * config.num_classes
    return _embedding(config) + stages + merged + ends


def _embedding(config: ViTConfig | SwinConfig) -> int:
    return (config.in_chans * config.patch_size**2 + 1) * config.embed_dim


def _block(width: int, mlp_ratio: float) -> int:
    """Two norms, q k v, the projection and the two layers of the MLP, with their biases."""
    hidden = int(width * mlp_ratio)
    return 4 * width + 4 * (width + 1) * width + (2 * width + 1) * hidden + width
