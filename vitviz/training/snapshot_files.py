"""Write and read the snapshots and the resume state of a run."""

import json
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise_tensors
from torch import Tensor

from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.training.atomic_files import write_whole
from vitviz.training.records import Snapshot
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError


def save_snapshot(run: Run, config: RunConfig, classes: tuple[str, ...], snapshot: Snapshot) -> None:
    """Write one step's weights as a checkpoint."""
    card = {"title": config.name, "step": snapshot.step, "epoch": snapshot.epoch, "seconds": snapshot.seconds}
    save_checkpoint(
        run.directory / "snapshots" / f"{snapshot.step:08d}.safetensors",
        Checkpoint(
            config=config.model,
            preparation=config.preparation,
            train=config.train,
            classes=classes,
            history=[],
            snapshots={snapshot.step: snapshot.state},
            card=card,
        ),
    )


def save_resume(run: Run, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write a trainer's state."""
    encoded = serialise_tensors(tensors, metadata={"vitviz": json.dumps(values)})
    write_whole(run.directory / "resume.safetensors", encoded)


def load_resume(run: Run) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Return the trainer's last saved state, or None.

    Raises:
        RunError: if the file is damaged.
    """
    path = run.directory / "resume.safetensors"
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            values = json.loads((file.metadata() or {})["vitviz"])
            return {name: file.get_tensor(name) for name in file.keys()}, values  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise RunError(f"the run's saved state is damaged, so it cannot be resumed: {error}") from error


def teacher_identity(run: Run) -> str:
    """Return the identity of the teacher's weights; empty without one."""
    saved = load_resume(run)
    return "" if saved is None else str(saved[1].get("teacher", ""))


def cut_after(run: Run, step: int) -> None:
    """Delete records and snapshots after a step, and a truncated last line."""
    path = run.directory / "records.jsonl"
    if path.is_file():
        lines = [line for line in path.read_bytes().splitlines(keepends=True) if _keeps(line, step)]
        write_whole(path, b"".join(lines))
    for snapshot in run.snapshots():
        if snapshot > step:
            (run.directory / "snapshots" / f"{snapshot:08d}.safetensors").unlink(missing_ok=True)


def _keeps(line: bytes, step: int) -> bool:
    try:
        return line.endswith(b"\n") and int(json.loads(line).get("step", 0)) <= step
    except (ValueError, AttributeError, TypeError):
        return False
