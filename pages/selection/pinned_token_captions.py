"""Describe the attention of a pinned token, for the maps of a ViT's heads and of a Swin's windows."""

import numpy as np

from pages.selection.attention_maps import MapSelection, get_layer_layout, select_head, select_weights
from pages.selection.subject import CapturedSubject, name_token
from vitviz.analysis.attention import FloatArray, entropy_bits
from vitviz.models.abilities import as_swin
from vitviz.models.token_layout import TokenLayout, stage_of
from vitviz.pin import Pin
from vitviz.plots.attention_message import Head
from vitviz.text import percent

STRONGEST = 5  # patches whose weights are summed in a caption
MASKED = 1e-20  # below any unmasked weight; Swin's mask of -100 leaves about e^-100 = 4e-44


def describe_attention(subject: CapturedSubject, map_selection: MapSelection, pin: Pin) -> str:
    """Return the caption of a map: what the pinned token attends to, or what attends to it."""
    layout = get_layer_layout(subject, map_selection.layer)
    token = pin.token(layout)
    lines = select_weights(subject, map_selection, pin)
    prefix = f"{map_selection.name}: {name_token(layout, token)}"
    if subject.able.windows:
        position = stage_of(as_swin(subject.model.config), map_selection.layer)
        masked = subject.model.swin.block(position.stage, position.block).plan(layout.grid).mask is not None
        return f"{prefix} {_describe_window(lines, map_selection, layout, masked)}"
    if map_selection.direction == "column":
        line = select_head(lines, map_selection.head)
        strongest = int(line.argmax())
        return (
            f"{prefix} receives most attention from {name_token(layout, strongest)} ({line[strongest]:.3f}),"
            f" {line.sum():.2f} in total (uniform attention: 1)."
        )
    return f"{prefix} {_describe_row(lines, map_selection.head, layout)}"


def _describe_row(lines: FloatArray, head: Head, layout: TokenLayout) -> str:
    first = layout.num_prefix_tokens
    line = select_head(lines, head)
    line = line / max(float(line.sum()), 1e-12)  # the maximum over heads sums to more than 1
    patches = layout.num_patches
    strongest = percent(float(np.sort(line[first:])[-STRONGEST:].sum()), 0)
    text = f"puts {strongest} of its attention on {_name_strongest(patches)}"
    if first:
        names = " and ".join(f"[{name.upper()}]" for name in layout.prefix)
        text += f" and {percent(float(line[:first].sum()))} on {names}"
    text += f" (uniform attention: {percent(1 / layout.num_tokens)} per token)."
    if patches == 1:
        return text
    tops = {int(row[first:].argmax()) for row in lines}
    if len(lines) == 1:
        return f"{text} This layer has one head."
    if len(tops) == 1:
        return f"{text} All {len(lines)} heads agree on the strongest patch."
    return f"{text} The {len(lines)} heads have {len(tops)} different strongest patches."


def _name_strongest(patches: int) -> str:
    if patches > STRONGEST:
        return "its five strongest patches"
    return "its only patch" if patches == 1 else f"the {patches} patches"


def _describe_window(
    lines: FloatArray, map_selection: MapSelection, layout: TokenLayout, masked: bool
) -> str:
    rows, cols = layout.grid
    count = int((lines.max(axis=0) > MASKED).sum())
    window = f"{count:,} of the {rows} × {cols} tokens (its window{' without masked tokens' * masked})"
    if map_selection.direction == "column":
        return f"receives attention from {window}."
    line = select_head(lines, map_selection.head)
    line = line / max(float(line.sum()), 1e-12)
    return f"attends to {window}; effective number of tokens: {2 ** float(entropy_bits(line)):.1f}."
