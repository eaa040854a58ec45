"""What the lab's drawers say."""

from __future__ import annotations

from collections.abc import Callable

from pages.views import race
from vitviz.experiments import data_size
from vitviz.training.loop import Trainer, turn
from vitviz.training.races import POSITIONS_RACE, positions_race
from vitviz.training.recipe import learning_rate_factor
from vitviz.training.shuffling import shuffle_patches

MATHEMATICS = r"""
**The loss.** For logits $\ell \in \mathbb{R}^K$ and the true class $y$ the cross-entropy is
$L = -\log \frac{e^{\ell_y}}{\sum_k e^{\ell_k}}$; a model that guesses among $K$ classes has $L = \log K$
(2.30 for ten). Label smoothing $\varepsilon$ gives the true class $1 - \varepsilon + \varepsilon / K$.

**The update.** AdamW (Loshchilov and Hutter 2019) keeps running means of the gradient $g$ and of its square,
$m \leftarrow \beta_1 m + (1-\beta_1) g$ and $v \leftarrow \beta_2 v + (1-\beta_2) g^2$, and moves
$\theta \leftarrow \theta - \eta\,\big(\hat m / (\sqrt{\hat v} + \epsilon) + \lambda \theta\big)$:
the weight decay $\lambda$ stays apart from the gradient, which is what tells AdamW from Adam.
Muon (Jordan et al. 2024) looks at a hidden matrix, $n$ by $m$, as a whole: of its averaged gradient
$G = U S V^\top$ it keeps the directions and drops their sizes,
$\theta \leftarrow \theta - \eta\,\big(0.2 \sqrt{\max(n, m)}\, U V^\top + \lambda \theta\big)$:
what is rare is learned as fast as what is common.

**The schedule.** The learning rate is $\eta(t) = \eta_{\max} f(t)$ over the share $t$ of the run. With warm-up $w$ and
cosine, $f = t/w$ first and then falls as half a cosine to one hundredth.

**Which pictures decide.** Curves and 'best' use a fixed validation part of the training set. The test set is read once,
when the run is over: a number that chose anything would no longer be a test.
"""


def mathematics(preset: str | None = None) -> str:
    """The terms of a training; an experiment's own question first."""
    return race.MATH + MATHEMATICS if preset == POSITIONS_RACE else MATHEMATICS


def code(preset: str | None = None) -> tuple[Callable[..., object], ...]:
    """The lines that make one update, and the schedule, as they ran; of a race also what its models share."""
    if preset == POSITIONS_RACE:
        return positions_race, turn, shuffle_patches
    if preset == data_size.PRESET:
        return data_size.race, turn, shuffle_patches
    return Trainer.advance, learning_rate_factor
