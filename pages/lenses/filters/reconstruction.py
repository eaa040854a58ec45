"""The image reconstructed from the first k components of E, of its own patches and of the DCT."""

import numpy as np

from pages.frame import page
from pages.lenses.filters import sources
from pages.lenses.filters.captions import E_DEFINITION, describe_reconstruction
from pages.selection import selection
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.analysis import filters
from vitviz.analysis.filters import FloatArray, Rebuilding
from vitviz.config import Preparation
from vitviz.models.abilities import as_cut
from vitviz.plots import filters as plots

_mount_reconstruction = register(__file__, "rebuild_view")
MAX_COMPONENTS = 96  # more would make the message unreasonably large


def draw() -> None:
    choice, nouns = selection.get_model_choice(), selection.get_current()
    config = as_cut(choice.config)
    page.untrained_note(choice.trained_on)
    prepared = selection.prepare_image(choice.preparation)
    weights = sources.load_filters(choice, nouns.step).selected_weights
    weights_id = shared_cache.identify_weights(choice, nouns.step)
    model, optimal, cosines = _reconstruct(weights_id, choice.preparation, nouns.image, nouns.offset, weights)
    side = prepared.input.shape[-1] // config.patch_size
    payload = plots.rebuilding(
        shown=prepared.shown,
        patch_px=config.patch_size,
        rebuilt=[
            ("Components of E", "of this model", model),
            ("PCA of these patches", "the optimal basis", optimal),
            ("DCT", "cosine waves, as in JPEG", cosines),
        ],
        scale=np.array(choice.preparation.std),
        shift=np.array(choice.preparation.mean),
        k=min(8, len(model.basis)),
        patch=nouns.pin.cell((side, side)),
    )
    _mount_reconstruction(payload, key="filters.rebuild")
    page.caption(f"{describe_reconstruction(model, optimal, cosines)} {E_DEFINITION}.")
    page.shapes(patches=(side**2, *model.basis.shape[1:]), E=weights.shape)
    page.drawers(
        "filters.express",
        math=page.read_math(__file__),
        code=(filters.rebuild_patches, filters.dct_basis),
    )


@shared_cache.per_image(shared=16, upload=4)
def _reconstruct(
    weights_id: str, preparation: Preparation, image: str, offset: shared_cache.Offset, _weights: FloatArray
) -> tuple[Rebuilding, Rebuilding, Rebuilding]:
    """Reconstruct the image with the components of E, the patches' own components and the DCT.

    Args:
        weights_id: identifies `_weights` in the cache.
        preparation, image, offset: of the image.
        _weights: (D, C, P, P).
    """
    channels, patch_px = _weights.shape[1], _weights.shape[2]
    scale = 255 * np.array(preparation.std)
    patches = filters.cut_patches(shared_cache.prepare_image(image, preparation, offset).input, patch_px)
    bases = (
        filters.principal_components(_weights, MAX_COMPONENTS).maps,
        filters.principal_components(patches, MAX_COMPONENTS).maps,
        filters.dct_basis(channels, patch_px, MAX_COMPONENTS),
    )
    model, optimal, cosines = (filters.rebuild_patches(patches, basis, scale) for basis in bases)
    return model, optimal, cosines
