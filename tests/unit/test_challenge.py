"""A class's challenge: the same rules for everyone, the teacher's run first, and a board that is bounded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vitviz.classes import challenge
from vitviz.classes.challenge import ChallengeState, Submission
from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import NAME, ClassError
from vitviz.config import TrainConfig, ViTConfig
from vitviz.models.presets import GREY_32
from vitviz.training import loop
from vitviz.training.queue_order import QueuedTraining, in_turn
from vitviz.training.run_config import RunConfig

SMALL = ViTConfig(image_size=32, patch_size=8, in_chans=1, embed_dim=16, depth=1, num_heads=2)
CONFIG = RunConfig(SMALL, GREY_32, TrainConfig(epochs=100, threads=4), "Mine", lease_s=300.0)


@pytest.fixture
def classes(tmp_path: Path) -> ClassStore:
    return ClassStore(tmp_path / NAME)


def test_a_run_is_trained_by_the_challenges_rules() -> None:
    bounded = challenge.apply_rules(CONFIG)
    train = bounded.train
    assert (train.epochs, train.seconds, train.clock, train.threads) == (None, 20.0, "core", 1)
    assert bounded.lease_s is None and bounded.model == CONFIG.model
    assert challenge.apply_rules(bounded) == bounded


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": replace(SMALL, embed_dim=96, depth=6)}, "allows 60,000 parameters"),
        ({"train": TrainConfig(dataset="shapes")}, "Digits"),
        ({"train": TrainConfig(distill_from="checkpoints/digits_cnn.safetensors")}, "excludes distillation"),
        ({"train": TrainConfig(start_from="x", start_digest="0" * 16)}, "random weights"),
    ],
)
def test_what_is_against_the_rules_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        challenge.apply_rules(replace(CONFIG, **change))  # type: ignore[arg-type]


def test_runs_are_handed_in_while_the_challenge_lasts(
    classes: ClassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = classes.open("teacher")
    assert challenge.load_challenge(classes, code) is None
    with pytest.raises(ClassError, match="ended"):
        challenge.submit_run(classes, code, "a", "", "run-1")
    challenge.open_challenge(classes, code)
    room = classes.load(code)
    assert room is not None and room.challenge
    for i in range(challenge.MAX_RUNS_EACH):
        challenge.submit_run(classes, code, "a", "Ada\n", f"run-{i}")
    with pytest.raises(ClassError, match="the maximum"):
        challenge.submit_run(classes, code, "a", "", "run-9")
    monkeypatch.setattr(challenge, "MAX_ENTRIES", 4)
    challenge.submit_run(classes, code, "b", "", "run-b")
    with pytest.raises(ClassError, match="the board is full"):
        challenge.submit_run(classes, code, "c", "", "run-c")
    assert Submission("run-0", "a", "Ada") in challenge.load_entries(classes, code)
    challenge.close_challenge(classes, code)
    assert challenge.load_challenge(classes, code) == ChallengeState(True, 4)
    room = classes.load(code)
    assert room is not None and not room.challenge
    classes.close(code, "teacher")
    assert challenge.load_entries(classes, code) == [] and challenge.load_challenge(classes, code) is None
    with pytest.raises(ClassError, match="closed"):
        challenge.open_challenge(classes, code)


def test_the_teachers_run_comes_before_all_that_wait() -> None:
    waiting = [
        QueuedTraining(Path(name), name, 0, first=name == "teacher") for name in ("a", "b", "teacher", "c")
    ]
    assert [order.owner for order in in_turn(waiting, [])] == ["teacher", "a", "b", "c"]


def test_core_seconds_are_of_the_processor_and_not_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"process_time": 5.0, "perf_counter": 5.0}
    for name in times:
        monkeypatch.setattr(loop, name, lambda name=name: times[name])

    class Slow:
        """A trainer whose one update takes 3 s of the core, and 30 s of a busy machine."""

        seconds, step, progress, finished, has_news, validate_every = 0.0, 1, 0.0, False, False, 100

        def __init__(self, clock: str) -> None:
            self.config = TrainConfig(clock=clock)  # type: ignore[arg-type]

        def advance(self) -> None:
            times["process_time"] += 3
            times["perf_counter"] += 30

        def snapshot_due(self, before: float) -> bool:
            return False

    for clock, seconds in (("core", 3.0), ("wall", 30.0)):
        slow = Slow(clock)
        assert loop.make_update(slow) == []  # type: ignore[arg-type]
        assert slow.seconds == seconds
