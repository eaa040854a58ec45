"""Every test draws the same random numbers, and the publishers' libraries find torchvision."""

from __future__ import annotations

import pytest
import torch

from vitviz.torchvision_fix import import_torchvision


@pytest.fixture(scope="session", autouse=True)
def _torchvision() -> None:
    """timm and transformers import it, and beside a CPU build it may need two operators declared first."""
    import_torchvision()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
