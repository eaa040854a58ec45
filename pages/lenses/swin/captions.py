"""Sentences about the numbers of the Swin lens."""

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis import token_reach
from vitviz.analysis.window_attention import Layout, log_slope
from vitviz.config import SwinConfig
from vitviz.plots import cost, swin
from vitviz.shifted_windows import FloatArray
from vitviz.text import percent, plural, signed


def describe_stages(layout: Layout, leak: FloatArray) -> list[str]:
    """Return the finding of each stage; leak: each patch's attention across the edge without the mask."""
    rows, cols = layout.grid
    count, cells = layout.index.shape
    tokens, shift, pairs = rows * cols, layout.shift, layout.mask.size
    attends = (
        f"Each token attends to {cells:,} of {tokens:,} tokens: {pairs:,} pairs of query and key instead of"
    )
    attends += f" {tokens**2:,}."
    if not shift:
        same = "Without a shift, both blocks have the same windows."
        isolated = (
            f"Without a shift, no information crosses the borders of {count:,} windows until patch merging."
        )
        return [_describe_tokens(layout), attends, same, same, same, same, attends, isolated, isolated]
    wrapped = tokens - (rows - shift) * (cols - shift)
    leaking = leak[leak > 0]
    return [
        _describe_tokens(layout),
        attends,
        f"The roll by {shift} moves {wrapped:,} of {tokens:,} patches to the opposite side of the image.",
        f"The shift cuts the grid into {len(np.unique(layout.ids))} regions; tokens attend only within one.",
        f"{layout.masked_windows:,} of {count:,} windows now hold patches from opposite sides of the image.",
        f"The mask removes {layout.masked_pairs:,} of {pairs:,} query–key pairs"
        f" ({percent(layout.masked_pairs / pairs)}), of opposite sides of the image.",
        f"Without the mask, {len(leaking):,} patches would attend across the edge,"
        f" with {percent(leaking.mean(), 0)} of their attention on average.",
        f"The {count:,} windows form a grid of {rows} × {cols} tokens again, still rolled by {shift}.",
        f"The shift by {shift} lets information cross the borders of {count:,} windows of {cells:,} patches.",
    ]


def _describe_tokens(layout: Layout) -> str:
    count, cells = layout.index.shape
    rows, cols = layout.grid
    return f"{rows} × {cols} patches form {count:,} windows of {cells:,} each."


def describe_flow(hops: dict[str, swin.Hops], pin: int, shift: int, blocks: int) -> str:
    """Return when information from the selected patch reaches the whole image.

    Args:
        hops: by the titles of `information_flow.compute_hops`.
        pin: the patch, from 0.
        shift: of the windows, in patches.
        blocks: that are simulated.
    """

    def describe_reach(title: str) -> str:
        from_pin = hops[title][1][:, pin]
        reached = from_pin[from_pin != token_reach.NEVER]
        if len(reached) < len(from_pin):
            return f"only {len(reached):,} of {len(from_pin):,} patches after {blocks} blocks"
        return f"the whole image after {plural(int(reached.max()), 'block')}"

    *shifted, fixed, vit, cnn = (describe_reach(title) for title in hops)
    windows = f"{shifted[0]} with the shift; without it, {fixed}" if shift else f"{fixed} without a shift"
    return f"Information from patch {pin + 1} reaches {windows}. In the ViT, it reaches {vit}; in the CNN, {cnn}."


def describe_gradients(allowed: token_reach.BoolArray, gradients: NDArray[np.float64]) -> str:
    """Return in how many blocks the non-zero gradients are the allowed patches; both are (blocks, patches)."""
    nonzero = gradients > token_reach.NOTHING * gradients.max(axis=1, keepdims=True)
    agreeing, count = int((allowed == nonzero).all(axis=1).sum()), len(allowed)
    return (
        f"In {agreeing} of {plural(count, 'block')} the gradient is non-zero on exactly the patches that windows, masks"
        f" and merging allow ({allowed[0].sum():,} of {allowed.shape[1]:,} patches in the first block shown,"
        f" {allowed[-1].sum():,} in the last)."
        f" Gradients below {token_reach.NOTHING:.0e} times the largest count as zero."
    )


