"""Choose the device and the number format that a model computes with, and move models and inputs there."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.models.loaded_model import LoadedModel
from vitviz.models.zoo import empty_model

Device = str | torch.device | None
DType = str | torch.dtype | None
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(device: Device = None) -> torch.device:
    """Return a device of this machine; None: its accelerator (CUDA, MPS), or the CPU if there is none.

    Raises:
        TypeError: if it is no device's name.
        ValueError: if this machine has no such device.
    """
    best = torch.accelerator.current_accelerator(check_available=True)
    if device is None:
        return best or torch.device("cpu")
    if not isinstance(device, str | torch.device):
        raise TypeError(f"device must be a name such as 'cpu', 'cuda:0' or 'mps', received {device!r}")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device must be 'cpu', 'cuda', 'cuda:1' or 'mps', received {device!r}") from None
    counts = {"cpu": 1} | ({best.type: torch.accelerator.device_count()} if best else {})
    if (chosen.index or 0) >= counts.get(chosen.type, 0):
        names = ", ".join(f"{count} × {name}" for name, count in counts.items())
        raise ValueError(f"this machine has no device {str(device)!r}; it has: {names}")
    return chosen


def choose_training_device(device: Device = None) -> torch.device:
    """Return a device of this machine; None: CUDA's, or the CPU, since training was never run on another.

    Raises:
        TypeError, ValueError: as `choose_device`.
    """
    return choose_device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def choose_dtype(dtype: DType) -> torch.dtype | None:
    """Return the number format of a name; None: that of the model.

    Raises:
        ValueError: if it is none of `DTYPES`.
    """
    chosen = DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if chosen not in (*DTYPES.values(), None) or (chosen is None and dtype is not None):
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, received {dtype!r}")
    return chosen


def find_device(module: nn.Module) -> torch.device:
    """Return the device of a module's first parameter; the CPU if it has none."""
    first = next(module.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def place_model(loaded: LoadedModel, device: torch.device, dtype: torch.dtype | None = None) -> LoadedModel:
    """Return the model on a device in a number format, itself if it is there; its own weights stay where they are."""
    first = next(loaded.model.parameters())
    dtype = dtype or first.dtype

    def move(tensor: Tensor) -> Tensor:
        return tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype)

    if all(move(tensor) is tensor for tensor in (*loaded.model.parameters(), *loaded.model.buffers())):
        return loaded
    model = empty_model(loaded.config)
    state = {name: move(tensor) for name, tensor in loaded.model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    digest = loaded.digest if dtype == first.dtype else f"{loaded.digest}:{dtype}"
    return replace(loaded, model=model.to(device, dtype), digest=digest)


def make_input(module: nn.Module, images: NDArray[np.float32]) -> Tensor:
    """Return images as a tensor of the module's device and number format.

    It is a copy: torch must not share memory with an array that a cache may have frozen.
    """
    first = next(module.parameters())
    return torch.tensor(images, dtype=torch.float32).to(first.device, first.dtype)
