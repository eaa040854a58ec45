"""Record the provenance of measurements on this machine."""

from __future__ import annotations

import time

import torch

from vitviz.experiments.result import Made
from vitviz.training.provenance import commit, processor


def read_provenance() -> Made:
    """Return the code version, the date and this machine."""
    threads = torch.get_num_threads()
    words = f"{processor()}, {threads} thread{'s' if threads > 1 else ''}, torch {torch.__version__}"
    return Made(commit(), time.strftime("%Y-%m-%d"), words)
