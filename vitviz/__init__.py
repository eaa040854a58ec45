"""Inspect and train Vision Transformers.

    import vitviz

    model = vitviz.load("digits_vit")
    view = vitviz.inspect(model, "digit.png")
    view.attention(layer=-1, head=0)

`import vitviz` imports neither torch nor NumPy; the first use of a name below does.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers read typing's, whose import takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    LightningRecorder: Any
    TrainerRecorder: Any
    from vitviz.batch import Batch, StoredAttention, inspect, list_images
    from vitviz.loading import load
    from vitviz.recorder import Recorder, record
    from vitviz.timm_export import export
    from vitviz.view import View, app

__version__ = "0.2.0"
_MODULES = {
    "batch": ("Batch", "StoredAttention", "inspect", "list_images"),
    "framework_recorders": ("LightningRecorder", "TrainerRecorder"),
    "loading": ("load",),
    "recorder": ("Recorder", "record"),
    "timm_export": ("export",),
    "view": ("View", "app"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [
    "Batch",
    "LightningRecorder",
    "Recorder",
    "StoredAttention",
    "TrainerRecorder",
    "View",
    "__version__",
    "app",
    "export",
    "inspect",
    "list_images",
    "load",
    "record",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'vitviz' has no attribute {name!r}")
    return getattr(import_module(f"vitviz.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
