"""Where is E? The parameter tree with E marked, its two shapes, and one patch taken through it by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.filters import filter_controls, sources
from pages.lenses.filters.tiles_view import tiles as tiles_view
from pages.selection import selection
from pages.stores import cached
from vitviz.analysis import filters
from vitviz.lessons import weight_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import abilities
from vitviz.models.layers import PatchEmbed
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import filters as plots
from vitviz.probe.capture import capture
from vitviz.text import percent, signed

MATHEMATICS = r"""
$z_{n,d} = \sum_{c, y, x} W_{d,c,y,x}\, x^n_{c,y,x} + b_d$: the patch $n$ and the filter $d$, multiplied weight
by weight and summed.
As a matrix, $\mathbf{E} = W$ folded to $(D, C P^2)$ and transposed,
$\mathbf{E} \in \mathbb{R}^{(P^2 C) \times D}$, and
$\mathbf{z}_n = \mathbf{x}^n_p \mathbf{E} + \mathbf{b}$ (Dosovitskiy et al. 2021, eq. 1).
"""
ASKS = (Question("Which share of the model's parameters is E?", weight_measures.ShareOfE()),)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="filters"):
    """The column of E that is multiplied by hand; from 0, as in the model's own arrays."""

    column: int


def draw() -> None:
    """The whole view: tree, shapes, the product by hand, drawers."""
    shown = filter_controls.instead()
    config = shown.choice.config
    loaded = cached.loaded(shown.choice, shown.step)
    counts = {name: tuple(p.shape) for name, p in loaded.model.named_parameters()}
    left, right = st.columns([1, 1.25], gap="large")
    able = abilities(config)
    with left:
        st.markdown("**The parameters, first level by first level**")
        marked = sources.parameter_name(config) if able.embedding else ""
        page.listing("\n".join(tree(counts, marked)), "Parameters", 520)
    with right:
        if not able.embedding:
            st.info(able.embedding.why_not, icon=":material/grid_off:")
        else:
            _by_hand(loaded, shown)
    page.drawers(
        "filters.where",
        math=MATHEMATICS,
        code=(PatchEmbed, filters.answer),
        asks=ASKS,
    )


def tree(shapes: dict[str, tuple[int, ...]], e: str) -> list[str]:
    """The parameters as indented lines with shapes and counts; equal blocks are told once, `e` is marked."""
    total = sum(int(np.prod(shape)) for shape in shapes.values())
    lines = [f"model{total:>34,}"]
    blocks = sorted({int(name.split(".")[1]) for name in shapes if name.startswith("blocks.")})
    seen: set[str] = set()
    for name, shape in shapes.items():
        parts = name.split(".")
        if parts[0] == "blocks":
            if parts[1] != "0":
                continue
            parts = [f"blocks.0 … {blocks[-1]} (each)" if len(blocks) > 1 else "blocks.0", *parts[2:]]
        for depth in range(len(parts) - 1):
            branch = ".".join(parts[: depth + 1])
            if branch not in seen:
                seen.add(branch)
                lines.append("  " * (depth + 1) + parts[depth])
        mark = "  ◀ E" if name == e else ""
        label = "  " * len(parts) + parts[-1]
        size = " × ".join(map(str, shape)) or "1"
        lines.append(f"{label:<22}{size:>17}{mark}")
    return lines


def _by_hand(loaded: LoadedModel, shown: filter_controls.Instead) -> None:
    choice = shown.choice
    weights = sources.of(choice, shown.step).now
    dim, channels, patch_px, _ = weights.shape
    total = sum(p.numel() for p in loaded.model.parameters())
    st.markdown("**E has two shapes and one set of numbers**")
    page.say(f"{sources.WHAT_E_IS}.")
    page.shapes(**{"Conv2d kernel": weights.shape, "E, P²C × D": (channels * patch_px**2, dim)})
    page.say(
        f"P²C · D = {patch_px}² · {channels} · {dim} = {weights.size:,} weights, {percent(weights.size / total)} of"
        f" the model's {total:,}."
    )
    st.markdown("**One patch through one column of E, by hand**")
    column = Choice(widgets.number(Choice.key("column"), "Column of E, d (from 0)", 0, dim - 1, 0)).column
    prepared = cached.prepared(shown.image, choice.preparation, selection.current().offset)
    patches = filters.cut_patches(prepared.input, patch_px)
    grid = prepared.input.shape[-1] // patch_px
    index = selection.current().pin.cell((grid, grid))
    bias = sources.bias(choice, shown.step)
    found = filters.answer(patches[index], weights, bias, column)
    record = capture(loaded.model, prepared.input[None], ["patch_embed"])["patch_embed"][0]
    by_model = float(np.asarray(record).reshape(-1, dim)[index, column])
    maps = np.stack([found.patch, found.weight, found.products])[None]
    sheet = plots.Sheet("Patch, filter, their products", f"patch {index}, column {column}", maps)
    tiles_view(plots.tiles([sheet], 3, word="picture"), key="filters.by_hand")
    page.caption(_sum_text(found, index, column, by_model, choice.config.kind == "swin"))


def _sum_text(found: filters.Answer, index: int, column: int, by_model: float, normed: bool) -> str:
    """The sum product by product; the patch counts from 0 in reading order, as E's columns do."""
    products = found.products.ravel()
    first = " ".join(
        f"{'+' if x >= 0 and i else '−' if x < 0 else ''} {abs(x):.3f}" for i, x in enumerate(products[:4])
    )
    sign = "−" if found.bias < 0 else "+"
    text = (
        f"Patch {index}: {first} + … ({products.size} products) = {signed(float(products.sum()), 4)}; {sign}"
        f" bias {abs(found.bias):.4f} = **{signed(found.value, 4)}**."
    )
    if normed:
        return f"{text} A Swin normalises its tokens next, so its record holds other numbers."
    apart = abs(found.value - by_model)
    verdict = "the difference is rounding" if apart < 1e-3 * max(1.0, abs(by_model)) else f"{apart:.2g} apart"
    return f"{text} The model's own token of this patch has {signed(by_model, 4)} in dimension {column}: {verdict}."
