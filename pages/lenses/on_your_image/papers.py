"""What the papers say of the same questions, with their sources, beside what is measured here."""

from __future__ import annotations

from pages.frame import page

AZULAY = "[Azulay and Weiss 2019](https://jmlr.org/papers/v20/19-519.html)"
BRENDEL = "[Brendel and Bethge 2019](https://arxiv.org/abs/1904.00760)"
GEIRHOS = "[Geirhos et al. 2019](https://arxiv.org/abs/1811.12231)"
NASEER = "[Naseer et al. 2021](https://arxiv.org/abs/2105.10497)"
COHEN = "[Cohen and Welling 2016](https://arxiv.org/abs/1602.07576)"
CORDONNIER = "[Cordonnier et al. 2020](https://arxiv.org/abs/1911.03584)"
SAID = {
    "change": f"{AZULAY}: CNNs of ImageNet can change their answer under a shift of a pixel. {GEIRHOS}: they decide by"
    f" texture more than by shape. {NASEER}: with 80 % of a picture hidden a ViT of ImageNet still has 60 % right; ViTs"
    " lean less on local texture than CNNs.",
    "shift": f"{COHEN}: a convolution moves along with its picture. {AZULAY}: where it subsamples it does so for whole"
    " strides alone, so that deep CNNs are not invariant to shifts.",
    "kernels": f"{CORDONNIER}: heads can learn to look at fixed places, as a convolution does, and some do.",
    "parts": f"{BRENDEL}: a CNN that only counts patches of 33 px, wherever they lie, comes to 87.6 % (top 5) on"
    f" ImageNet, and usual CNNs behave much like it. {NASEER}: ViTs lean less on local texture than CNNs.",
}


def say(section: str) -> None:
    """The papers' findings, marked as theirs."""
    page.caption(f":material/menu_book: *Found elsewhere, with larger models and sets:* {SAID[section]}")
