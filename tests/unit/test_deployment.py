"""Test that the limits of the container add up: deploy/docker-compose.yml and deploy/Dockerfile."""

from __future__ import annotations

import re
from pathlib import Path

from pages.stores.shared_results import MAX_BYTES
from vitviz.data.image_worker import MEMORY_LIMIT_BYTES, WORKERS
from vitviz.upload_limits import IMAGES_BYTES, SERVER_BYTES

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE, DOCKERFILE = (DEPLOY / name for name in ("docker-compose.yml", "Dockerfile"))
WARM_BYTES, TRAINER_BYTES = 710 * 2**20, 420 * 2**20  # measured: deploy/README.md


def read_number(pattern: str, file: Path = COMPOSE) -> int:
    """Return the number that a pattern finds in a file."""
    match = re.search(pattern, file.read_text("utf-8"))
    assert match is not None, f"{pattern} is not in {file.name}"
    return int(match[1])


def test_all_bounds_of_a_process_fit_the_containers_memory() -> None:
    tmp = read_number(r'tmpfs: \["/tmp:size=(\d+)m"\]') * 2**20  # without a size it is half of the machine
    trainers = read_number(r"VITVIZ_TRAINERS:-(\d+)") * TRAINER_BYTES
    bounds = (
        WARM_BYTES + MAX_BYTES + IMAGES_BYTES + SERVER_BYTES + WORKERS * MEMORY_LIMIT_BYTES + tmp + trainers
    )
    assert bounds <= read_number(r"mem_limit: (\d+)g") * 2**30


def test_uploaded_weights_are_on_the_volume_and_not_in_memory() -> None:
    text = DOCKERFILE.read_text("utf-8")
    assert re.search(r"TMPDIR=/data/tmp$", text, re.MULTILINE) and "VOLUME /data" in text
    assert 'mkdir -p \\"$TMPDIR\\"' in text  # else Python falls back to /tmp without a word
