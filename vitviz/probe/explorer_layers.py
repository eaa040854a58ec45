"""Run a model for its attention layer by layer, and describe each layer for the explorer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import WindowRows, rows_of_windows, scaled
from vitviz.config import SwinConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import TokenLayout, heads_by_layer, layout_of_layer, stage_of
from vitviz.plots.attention_message import ExplorerTexts, Head
from vitviz.probe.capture import Capture, capture
from vitviz.probe.layers import list_layers

ATTENTION = ("blocks.*.attn",)
WINDOWS = ("layers.*.attn", "layers.*.window_index")


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """A block by its name in records, with its weights (heads, query, key), or a Swin's rows."""

    name: str
    rows: NDArray[np.float32] | WindowRows


def capture_layers(model: LoadedModel, image: NDArray[np.float32]) -> list[AttentionLayer]:
    """Return the attention of every layer for one prepared image (C, H, W), in order of depth."""
    if isinstance(model.config, SwinConfig):
        return [
            AttentionLayer(name, rows)
            for name, rows in read_windows(model.config, capture(model.model, image[None], WINDOWS))
        ]
    attention = capture(model.model, image[None], ATTENTION).attention()[:, 0]
    return [AttentionLayer(f"blocks.{index}", heads) for index, heads in enumerate(attention)]


def capture_pool(model: LoadedModel, layout: TokenLayout, image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the attention of attention pooling's learned query over all tokens, (heads, tokens); unread ones have 0.

    Raises:
        ValueError: if the model pools in another way.
    """
    if getattr(model.config, "readout", "") != "map":
        raise ValueError("only a model with attention pooling, such as SigLIP, has a pooling query")
    weights = capture(model.model, image[None], ("pool.attn",))["pool.attn"][0, :, 0]
    return np.pad(weights, ((0, 0), (layout.num_tokens - weights.shape[1], 0)))


def read_windows(config: SwinConfig, records: Capture) -> list[tuple[str, WindowRows]]:
    """Return a Swin's blocks from a capture of `WINDOWS`: name such as 'layers.0.blocks.1' and rows on its grid."""
    names = [layer.record for layer in list_layers(config)[1:]]
    return [(n, rows_of_windows(records[f"{n}.attn"][0], records[f"{n}.window_index"])) for n in names]


def describe_scene(
    model: LoadedModel, layout: TokenLayout, layer: int, head: Head, group: str
) -> ExplorerTexts:
    """Return the explorer's texts and selection for a layer, counted from 1."""
    name, before, count = str(layer), 0, len(heads_by_layer(model.config))
    if isinstance(model.config, SwinConfig):
        place = stage_of(model.config, layer)
        block = model.swin.block(place.stage, place.block)
        layout = layout_of_layer(model.config, layout, layer)
        masked = block.plan(layout.grid).mask is not None
        name = f"{layer} (stage {place.stage + 1}, block {place.block + 1})"
        product = "cos(q, k) / τ" if model.config.cosine else scaled("q·k", block.attn.scale)
        scores = f"{product} + B{' + mask' * masked}"
        before, count = place.before, model.config.depths[place.stage]
    else:
        scores = scaled("q·k", model.vit.block(layer - 1).attn.scale)
    layers = tuple(range(before + 1, before + count + 1))
    return ExplorerTexts(
        group=group,
        title=model.title,
        grid=layout.grid,
        prefix=layout.prefix,
        patch_px=layout.patch_px,
        layer=layer,
        layer_name=name,
        head=head,
        heads=heads_by_layer(model.config)[layer - 1],
        scores=scores,
        strip_layers=layers,
        strip_names=tuple(f"layer {index}" for index in layers),
        windowed=isinstance(model.config, SwinConfig),
    )
