"""Choose the device of a training: a GPU if there is one, and bf16 where it is fast."""

import torch


def choose_device() -> str:
    """Return 'cuda' if available, else 'cpu'."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def bf16_is_fast(device: torch.device) -> bool:
    """Return True if bf16 matrix products have hardware: any CUDA device here, or a CPU with AVX-512 bf16 or AMX."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    checks = (
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
    return device.type == "cpu" and any(check is not None and check() for check in checks)
