"""Captions of the attention distance page, made from its numbers."""

import numpy as np

from pages.lenses.attention_distance.distances import FloatArray
from vitviz.analysis.image_means import ImageMeans
from vitviz.analysis.verdict import FEW_IMAGES, LEAST_IMAGES, MAY_DIFFER
from vitviz.text import join_words, plural

LOCAL_SHARE = 0.5  # a head counts as local below this share of the distance under uniform attention


def describe_interval(images: int) -> str:
    """Return what a bar of a dot shows."""
    return "one image" if images == 1 else f"95\N{NO-BREAK SPACE}% interval over {images} images"


def describe_farthest(layers: ImageMeans) -> str:
    """Return 'layer 5 (14.6 px, 95 % interval …; no difference shown to layer 6)'."""
    leaders = layers.find_leaders()
    mean = f"{layers[leaders[0]]:.1f} px"
    if layers.images < LEAST_IMAGES:
        return f"layer {leaders[0]} ({mean}; {FEW_IMAGES} for a verdict)"
    half = layers.half_width(leaders[0])
    ends = (
        f"95\N{NO-BREAK SPACE}% interval {layers[leaders[0]] - half:.1f} to {layers[leaders[0]] + half:.1f}"
    )
    others = plural(len(leaders) - 1, "layer").split(" ")[1]
    ties = (
        f"no difference shown to {others} {join_words(sorted(leaders[1:], key=int))}: {MAY_DIFFER}"
        if leaders[1:]
        else "the mean of every other layer is lower"
    )
    return f"layer {leaders[0]} ({mean}, {ends}; {ties})"


def describe_distances(
    means_px: FloatArray,
    uniform_px: float,
    corner_px: float,
    layers: ImageMeans,
    draws_px: FloatArray | None,
) -> str:
    """Return the range of the heads' mean distances (depth, heads) and the farthest layer.

    Args:
        layers: mean distance by layer, image by image.
        draws_px: (draws, depth, heads) of random weights, if they are compared.
    """
    local = int((means_px < LOCAL_SHARE * uniform_px).sum())
    images = "this image" if layers.images == 1 else f"{layers.images} images"
    text = (
        f"Averaged over its heads, {describe_farthest(layers)} attends farthest."
        f" Single heads attend {means_px.min():.1f} to {means_px.max():.1f} px far over {images}, the farthest one in"
        f" layer {int(means_px.max(axis=1).argmax()) + 1}"
        f" (uniform attention: {uniform_px:.1f} px; corner to corner: {corner_px:.1f} px); {local} of"
        f" {means_px.size} heads {'is' if local == 1 else 'are'} local (below {100 * LOCAL_SHARE:.0f} % of uniform)."
        f" The heads differ by up to {np.ptp(means_px[0]):.1f} px in layer 1,"
        f" {np.ptp(means_px[-1]):.1f} px in layer {len(means_px)} and {np.ptp(means_px):.1f} px over all layers"
    )
    if draws_px is not None:
        ranges = np.ptp(draws_px, axis=(1, 2))
        text += (
            f"; with random weights, they differ over all layers by {ranges.mean():.1f} ± {ranges.std(ddof=1):.1f} px"
            f" (mean ± standard deviation over {len(ranges)} draws)"
        )
    return f"{text}."


def describe_measure(means: FloatArray, axis: str, unit: str) -> str:
    """Return the range, the maximum and the first and last layer of entropy or prefix attention."""
    layer, head = np.unravel_index(int(means.argmax()), means.shape)
    return (
        f"{axis.partition(',')[0].capitalize()}: {means.min():.2f} to {means.max():.2f} {unit}, highest in layer"
        f" {layer + 1}, head {head + 1}. The mean over heads changes from {means[0].mean():.2f} {unit} in layer 1"
        f" to {means[-1].mean():.2f} {unit} in layer {len(means)}."
    )


def describe_head(layer: int, head: int, query_px: FloatArray, patch_share: float | None) -> str:
    """Return one head's mean distance and its farthest query.

    Args:
        query_px: (rows, cols), mean distance by query patch.
        patch_share: share of the attention on patches; None if rows are renormalised over patches.
    """
    row, col = np.unravel_index(int(query_px.argmax()), query_px.shape)
    patches = (
        "rows are renormalised over patches"
        if patch_share is None
        else f"{100 * patch_share:.1f} % of the attention goes to patches"
    )
    return (
        f"Layer {layer}, head {head} has a mean attention distance of {query_px.mean():.1f} px; {patches}. The patch in"
        f" row {row + 1}, column {col + 1} attends farthest ({query_px.max():.1f} px)."
    )


def describe_cnn(sides_px: list[int], reach_px: FloatArray, image_count: int) -> str:
    return (
        f"A CNN has no heads; its kernels fix its receptive field, which grows from {sides_px[0]} to {sides_px[-1]} px."
        f" Measured by gradients over {plural(image_count, 'image')}, an output depends on pixels at a mean distance of"
        f" {reach_px[0]:.1f} px after the stem and {reach_px[-1]:.1f} px after the last layer."
    )


def describe_cnn_beside_heads(layers: ImageMeans, reach_px: FloatArray, image_count: int) -> str:
    return (
        f"The mean attention distance by layer is {_list(layers.means)} px over {plural(layers.images, 'image')},"
        f" largest in {describe_farthest(layers)}; the CNN's reach is {reach_px[0]:.1f} px after layer 1 and"
        f" {reach_px[-1]:.1f} px after layer {len(reach_px)}. Reach: mean distance from the centre, weighted by"
        f" gradients, over {plural(image_count, 'image')}."
        " Distances are in pixels of each model's input."
    )


def _list(values: FloatArray) -> str:
    return join_words([f"{value:.1f}" for value in values])


def _span(values: FloatArray) -> str:
    ends = dict.fromkeys(f"{end(values):.1f}" for end in (np.nanmin, np.nanmax))
    return " to ".join(ends)


def describe_windows(layer_px: FloatArray, images: int) -> str:
    """Return the range of a Swin's head distances (depth, heads) in its first and last layer."""
    first, last = layer_px[0], layer_px[-1]
    return (
        f"The heads' mean attention distance is {_span(first)} px in layer 1 and"
        f" {_span(last)} px in layer {len(layer_px)}, over {plural(images, 'image')}: windows keep their number of"
        " tokens, while each merging enlarges the tokens."
    )


def describe_travel(reach_px: FloatArray, image_count: int) -> str:
    return (
        f"A token depends on pixels at a mean distance of {reach_px[0]:.1f} px after layer 1 and {reach_px[-1]:.1f} px"
        f" after layer {len(reach_px)} (gradients over {plural(image_count, 'image')})."
    )
