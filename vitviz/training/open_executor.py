"""Open the server's executor, local or on a Dask cluster."""

from __future__ import annotations

import os
from pathlib import Path

from vitviz.training.executor import Executor, LocalExecutor


def open_executor(root: str | Path) -> Executor:
    """Return the executor that the environment asks for: $VITVIZ_DASK names a cluster's scheduler, else this machine.

    On this machine as many runs train at once as $VITVIZ_TRAINERS says, or as there are cores.

    Raises:
        ValueError: if $VITVIZ_TRAINERS is no whole number from 1 on.
    """
    address = os.environ.get("VITVIZ_DASK", "").strip()
    if not address:
        return LocalExecutor(root, _trainers())
    from vitviz.training.dask_executor import DaskExecutor

    return DaskExecutor(root, address)


def _trainers() -> int | None:
    said = os.environ.get("VITVIZ_TRAINERS", "").strip()
    if not said:
        return None
    if not (said.isascii() and said.isdigit() and int(said) > 0):
        raise ValueError(f"VITVIZ_TRAINERS must be a whole number from 1 on, received {said!r}")
    return int(said)
