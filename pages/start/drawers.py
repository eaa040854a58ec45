"""What the drawers of the start page say."""

from __future__ import annotations

OF_PARTS = {
    "patches": {"patch": "patch"},
    "stem": {"hybrid": "hybrid"},
    "embed": {"token": "token", "E": "E"},
    "prefix": {"[CLS]": "[CLS]"},
    "positions": {"positions": "position embedding"},
    "block": {
        "layer": "block",
        "attention": "attention",
        "value": "value",
        "MLP": "MLP",
        "stream": "residual stream",
    },
    "merge": {"merging": "patch merging"},
    "norm": {"LN": "LayerNorm"},
    "head": {"head": "classification head", "logit": "logit"},
}
"""By the kind of a map's part: the words that it writes, and what the glossary calls them."""

MATHEMATICS = r"""
**ViT** (Dosovitskiy et al. 2021, eq. 1 to 4): N patches $x_p^i$ of P²C values become tokens of D values; L layers
add to them; the class is read from the first one.

$$
z_0 = [x_{\mathrm{class}};\ x_p^1 E;\ x_p^2 E;\ \dots;\ x_p^N E] + E_{pos},\qquad
E \in \mathbb{R}^{(P^2 C) \times D},\ E_{pos} \in \mathbb{R}^{(N+1) \times D}
$$

$$
z'_\ell = \mathrm{MSA}(\mathrm{LN}(z_{\ell-1})) + z_{\ell-1},\qquad \ell = 1 \dots L
$$

$$
z_\ell = \mathrm{MLP}(\mathrm{LN}(z'_\ell)) + z'_\ell,\qquad \ell = 1 \dots L
$$

$$
y = \mathrm{LN}(z_L^0)
$$

**DeiT** (Touvron et al. 2021) puts a second learned token [DIST] beside [CLS], with a head of its own. **Swin** (Liu et
al. 2021, eq. 3) asks inside windows, which are shifted in every second layer, and merges 2 × 2 neighbours between its
stages. A **hybrid** makes its tokens from the maps of a convolutional stem (ViT paper, section 3.1; Xiao et al. 2021).

**Lengths** are Euclidean norms. The row of attention that a layer shows is the mean of its heads' rows of [CLS]; of a
model without [CLS] the mean of the patches' rows; of a Swin what a token is given on average by those of its window.
"""
