"""What a client view is told, taken apart again: the other end of vitviz.plots.blob and vitviz.plots.flip_book."""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a packed message."""
    (length,) = struct.unpack_from("<I", message)
    header = json.loads(message[4 : 4 + length])
    arrays = {}
    for name, entry in header["arrays"].items():
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(message, entry["dtype"], count, 4 + length + entry["offset"])
        arrays[name] = flat.reshape(entry["shape"])
    return header, arrays


def read_panels(
    sent: tuple[dict[str, Any], dict[str, np.ndarray]],
) -> tuple[list[str], list[str], np.ndarray]:
    """Return the titles and notes of a heat grid's panels, and their values (panels, cells) if the grids are equal."""
    header, arrays = sent
    panels = header["panels"]
    maps = np.stack([arrays[f"values{i}"][0] for i in range(len(panels))])
    return [panel["title"] for panel in panels], [panel["note"] for panel in panels], maps


def count_by_row(header: dict[str, Any]) -> list[int]:
    """Return the number of panels in each row of a heat grid."""
    return [row["count"] for row in header["rows"]]


def body(message: bytes) -> bytes:
    """What a page packed for a view, without the address of the view's files that `register` put before it."""
    (length,) = struct.unpack_from("<I", message)
    return message[4 + length :]


def files(message: bytes) -> list[str]:
    """The files of the view that a message is for, below `pages`."""
    (length,) = struct.unpack_from("<I", message)
    return message[4 : 4 + length].decode().split()


class Leaves:
    """What a browser keeps of flip-books: the twin of pages/train/lab/flip_book.js."""

    def __init__(self) -> None:
        self.shelf = ""
        self.kept: dict[int, tuple[Any, np.ndarray]] = {}

    def bound(self, message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Header and arrays of a whole book; None where a leaf is missing."""
        header, arrays = unpack(body(message))
        if header["shelf"] != self.shelf:
            self.shelf, self.kept = header["shelf"], {}
        at = 0
        for number, words, size in header["fresh"]:
            self.kept[number] = words, arrays["data"][at : at + size]
            at += size
        try:
            described = [self.kept[number][0] for number in header["pictures"]]
            rows = [[self.kept[number] for number in row] for row in arrays["pages"].tolist()]
            bases = [self.kept[number][1] for number in header["bases"]]
        except KeyError:
            return None
        whole, column, images = {}, 0, []
        for image in described:
            frames: list[tuple[Any, np.ndarray]] = []
            if image["base"]:
                whole[f"{image['name']}_base"] = bases.pop(0).reshape(image["base"])
            if image["shape"]:
                column += 1
                frames = [row[column] for row in rows]
                whole[image["name"]] = np.stack([part.reshape(image["shape"]) for _, part in frames])
            each = {"captions": "caption", "tiles": "tiles", "tops": "top"}
            reported = {name: [words[of] for words, _ in frames if of in words] for name, of in each.items()}
            images.append(image | reported)
        return header | {"pictures": images, "moments": [row[0][0] for row in rows]}, whole


def message(app: AppTest, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of the view of this key."""
    views = [node.proto for node in app.get("bidi_component")]
    for proto in views:
        if proto.id.endswith(key) and proto.bytes:
            return unpack(body(proto.bytes))
    raise AssertionError(f"no view {key}: {[proto.id for proto in views]}")


def first_view(app: AppTest) -> bytes:
    """What the page packed for its first view; the app's own parts before it hold nothing."""
    return body(next(part.proto.bytes for part in app.main.get("bidi_component") if part.proto.bytes))


def read_first_view(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of the page's first view."""
    return unpack(first_view(app))


def photo_of(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The image of a view's message, or the first one of a heat grid's, as a browser decodes it."""
    with Image.open(io.BytesIO(arrays.get("photo", arrays.get("photo0")).tobytes())) as image:
        return np.asarray(image.convert("RGB"))


def charts(app: AppTest) -> list[dict[str, Any]]:
    """Traces and layouts of the page's charts, their arrays as lists."""
    messages = [part.proto.bytes for part in app.main.get("bidi_component")]
    return [chart_of(message) for message in messages if message and "pages/views/chart.js" in files(message)]


def chart_of(message: bytes) -> dict[str, Any]:
    """Traces and layout of a chart's message, as its view puts the arrays into their places."""
    header, arrays = unpack(body(message))
    return {name: place_arrays(header[name], arrays) for name in ("data", "layout")}


def place_arrays(part: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a part of a chart's header with lists in place of the names of its arrays."""
    if isinstance(part, dict):
        if "ref" in part:
            return arrays[part["ref"]].tolist()
        return {key: place_arrays(value, arrays) for key, value in part.items()}
    return [place_arrays(value, arrays) for value in part] if isinstance(part, list) else part


def read_race(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the lines of a race's models by title, and the points of their results, which it may lack."""
    charts = place_arrays(header["charts"], arrays)
    lines = {trace["name"]: trace for trace in charts[0]["data"] if trace["mode"] == "lines+text"}
    points = [trace for chart in charts[1:] for trace in chart["data"] if trace["mode"] == "markers"]
    return lines, {trace["name"]: trace for trace in points}
