"""Draw a projector whose pin two phones follow, on the image and attention that are stored for the first page."""

import numpy as np

from pages.stores import catalogue
from pages.views.register import register
from vitviz.plots.blob import open_blob, pack, unpack_arrays

KEY = "class_room.preview"
_FILE = catalogue.CHECKPOINTS / "start_map.bin"
_LAYER, _PIN = 1, 24  # the middle patch
_preview = register(__file__, "preview")


def draw() -> None:
    """Draw the view; a patch selected on a phone appears on the projector as its answer."""
    message = _FILE.read_bytes()
    stored, arrays = open_blob(message)[0], unpack_arrays(message)
    header = {
        "title": f"{stored['title']}, attention of layer {_LAYER}",
        "photo": stored["photo"],
        "grid": stored["grid"],
        "prefix": len(stored["prefix"]),
        "pin": _PIN,
    }
    names = {"photo": "photo", "keys": f"block.{_LAYER}.keys", "weights": f"block.{_LAYER}.weights"}
    _preview(pack(header, **{name: np.asarray(arrays[stored]) for name, stored in names.items()}), key=KEY)
