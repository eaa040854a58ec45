"""Record the code version and the machine of a trained file or a measured number."""

import platform
import subprocess
from functools import lru_cache
from pathlib import Path

import torch

PROJECT = Path(__file__).resolve().parents[2]


@lru_cache
def commit() -> str:
    """Return the code's commit, short, with '-dirty' where files were changed since; 'unknown' outside a clone."""
    try:
        completed = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return completed.stdout.strip()


def processor() -> str:
    """Return the CUDA device's name, or the processor's."""
    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
