"""A run that begins with other weights: its folder holds them, its record names them, and it resumes exactly."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.unit.training_helpers import GREY, TINY, duplicate
from vitviz.checkpoints import checkpoint_bytes, load_checkpoint
from vitviz.config import Preparation, TrainConfig, ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.vit import resize_positions
from vitviz.models.zoo import create_model
from vitviz.training import fine_tuning_race
from vitviz.training.batches import prepare_training_data
from vitviz.training.fine_tuning_race import BackboneSource, TargetTask, TuningMethod, part_of, race
from vitviz.training.loop import Trainer
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_config import RunConfig, config_from_values, config_to_values
from vitviz.training.run_directory import START, Run, RunError
from vitviz.training.run_trainer import Session
from vitviz.training.start_weights import start_file

BODY = replace(TINY, num_classes=7)
TASK = TargetTask("digits", 10, images=130, a_class=13, drawn=True)
METHOD = TuningMethod(updates=6, batch_size=32, seeds=1, head_learning_rate=1e-2, layer_decay=0.9)


def loaded(seed: int = 5) -> LoadedModel:
    names = tuple("abcdefg")
    return LoadedModel(
        create_model(BODY, seed), BODY, GREY, names, "Seven letters", "letters", 40, f"beef{seed}:40"
    )


def config(method: TuningMethod = METHOD) -> RunConfig:
    source = loaded()
    return race(BackboneSource(source.title, source.digest, source.config, source.preparation), TASK, method)


def begun(root: Path, method: TuningMethod = METHOD) -> Run:
    return Run.create(root, config(method), start=start_file(loaded()))


def weights(run: Run, name: str, step: int) -> dict[str, torch.Tensor]:
    member = next(member for member in run.members() if member.directory.name == name)
    return load_checkpoint(member.snapshot_path(step)).snapshots[step]


def test_the_tuned_model_begins_with_the_body_and_its_twin_with_random_weights(tmp_path: Path) -> None:
    run = begun(tmp_path)
    status = Session(run, "cpu").perform()
    assert (status.state, status.step) == ("done", 6)
    body = loaded().model.state_dict()
    tuned, scratch = weights(run, "tuned_0", 0), weights(run, "scratch_0", 0)
    kept = [name for name in body if not name.startswith("head")]
    assert all(torch.equal(tuned[name], body[name]) for name in kept)
    assert not torch.equal(scratch["blocks.0.attn.qkv.weight"], body["blocks.0.attn.qkv.weight"])
    # The twin's is that of every model trained with this seed, so of a body too; the new head is another.
    assert not torch.equal(tuned["head.weight"], scratch["head.weight"])
    assert not any(record["kind"] == "shuffled" for record in run.members()[0].records()[0])


def test_the_record_says_with_which_weights_it_began(tmp_path: Path) -> None:
    run = begun(tmp_path)
    tuned, scratch = (member.config().train for member in run.members())
    assert (tuned.start_from, tuned.start_digest) == ("Seven letters", "beef5:40")
    assert scratch.start_from is None and config_from_values(config_to_values(run.config())) == run.config()


def test_both_see_the_same_images_with_the_same_budget_and_seeds() -> None:
    made = config(replace(METHOD, seeds=3))
    assert [member.name for member in made.members] == [
        "tuned_0", "tuned_1", "tuned_2", "scratch_0", "scratch_1", "scratch_2",
    ]  # fmt: skip
    shared = ("dataset", "epochs", "batch_size", "a_class", "validation_fraction", "flip", "shift_px")
    for tuned, scratch in zip(made.members[:3], made.members[3:], strict=True):
        one, other = made.recipe(tuned), made.recipe(scratch)
        assert one.seed == other.seed and all(getattr(one, name) == getattr(other, name) for name in shared)


def test_a_frozen_body_learns_its_head_alone_at_the_heads_rate(tmp_path: Path) -> None:
    run = begun(tmp_path, replace(METHOD, body="head"))
    Session(run, "cpu").perform()
    first, last = weights(run, "tuned_0", 0), weights(run, "tuned_0", 6)
    assert {name for name in first if not torch.equal(first[name], last[name])} == {
        "head.weight",
        "head.bias",
    }
    assert run.config().train.learning_rate == 1e-2


def test_at_twice_the_resolution_the_positions_are_stretched_and_both_read_larger_images(
    tmp_path: Path,
) -> None:
    run = begun(tmp_path, replace(METHOD, image_size=64, updates=2))
    assert run.config().preparation.image_size == 64
    assert Session(run, "cpu").perform().state == "done"
    body = loaded().model.state_dict()["pos_embed"]
    assert torch.equal(weights(run, "tuned_0", 0)["pos_embed"], resize_positions(body, (4, 4), (8, 8)))
    assert weights(run, "scratch_0", 0)["pos_embed"].shape == (1, 65, 16)


def test_a_run_that_is_stopped_and_resumed_equals_one_that_is_not(tmp_path: Path) -> None:
    whole, halted = begun(tmp_path), begun(tmp_path)
    Session(whole, "cpu").perform()

    def stop(event: Event, _: Trainer) -> None:
        if isinstance(event, StepRecord) and event.step == 3:
            halted.control("stop")

    assert Session(halted, "cpu", stop).perform().state == "stopped"
    assert Session(halted, "cpu").perform().state == "done"
    for name in ("tuned_0", "scratch_0"):
        one, other = weights(whole, name, 6), weights(halted, name, 6)
        assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_run_without_its_weights_or_with_others_says_so_and_trains_nothing(tmp_path: Path) -> None:
    lacking = Run.create(tmp_path, config())
    assert "missing from its folder" in Session(lacking, "cpu").perform().message
    strange = Run.create(tmp_path, config(), start=start_file(loaded(6)))
    assert "'beef6:40'" in Session(strange, "cpu").perform().message
    damaged = begun(tmp_path)
    path = damaged.directory / START
    path.write_bytes(path.read_bytes()[:-8])
    assert Session(damaged, "cpu").perform().state == "failed"
    assert [run.members()[0].snapshots() for run in (lacking, strange, damaged)] == [[], [], []]


def test_it_travels_as_a_zip_with_its_weights(tmp_path: Path) -> None:
    run = begun(tmp_path)
    Session(run, "cpu").perform()
    copy = import_run(tmp_path, export_run(run))
    assert (copy.directory / START).read_bytes() == (run.directory / START).read_bytes()
    other = start_file(loaded(6))
    with pytest.raises(RunError, match="does not match the initial weights"):
        import_run(tmp_path, _with_start(export_run(run), other))
    with pytest.raises(RunError, match="cannot be used"):
        import_run(tmp_path, _with_start(export_run(run), other[:-4]))
    int8 = checkpoint_bytes(load_checkpoint(start_file(loaded())), int8_steps=[40])
    with pytest.raises(RunError, match="int8, which a run is not trained or resumed with"):
        import_run(tmp_path, _with_start(export_run(run), int8))


def _with_start(data: bytes, start: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, start if name == START else old.read(name))
    return made.getvalue()


def test_a_duplicate_begins_with_the_same_weights(tmp_path: Path) -> None:
    run = begun(tmp_path)
    assert (duplicate(run).directory / START).read_bytes() == (run.directory / START).read_bytes()


def test_members_are_told_apart_by_their_names() -> None:
    assert part_of("tuned_2") == (fine_tuning_race.TUNED, 2)
    for name in ("tuned", "other_0", "tuned_x"):
        with pytest.raises(ValueError, match="tuned_SEED"):
            part_of(name)


def test_a_race_of_images_that_are_not_square_keeps_their_size() -> None:
    model = ViTConfig(image_size=(16, 8), patch_size=4, num_classes=4, embed_dim=16, depth=1, num_heads=2)
    source = BackboneSource("Tall", "digest", model, Preparation((16, 8)))
    run = race(source, TargetTask("digits", 10, 100), TuningMethod(image_size=(16, 8), updates=2, seeds=1))
    assert run.model.image_size == run.preparation.image_size == (16, 8)
    with pytest.raises(ValueError, match="image_size must be an integer of at least 1, or two"):
        TuningMethod(image_size=(16, 0))


@pytest.mark.parametrize("changes", [{"seeds": 5}, {"updates": 0}, {"body": "half"}])
def test_a_method_that_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        replace(METHOD, **changes)  # type: ignore[arg-type]


def test_so_many_of_each_class_are_learned_from() -> None:
    """Of MNIST's first 200 images none was a 2 and 45 were a 5: validation has the first of each class."""
    data = load_dataset("digits")
    train = TrainConfig(a_class=13, batch_size=32, validation_fraction=0.3)
    learned = prepare_training_data(data, GREY, train).train
    assert learned.labels.bincount().tolist() == [13] * 10
    most = prepare_training_data(data, GREY, replace(train, a_class=90)).train.labels.bincount()
    whole = prepare_training_data(data, GREY, replace(train, a_class=None)).train.labels.bincount()
    assert most.tolist() == whole.clamp(max=90).tolist()
    with pytest.raises(ValueError, match="a_class has no train_fraction beside it"):
        TrainConfig(a_class=13, train_fraction=0.5)
