"""Record the patch embedding of an image, and read and resize a model's position embeddings."""

from copy import copy
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.patches import scramble
from vitviz.analysis.position_similarity import Grid, patch_rows
from vitviz.config import ModelConfig, ViTConfig
from vitviz.config_fields import Size
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel, read_outputs
from vitviz.models.vit import VisionTransformer, resize_positions
from vitviz.probe.capture import as_array, capture

FloatArray = NDArray[np.float32]
STAND_IN_DEPTH = 4  # what stands in shows a random E; the depth of a large model would only cost memory


@dataclass(frozen=True, eq=False)
class Embedding:
    """The patch embedding of one image (ViT paper, eq. 1)."""

    weight: FloatArray  # (D, C P^2), E transposed, in a Conv2d kernel's order
    bias: FloatArray | None  # (D,)
    convolved: FloatArray  # (N, D), by the model's own Conv2d
    tokens: FloatArray  # (N, D), the model's record
    prefix: dict[str, FloatArray]  # name -> (D,) of the tokens before the patches, in order
    table: FloatArray | None  # E_pos as the model adds it, (N, D) or (P + N, D); None where it adds none


def embed(model: nn.Module, values: FloatArray) -> Embedding:
    """Return the embedding of an image.

    Args:
        model: a ViT that cuts patches, or a Swin.
        values: (C, S, S), prepared; P divides S.
    """
    proj = cast(nn.Conv2d, model.get_submodule("patch_embed.proj"))
    with torch.inference_mode():
        convolved = as_array(proj(torch.tensor(values)[None])[0].flatten(1).T)
    weight = np.ascontiguousarray(as_array(proj.weight).reshape(len(proj.weight), -1))
    bias = None if proj.bias is None else as_array(proj.bias)
    if not isinstance(model, VisionTransformer):
        return Embedding(weight, bias, convolved, convolved, {}, None)
    record = capture(model, values[None], ["patch_embed", "pos_embed"])
    table = record.arrays["pos_embed"][0] if "pos_embed" in record.arrays else None
    return Embedding(weight, bias, convolved, record["patch_embed"][0], prefix_tokens(model), table)


def read_filters(loaded: LoadedModel) -> FloatArray | None:
    """Return E of a ViT as filters (D, C, P, P); None for a convolutional stem and the like."""
    config = as_vit(loaded.config)
    if not abilities(config).embedding:
        return None
    weight = as_array(loaded.vit.get_parameter("patch_embed.proj.weight"))
    return weight.reshape(config.embed_dim, config.in_chans, config.patch_size, config.patch_size)


def prefix_tokens(model: VisionTransformer) -> dict[str, FloatArray]:
    """Return the learned tokens before the patches by name, (D,) each, in the order of the sequence."""
    learned = [token for token in (model.cls_token, model.dist_token, model.reg_token) if token is not None]
    rows = torch.cat([token[0] for token in learned]) if learned else torch.zeros(0, model.config.embed_dim)
    return dict(zip(model.config.prefix_tokens, as_array(rows), strict=True))


def of_other_size(config: ViTConfig, image_size: Size, patch_px: int) -> ViTConfig:
    """Return the config of a random model for another patch size."""
    depth = min(config.depth, STAND_IN_DEPTH)
    return replace(config, image_size=image_size, patch_size=patch_px, depth=depth)


def without_positions(model: VisionTransformer) -> VisionTransformer:
    """Return a model with the same shared weights and without position embeddings."""
    twin = copy(model)
    for store in ("_parameters", "_buffers", "_modules"):
        twin.__dict__[store] = dict(model.__dict__[store])
    for name in ("pos_embed", "pos_proj", "fixed_table"):
        setattr(twin, name, None)
    twin.config = replace(model.config, positions="none")
    return twin


def is_blind_twin(config: ViTConfig, other: ModelConfig) -> bool:
    """Return True if another config differs only by having no position embeddings."""
    return other == replace(config, positions="none")


def predict_shuffled(
    model: VisionTransformer, values: FloatArray, order: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Return the class probabilities of an image (C, H, W), original and with patch order[n] in place n."""
    batch = np.stack([values, scramble(values, model.config.patch_size, order)])
    logits = capture(model, batch, ["logits"]).logits
    before, after = read_outputs(model.config, logits)
    return before, after


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
    table: NDArray[np.floating], old: Grid, new: Grid, antialias: bool = True, align_corners: bool = False
) -> FloatArray:
    """Return a table (N, D) on another grid, bicubically (ViT paper, section 3.2)."""
    values = torch.tensor(table, dtype=torch.float32)[None]
    return as_array(resize_positions(values, old, new, antialias, align_corners)[0])
