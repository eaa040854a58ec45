"""The explorer of all layers: weights of many layers have 8 bits, so that a photo's page stays small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vitviz
from vitviz.plots import attention_message
from vitviz.plots.blob import read_files, unpack_arrays

CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "digits_vit.safetensors"


def test_eight_bits_restore_weights_within_half_a_percent_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    view = vitviz.inspect(CHECKPOINT, np.zeros((64, 64), np.uint8))
    exact = view.explorer_message()
    monkeypatch.setattr(attention_message, "EXACT_WEIGHTS", 0)
    coarse = view.explorer_message()
    assert len(coarse) < 0.6 * len(exact) and read_files(coarse) == read_files(exact)
    start = 4 + int.from_bytes(exact[:4], "little")
    sixteen, eight = unpack_arrays(exact[start:]), unpack_arrays(coarse[start:])
    for layer, captured in enumerate(view._layers):
        assert isinstance(captured.rows, np.ndarray)
        codes, top = eight[f"codes{layer}"], eight[f"max{layer}"][..., None]
        assert codes.dtype == np.uint8 and sixteen[f"codes{layer}"].dtype == np.uint16
        restored = (codes.astype(np.float64) / 255) ** 2 * top
        assert np.all(np.abs(restored - captured.rows) <= 0.0041 * top)
