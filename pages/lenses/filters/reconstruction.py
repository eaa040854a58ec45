"""What the components can express: the picture rebuilt from the first k, against the best basis and cosine waves."""

from __future__ import annotations

import numpy as np

from pages.frame import page
from pages.lenses.filters import filter_controls, sources
from pages.lenses.filters.rebuild_view import rebuild as rebuild_view
from pages.selection import selection, substitute
from pages.stores import cached
from vitviz.analysis import filters
from vitviz.analysis.filters import FloatArray, Rebuilding
from vitviz.config import Preparation
from vitviz.models.abilities import abilities, as_cut
from vitviz.plots import filters as plots

MOST = 96  # components at most: more would make the message larger than the picture deserves
MATHEMATICS = r"""
Every patch less the picture's mean patch is projected on the first $k$ vectors of an orthonormal basis:
$\hat x = \bar x + \sum_{i<k} \langle x - \bar x, b_i\rangle\, b_i$. Three bases of the same size:
the principal components of E, the principal components of *these patches* (no basis can do better, Eckart and Young
1936), and the discrete cosine transform, lowest frequencies first (JPEG's). The mean patch is kept for all
three and does not count.

The model does not rebuild anything: the question is only which directions of a patch E weighs, and in which order. What
lies outside the span of E's filters, no layer can see.
"""


def draw() -> None:
    """The whole view: picture and rebuildings, caption, drawers."""
    choice = selection.choice()
    config = choice.config
    able = abilities(config)
    if not able.embedding:
        substitute.offer(able.embedding.why_not, "express.instead", icon=":material/grid_off:")
        return
    shown = filter_controls.instead()
    choice, config = shown.choice, as_cut(shown.choice.config)
    page.untrained_note(choice.trained_on)
    now = selection.current()
    prepared = cached.prepared(shown.image, choice.preparation, now.offset)
    weights = sources.of(choice, shown.step).now
    std, mean = np.array(choice.preparation.std), np.array(choice.preparation.mean)
    known = cached.identity(choice, shown.step)
    own, best, waves = _bases(known, choice.preparation, shown.image, now.offset, weights)
    layout = prepared.input.shape[-1] // config.patch_size
    named = [
        ("Components of E", "what this model's E weighs", own),
        ("PCA of these patches", "the best possible", best),
        ("DCT", "cosine waves, as in JPEG", waves),
    ]
    k, pinned = min(8, len(own.basis)), selection.current().pin.cell((layout, layout))
    payload = plots.rebuilding(
        shown=prepared.shown,
        patch_px=config.patch_size,
        rebuilt=named,
        scale=std,
        shift=mean,
        k=k,
        patch=pinned,
    )
    rebuild_view(payload, key="filters.rebuild")
    page.caption(describe(own, best, waves))
    page.shapes(patches=(layout**2, *own.basis.shape[1:]), E=weights.shape)
    page.drawers(
        "filters.express",
        math=MATHEMATICS,
        code=(filters.rebuild, filters.dct_basis),
    )


@cached.per_picture(shared=16, upload=4)
def _bases(
    known: str, preparation: Preparation, image: str, offset: cached.Offset, _weights: FloatArray
) -> tuple[Rebuilding, Rebuilding, Rebuilding]:
    """Rebuildings by E's components, the patches' own and cosines; `known` stands for the weights."""
    channels, patch_px = _weights.shape[1], _weights.shape[2]
    scale = 255 * np.array(preparation.std)
    patches = filters.cut_patches(cached.prepared(image, preparation, offset).input, patch_px)
    bases = (
        filters.principal_components(_weights, MOST).maps,
        filters.principal_components(patches, MOST).maps,
        filters.dct_basis(channels, patch_px, MOST),
    )
    own, best, waves = (filters.rebuild(patches, basis, scale) for basis in bases)
    return own, best, waves


def describe(own: Rebuilding, best: Rebuilding, waves: Rebuilding) -> str:
    """How many components of each basis halve and tenth the error, from the curves."""
    start = own.error[0]
    if start < 1e-6:
        return "All patches of this picture are alike: the mean patch is the picture."

    def needed(found: Rebuilding, share: float) -> str:
        below = np.flatnonzero(found.error <= share * start)
        return str(int(below[0])) if len(below) else f"more than {len(found.basis)}"

    return (
        f"{sources.WHAT_E_IS}. With no component the error is {start:.1f} grey levels. To halve it takes"
        f" k = {needed(own, 0.5)} for the components of E, {needed(best, 0.5)} for the patches' own and"
        f" {needed(waves, 0.5)} for cosine waves; for a tenth of it {needed(own, 0.1)}, {needed(best, 0.1)} and"
        f" {needed(waves, 0.1)}."
    )
