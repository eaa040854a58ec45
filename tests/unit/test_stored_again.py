"""One small training of every kind of stored result, made again as it was made, comes to what its file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vitviz.experiments.experiment import run
from vitviz.experiments.named import EXPERIMENTS
from vitviz.experiments.result import Made, read_result

CELLS: dict[str, dict[str, Any]] = {
    "data_size_digits": {"model": "hybrid", "pictures": 50, "augmented": True, "seed": 0},
    "teaching_digits": {"lesson": "soft τ 10 λ 0.9", "pictures": 100, "seed": 0},
    "one_knob_digits": {"knob": "residual", "value": False, "seed": 0},
    "one_slip_digits": {"slip": "positions", "seed": 0},
    "transfer": {"source": "mnist_vit", "method": "tuned", "a_class": 2, "seed": 0},
    "tuning": {"source": "mnist_vit", "way": "frozen", "a_class": 5, "seed": 0},
    "faces": {"model": "cnn", "seed": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_a_stored_training_is_made_again(name: str, tmp_path: Path) -> None:
    """The same where the machine is the same, else as near as other seeds lie: another processor rounds otherwise."""
    stored, wanted = read_result(name), CELLS[name]
    (kept,) = stored.where(**wanted)
    (cell,) = [one for one in EXPERIMENTS[name]().cells if all(one.get(k) == v for k, v in wanted.items())]
    (row,) = run(EXPERIMENTS[name](), tmp_path, [cell])
    found, alike = row["found"], {key: value for key, value in wanted.items() if key != "seed"}
    if Made(**row["made"]).machine == stored.made[kept["made"]].machine:
        assert found["test"] == kept["test"]
    spread = np.std([other["test"] for other in stored.where(**alike)], ddof=1)
    assert abs(found["test"] - kept["test"]) <= 2 * spread + 0.03
    assert len(found["curve"]) == len(kept["curve"])
    assert [point[0] for point in found["curve"]] == [point[0] for point in kept["curve"]]  # as many updates
