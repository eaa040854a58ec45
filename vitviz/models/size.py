"""How large a model may be that the app shows, from the config alone."""

from __future__ import annotations

from vitviz.config import ModelConfig, SwinConfig, ViTConfig

MOST_MILLIONS = 100.0  # ViT-B; thirty visitors must not fill the server with ViT-H


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
