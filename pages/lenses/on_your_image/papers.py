"""Quote published findings on each section's question, with their sources."""

from __future__ import annotations

from pages.frame import page

AZULAY = "[Azulay and Weiss 2019](https://jmlr.org/papers/v20/19-519.html)"
BRENDEL = "[Brendel and Bethge 2019](https://arxiv.org/abs/1904.00760)"
GEIRHOS = "[Geirhos et al. 2019](https://arxiv.org/abs/1811.12231)"
NASEER = "[Naseer et al. 2021](https://arxiv.org/abs/2105.10497)"
COHEN = "[Cohen and Welling 2016](https://arxiv.org/abs/1602.07576)"
CORDONNIER = "[Cordonnier et al. 2020](https://arxiv.org/abs/1911.03584)"
FINDINGS = {
    "change": f"ImageNet CNNs can change their prediction when the image shifts by one pixel ({AZULAY}), and they rely"
    f" on texture more than on shape ({GEIRHOS}). With 80 % of an image occluded, a ViT still has 60 % accuracy; ViTs"
    f" are less biased towards local texture ({NASEER}).",
    "shift": f"A convolution is equivariant to shifts ({COHEN}); with subsampling, only to whole strides, so deep"
    f" CNNs are not invariant to shifts ({AZULAY}).",
    "kernels": f"Heads can attend to fixed relative positions, as a convolution does, and some do ({CORDONNIER}).",
    "parts": f"A CNN that only counts patches of 33 px, regardless of their position, reaches 87.6 % top-5 accuracy on"
    f" ImageNet, and common CNNs behave similarly ({BRENDEL}). ViTs are less biased towards local texture ({NASEER}).",
}


def draw_findings(section: str) -> None:
    """Draw the published findings of a section."""
    page.caption(f":material/menu_book: *Published, for larger models and datasets:* {FINDINGS[section]}")
