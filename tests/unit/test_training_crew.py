"""Threads that share each batch: the same training up to the order of summation, and the same again when resumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.unit.training_helpers import GREY, MODEL, PREPARATION, TINY, TRAIN, toy_data
from vitviz.config import CNNConfig, SwinConfig, TrainConfig
from vitviz.config_models import averages_batches
from vitviz.models.zoo import create_model, empty_model
from vitviz.training.augmentation import Mixture
from vitviz.training.executor import LocalExecutor
from vitviz.training.loop import Trainer, train
from vitviz.training.position_race import positions_race
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.records import StepRecord
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.weights import Weights

DATA = toy_data()
LIVELY = replace(TRAIN, shift_px=1, mixup_alpha=0.2, gradient_clip=1.0, label_smoothing=0.1, ema_decay=0.9)
DROPPING = replace(MODEL, dropout=0.1, attention_dropout=0.1, drop_path=0.2, depth=2)
SWIN = SwinConfig(
    image_size=8, in_chans=1, num_classes=2, embed_dim=12, depths=(1,), num_heads=(2,), dropout=0.1
)
NORMED = CNNConfig(image_size=8, in_chans=1, num_classes=2, widths=(8,), blocks=(1,))


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def advanced(threads: int, steps: int, model: object = MODEL, config: TrainConfig = LIVELY) -> Trainer:
    trainer = Trainer(model, replace(config, threads=threads), DATA)  # type: ignore[arg-type]
    for _ in range(steps):
        trainer.advance()
    return trainer


@pytest.mark.parametrize("threads", [2, 3])  # a batch of 16 in parts of 6, 5 and 5
@pytest.mark.parametrize("config", [LIVELY, replace(LIVELY, optimizer="muon", cutmix_alpha=1.0)])
def test_parts_add_up_to_the_whole_batch(config: TrainConfig, threads: int) -> None:
    whole, shared = (advanced(count, 1, config=config) for count in (1, threads))
    assert (whole.thread_pool.parts, shared.thread_pool.parts) == (1, threads)
    torch.testing.assert_close(shared.weights.gradient, whole.weights.gradient, rtol=1e-4, atol=1e-6)
    assert shared.record().loss == pytest.approx(whole.record().loss, rel=1e-5)
    whole, shared = (advanced(count, 12, config=replace(config, optimizer="sgd")) for count in (1, threads))
    torch.testing.assert_close(shared.weights.master, whole.weights.master, rtol=1e-3, atol=1e-4)
    assert shared.evaluate("validation").loss == pytest.approx(whole.evaluate("validation").loss, rel=1e-3)


def test_a_taught_model_learns_the_same_in_parts() -> None:
    config = replace(LIVELY, distill_from="teacher", distillation="soft")
    made = [
        Trainer(
            replace(MODEL, distilled=True),
            replace(config, threads=threads),
            DATA,
            teacher=create_model(MODEL, seed=3),
        )
        for threads in (1, 2)
    ]
    for trainer in made:
        trainer.advance()
    torch.testing.assert_close(made[0].weights.gradient, made[1].weights.gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", [DROPPING, SWIN])
def test_what_a_thread_drops_does_not_depend_on_the_others(model: object) -> None:
    together, one_by_one = (Trainer(model, replace(LIVELY, threads=2), DATA) for _ in range(2))  # type: ignore[arg-type]
    one_by_one.thread_pool._pool = None  # the same parts, computed by this thread alone
    for _ in range(6):
        torch.rand(3)  # nobody else's dice matter
        together.advance()
        one_by_one.advance()
    assert torch.equal(together.weights.master, one_by_one.weights.master)
    assert not torch.equal(
        together.weights.master, advanced(2, 6, model, replace(LIVELY, seed=1)).weights.master
    )


def test_the_parts_of_a_batch_drop_different_values() -> None:
    crew = Trainer(DROPPING, replace(LIVELY, threads=2), DATA).thread_pool
    image = torch.randn(1, 1, 8, 8).expand(4, -1, -1, -1)
    logits, _, gradients = crew.learn(image, Mixture(torch.zeros(4, dtype=torch.int64)), seed=5)
    assert len(gradients) == 2 and not torch.equal(logits[:2], logits[2:])


def test_a_resumed_run_of_two_threads_equals_an_uninterrupted_one() -> None:
    config = replace(LIVELY, threads=2, epochs=2)
    whole, first, second = (Trainer(DROPPING, config, DATA) for _ in range(3))
    uninterrupted = [event.loss for event in train(whole) if isinstance(event, StepRecord)]
    for _ in range(5):
        first.advance()
    second.load_state(*first.state())
    resumed = [event.loss for event in train(second) if isinstance(event, StepRecord)]
    assert resumed == uninterrupted[5:]
    assert torch.equal(whole.weights.master, second.weights.master)


def test_batch_norms_that_are_trained_see_the_whole_batch() -> None:
    whole, asked = (Trainer(NORMED, replace(TRAIN, threads=threads), DATA) for threads in (1, 2))
    assert asked.thread_pool.parts == 1
    whole.advance(), asked.advance()
    assert torch.allclose(whole.weights.master, asked.weights.master, atol=1e-6)
    asked_for_all = RunConfig(NORMED, PREPARATION, replace(TRAIN, threads=0))
    assert asked_for_all.on_threads(2).train.threads == 1
    body = tuple(name for name, _ in create_model(NORMED).named_parameters() if not name.startswith("head"))
    resting = Weights(create_model(NORMED), body, torch.float32, None, resting=True)
    assert not resting.averages_batches()  # what rests averages nothing


@pytest.mark.parametrize("name", sorted(TRAINING_PRESETS))
def test_a_config_knows_whether_its_model_averages_batches(name: str) -> None:
    preset = TRAINING_PRESETS[name]
    trained = Weights(empty_model(preset.model), (), torch.float32, None)
    assert trained.averages_batches() == averages_batches(preset.model)


def test_a_run_that_starts_alone_keeps_all_threads_and_a_second_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalExecutor, "_launch", lambda self, order: None)
    executor, beside = (LocalExecutor(tmp_path, slots=2, warm=False) for _ in range(2))
    asked = RunConfig(TINY, GREY, replace(TRAIN, threads=0))
    first, second, third = executor.start(asked), executor.start(asked), beside.start(asked)
    assert [run.config().train.threads for run in (first, second, third)] == [2, 1, 1]
    for run in (first, second, third):
        (run.directory / "claim.json").unlink()  # as at its end
    assert executor.start(asked).config().train.threads == 2
    returned = RunConfig(TINY, GREY, replace(TRAIN, threads=1))
    assert executor.start(returned).config().train.threads == 1
    for one in (executor, beside):
        one.close()


def test_all_members_of_an_experiment_get_the_same_threads() -> None:
    race = positions_race("digits", threads=0)
    own = Member("own", "Own", race.model, replace(race.train, learning_rate=1e-2))
    given = replace(race, members=(race.members[0], own)).on_threads(2)
    assert [given.recipe(member).threads for member in given.members] == [2, 2]
    assert given.recipe(given.members[1]).learning_rate == 1e-2
