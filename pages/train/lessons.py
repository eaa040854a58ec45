"""What the lab's drawers say."""

from __future__ import annotations

import inspect

from vitviz.training.loop import Trainer
from vitviz.training.recipe import learning_rate_factor

MATHEMATICS = r"""
**The loss.** For logits $\ell \in \mathbb{R}^K$ and the true class $y$ the cross-entropy is
$L = -\log \frac{e^{\ell_y}}{\sum_k e^{\ell_k}}$; a model that guesses among $K$ classes has $L = \log K$
(2.30 for ten). Label smoothing $\varepsilon$ gives the true class $1 - \varepsilon + \varepsilon / K$.

**The update.** AdamW (Loshchilov and Hutter 2019) keeps running means of the gradient $g$ and of its square,
$m \leftarrow \beta_1 m + (1-\beta_1) g$ and $v \leftarrow \beta_2 v + (1-\beta_2) g^2$, and moves
$\theta \leftarrow \theta - \eta\,\big(\hat m / (\sqrt{\hat v} + \epsilon) + \lambda \theta\big)$:
the weight decay $\lambda$ stays apart from the gradient, which is what tells AdamW from Adam.

**The schedule.** The learning rate is $\eta(t) = \eta_{\max} f(t)$ over the share $t$ of the run. With warm-up $w$ and
cosine, $f = t/w$ first and then falls as half a cosine to one hundredth.

**Which pictures decide.** Curves and 'best' use a fixed validation part of the training set. The test set is read once,
when the run is over: a number that chose anything would no longer be a test.
"""
TRY_THIS = """
1. **Predict first:** with *no positions*, can the model still read digits? And the *shapes*, where only the place
   of the objects tells the class? Start both twins and lay the curves over one another.
2. Set the learning rate to 0.5 and start. At which step does the loss leave the picture, and what is said?
3. Start *Digits, live*, then drag the timeline back. Which comes first: positions that know their
   neighbours, or an accuracy above 90 %?
4. Take a lecture recipe 'as written' and its corrected twin. How many points does the double softmax cost?
5. Draw a seven while the model trains. When does it stop being a one?
"""


def code() -> str:
    """The lines that make one update, and the schedule, as they ran."""
    return inspect.getsource(Trainer.advance) + "\n\n" + inspect.getsource(learning_rate_factor)
