"""Split batches between threads and add the parts' gradients.

A thread that works through a graph of its own waits for the others once a step; the threads inside an operation meet
after every one. Batch norms average over the whole batch, so a model that trains some is computed whole.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor, nn

from vitviz.config import TrainConfig
from vitviz.models.fast_layers import use_generator
from vitviz.training.augmentation import Mixture
from vitviz.training.distillation_loss import distillation_loss
from vitviz.training.weights import Weights

A = TypeVar("A")
B = TypeVar("B")


class ThreadPool:
    """Computes predictions and gradients of batches in several threads.

    `parts` is how many each batch has: `config.threads`, or 1 where the model trains batch norms or the device is no
    processor; the operations themselves then have the threads. What comes out depends on `parts` and not on the
    machine, which may have fewer cores.
    """

    def __init__(
        self, weights: Weights, config: TrainConfig, device: torch.device, teacher: nn.Module | None
    ) -> None:
        self._weights, self._config, self._device = weights, config, device
        self._teacher = None if teacher is None else teacher.to(device, weights.dtype).eval()
        requested, cores = max(1, config.threads), os.cpu_count() or 1
        splits = device.type == "cpu" and not weights.averages_batches()
        self.parts = min(requested, config.batch_size) if splits else 1
        self._inside = min(requested, cores) if self.parts == 1 else 1  # threads of one operation
        self._pool = ThreadPoolExecutor(min(self.parts, cores)) if self.parts > 1 else None

    def map_parts(self, do: Callable[[A], B], over: Iterable[A]) -> list[B]:
        """Map a function over items in order, in the threads of the pool."""
        if torch.get_num_threads() != self._inside:  # also what the pool's threads begin with
            torch.set_num_threads(self._inside)
        return list(map(do, over) if self._pool is None else self._pool.map(do, over))

    def learn(self, inputs: Tensor, targets: Mixture, seed: int) -> tuple[Tensor, float, list[Tensor]]:
        """Return (logits, loss, gradients) of a batch; the flat gradients of its parts add up to that of the mean loss.

        Args:
            inputs: (B, C, H, W), normalised.
            seed: of everything that is dropped; part i draws from a generator of its own, which begins with seed + i.
        """
        if self._device.type != "cpu":
            torch.manual_seed(seed)  # a device's dropout takes no generator

        def train_part(part: tuple[int, Tensor, Mixture]) -> tuple[Tensor, Tensor, float]:
            index, images, wanted = part
            with use_generator(torch.Generator().manual_seed(seed + index)):
                logits, mean = self._loss(images, wanted)
            loss = mean * (len(images) / len(inputs))
            gradient = self._weights.gradient_of(loss)
            return logits.detach(), gradient, loss.item()

        count = self.parts
        parts = zip(range(count), inputs.tensor_split(count), targets.split(count), strict=True)
        logits, gradients, losses = map(list, zip(*self.map_parts(train_part, parts), strict=True))
        return torch.cat(logits), sum(losses), gradients

    def _loss(self, inputs: Tensor, targets: Mixture) -> tuple[Tensor, Tensor]:
        if self._teacher is not None:
            return distillation_loss(self._weights.model, self._teacher, inputs, targets, self._config)
        logits = self._weights.model(inputs).float()
        return logits, targets.cross_entropy(logits, self._config.label_smoothing)
