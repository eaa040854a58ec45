"""Record the intermediates of one block of a ViT by short name, and the block's form."""

from typing import Any

from numpy.typing import NDArray

from vitviz.analysis.block import BlockForm, add_branch_outputs
from vitviz.models.layers import Block, LayerScale
from vitviz.models.vit import VisionTransformer
from vitviz.probe.capture import Capture, as_array

Record = dict[str, NDArray[Any]]  # short name -> (tokens, …)
Gain = NDArray[Any] | float
PARTS = (
    *("input", "norm1", "q", "k", "v", "scores", "attn", "heads"),
    *("attn_out", "mid", "norm2", "mlp_hidden", "mlp_out"),
)


def patterns_of(layer: int) -> tuple[str, str]:
    """Return the names that a capture must record for a block, counted from 1."""
    name = f"blocks.{layer - 1}"
    return f"{name}.*", name


def block_record(model: VisionTransformer, records: Capture, layer: int) -> Record:
    """Return a block's intermediates of the first image, by short name, with what each branch adds to the stream.

    Args:
        found: recorded with `patterns_of(layer)`.
        layer: from 1.
    """
    name = f"blocks.{layer - 1}"
    record = {part: records[f"{name}.{part}"][0] for part in PARTS} | {"output": records[name][0]}
    return add_branch_outputs(record, *gains(model.block(layer - 1)))


def gains(block: Block) -> tuple[Gain, Gain]:
    """Return the LayerScale (D,) of a block's two branches, 1 without LayerScale."""
    attention, mlp = (
        as_array(scale.gamma) if isinstance(scale, LayerScale) else 1.0 for scale in (block.ls1, block.ls2)
    )
    return attention, mlp


def block_form(model: VisionTransformer, layer: int) -> BlockForm:
    """Return the form of a block's norms, scale and projections; blocks count from 1."""
    config = model.config
    return BlockForm(
        scale=model.block(layer - 1).attn.scale,
        pre_norm=config.norm == "pre",
        qkv_bias=config.qkv_bias,
        slices=config.head_input != "all",
        projects=config.output_projection,
        layer_scale=config.layer_scale is not None,
        gated=config.gated_mlp,
    )
