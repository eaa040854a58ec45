"""A link shows a run; its maker changes it, and whom the maker lets in."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.unit.training_helpers import digits_run
from vitviz.training import permissions
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session


def made_by(root: Path, owner: str) -> Run:
    return Run.create(root, replace(digits_run(root).config(), owner=owner))


def test_only_its_maker_changes_a_run(tmp_path: Path) -> None:
    run = made_by(tmp_path, "ann")
    assert permissions.may_change(run, "ann")
    assert not permissions.may_change(run, "bob") and not permissions.may_change(run, "")
    assert not permissions.may_change(made_by(tmp_path, ""), "")


def test_a_key_lets_in_until_it_is_taken_back(tmp_path: Path) -> None:
    run = made_by(tmp_path, "ann")
    assert not permissions.join(run, "bob", "") and not permissions.is_shared(run)
    key = permissions.share(run)
    assert not permissions.join(run, "bob", key[:-1]) and not permissions.may_change(run, "bob")
    assert permissions.join(run, "bob", key) and permissions.may_change(run, "bob")
    later = permissions.share(run)
    assert not permissions.join(run, "cem", key) and permissions.join(run, "cem", later)
    assert permissions.may_change(run, "bob")  # who is in stays in
    permissions.unshare(run)
    assert permissions.may_change(run, "ann")
    assert not permissions.may_change(run, "bob") and not permissions.join(run, "bob", later)


def test_the_number_of_those_who_are_let_in_is_bounded(tmp_path: Path) -> None:
    run = made_by(tmp_path, "ann")
    key = permissions.share(run)
    came_in = [permissions.join(run, f"visit {i}", key) for i in range(permissions.MOST_EDITORS + 2)]
    assert sum(came_in) == permissions.MOST_EDITORS
    assert permissions.join(run, "visit 0", key)


def test_neither_key_nor_maker_travels_in_an_archive(tmp_path: Path) -> None:
    run = made_by(tmp_path, "ann of the visits")
    Session(run, "cpu").perform()
    key = permissions.share(run)
    assert permissions.join(run, "bob of the visits", key)
    data = export_run(run)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = b"".join(archive.read(name) for name in archive.namelist())
    assert b"of the visits" not in held and key.encode() not in held
    arrived = import_run(tmp_path, data, owner="cem")
    assert permissions.may_change(arrived, "cem") and not permissions.may_change(arrived, "bob of the visits")


def test_a_damaged_list_lets_nobody_in(tmp_path: Path) -> None:
    run = made_by(tmp_path, "ann")
    for text in ("", "[]", '{"key": 3, "editors": 7}', '{"editors": {"bob": 1}}'):
        (run.directory / "editors.json").write_text(text)
        assert not permissions.may_change(run, "bob") and not permissions.join(run, "bob", "3")


def test_of_many_who_come_in_at_once_none_is_written_out_again(tmp_path: Path) -> None:
    run = made_by(tmp_path, "ann")
    key = permissions.share(run)
    visits = [f"visit-{i}" for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda session: permissions.join(run, session, key), visits))
    assert all(permissions.may_change(run, session) for session in visits)
