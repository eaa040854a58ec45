"""One at a time, in whatever thread or process; a holder that is killed holds nothing."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vitviz.locks import locked

COUNTS = """
import sys
from pathlib import Path
from vitviz.locks import locked
folder = Path(sys.argv[1])
for _ in range(100):
    with locked(folder / "lock"):
        count = int((folder / "count").read_text())
        (folder / "count").write_text(str(count + 1))
"""
HOLDS = """
import sys
from pathlib import Path
from vitviz.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_processes_take_turns(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    counting = [subprocess.Popen([sys.executable, "-c", COUNTS, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(60) for process in counting] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "300"


def test_threads_take_turns(tmp_path: Path) -> None:
    inside: list[int] = []

    def enter(_: int) -> int:
        with locked(tmp_path / "lock"):
            inside.append(1)
            most = len(inside)
            inside.pop()
            return most

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(enter, range(40))) == {1}


def test_a_killed_holder_holds_nothing_and_who_waits_may_give_up(tmp_path: Path) -> None:
    class EnoughWaiting(Exception):
        pass

    def give_up() -> None:
        raise EnoughWaiting

    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(EnoughWaiting), locked(tmp_path / "lock", give_up):
            raise AssertionError("two hold it")
        holder.kill()
    with locked(tmp_path / "lock", give_up):
        pass


def test_the_file_goes_with_the_lock(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"):
        assert (tmp_path / "lock").is_file()
    assert not list(tmp_path.iterdir())
