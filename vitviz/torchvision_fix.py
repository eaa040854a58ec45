"""Import torchvision with a torch build for which its compiled operators were not built.

Beside torch's CPU build the package index's torchvision (made for CUDA) cannot load its compiled operators:
`import torchvision`, and with it timm, stops at 'operator torchvision::nms does not exist'. Models,
transforms and datasets need none of them, so it is enough to declare the two names that the import looks
up; the operators themselves stay missing.
"""

import importlib
import sys
import threading
from types import ModuleType
from typing import Any

_MISSING = "operator torchvision::nms does not exist"
_lock = threading.Lock()
_declared: list[Any] = []  # a torch Library takes its operators along when it is collected: keep it


def import_torchvision() -> ModuleType:
    """Import torchvision, declaring its two missing operators if needed.

    Call it before the first import of timm. Safe to call again, and from several threads.

    Raises:
        ImportError, RuntimeError: whatever `import torchvision` raises for any other reason.
    """
    with _lock:
        try:
            return importlib.import_module("torchvision")
        except RuntimeError as error:
            if _MISSING not in str(error):
                raise
        _declare_operators()
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]  # half imported: a second import would trip over them
        return importlib.import_module("torchvision")


def _declare_operators() -> None:
    from torch import library as registered

    if _declared:
        return
    library: Any = registered.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
