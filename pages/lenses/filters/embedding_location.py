"""The place of E in the parameter tree, its two shapes, and one patch multiplied by one column of E."""

from typing import cast

import numpy as np
import streamlit as st
from torch import nn

from pages.controls import listing, widgets
from pages.frame import page
from pages.lenses.filters import captions, sources
from pages.lenses.filters.components import mount_tiles
from pages.selection import selection
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import filters
from vitviz.lessons import lesson, weight_measures
from vitviz.models.abilities import abilities
from vitviz.models.layers import PatchEmbed
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import filters as plots
from vitviz.probe.capture import as_array, capture
from vitviz.text import percent


def draw() -> None:
    choice = selection.get_model_choice()
    config = choice.config
    loaded = shared_cache.load_model(choice, selection.get_current().step)
    shapes = {name: tuple(p.shape) for name, p in loaded.model.named_parameters()}
    right, left = st.columns([1.25, 1], gap="large")
    embedding = abilities(config).embedding
    with left:
        st.markdown("**Parameter tree**")
        name = sources.get_parameter_name(config) if embedding else ""
        listing.listing("\n".join(list_parameter_lines(shapes, name)), "Parameters", 520)
    with right:
        if not embedding:
            st.info(embedding.why_not, icon=":material/grid_off:")
        else:
            _draw_product(loaded, choice)
    page.drawers(
        "filters.where",
        math=page.read_math(__file__),
        code=(PatchEmbed, filters.apply_filter),
        ask=lesson.Question("What share of the model's parameters is E?", weight_measures.EmbeddingShare()),
    )


def list_parameter_lines(shapes: dict[str, tuple[int, ...]], embedding_name: str) -> list[str]:
    """Return the parameters as indented lines with shapes; equal blocks are listed once, E is marked."""
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
        mark = "  ◀ E" if name == embedding_name else ""
        label = "  " * len(parts) + parts[-1]
        size = " × ".join(map(str, shape)) or "1"
        lines.append(f"{label:<22}{size:>17}{mark}")
    return lines


def _draw_product(loaded: LoadedModel, choice: ModelChoice) -> None:
    step = selection.get_current().step
    weights = sources.load_filters(choice, step).history.selected
    dim, channels, patch_px, _ = weights.shape
    with page.row(), st.container(width=168):
        column = widgets.select(
            "filters.column", "Column of E", range(dim), format_func=lambda at: str(at + 1)
        )
    total = sum(p.numel() for p in loaded.model.parameters())
    prepared = selection.prepare_image(choice.preparation)
    patches = filters.cut_patches(prepared.input, patch_px)
    grid = prepared.input.shape[-1] // patch_px
    index = selection.get_current().pin.cell((grid, grid))
    bias = cast(nn.Conv2d, loaded.model.get_submodule("patch_embed.proj")).bias
    product = filters.apply_filter(patches[index], weights, None if bias is None else as_array(bias), column)
    record = capture(loaded.model, prepared.input[None], ["patch_embed"])["patch_embed"][0]
    model_value = float(np.asarray(record).reshape(-1, dim)[index, column])
    maps = np.stack([product.patch, product.weight, product.products])[None]
    sheet = plots.Sheet("Patch, filter, product", f"patch {index + 1}, column {column + 1}", maps)
    mount_tiles(plots.tiles([sheet], 3, word="image"), key="filters.by_hand")
    normalized = choice.config.kind == "swin"
    page.caption(captions.describe_product(product, index, column, model_value, normalized))
    st.markdown("**E as a convolution kernel and as a matrix**")
    page.markdown(f"{captions.E_DEFINITION}.")
    page.shapes(**{"Conv2d kernel": weights.shape, "E, P²C × D": (channels * patch_px**2, dim)})
    page.markdown(
        f"P²C · D = {patch_px}² · {channels} · {dim} = {weights.size:,} weights, {percent(weights.size / total)} of"
        f" the model's {total:,}."
    )
