"""A visit: found by its token, forgotten after long, and what it says of itself on disk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pages.stores import runs, session
from pages.stores.session import UserSession
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status


def test_a_token_finds_its_visit_again() -> None:
    first = session._get_or_create("a" * 22)
    assert session._get_or_create("a" * 22) is first
    assert session._get_or_create("b" * 22) is not first


def test_what_stands_on_disk_does_not_give_the_token_away() -> None:
    mine = UserSession("c" * 22)
    assert mine.token not in mine.owner and len(mine.owner) == 16
    assert mine.owner != UserSession("d" * 22).owner


def test_a_visit_that_the_server_forgot_finds_its_own_runs_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    preset = TRAINING_PRESETS["digits_vit"]
    made = [
        Run.create(
            tmp_path, RunConfig(preset.model, preset.preparation, preset.train, owner=owner, created=at)
        )
        for at, owner in (
            (1.0, UserSession("e" * 22).owner),
            (2.0, UserSession("f" * 22).owner),
            (3.0, UserSession("e" * 22).owner),
        )
    ]
    assert [run.id for run in runs.list_runs(UserSession("e" * 22))] == [made[2].id, made[0].id]
    assert runs.list_runs(UserSession("g" * 22)) == []


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("killed by signal 9; resume goes on from the last save", "killed by signal 9"),
        (
            "the disk is full; everything up to the last save is whole, and resume goes on from there",
            "the disk is full; everything up to the last save is whole",
        ),
        ("the loss is no longer a number", "the loss is no longer a number"),
        ("", ""),
    ],
)
def test_only_who_may_resume_a_run_reads_of_resuming_it(tmp_path: Path, said: str, seen: str) -> None:
    preset = TRAINING_PRESETS["digits_vit"]
    maker = UserSession("h" * 22)
    run = Run.create(tmp_path, RunConfig(preset.model, preset.preparation, preset.train, owner=maker.owner))
    status = Status("interrupted", message=said)
    assert runs.describe_status(maker, run, status) == said
    assert runs.describe_status(UserSession("i" * 22), run, status) == seen


def test_a_visit_leaves_with_its_last_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tab of two was closed, and two minutes later the other's picture was gone."""
    left: list[str] = []
    monkeypatch.setattr(session, "_disconnect_callbacks", [left.append])
    monkeypatch.setattr(session, "_tab_counts", Counter({"mine": 2, "other": 1}))
    session._disconnect("mine")
    assert not left
    session._disconnect("mine")
    session._disconnect("other")
    assert left == ["mine", "other"] and not session._tab_counts
