"""Draw a projector whose pin two phones follow, on the image and attention that are stored for the first page."""

from pages.selection import default_model
from pages.stores import catalogue
from pages.views.register import register
from vitviz.plots.blob import open_blob, pack, unpack_arrays

KEY = "class_room.preview"
_LAYER, _PIN = 1, 24  # the middle patch
_preview = register(__file__, "preview")


def draw() -> None:
    """Draw the view; nothing if the stored attention is missing."""
    file = catalogue.CHECKPOINTS / "start_map.bin"
    if not file.is_file():
        return
    message = file.read_bytes()
    stored, arrays = open_blob(message)[0], unpack_arrays(message)
    key = default_model.get_default_model("home")  # whose map is stored
    title = next((choice.title for choice in catalogue.list_checkpoints() if choice.key == key), "")
    header = {
        "title": f"{title}, attention of layer {_LAYER}",
        "photo": stored["photo"],
        "grid": stored["grid"],
        "prefix": len(stored["prefix"]),
        "pin": _PIN,
    }
    names = {"photo": "photo", "keys": f"block.{_LAYER}.keys", "weights": f"block.{_LAYER}.weights"}
    _preview(pack(header, **{name: arrays[array] for name, array in names.items()}), key=KEY)
