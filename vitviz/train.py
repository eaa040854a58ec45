"""Train a preset from the shell: python -m vitviz.train digits_vit --seed 0 --out checkpoints/digits_vit.safetensors.

The same command continues an interrupted run.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from vitviz.checkpoints import save_checkpoint
from vitviz.devices import choose_training_device
from vitviz.malloc import keep_freed
from vitviz.training.checkpoint_export import assemble, with_card
from vitviz.training.loop import Trainer
from vitviz.training.presets import TRAINING_PRESETS, TrainingPreset
from vitviz.training.provenance import commit
from vitviz.training.records import Evaluation, Event, StepRecord
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.run_trainer import Session

PROJECT = Path(__file__).resolve().parents[1]


class _Bar:
    """A progress bar of updates with loss and accuracies."""

    def __init__(self, title: str) -> None:
        self._bar = tqdm(desc=title, unit="step", dynamic_ncols=True, mininterval=0.5)
        self._notes: dict[str, str] = {}

    def __call__(self, event: Event, trainer: Trainer) -> None:
        if isinstance(event, StepRecord):
            self._bar.total = trainer.total_steps
            self._notes |= {"loss": f"{event.loss:.3f}", "train": f"{event.accuracy:.3f}"}
            self._bar.set_postfix(self._notes, refresh=False)
            self._bar.update(event.step - self._bar.n)
        elif isinstance(event, Evaluation):
            self._notes[event.split] = f"{event.accuracy:.4f}"
            self._bar.set_postfix(self._notes, refresh=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, then write the checkpoint with its card; returns 0 if the training completed."""
    options = _options(arguments)
    preset = _configured(TRAINING_PRESETS[options.preset], options)
    try:
        run = _run(options.run or PROJECT / "runs" / f"{preset.name}-{options.seed}", preset)
    except RunError as error:
        print(f"{preset.name}: {error}", file=sys.stderr)
        return 1
    bar = _Bar(preset.name)
    status = Session(run, options.device, bar).perform()
    if status.state != "done":
        print(f"{preset.name}: {status.state} at step {status.step}: {status.message}", file=sys.stderr)
        return 1
    command = _command(options)
    checkpoint = with_card(assemble(run, options.snapshots), run, preset.summary, command)
    save_checkpoint(options.out, checkpoint, half=True)
    card = checkpoint.card
    print(f"{options.out}: test accuracy {card['test_accuracy']:.2%} after {card['seconds']:.0f} s")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vitviz.train", description=main.__doc__)
    parser.add_argument("preset", choices=sorted(TRAINING_PRESETS))
    parser.add_argument("--out", type=Path, required=True, help="path of the checkpoint")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=Path, help="run directory; an existing one is resumed")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 or mps; default: cuda if there is one, else cpu")
    parser.add_argument("--epochs", type=float, help="number of epochs; default: the preset's")
    parser.add_argument("--threads", type=int, help="threads that split each batch; default: 1")
    parser.add_argument("--snapshots", type=int, help="maximum number of snapshots in the checkpoint")
    options = parser.parse_args(arguments)
    try:
        options.device = str(choose_training_device(options.device))
    except ValueError as error:
        parser.error(str(error))
    return options


def _command(options: argparse.Namespace) -> str:
    """Return the command that repeats the training."""
    words = ["python", "-m", "vitviz.train", options.preset, "--seed", str(options.seed)]
    for name in ("epochs", "threads", "snapshots"):
        if getattr(options, name) is not None:
            words += [f"--{name}", f"{getattr(options, name):g}"]
    return shlex.join([*words, "--out", f"checkpoints/{options.out.name}"])


def _configured(preset: TrainingPreset, options: argparse.Namespace) -> TrainingPreset:
    # One thread by default, so that stored checkpoints are reproducible.
    train = replace(preset.train, seed=options.seed, threads=options.threads or 1)
    if options.epochs is not None:
        train = replace(train, epochs=options.epochs, seconds=None)
    return replace(preset, train=train)


def _run(directory: Path, preset: TrainingPreset) -> Run:
    """Return the run in a directory, created if missing.

    Raises:
        RunError: if the directory holds another training, or one that a process works on.
    """
    wanted = RunConfig(
        preset.model, preset.preparation, preset.train, preset.title, preset.name, commit=commit()
    )
    if not (directory / "config.json").is_file():
        return Run.create(directory.parent, wanted, directory.name)
    run = Run(directory)
    stored = run.config()
    if (stored.model, stored.preparation, stored.train) != (wanted.model, wanted.preparation, wanted.train):
        raise RunError(
            f"{directory} holds another training ({stored.preset}): choose another directory with --run"
        )
    if run.status().active:
        raise RunError(
            f"process {run.status().pid} is training in {directory}: stop it or choose another directory with --run"
        )
    return run


if __name__ == "__main__":
    keep_freed()
    raise SystemExit(main())
