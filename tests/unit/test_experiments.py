"""Experiments: run cell by cell, gone on with, kept as one file, and made again."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vitviz import experiment as shell
from vitviz.experiments.experiment import Cell, Experiment, collected, run
from vitviz.experiments.result_file import (
    RESULTS,
    Made,
    Result,
    ResultError,
    describe_provenance,
    pack_correct,
    read_result,
    unpack_correct,
    write_result,
)
from vitviz.weight_identity import resolve_identity


class Counting:
    """Measures twice a cell's number, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        self.asked.append(cell["n"])
        return {"twice": 2 * cell["n"]}


def tiny(measure: Counting) -> Experiment:
    return Experiment("tiny", "Tiny", [{"n": n} for n in (3, 1, 2)], measure, {"what": "twice"})


def test_an_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    measure = Counting()
    rows = run(tiny(measure), tmp_path)
    assert next(rows)["found"] == {"twice": 6}
    rows.close()
    half = collected(tiny(measure), tmp_path, "command")
    assert (len(half.rows), half.missing) == (1, 2)
    assert [row["found"]["twice"] for row in run(tiny(measure), tmp_path)] == [2, 4]
    assert measure.asked == [3, 1, 2]
    whole = collected(tiny(measure), tmp_path, "command")
    assert [(row["n"], row["twice"], row["made"]) for row in whole.rows] == [(3, 6, 0), (1, 2, 0), (2, 4, 0)]
    assert whole.missing == 0
    assert "thread" in whole.made[0].machine


def test_a_torn_last_row_is_measured_again(tmp_path: Path) -> None:
    measure = Counting()
    list(run(tiny(measure), tmp_path))
    path = tmp_path / "rows.jsonl"
    path.write_text(path.read_text()[:-20])
    assert [row["cell"]["n"] for row in run(tiny(measure), tmp_path)] == [2]
    assert collected(tiny(measure), tmp_path, "").missing == 0  # the new row stands on a line of its own


def test_cells_must_differ() -> None:
    with pytest.raises(ValueError, match="received 2 of 1 kinds"):
        Experiment("twin", "Twin", [{"n": 1}, {"n": 1}], Counting())


def test_results_are_kept_and_read(tmp_path: Path) -> None:
    made = Made("abc", "2026-01-02", "a machine")
    result = Result("one", "One", "python", {"k": 1}, (made,), ({"n": 1, "made": 0},))
    write_result(result, tmp_path)
    assert read_result("one", tmp_path) == result
    assert result.where(n=1) == [{"n": 1, "made": 0}] and result.where(n=2) == result.where(n=1, m=1) == []
    assert result.where(m=None, n=1.0) == result.where() == [{"n": 1, "made": 0}]
    assert describe_provenance((made, Made("def", "2026-01-05", "a machine"))) == (
        "measured 2026-01-02 to 2026-01-05 on a machine, commit abc, def"
    )


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"made":[{}]}', '{"made":3}'])
def test_a_damaged_file_is_told(tmp_path: Path, damage: str) -> None:
    (tmp_path / "one.json").write_text(damage)
    with pytest.raises(ResultError, match="damaged"):
        read_result("one", tmp_path)
    with pytest.raises(ResultError, match="results of .* are missing"):
        read_result("two", tmp_path)


def test_results_that_are_too_large_are_not_kept(tmp_path: Path) -> None:
    rows = tuple({"n": n, "text": "x" * 1000} for n in range(500))
    with pytest.raises(ResultError, match="bytes.*400,000"):
        write_result(Result("large", "Large", "", {}, (), rows), tmp_path)
    assert not list(tmp_path.iterdir())


def test_predictions_are_packed() -> None:
    right = np.arange(359) % 3 > 0
    packed = pack_correct(right)
    assert len(packed) == 64
    images, bits = packed.split()
    unpacked = np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8), count=int(images))
    assert np.array_equal(unpacked, right)


def test_the_shell_measures_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = Counting()
    monkeypatch.setattr(shell, "EXPERIMENTS", {"tiny": lambda: tiny(measure)})
    monkeypatch.delenv("VITVIZ_DASK", raising=False)
    asked = ["tiny", "--folder", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    assert shell.main([*asked, "--cells", "1"]) == 0
    with pytest.raises(ResultError, match="incomplete"):
        read_result("tiny", tmp_path / "out")
    assert shell.main(asked) == 0
    assert len(read_result("tiny", tmp_path / "out").rows) == 3
    assert measure.asked == [3, 1, 2]


@pytest.mark.parametrize("name", shell.EXPERIMENTS)
def test_a_stored_result_is_whole_and_made_as_designed(name: str) -> None:
    """Its cells, settings and weights are the design's, and its predictions give its accuracies."""
    stored, design = read_result(name), shell.EXPERIMENTS[name]()
    digests = {
        model: resolve_identity(digest) for model, digest in stored.settings.get("digests", {}).items()
    }
    settings = {**stored.settings, "digests": digests}
    wanted = json.loads(json.dumps(design.settings))
    assert {key: settings[key] for key in wanted} == wanted
    cells = [json.dumps(cell, sort_keys=True) for cell in design.cells]
    rows = [json.dumps({key: row[key] for key in design.cells[0]}, sort_keys=True) for row in stored.rows]
    assert sorted(rows) == sorted(cells) and not stored.missing and stored.name == design.name
    assert all(entry.commit and not entry.commit.endswith("-dirty") for entry in stored.made)
    for row in stored.rows:
        if isinstance(row.get("right"), str):
            right = unpack_correct(row["right"])
            assert len(right) == settings.get("test_pictures", row["test_images"])
            assert right.mean() == pytest.approx(row["test"], abs=1e-4)


def test_every_stored_result_has_a_design() -> None:
    assert {path.stem for path in RESULTS.glob("*.json")} == {*shell.EXPERIMENTS}
