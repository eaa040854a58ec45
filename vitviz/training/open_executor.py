"""Open the server's executor, local or on a Dask cluster."""

import os
from pathlib import Path

from vitviz.training.executor import Executor, LocalExecutor


def open_executor(root: str | Path) -> Executor:
    """Return an executor for the cluster in $VITVIZ_DASK if set, else for this machine.

    On this machine, $VITVIZ_TRAINERS runs train at once (default: the number of cores).

    Raises:
        ValueError: if $VITVIZ_TRAINERS is not a positive integer.
    """
    address = os.environ.get("VITVIZ_DASK", "").strip()
    if not address:
        return LocalExecutor(root, _trainers())
    from vitviz.training.dask_executor import DaskExecutor

    return DaskExecutor(root, address)


def _trainers() -> int | None:
    text = os.environ.get("VITVIZ_TRAINERS", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"VITVIZ_TRAINERS must be a positive integer, received {text!r}")
    return int(text)
