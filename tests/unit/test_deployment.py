"""Test that the limits of the container add up: deploy/docker-compose.yml and deploy/Dockerfile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages.stores.shared_results import MAX_BYTES
from vitviz.data.image_worker import MEMORY_LIMIT_BYTES, WORKERS
from vitviz.training.retention import Limits
from vitviz.upload_limits import (
    CLASS_IMAGES_BYTES,
    DATASETS_BYTES,
    IMAGES_BYTES,
    SERVER_BYTES,
    WEIGHTS_DISK_MB,
)

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE, DOCKERFILE = (DEPLOY / name for name in ("docker-compose.yml", "Dockerfile"))
WARM_BYTES, TRAINER_BYTES = 710 * 2**20, 420 * 2**20  # measured: deploy/README.md


def read_number(pattern: str, file: Path = COMPOSE) -> int:
    """Return the number that a pattern finds in a file."""
    match = re.search(pattern, file.read_text("utf-8"))
    assert match is not None, f"{pattern} is not in {file.name}"
    return int(match[1])


def read_table(heading: str) -> list[float]:
    """Return the second column of a table of deploy/README.md; the sum is last."""
    _, _, table = (DEPLOY / "README.md").read_text("utf-8").partition(f"| {heading} | at most, GB |\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    return [float(row.split("|")[2].strip(" *")) for row in rows]


def test_all_bounds_of_a_process_fit_the_containers_memory() -> None:
    tmp = read_number(r'tmpfs: \["/tmp:size=(\d+)m"\]') * 2**20  # without a size it is half of the machine
    trainers = read_number(r"VITVIZ_TRAINERS:-(\d+)") * TRAINER_BYTES
    decoders = WORKERS * MEMORY_LIMIT_BYTES
    bounds = [WARM_BYTES, MAX_BYTES, IMAGES_BYTES, SERVER_BYTES, decoders, tmp, trainers]
    *rows, total = read_table("memory of one process")
    assert rows == pytest.approx([size / 2**30 for size in bounds], abs=0.1)
    assert total == pytest.approx(sum(rows), abs=0.01)
    assert max(total * 2**30, sum(bounds)) <= read_number(r"mem_limit: (\d+)g") * 2**30


def test_the_bounds_of_the_volume_add_up() -> None:
    processes = len(re.findall(r"^  \w+: \*app$", COMPOSE.read_text("utf-8"), re.MULTILINE))
    weights, arriving = (processes * size for size in (WEIGHTS_DISK_MB << 20, SERVER_BYTES))
    runs = Limits.from_environment({}).stored_bytes
    bounds = [runs, DATASETS_BYTES, CLASS_IMAGES_BYTES, weights, arriving]
    *rows, total = read_table("disk of the volume `/data`")
    assert rows == pytest.approx([size / 2**30 for size in bounds], rel=0.1)
    assert total == sum(rows)


def test_uploaded_weights_are_on_the_volume_and_not_in_memory() -> None:
    text = DOCKERFILE.read_text("utf-8")
    assert re.search(r"TMPDIR=/data/tmp$", text, re.MULTILINE) and "VOLUME /data" in text
    assert 'mkdir -p \\"$TMPDIR\\"' in text  # else Python falls back to /tmp without a word
