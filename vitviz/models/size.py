"""Limit the size of a model that the app shows, from its config alone."""

from __future__ import annotations

from vitviz.config import ModelConfig
from vitviz.models import parameter_count

MOST_MILLIONS = 100.0  # ViT-B; thirty users must not fill the server with ViT-H


def millions(config: ModelConfig) -> float:
    """Return the parameters of the layers in millions, without positions, embedding and head."""
    return parameter_count.parameters(config)[parameter_count.LAYERS] / 1e6


def too_large(config: ModelConfig) -> bool:
    """Return True if a model has more than this app shows: neither listed, nor offered, nor fetched."""
    return millions(config) > MOST_MILLIONS
