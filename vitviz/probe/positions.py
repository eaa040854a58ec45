"""Read a model's position embeddings, and resize them to another grid."""

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.analysis.position_similarity import Grid, patch_rows
from vitviz.models.vit import VisionTransformer, resize_positions
from vitviz.probe.capture import as_array

FloatArray = NDArray[np.float32]


def read_position_table(model: VisionTransformer) -> FloatArray:
    """Return the position embeddings (N, D) of the patches, learned or computed; zeros without positions.

    Raises:
        ValueError: if its positions depend on the image, so that there is no one table.
    """
    config = model.config
    if config.positions == "pixels":
        raise ValueError("positions made from the pixels have a table for each image, not for a model")
    table = model.position_table(config.grid)
    if table is None:
        return np.zeros((config.grid[0] * config.grid[1], config.embed_dim), np.float32)
    return patch_rows(as_array(table), config.grid)


def stretch_positions(
    table: NDArray[np.floating], old: Grid, new: Grid, antialias: bool = True
) -> FloatArray:
    """Return a table (N, D) on another grid, bicubically (ViT paper, section 3.2)."""
    values = torch.tensor(table, dtype=torch.float32)[None]
    return as_array(resize_positions(values, old, new, antialias)[0])
