"""What the stored experiment of fine-tuning compares."""

from __future__ import annotations

from vitviz.training.fine_tuning import SCRATCH, TITLES, TUNED, Method

NAME = "transfer"
DATASET = "digits"
SOURCES = {"mnist_vit": "MNIST's digits", "cifar10_vit": "CIFAR-10's photos"}  # a near body and a far one
FROZEN, LONGER = "frozen", "longer"
TIMES = 4  # as many updates: whether what is missing from scratch is time
METHODS = {
    TUNED: TITLES[TUNED],
    FROZEN: "Features of the frozen body",
    SCRATCH: TITLES[SCRATCH],
    LONGER: f"From scratch, {TIMES} times as long",
}
SIZES = (2, 5, 10, 20, 50, 110)  # pictures a class; the smallest class has 125 once some are held out
SEEDS = (0, 1, 2)
VALIDATION = 0.1
METHOD = Method(updates=150, batch_size=32)
# Of 3e-4, 5e-4, 1e-3, 2e-3 and 4e-3 those that serve the model from scratch best with 20 pictures a class.
SCRATCH_RATES = {"mnist_vit": 1e-3, "cifar10_vit": 5e-4}