def describe_bias(table: NDArray[np.float32], window: tuple[int, int]) -> str:
    """Return the size of a block's bias tables (heads, rows), and their largest entry."""
    heads, rows = table.shape
    wide = 2 * window[1] - 1
    pairs = (window[0] * window[1]) ** 2
    head, entry = np.unravel_index(int(np.abs(table).argmax()), table.shape)
    down, right = int(entry) // wide - window[0] + 1, int(entry) % wide - window[1] + 1
    to_itself = float(table[:, rows // 2].mean() - table.mean())
    side = f"{abs(to_itself):.3f} {'above' if to_itself > 0 else 'below'}" if abs(to_itself) >= 5e-4 else "at"
    return (
        f"(2·{window[0]} − 1)(2·{window[1]} − 1) = {rows:,} biases per head cover all {pairs:,} query–key pairs of a"
        f" window; this block has {rows * heads:,} biases. The bias furthest from 0 is"
        f" {signed(float(table[head, entry]), 3)} in head {head + 1}, for {describe_offset(down, right)}."
        f" The mean bias of a token to itself is {side} the table’s mean."
    )


def describe_offset(down: int, right: int) -> str:
    """Return query - key in words: 'a query 2 below and 1 left of its key'."""
    parts = []
    if down:
        parts.append(f"{abs(down)} {'below' if down > 0 else 'above'}")
    if right:
        parts.append(f"{abs(right)} {'right' if right > 0 else 'left'} of")
    return f"a query {' and '.join(parts)} its key" if parts else "a query at the position of its key"


def describe_hierarchy(config: SwinConfig, grid: tuple[int, int]) -> str:
    """Return tokens, channels and the extent of a window in the first and the last stage."""
    last = len(config.depths) - 1
    rows, cols = grid
    for _ in range(last):
        rows, cols = -(-rows // 2), -(-cols // 2)
    first, end, dim = grid[0] * grid[1], rows * cols, config.embed_dim
    side, px, image_px = config.window_size, config.patch_size, max(grid) * config.patch_size
    window = f"A window of {side} × {side} tokens covers {min(side * px, image_px)}"
    if not last:
        return f"{first:,} tokens of {dim:,} channels in every block. {window} of the image's {image_px} px per side."
    return (
        f"{first:,} tokens of {dim:,} channels become {end:,} of {dim * 2**last:,}: {first / end:,.0f} times fewer,"
        f" {2**last} times as wide. {window} of the image's {image_px} px per side in the first stage,"
        f" {min(side * px * 2**last, image_px)} px in the last."
    )


def describe_formula_cost(costs: cost.Costs, sides_px: tuple[int, ...], window: int) -> str:
    at = sides_px.index(224)
    full, cut, tokens = costs.full, costs.windows, costs.tokens
    return (
        f"At 224 px, global attention costs {full[at] / cut[at]:.1f} times as much as windows, although it compares"
        f" {tokens[at] / window**2:,.0f} times the pairs: the projections cost both the same."
        f" That is {full[at] / 1e6:,.0f} against {cut[at] / 1e6:,.0f} million multiply-adds. From {sides_px[-2]} to"
        f" {sides_px[-1]:,} px ({tokens[-2]:,.0f} to {tokens[-1]:,.0f} tokens) the log-log slope is"
        f" {log_slope(tokens[-2:], full[-2:]):.2f} (limit 2) for global attention and"
        f" {log_slope(tokens[-2:], cut[-2:]):.2f} for windows. Costs are equal at one window of {window**2} tokens."
    )


def describe_measured_cost(costs: cost.Costs, patch_px: int) -> str:
    tokens, full, cut, unit = costs.tokens, costs.full, costs.windows, costs.unit
    return (
        f"Measured slopes: {log_slope(tokens, full):.2f} for global attention, {log_slope(tokens, cut):.2f} for windows"
        f" (limits: 2 and 1). At {tokens[-1] ** 0.5 * patch_px:.0f} px: {_format_amount(full[-1], unit)} against"
        f" {_format_amount(cut[-1], unit)}, {full[-1] / cut[-1]:.1f} times."
        + (" Median of 3 runs." if unit == "s" else " Memory that PyTorch allocates beyond the input.")
    )


def _format_amount(amount: float, unit: str) -> str:
    return f"{1000 * amount:,.1f} ms" if unit == "s" else f"{amount / 1e6:,.1f} MB"
