"""What the papers say of convolutions beside attention, with their sources."""

from __future__ import annotations

from pages.frame import page

XIAO = "[Xiao et al. 2021](https://arxiv.org/abs/2106.14881)"
DOSOVITSKIY = "[Dosovitskiy et al. 2021, section 4.4](https://arxiv.org/abs/2010.11929)"
VASWANI = "[Vaswani et al. 2017, equation 1](https://arxiv.org/abs/1706.03762)"
WU = "[Wu et al. 2021](https://arxiv.org/abs/2103.15808)"
SAID = {
    "stem": f"{XIAO}: a few convolutions in the place of the patches make a ViT's training more stable and its accuracy"
    " on ImageNet-1k 1 to 2 points better, for the same multiply-adds.",
    "training": f"{DOSOVITSKIY}: hybrids are slightly better than ViTs for little compute, and the difference vanishes"
    " for larger models.",
    "asked": f"{WU} make queries, keys and values with convolutions in a whole model (CvT) and come to more than ViTs"
    " and ResNets of their day with fewer parameters on ImageNet-1k, also without positions.",
}


def say(section: str) -> None:
    """The papers' findings, marked as theirs."""
    page.caption(f":material/menu_book: *Found elsewhere, with larger models and sets:* {SAID[section]}")
