"""An opened part as the answer that the map's second message carries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.opened_part import Opened, Operation, Table
from vitviz.plots.blob import opened as taken_apart
from vitviz.plots.blob import pack, sealed


def part_view(opened: Opened) -> bytes:
    """The operations and tables of an opened part, without what belongs to a visit."""
    arrays: dict[str, NDArray[Any]] = {
        **{f"s{i}": np.asarray(step.values, np.float32) for i, step in enumerate(opened.operations)},
        **{f"t{i}": np.asarray(table.values, np.float32) for i, table in enumerate(opened.tables)},
    }
    chosen = (opened.token, opened.head, opened.chosen_class, opened.channel)
    header = {
        "part": opened.part,
        "token": opened.token,
        "token_name": opened.token_name,
        "head": opened.head,
        "class": opened.chosen_class,
        "channel": opened.channel,
        "steps": [_step(step) | {"array": f"s{i}"} for i, step in enumerate(opened.operations)],
        "tables": [_table(table) | {"array": f"t{i}"} for i, table in enumerate(opened.tables)],
        "key": "|".join("" if one is None else str(one) for one in (opened.part, *chosen)),
    }
    return pack(header, **arrays)


def closed(of: str) -> bytes:
    """The message that nothing is open in the map of this name."""
    return pack({"part": "", "map": of})


def for_visit(message: bytes, title: str, link: dict[str, str] | None, of: str) -> bytes:
    """The message of `part_view` as one visitor gets it.

    Args:
        title: of the part on this map.
        link: {slug, label, href} of the lens that is about the part.
        of: the name of the map that it is for; a page may show two.
    """
    header, buffers = taken_apart(message)
    return sealed(header | {"title": title, "link": link, "map": of}, buffers)


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
