"""Mount a race of models: accuracy over epochs, and accuracy on original and shuffled images."""

from __future__ import annotations

from pages.views.register import register

_race = register(__file__, "race")
# Formulas for every page with this race.
MATH = r"""
Without position embeddings every block is permutation-equivariant: for a permutation $\Pi$ of the patches,
$f(\Pi X) = \Pi f(X)$, and the readout ([CLS] or the mean) is unchanged. So the accuracy on *original* images equals the
accuracy with *shuffled* patches.

With position embeddings a model can use the positions, and shuffled patches lower its accuracy, on shapes down to
chance. A model that keeps its accuracy on shuffled patches does not rely on positions.

Summed positions, $p(r, c) = \mathrm{PE}(r) + \mathrm{PE}(c)$, are equal for $(r, c)$ and $(c, r)$: the model cannot
distinguish an image from its transpose in patches, so it cannot distinguish *left* from *above*.
"""


def draw_race(payload: bytes, *, key: str) -> None:
    _race(payload, key=key)
