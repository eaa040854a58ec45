"""Sentences about filters: components, reconstruction and the product of one patch with one column of E."""

import numpy as np

from pages.lenses.filters.sources import FilterHistory
from vitviz.analysis.filters import NOISY, FilterResponse, FilterStatistics, FloatArray, Rebuilding
from vitviz.text import percent, plain, signed

E_DEFINITION = "E is the learned matrix that maps an image patch to a token"


def describe_tile(word: str) -> str:
    """Describe one tile, a 'filter' or a 'component'."""
    tile = (
        "one of its columns, a filter"
        if word == "filter"
        else "a principal component of its columns, the filters"
    )
    roughness = "Roughness: mean squared difference of neighbouring weights, relative to white noise."
    return f"{E_DEFINITION}; each tile is {tile}. {roughness}"


def describe_shares(shares: FloatArray) -> str:
    """Describe the shares of the variance (k,) that k components explain."""
    total, first = percent(shares.sum(), 0), percent(shares[0], 0)
    return f"Together these tiles explain {total} of all differences (the variance), the first one {first}"


def describe_filters(
    model: FilterHistory, look: FilterStatistics, first_share: float, random_share: float
) -> str:
    """Describe the smoothness and the structure of a model's components.

    Args:
        model: whose title is named.
        look: of the filters at the selected step.
        first_share: share of the variance that the first component explains.
        random_share: the largest such share among random matrices of the same shape.
    """
    roughness = f"(roughness {look.head:.2f}; white noise: 1)"
    if look.waves:
        last = f"the last seven: {look.tail:.2f}; white noise: 1"
        kind = f"the first seven are smooth on average (roughness {look.head:.2f}; {last})"
    elif look.head < NOISY:
        kind = f"the first seven are smoother than noise {roughness}"
    elif not model.trained:
        kind = f"the first seven are as rough as noise {roughness}"
    elif first_share > random_share:
        kind = (
            f"the first seven are rough {roughness}, but the first one explains {percent(first_share)}, more than in"
            f" random matrices of this shape (at most {percent(random_share)})"
        )
    else:
        kind = (
            f"the first seven are as rough as noise {roughness}, and the first one explains {percent(first_share)},"
            f" as in random matrices of this shape (at most {percent(random_share)})"
        )
    explained = f"the first {look.count} components explain {percent(look.held, 0)} of the filters' variance"
    return f"**{plain(model.title)}**: {explained}; {kind}."


def explain_smoothness(look: FilterStatistics, patches: FilterStatistics, images: str) -> str:
    """Explain smooth components of E by the principal components of patches of the same kind of images."""
    of_data, of_filters = f"{patches.head:.2f}", f"{look.head:.2f}"
    kind = (
        "as rough as"
        if of_data == of_filters
        else "smoother than"
        if of_data < of_filters
        else "rougher than"
    )
    return (
        "**Why**: in images, neighbouring pixels are alike, and E is fitted to such patches. The data's own first"
        f" components, {images}, are {kind} those of E (roughness {of_data} and {of_filters})."
    )


def describe_reconstruction(model: Rebuilding, optimal: Rebuilding, cosines: Rebuilding) -> str:
    """Describe how many components of each basis reduce the error to a half and to a tenth."""
    start = model.error[0]
    if start < 1e-6:
        return "All patches of this image are identical, so the mean patch reconstructs it."

    def count_components(basis: Rebuilding, share: float) -> str:
        below = np.flatnonzero(basis.error <= share * start)
        return str(int(below[0])) if len(below) else f"more than {len(basis.basis)}"

    half, tenth = (
        [count_components(basis, share) for basis in (model, optimal, cosines)] for share in (0.5, 0.1)
    )
    return (
        f"Halving the error of replacing every patch by the mean patch ({start:.1f} grey levels) takes {half[1]}"
        f" components of the PCA of these patches, {half[2]} of the DCT or {half[0]} of E; reducing it to a tenth takes"
        f" {tenth[1]} of the PCA, {tenth[2]} of the DCT or {tenth[0]} of E."
    )


def describe_product(
    product: FilterResponse, index: int, column: int, model_value: float, normalized: bool
) -> str:
    """Describe the dot product of patch `index` with a column of E, both counted from 0, and the model's own value."""
    products = product.products.ravel()
    first = " ".join(
        f"{'+' if x >= 0 and i else '−' if x < 0 else ''} {abs(x):.4f}"
        for i, x in enumerate(products[:4].round(4))
    )
    text = (
        f"Patch {index + 1}: {first} + … ({products.size} products) = {signed(float(products.sum()), 4)};"
        f" {'−' if product.bias < 0 else '+'} bias {abs(product.bias):.4f} = **{signed(product.value, 4)}**."
    )
    if normalized:
        return f"{text} A Swin normalises its tokens next, so its recorded values differ."
    apart = abs(product.value - model_value)
    verdict = "equal up to rounding" if apart < 1e-3 * max(1.0, abs(model_value)) else f"{apart:.2g} apart"
    return f"{text} The model's token has {signed(model_value, 4)} in dimension {column + 1}: {verdict}."
