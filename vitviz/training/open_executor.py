"""Which executor a server has: the one place that knows both forms."""

from __future__ import annotations

import os
from pathlib import Path

from vitviz.training.executor import Executor, LocalExecutor


def open_executor(root: str | Path) -> Executor:
    """The executor that the environment asks for: $VITVIZ_DASK names a cluster's scheduler, else this machine."""
    address = os.environ.get("VITVIZ_DASK", "").strip()
    if not address:
        return LocalExecutor(root)
    from vitviz.training.dask_executor import DaskExecutor

    return DaskExecutor(root, address)
