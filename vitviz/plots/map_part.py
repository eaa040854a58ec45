"""An opened part as the answer that the map's second message carries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.opened import Opened, Operation, Table
from vitviz.plots.blob import pack


def part_view(
    opened: Opened | None, title: str = "", link: dict[str, str] | None = None, *, of: str = "home.map"
) -> bytes:
    """The operations and tables of an opened part; of None the message that nothing is open.

    Args:
        of: the name of the map that it is for; a page may show two.
    """
    if opened is None:
        return pack({"part": "", "map": of})
    arrays: dict[str, NDArray[Any]] = {
        **{f"s{i}": np.asarray(step.values, np.float32) for i, step in enumerate(opened.operations)},
        **{f"t{i}": np.asarray(table.values, np.float32) for i, table in enumerate(opened.tables)},
    }
    chosen = (opened.token, opened.head, opened.chosen_class, opened.channel)
    header = {
        "part": opened.part,
        "map": of,
        "title": title,
        "token": opened.token,
        "token_name": opened.token_name,
        "head": opened.head,
        "class": opened.chosen_class,
        "channel": opened.channel,
        "steps": [_step(step) | {"array": f"s{i}"} for i, step in enumerate(opened.operations)],
        "tables": [_table(table) | {"array": f"t{i}"} for i, table in enumerate(opened.tables)],
        "link": link,
        "key": "|".join("" if one is None else str(one) for one in (opened.part, *chosen)),
    }
    return pack(header, **arrays)


def _step(operation: Operation) -> dict[str, Any]:
    return {
        "kind": operation.kind,
        "title": operation.title,
        "formula": operation.formula,
        "numbers": operation.numbers,
        "say": operation.say,
        "labels": list(operation.labels),
        "shape": list(operation.shape),
        **operation.facts,
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "file": table.file,
        "columns": list(table.columns),
        "rows": list(table.rows) or None,
    }
