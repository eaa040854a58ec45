"""Pack an opened part into the map's second message."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.opened_part import OpenedPart, Operation
from vitviz.plots.blob import describe, pack, seal
from vitviz.plots.blob import open_blob as split_message


def pack_part(opened: OpenedPart) -> bytes:
    """Pack the operations and tables of an opened part, without the fields of a session."""
    arrays: dict[str, NDArray[Any]] = {
        **{f"s{i}": np.asarray(step.values, np.float32) for i, step in enumerate(opened.operations)},
        **{f"t{i}": np.asarray(table.values, np.float32) for i, table in enumerate(opened.tables)},
    }
    chosen = (opened.token, opened.head, opened.chosen_class, opened.channel)
    header = {
        **describe(opened, "part", "token", "token_name", "head", "channel"),
        "class": opened.chosen_class,
        "steps": [_encode_operation(step) | {"array": f"s{i}"} for i, step in enumerate(opened.operations)],
        "tables": [
            {**describe(table), "rows": table.rows or None, "array": f"t{i}"}
            for i, table in enumerate(opened.tables)
        ],
        "key": "|".join("" if index is None else str(index) for index in (opened.part, *chosen)),
    }
    return pack(header, **arrays)


def pack_closed(name: str) -> bytes:
    return pack({"part": "", "map": name})


def add_session(message: bytes, title: str, link: dict[str, str] | None, name: str) -> bytes:
    """Return the message of `pack_part` with the fields of one session.

    Args:
        title: the part's title on this map.
        link: {slug, label, href} of the lens about the part.
        name: the map's name; a page may show two maps.
    """
    header, buffers = split_message(message)
    return seal(header | {"title": title, "link": link, "map": name}, buffers)


def _encode_operation(operation: Operation) -> dict[str, Any]:
    named = describe(operation, "kind", "title", "formula", "numbers", "say", "labels", "shape")
    return named | operation.facts
