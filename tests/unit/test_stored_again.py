"""One small part of every kind of stored result, made again as it was made, comes to what its file says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vitviz.checkpoints import open_model
from vitviz.data.cifar10_few import few_dataset
from vitviz.data.dataset import Dataset
from vitviz.data.datasets import DATASETS, available_datasets, load_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.experiment import EXPERIMENTS
from vitviz.experiments.experiment import run
from vitviz.experiments.result_file import Made, read_result
from vitviz.models.vit import resize_positions
from vitviz.models.zoo import create_model
from vitviz.training.position_race import positions_race
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"

CELLS: dict[str, dict[str, Any]] = {
    "data_size_digits": {"model": "hybrid", "pictures": 50, "augmented": True, "seed": 0},
    "teaching_digits": {"lesson": "soft τ 10 λ 0.9", "pictures": 100, "seed": 0},
    "one_knob_digits": {"knob": "residual", "value": False, "seed": 0},
    "one_slip_digits": {"slip": "positions", "seed": 0},
    "transfer": {"source": "mnist_vit", "method": "tuned", "a_class": 2, "seed": 0},
    "transfer_mnist": {"source": "digits_vit", "method": "tuned", "a_class": 5, "seed": 0},
    "tuning": {"source": "mnist_vit", "way": "frozen", "a_class": 5, "seed": 0},
    "faces": {"model": "cnn", "seed": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_a_stored_training_is_made_again(name: str, tmp_path: Path) -> None:
    """The same where the machine is the same, else as near as other seeds lie: another processor rounds otherwise."""
    stored, wanted = read_result(name), CELLS[name]
    images = stored.settings.get("dataset")
    if images in DATASETS and images not in available_datasets():
        pytest.skip(f"{images} is not on this machine")
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


@pytest.mark.slow
def test_two_codes_of_the_positions_race_are_trained_again(tmp_path: Path) -> None:
    stored = {
        run["positions"]: run["measured"] for run in kept_file("positions_race")["races"]["digits"]["runs"]
    }
    config = positions_race("digits")
    two = tuple(member for member in config.members if member.name in ("none", "learned"))
    run = Run.create(tmp_path, replace(config, model=two[0].model, members=two))
    assert Session(run, "cpu").perform().state == "done"
    for member in run.members():
        records, _ = member.records()
        (found,) = [record for record in records if record["kind"] == "shuffled"][-1:]
        kept = stored[member.directory.name]
        assert abs(found["accuracy"] - kept["accuracy"]) <= 0.03, member.directory.name
        assert abs(found["shuffled"] - kept["shuffled"]) <= 0.08, "another processor rounds otherwise"


@pytest.mark.slow
def test_a_table_stretched_again_is_worth_what_its_file_says() -> None:
    """All of the digits' test images, at 28 px and at its own 32."""
    stored = kept_file("resize_accuracy")["models"]["digits_vit"]
    loaded, dataset = open_model(CHECKPOINTS / "digits_vit.safetensors"), load_dataset("digits")
    assert stored["pictures"] == len(dataset.test_images)
    for size in (28, 32):
        config = replace(loaded.vit.config, image_size=size)
        state = dict(loaded.model.state_dict())
        table = resize_positions(state["pos_embed"], loaded.vit.config.grid, config.grid)
        bigger = create_model(config)
        bigger.load_state_dict(state | {"pos_embed": table})
        prepared = prepare_batch(
            dataset.test_images, replace(loaded.preparation, image_size=size, digit=False)
        )
        with torch.inference_mode():
            guesses = bigger.eval()(torch.as_tensor(prepared)).argmax(dim=1).numpy()
        right = float(np.mean(guesses == dataset.labels_of("test")))
        assert abs(right - stored["grid"][stored["sizes"].index(size)]) <= 2 / stored["pictures"]


@pytest.mark.slow
def test_who_decides_like_whom_is_so_on_the_few_images_that_are_always_here() -> None:
    """200 of the 10,000: every stored share within three deviations of what they say."""
    few = few_dataset()
    for student, stored in kept_file("distillation")["students"].items():
        own = decisions(student, few, ("logits", "logits_cls", "logits_dist"))
        decided = {
            "teacher": decisions(stored["teacher"], few)["logits"],
            "twin": decisions(stored["twin"], few)["logits"],
            "[CLS] head": own["logits_cls"],
            "[DIST] head": own["logits_dist"],
            "both heads": own["logits"],
        }
        places = {name: stored["names"].index(name) for name in decided}
        for name, made in decided.items():
            right = float(np.mean(made == few.labels_of("test")))
            assert near(right, stored["accuracy"][places[name]], len(made)), name
            for other, theirs in decided.items():
                share = float(np.mean(made != theirs))
                assert near(share, stored["differs"][places[name]][places[other]], len(made)), (name, other)


def decisions(name: str, few: Dataset, record: tuple[str, ...] = ("logits",)) -> dict[str, np.ndarray]:
    """What a shipped model decides about the images, by what it is read from."""
    loaded = open_model(CHECKPOINTS / f"{name}.safetensors")
    with torch.inference_mode():
        logits, found = loaded.model(
            torch.as_tensor(prepare_batch(few.test_images, loaded.preparation)), record=record
        )
    return {key: value.argmax(dim=1).numpy() for key, value in {"logits": logits, **found}.items()}


def near(share: float, stored: float, images: int) -> bool:
    """Whether a share of so many images may be drawn from what is stored: three deviations and one image."""
    return abs(share - stored) <= 3 * (stored * (1 - stored) / images) ** 0.5 + 1 / images


def kept_file(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CHECKPOINTS / f"{name}.json").read_text("utf-8"))
    return found
