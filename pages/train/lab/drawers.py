"""Text and code of the lab's drawers."""

from __future__ import annotations

from collections.abc import Callable

from pages.views import race
from vitviz.experiments import data_size
from vitviz.training.loop import Trainer, make_update
from vitviz.training.races import POSITIONS_RACE, positions_race
from vitviz.training.schedule import learning_rate_factor
from vitviz.training.shuffling import shuffle_patches

MATHEMATICS = r"""
**The loss.** For logits $\ell \in \mathbb{R}^K$ and the true class $y$ the cross-entropy is
$L = -\log \frac{e^{\ell_y}}{\sum_k e^{\ell_k}}$; uniform guessing among $K$ classes gives $L = \log K$
(2.30 for ten). Label smoothing $\varepsilon$ sets the target of the true class to
$1 - \varepsilon + \varepsilon / K$.

**The update.** AdamW (Loshchilov and Hutter 2019) tracks running means of the gradient $g$ and of its square,
$m \leftarrow \beta_1 m + (1-\beta_1) g$ and $v \leftarrow \beta_2 v + (1-\beta_2) g^2$, and updates
$\theta \leftarrow \theta - \eta\,\big(\hat m / (\sqrt{\hat v} + \epsilon) + \lambda \theta\big)$:
unlike Adam, it applies the weight decay $\lambda$ separately from the gradient.
Muon (Jordan et al. 2024) orthogonalizes the averaged gradient $G = U S V^\top$ of each hidden $n \times m$ matrix,
$\theta \leftarrow \theta - \eta\,\big(0.2 \sqrt{\max(n, m)}\, U V^\top + \lambda \theta\big)$,
so that all singular directions get the same step size.

**The schedule.** The learning rate is $\eta(t) = \eta_{\max} f(t)$ over the fraction $t$ of the run. With warm-up $w$
and cosine decay, $f = t/w$ during warm-up; then $f$ follows half a cosine down to 0.01.

**Validation and test.** Curves and best accuracies use a fixed validation split of the training set. The test set is
evaluated once, after training, and influences no choice.
"""


def choose_mathematics(preset: str | None = None) -> str:
    """Return the mathematics of training, preceded by an experiment's own."""
    return race.MATH + MATHEMATICS if preset == POSITIONS_RACE else MATHEMATICS


def choose_code(preset: str | None = None) -> tuple[Callable[..., object], ...]:
    """Return the functions of one update and the schedule, or those that define an experiment."""
    if preset == POSITIONS_RACE:
        return positions_race, make_update, shuffle_patches
    if preset == data_size.PRESET:
        return data_size.race, make_update, shuffle_patches
    return Trainer.advance, learning_rate_factor
