"""Columns as comma-separated text."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from vitviz.csv_table import columns_of, count_from_zero, csv_text


def test_a_pages_places_count_from_zero_in_a_file_and_say_so() -> None:
    columns = {
        "layer": np.array([1, 2]),
        "position": ["cls", "row 1, column 8"],
        "head 1": [0.5, 1.0],
        "class": ["row 1", "head 2"],
    }
    assert csv_text(count_from_zero(columns)) == (
        'layer (from 0),position (from 0),head 0,class\n0,cls,0.5,row 1\n1,"row 0, column 7",1,head 2\n'
    )
    assert count_from_zero({"layer": ["ViT, stage 2, block 3", "stem"]}) == {
        "layer (from 0)": ["ViT, stage 1, block 2", "stem"]
    }
    assert count_from_zero({"token": [1, 2]}) == {"token (from 0)": [0, 1]}
    assert count_from_zero({"token": ["[CLS]", "row 3, column 5"]}) == {
        "token (from 0)": ["[CLS]", "row 2, column 4"]
    }
    assert list(count_from_zero({"patch": [1], "d1": [2.0], "MLP": [1.0]})) == ["patch (from 0)", "d0", "MLP"]


def test_a_table_has_a_head_and_six_digits() -> None:
    text = csv_text(
        {"layer": [1, 2], "mean, px": np.array([1 / 3, 12345678.0]), "place": ["row 1, column 2", "[CLS]"]}
    )
    assert text == 'layer,"mean, px",place\n1,0.333333,"row 1, column 2"\n2,1.23457e+07,[CLS]\n'


def test_float32_and_whole_numbers_stand_as_they_are() -> None:
    assert csv_text({"a": np.array([0.1], np.float32), "b": np.array([7], np.uint8)}) == "a,b\n0.1,7\n"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2 dogs", "'-2 dogs"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1+1", "  '=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("a;=1+1", "a;'=1+1"),
        ("a\t=1+1", "a\t'=1+1"),
        ("-1.5", "-1.5"),
        ("+2e-3", "+2e-3"),
        ("cat-dog = 2; cow", "cat-dog = 2; cow"),
        ("−2 points", "−2 points"),  # a minus sign is no hyphen
    ],
)
def test_no_text_of_others_is_a_formula_to_a_spreadsheet(text: str, cell: str) -> None:
    assert csv_text({"run": [text]}) == f"run\n{cell}\n"
    assert csv_text({text: [1]}) == f"{cell}\n1\n"


def test_a_formula_over_two_lines_is_none() -> None:
    assert csv_text({"run": ["a\n=1+1"]}) == 'run\n"a\n\'=1+1"\n'


def test_streamlit_s_own_export_which_escapes_nothing_is_off() -> None:
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert settings["client"]["disableDataExport"] is True


def test_a_matrix_gives_a_column_a_name() -> None:
    columns = {
        "patch": np.arange(1, 3),
        **columns_of(np.array([[1, 2, 3], [4, 5, 6]]), (f"d{i}" for i in range(3))),
    }
    assert csv_text(columns) == "patch,d0,d1,d2\n1,1,2,3\n2,4,5,6\n"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        csv_text({"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="differ"):
        columns_of(np.zeros((2, 2)), ["a", "a"])
    with pytest.raises(ValueError):
        columns_of(np.zeros((2, 2)), ["a"])


ROOT = Path(__file__).resolve().parents[2]
PERCENT = re.compile(r"""format=["']percent["']|\.\d%[}"']""")
DRAWN = [*(ROOT / "pages").rglob("*.py"), *(ROOT / "vitviz" / "plots").rglob("*.py")]


@pytest.mark.parametrize("line", ['format="percent"', 'f"{share:.1%}"', '"tickformat": ".0%"'])
def test_a_second_way_to_write_percent_is_seen(line: str) -> None:
    assert PERCENT.search(line) and not PERCENT.search('"%{y:.1f} %"')


def test_percent_is_written_in_one_way() -> None:
    """As `vitviz.text.percent` does: '96.6 %'; Streamlit's format has '96.6%' beside '97.21%'."""
    assert not [path.relative_to(ROOT) for path in DRAWN if PERCENT.search(path.read_text("utf-8"))]
