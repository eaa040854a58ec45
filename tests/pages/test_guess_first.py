"""A guess before the answer: what a section hides until there is one, and what it then says of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.beyond.data import augmentation, over_time
from pages.beyond.hybrids import flat, over_training
from pages.beyond.on_picture import kernels, translation
from tests.messages import message
from tests.pages.conftest import OpenApp, said
from vitviz.experiments import result as results
from vitviz.experiments.result import Made, Result, write_result

DATA, HYBRIDS, PICTURE = (f"pages/beyond/{name}/page.py" for name in ("data", "hybrids", "on_picture"))
TWO = {
    "model": "preset:vit_digits",
    "image": "digits:3",
    "on_picture__models": "preset:cnn_digits,preset:vit_digits",
}
HYBRID = {"model": "preset:hybrid_cifar10", "image": "sample:cat"}


def text(app: AppTest) -> str:
    lines = [part.value for part in (*app.main.markdown, *app.main.caption)]
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")


def points(app: AppTest) -> dict[str, int]:
    """How many points every line has."""
    (figure,) = [json.loads(chart.proto.spec) for chart in app.main.get("plotly_chart")]
    return {line["name"]: len(line["y"]) for line in figure["data"] if line["mode"] == "lines+markers"}


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models with and without augmentation: the CNN is done first, the ViT gains more."""
    rows: list[dict[str, Any]] = []
    for model, second, gain in (("cnn", 1.0, 0.01), ("vit", 2.0, 0.05)):
        for augmented in (True, False):
            test = 0.8 + gain * augmented
            curve = [[100 * i, second * i, test * i / 4] for i in (1, 2, 3, 4)]
            cell = {"model": model, "pictures": 50, "augmented": augmented, "seed": 0, "made": 0}
            rows.append({**cell, "test": test, "training_core_s": 4 * second, "curve": curve})
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    made = (Made("abc", "2026-11-22", "a machine"),)
    settings = {"updates": 400, "batch_size": 64, "parameters": {"cnn": 7, "vit": 9}}
    write_result(Result("data_size_digits", "Digits", "python -m x", settings, made, tuple(rows), 3))


@pytest.mark.usefixtures("grid")
def test_the_lines_over_time_begin_and_a_guess_shows_the_rest(open_app: OpenApp) -> None:
    app = open_app(DATA, **{"data.view": "time"})
    assert points(app) == {"CNN": 2, "ViT": 2} and "At the end" not in text(app)
    assert "CNN is done first, after 4 s." in app.main.button_group(key="data.time_guess.row").label.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    app.main.button_group(key="data.time_guess.row").set_value("vit").run()
    assert not app.exception and said(app, "data.time_guess") == "vit"
    assert points(app) == {"CNN": 4, "ViT": 4} and "At the end" in text(app)
    assert "You said ViT: not so, CNN lies 38.5 points above it." in text(
        app
    )  # 81 against half of 85 percent


@pytest.mark.usefixtures("grid")
def test_the_gains_wait_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(DATA, **{"data.view": "augmented"})
    assert not app.main.get("plotly_chart") and "Augmentation gives" not in text(app)
    app.main.button_group(key="data.gain_guess.row").set_value("vit").run()
    assert points(app) == {"CNN": 1, "ViT": 1} and "You said ViT: +5.0 points, right" in text(app)
    wrong = open_app(DATA, **{"data.view": "augmented", "data.gain_guess": "cnn"})
    assert "You said CNN: +1.0 points. ViT gains most, +5.0." in text(wrong)


def test_a_level_pair_is_neither_right_nor_wrong() -> None:
    titles = {"cnn": "CNN", "vit": "ViT"}
    assert "level with ViT" in over_time.judged({"cnn": 0.9, "vit": 0.9001}, titles, "cnn")
    assert "right, 10.0 points above CNN" in over_time.judged({"cnn": 0.8, "vit": 0.9}, titles, "vit")
    level = {"cnn": ("CNN", 1.01), "vit": ("ViT", 1.04)}
    assert "right: none gains more" in augmentation.judged(level, "cnn")


