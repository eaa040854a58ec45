"""A page's first image in few numbers: enough to tell it from another one, blind to words and to rounding."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.messages import body, chart_of, files, unpack

PARTS = 6  # an array is told by the mean size of its values in so many equal parts: a basis has no signs of its own
ROUNDING = 0.01  # of the largest of them: processors add in another order
Told = dict[str, Any]


def first_image(app: AppTest) -> Told:
    """The arrays that the first view is sent; without one the heights of a chart; without that what the form says."""
    messages = {
        part.proto.id.rpartition("-")[2]: part.proto.bytes
        for part in app.main.get("bidi_component")
        if part.proto.bytes
    }
    is_chart = {name: "pages/views/chart.js" in files(message) for name, message in messages.items()}
    for name, message in messages.items():
        if not is_chart[name] and (arrays := unpack(body(message))[1]):
            return {name: {key: summarise(array) for key, array in arrays.items()}}
    for name, message in messages.items():
        if is_chart[name]:
            traces = chart_of(message)["data"]
            return {
                name: {
                    str(i): summarise(np.asarray(trace["y"], np.float64)) for i, trace in enumerate(traces)
                }
            }
    forms = (app.main.selectbox, app.main.number_input, app.main.button_group)
    return {"form": {widget.label: widget.value for form in forms for widget in form}}


def summarise(array: np.ndarray[Any, Any]) -> Told:
    """Shape and mean sizes of an array; of an encoded photo, whose bytes are its encoder's, of the image."""
    if array.ndim == 1 and array.tobytes()[:4] in (b"\x89PNG", b"RIFF", b"\xff\xd8\xff\xe0"):
        with Image.open(io.BytesIO(array.tobytes())) as image:
            array = np.asarray(image.convert("RGB"))
    parts = np.array_split(np.abs(np.nan_to_num(array.astype(np.float64))).reshape(-1), PARTS)
    return {"shape": list(array.shape), "means": [float(f"{part.mean():.4g}") for part in parts if part.size]}


def same(kept: Any, now: Any) -> bool:
    """Return True if two images of `first_image` are equal but for rounding."""
    if isinstance(kept, dict) and isinstance(now, dict) and kept.keys() == now.keys():
        if "means" not in kept:
            return all(same(value, now[name]) for name, value in kept.items())
        of = ROUNDING * max(kept["means"], default=0.0)
        return bool(
            kept["shape"] == now["shape"] and np.allclose(kept["means"], now["means"], rtol=0, atol=of)
        )
    return bool(kept == now)
