"""Train a shipped ViT again and store what changes: python -m vitviz.experiments.growth_recording digits_vit.

The same command continues an interrupted training.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from vitviz.analysis.filters import FloatArray
from vitviz.checkpoints import open_model
from vitviz.data import cifar10_few
from vitviz.data.dataset import validation_split
from vitviz.data.datasets import first_number, load_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.growth import FOLDER, Growth, choose_moments, pack_rows, save_growth
from vitviz.malloc import keep_freed
from vitviz.models.abilities import as_vit
from vitviz.probe.capture import as_array, attention_distances, capture
from vitviz.probe.snapshot_evaluation import measure_norms
from vitviz.training.batches import SPLIT_SEED
from vitviz.training.checkpoint_export import history
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.provenance import commit, processor
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

MOMENTS = 32
SNAPSHOTS = 120  # from which the moments are chosen
IMAGES = 64  # test images, of the distances and norms
HELD_OUT = 200  # validation images, as many as the live lab classifies at every snapshot
FURTHER = 2  # images after the first


def train(name: str, epochs: float | None, directory: Path) -> Run:
    """Train a preset with seed 0 in one thread, as the shipped checkpoint; an existing run is continued."""
    preset = TRAINING_PRESETS[name]
    config = replace(preset.train, seed=0, threads=1, snapshots=SNAPSHOTS)
    if epochs is not None:
        config = replace(config, epochs=epochs)
    if not (directory / "config.json").is_file():
        wanted = RunConfig(preset.model, preset.preparation, config, preset.title, name, commit=commit())
        Run.create(directory.parent, wanted, directory.name)
    run = Run(directory)
    if run.config().train != config:
        raise ValueError(f"{directory} holds another training: choose another directory with --run")
    status = run.status()
    if status.state != "done":
        status = Session(run).perform()
    if status.state != "done":
        raise ValueError(f"{name}: {status.state} at step {status.step}: {status.message}")
    return run


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What every snapshot is measured on: test images, the images of the attention, and validation images."""

    tested: FloatArray
    shown: FloatArray
    held_out: FloatArray
    names: tuple[str, ...]  # keys of the shown images


def _load_inputs(config: RunConfig) -> _Inputs:
    name = config.train.dataset
    dataset, split = load_dataset(cifar10_few.NAME if name == "cifar10" else name), load_dataset(name)
    first = first_number(dataset.name)
    numbers = [first, *[number for number in range(FURTHER + 1) if number != first][:FURTHER]]
    assert split.train_labels is not None
    held = validation_split(split, config.train.validation_fraction, SPLIT_SEED)[1][:HELD_OUT]
    return _Inputs(
        prepare_batch(dataset.test_images[:IMAGES], config.preparation),
        prepare_batch(dataset.test_images[numbers], config.preparation),
        prepare_batch(split.train_images[held], config.preparation),
        tuple(f"{dataset.name}:{number}" for number in numbers),
    )


@dataclass(frozen=True, eq=False)
class _Snapshot:
    """One snapshot's arrays, as in `Growth`."""

    attention: FloatArray  # (layers, images, heads, tokens, tokens)
    positions: FloatArray
    embedding: FloatArray
    distances: FloatArray  # (images, layers, heads)
    norms: FloatArray
    probabilities: FloatArray


def _measure_snapshot(path: Path, step: int, inputs: _Inputs) -> _Snapshot:
    model = open_model(path, step)
    logits = capture(model.model, inputs.held_out, record=("logits",), batch_size=64).logits
    return _Snapshot(
        capture(model.model, inputs.shown, record=("blocks.*.attn",)).attention(),
        as_array(model.model.get_parameter("pos_embed"))[0],
        as_array(model.model.get_parameter("patch_embed.proj.weight")),
        attention_distances(model.model, inputs.tested, with_mean=False).distance_px,
        measure_norms(model, inputs.tested),
        model.probabilities(logits),
    )


def measure(run: Run, shipped: Path) -> Growth:
    """Measure a finished run at the moments between which most changes."""
    config, steps = run.config(), run.snapshots()
    inputs = _load_inputs(config)
    measured = [_measure_snapshot(run.snapshot_path(step), step, inputs) for step in steps]

    def stack(values: Callable[[_Snapshot], FloatArray], indices: Iterable[int]) -> FloatArray:
        return np.stack([values(measured[i]) for i in indices])

    every = range(len(steps))
    first_row = stack(lambda m: m.attention[:, 0, :, 0], every)
    means = stack(lambda m: m.distances.mean(axis=0), every)
    tables = stack(lambda m: m.positions, every), stack(lambda m: m.embedding, every)
    chosen = choose_moments([*tables, means, first_row], MOMENTS)
    rows, cols = as_vit(config.model).grid
    tokens = [0, 1 + rows // 2 * cols + cols // 2]  # [CLS] and the central patch
    codes, peaks = pack_rows(stack(lambda m: m.attention[:, 0], chosen))
    further = stack(lambda m: m.attention[:, 1:, :, tokens].transpose(1, 3, 0, 2, 4), chosen)
    further_codes, further_peaks = pack_rows(further)
    records, _ = run.records()
    test = next(record for record in reversed(records) if record.get("split") == "test")
    epochs = {record["step"]: record["epoch"] for record in records if record["kind"] == "snapshot"}
    is_shipped = _has_same_weights(run.snapshot_path(), shipped)
    return Growth(
        steps=np.array([steps[i] for i in chosen]),
        epochs=np.array([epochs[steps[i]] for i in chosen]),
        test_accuracy=float(test["accuracy"]),
        commit=config.commit,
        machine=processor(),
        is_shipped=is_shipped,
        positions=tables[0][chosen],
        embedding=tables[1][chosen],
        distance_px=means[chosen],
        distance_sd=stack(lambda m: m.distances.std(axis=0), chosen),
        images=IMAGES,
        probabilities=stack(lambda m: m.probabilities, chosen),
        norms=stack(lambda m: m.norms, chosen),
        image=inputs.names[0],
        rows=codes,
        peaks=peaks,
        further=inputs.names[1:],
        further_rows=further_codes,
        further_peaks=further_peaks,
        history=() if is_shipped else tuple(history(run)),
    )


def _has_same_weights(run: Path, shipped: Path) -> bool:
    """Return True if two files' last steps predict with the same weights, up to the shipped half precision."""
    states = [open_model(path).model.state_dict() for path in (run, shipped)]
    return all(torch.equal(value.half(), states[1][name].half()) for name, value in states[0].items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, measure and store; returns 0 if the training completed."""
    parser = argparse.ArgumentParser(
        prog="python -m vitviz.experiments.growth_recording", description=main.__doc__
    )
    parser.add_argument("preset", choices=sorted(TRAINING_PRESETS))
    parser.add_argument("--epochs", type=float, help="number of epochs; default: the preset's")
    parser.add_argument("--run", type=Path, help="run directory; an existing one is continued")
    options = parser.parse_args(arguments)
    directory = options.run or FOLDER.parents[1] / "runs" / f"growth-{options.preset}"
    growth = measure(
        train(options.preset, options.epochs, directory), FOLDER.parent / f"{options.preset}.safetensors"
    )
    path = FOLDER / f"{options.preset}.npz"
    save_growth(path, growth)
    same = "the shipped weights" if growth.is_shipped else "another run of the recipe"
    print(f"{path}: {path.stat().st_size:,} bytes, {same}, test accuracy {growth.test_accuracy:.2%}")
    return 0


if __name__ == "__main__":
    keep_freed()
    sys.exit(main())
