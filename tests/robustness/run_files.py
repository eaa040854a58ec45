"""Small runs, a full disk, and zips of runs with members changed; for the tests beside it."""

from __future__ import annotations

import errno
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from tests.files import zipped
from vitviz.config import Preparation, TrainConfig, ViTConfig
from vitviz.training.run_archive import export_run
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run

MODEL = ViTConfig(image_size=32, patch_size=16, in_chans=1, embed_dim=8, depth=1, num_heads=1)
GREY = Preparation(image_size=32, mean=(0.5,), std=(0.5,), digit=True)
TRAIN = TrainConfig(epochs=2, batch_size=32, train_fraction=0.1, snapshots=3)


GOOD_STEP = {
    "kind": "step",
    "step": 2,
    "epoch": 0.5,
    "seen": 64,
    "loss": 0.5,
    "accuracy": 0.25,
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "gradient_norm": 1.5,
    "images_per_second": 100.0,
    "seconds": 0.5,
}


def new_run(root: Path) -> Run:
    return Run.create(root, RunConfig(MODEL, GREY, TRAIN, name="tiny", owner="me"))


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def rezipped(run: Run, **changes: bytes | None) -> bytes:
    """The run's zip with members replaced, added, or (None) left out; '__' in a name stands for '/'."""
    members: dict[str, bytes | None] = {}
    with zipfile.ZipFile(io.BytesIO(export_run(run))) as archive:
        members.update({name: archive.read(name) for name in archive.namelist()})
    for name, data in changes.items():
        members[name.replace("__", "/").replace("_json", ".json").replace("_st", ".safetensors")] = data
    return zipped({name: data for name, data in members.items() if data is not None})


def json_of(**values: Any) -> bytes:
    return json.dumps(values).encode()
