"""The experiments that have a name."""

from __future__ import annotations

from collections.abc import Callable

from vitviz.experiments import conv_attention, data_size
from vitviz.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    f"data_size_{dataset}": (lambda dataset=dataset: data_size.experiment(dataset))  # type: ignore[misc]
    for dataset in data_size.GRIDS
} | {conv_attention.NAME: conv_attention.experiment}
