"""A race of models: accuracy over time with a name at every line's end, and whole against shuffled pictures."""

from __future__ import annotations

from pages.views.register import register

_race = register(__file__, "race")
# What every page with this race says of it.
MATH = r"""
Without positions every block is equivariant: with a permutation $\Pi$ of the patches, $f(\Pi X) = \Pi f(X)$, and [CLS]
or the mean read the same. So the accuracy on *whole* pictures and with *shuffled* patches must be equal, and is.

With positions the model can use the place, and then it fails where the places are wrong: the more a model relies on
them, the further shuffled patches bring it down, on shapes as far as chance. A model that does well on shuffled patches
has not come to rely on them.

Summed positions, $p(r, c) = \mathrm{PE}(r) + \mathrm{PE}(c)$, are the same for $(r, c)$ and $(c, r)$: the model cannot
tell a picture from the one whose patches are exchanged across the diagonal, so it cannot tell *left* from *above*.
"""


def race(payload: bytes, *, key: str) -> None:
    """Mounts what `vitviz.plots.race.payload` packed."""
    _race(payload, key=key)
