"""A visit: found by its token, forgotten after long, and what it says of itself on disk."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from pages.stores import runs, session
from pages.stores.session import UserSession
from pages.stores.session_cookie import COOKIE, _load_key, read_token, sign_token
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status


def test_a_token_finds_its_session_again() -> None:
    first = session._get_or_create("a" * 22)
    assert session._get_or_create("a" * 22) is first
    assert session._get_or_create("b" * 22) is not first


def test_what_stands_on_disk_does_not_give_the_token_away() -> None:
    mine = UserSession("c" * 22)
    assert mine.token not in mine.owner and len(mine.owner) == 16
    assert mine.owner != UserSession("d" * 22).owner


def test_only_tokens_that_the_server_issued_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any 22 characters were: a link to a page that sets a cookie gave a user a session of the attacker's."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path / "here"))
    token, other = "a" * 22, "b" * 22
    signed, foreign = (sign_token(token, tmp_path / place) for place in ("here", "elsewhere"))
    assert read_token({COOKIE: signed}, "http://localhost:8501/") == token
    assert read_token({COOKIE: signed}, None) == token
    for forged in (
        token,
        f"{token}.",
        foreign,
        signed.replace(token, other),
        signed[:-1],
        f"{signed}x",
        "\udcff",
    ):
        assert read_token({COOKIE: forged}, None) is None, forged
    key = tmp_path / "here" / "session.key"
    assert key.stat().st_mode & 0o77 == 0
    _load_key.cache_clear()  # as another process, or the next one
    assert read_token({COOKIE: signed}, None) == token


def test_under_tls_only_the_cookie_of_this_host_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neighbouring host may set the plain cookie of all hosts below its domain."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    signed = sign_token("a" * 22, tmp_path)
    url = "https://vit.example.org/attention"
    assert read_token({COOKIE: signed}, url) is None
    assert read_token({f"__Host-{COOKIE}": signed}, url) == "a" * 22


def create_run(root: Path, token: str, created_s: float = 0.0) -> Run:
    """Create a run of a visit."""
    preset, owner = TRAINING_PRESETS["digits_vit"], UserSession(token).owner
    config = RunConfig(preset.model, preset.preparation, preset.train, owner=owner, created=created_s)
    return Run.create(root, config)


def test_who_made_runs_before_tokens_were_signed_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    old, new = "a" * 22, "b" * 22
    for token, created_s in ((old, time.time() - 3600), (new, time.time() + 3600)):
        create_run(tmp_path, token, created_s)
    assert read_token({COOKIE: old}, "https://vit.example.org/") == old
    assert read_token({COOKIE: new}, None) is None
    assert read_token({COOKIE: "c" * 22}, None) is None


@pytest.mark.parametrize("damage", ["cut off", "no folder"])
def test_a_key_that_cannot_be_used_ends_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    folder = tmp_path / "runs"
    monkeypatch.setenv("VITVIZ_RUNS", str(folder))
    if damage == "cut off":
        folder.mkdir()
        (folder / "session.key").write_bytes(b"")
    else:
        folder.write_text("a file in its place")
    signed = sign_token("a" * 22, folder)
    assert read_token({COOKIE: signed}, None) == "a" * 22


def test_a_session_that_the_server_forgot_finds_its_own_runs_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    made = [create_run(tmp_path, letter * 22, at) for at, letter in enumerate("efe", 1)]
    assert [run.id for run in runs.list_runs(UserSession("e" * 22))] == [made[2].id, made[0].id]
    assert runs.list_runs(UserSession("g" * 22)) == []


@pytest.mark.parametrize(
    ("returned", "seen"),
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
def test_only_who_may_resume_a_run_reads_of_resuming_it(tmp_path: Path, returned: str, seen: str) -> None:
    maker = UserSession("h" * 22)
    run = create_run(tmp_path, maker.token)
    status = Status("interrupted", message=returned)
    assert runs.describe_status(maker, run, status) == returned
    assert runs.describe_status(UserSession("i" * 22), run, status) == seen


def test_a_session_leaves_with_its_last_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tab of two was closed, and two minutes later the other's image was gone."""
    left: list[str] = []
    monkeypatch.setattr(session, "_disconnect_callbacks", [left.append])
    monkeypatch.setattr(session, "_tab_counts", Counter({"mine": 2, "other": 1}))
    session._disconnect("mine")
    assert not left
    session._disconnect("mine")
    session._disconnect("other")
    assert left == ["mine", "other"] and not session._tab_counts


def test_a_run_that_one_tab_adds_survives_another_tabs_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list as it was before the search replaced it: 40 of 40 runs that were added meanwhile were lost."""
    user = UserSession("j" * 22, runs=("deleted", "old"), runs_restored=True)

    def find(run_id: str) -> object:
        if run_id == "old":
            runs.adopt_run(user, "new")
        return None if run_id == "deleted" else SimpleNamespace(id=run_id)

    monkeypatch.setattr(runs, "find_run", find)
    runs.list_runs(user)
    assert user.runs == ("new", "old") and session.take_lost_run_count(user) == 1


def test_after_a_restart_two_tabs_both_find_the_users_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    user, second = UserSession("k" * 22), []
    tab = threading.Thread(target=lambda: second.extend(runs.list_runs(user)))

    def search(owner: str) -> list[str]:
        tab.start()
        tab.join(0.05)
        return ["a", "b"]

    monkeypatch.setattr(runs, "find_runs_of", search)
    monkeypatch.setattr(runs, "find_run", lambda run_id: SimpleNamespace(id=run_id))
    first = runs.list_runs(user)
    tab.join()
    assert len(first) == len(second) == 2 and user.runs == ("a", "b")