def test_the_picture_moves_once_a_model_is_guessed(open_app: OpenApp) -> None:
    app = open_app(PICTURE, on_picture__view="shift", **TWO)
    header, _ = message(app, "on_picture.moved")
    assert [len(row["tiles"]) for row in header["rows"]] == [3] and not app.main.get("plotly_chart")
    assert header["heads"] == ["The picture", *header["heads"][1:]] and len(header["heads"]) == 3
    assert "Moved by" not in text(app)
    app.main.button_group(key="on_picture.moves.row").set_value("preset:vit_digits").run()
    header, _ = message(app, "on_picture.moved")
    assert [len(row["tiles"]) for row in header["rows"]] == [3, 3] and said(app, "on_picture.moves")
    told = text(app).partition("this much changes its class: ")[2]
    cnn, vit = (float(share) for share in re.findall(r"(\d+\.\d) %", told)[:2])
    verdict = ", right" if vit >= cnn else f", of {header['rows'][0]['title']}'s {cnn:.1f} %"
    assert f": {vit:.1f} % of its probability changes class{verdict}" in text(app)
    app.slider(key="on_picture.shift_px").set_value(4).run()
    assert "Moved by 4 px" in text(app), "another shift does not hide what was guessed"


def test_the_answer_that_changes_most_is_said() -> None:
    turned = {"a": ("A", 0.1), "b": ("B", 0.25)}
    assert translation.judged(turned, "b").endswith("changes class, right: of no other more.")
    assert "changes class, of B's 25.0" in translation.judged(turned, "a")


def test_a_head_s_other_weights_wait_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(PICTURE, on_picture__view="kernels", on_picture__second="5", **TWO)
    header, _ = message(app, "on_picture.head_maps")
    assert [len(row["tiles"]) for row in header["rows"]] == [2, 1] and "keeps most" not in text(app)
    app = open_app(PICTURE, on_picture__view="kernels", on_picture__second="5", on_picture__stays="3", **TWO)
    header, _ = message(app, "on_picture.head_maps")
    assert [len(row["tiles"]) for row in header["rows"]] == [2, 2]
    (mean,) = re.findall(r"the mean is (\d+) %", text(app))
    assert f"the heads keep {mean} % on average" in text(app)


@pytest.mark.parametrize(("share", "right"), [(0.0, "0"), (0.26, "1"), (0.5, "2"), (0.8, "3"), (1.0, "3")])
def test_a_share_lies_in_one_quarter(share: float, right: str) -> None:
    assert [guess for guess in kernels.SHARES if "right" in kernels.judged(share, guess)] == [right]


def test_what_a_place_of_the_stem_reads_is_guessed_first(open_app: OpenApp) -> None:
    app = open_app(HYBRIDS, **HYBRID)
    assert "Outlined in the picture: the 4 × 4 px" in text(app) and "After convolution 3:" not in text(app)
    app.main.button_group(key="hybrids.reads.row").set_value("9").run()
    assert "You said 9 × 9 px: right, it has read 9 × 9 px." in text(app) and "reads 9 × 9 px" in text(app)
    (box,) = _boxes(app)
    assert box["x1"] - box["x0"] <= 9 and box["x1"] - box["x0"] > 4
    assert "You said 4 × 4 px: not so" in text(open_app(HYBRIDS, hybrids__reads="4", **HYBRID))


def _boxes(app: AppTest) -> list[dict[str, float]]:
    picture = json.loads(app.main.get("plotly_chart")[0].proto.spec)
    return [shape for shape in picture["layout"]["shapes"] if shape["type"] == "rect"]


def test_the_one_token_s_weight_is_guessed_first(open_app: OpenApp) -> None:
    app = open_app(HYBRIDS, hybrids__view="flat", **HYBRID)
    assert [metric.value for metric in app.main.metric] == ["?", "?"] and "makes 1" not in text(app)
    app.main.button_group(key="hybrids.weight.row").set_value("1").run()
    assert [metric.value for metric in app.main.metric] == ["1.000000", "1.000000"]
    assert "You said 1: right, here it is 1 in every layer." in text(app)
    assert "not so" in flat.judged(1.0, 1.0, "picture") and "not so" in flat.judged(0.5, 1.0, "1")


@pytest.mark.parametrize(
    ("hybrid_s", "right"), [(None, "never"), (120.0, "never"), (80.0, "1"), (30.0, "2"), (20.0, "4")]
)
def test_how_soon_is_one_of_four(hybrid_s: float | None, right: str) -> None:
    assert [of for of in over_training.SOONER if ": right" in over_training.judged(100.0, hybrid_s, of)] == [
        right
    ]


def test_where_ways_of_fine_tuning_cross_waits_for_a_guess(open_app: OpenApp) -> None:
    view = {"model": "preset:vit_digits", "fine_tuning.view": "grown"}
    app = open_app("pages/train/fine_tuning/page.py", **view)
    assert {*points(app).values()} == {1} and "comes level" not in text(app)
    app.main.button_group(key="fine_tuning.grown_guess.row").set_value("scratch").run()
    assert max(points(app).values()) > 4 and "You said From scratch" in text(app)
