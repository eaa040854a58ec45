"""The positions page: numbers, controls and reasons for every model family."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.stores import catalogue, shared_cache
from pages.stores.session import UserSession
from tests.messages import charts, message, read_first_view, read_race
from tests.pages.conftest import OpenApp, captions, ship, text
from vitviz.analysis import position_similarity
from vitviz.config import from_dict
from vitviz.models.presets import VIT_DIGITS
from vitviz.models.zoo import create_model
from vitviz.training.position_race import RACES

PAGE = "pages/lenses/positions/page.py"
ROOT = Path(__file__).parents[2]


def cosines(found: tuple[dict[str, Any], dict[str, np.ndarray]], panel: int) -> np.ndarray:
    described = found[0]["panels"][panel]
    lower = found[1][f"similarity{panel}"]  # what lies above the diagonal is not sent
    codes = lower + np.tril(lower, -1).swapaxes(1, 2)
    return codes * described["gain"] + described["start"]


@pytest.fixture
def trained(no_shipped_checkpoints: Path) -> str:
    """Save a checkpoint of three snapshots whose table turns from noise into concatenated sines."""
    model = create_model(VIT_DIGITS, seed=1)
    state = model.state_dict()
    noise = state["pos_embed"].numpy().copy()
    waves = position_similarity.encode("sincos_2d_concat", (8, 8), 64, base=10.0)
    snapshots = {}
    for step, share in ((0, 0.0), (10, 0.02), (100, 1.0)):
        table = noise.copy()
        table[0, 1:] += share * (waves - waves.mean(axis=0))
        copied = {name: tensor.clone() for name, tensor in state.items()}
        snapshots[step] = copied | {"pos_embed": state["pos_embed"].new_tensor(table)}
    history = [{"kind": "evaluation", "split": "validation", "step": 100, "epoch": 2.0, "accuracy": 0.9}]
    return ship(no_shipped_checkpoints, "test_vit", states=snapshots, history=history, title="A test ViT")


def test_the_mosaic_holds_the_cosines_of_both_encodings(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, model="preset:vit_digits", positions__left="sincos_1d", positions__right="sincos_2d_sum"
    )
    found = read_first_view(app)
    assert [panel["grid"] for panel in found[0]["panels"]] == [[8, 8], [8, 8]]
    for panel, kind in enumerate(("sincos_1d", "sincos_2d_sum")):
        expected = position_similarity.cosine_similarity(position_similarity.encode(kind, (8, 8), 64))
        np.testing.assert_allclose(cosines(found, panel)[0], expected, atol=2e-5)
    assert found[0]["unit"] == "cosine"
    assert all(0 < panel["lo"] < panel["hi"] <= 1 for panel in found[0]["panels"])


def test_the_caption_is_computed(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, model="preset:vit_digits", positions__left="sincos_2d_concat", positions__right="none"
    )
    step = position_similarity.measure_structure(
        position_similarity.cosine_similarity(position_similarity.encode("sincos_2d_concat", (8, 8), 64)),
        (8, 8),
    ).either_step
    assert f"the vectors of adjacent patches have a mean cosine of {step:.2f}" in captions(app)
    assert "**No encoding**: nothing is added" in captions(app)


def test_a_base_and_a_grid_change_the_image(open_app: OpenApp) -> None:
    link = {"positions__right": "nothing", "positions__left": "sincos_1d"}
    app = open_app(PAGE, model="preset:vit_digits", positions__grid="14,14", positions__base="10", **link)
    found = read_first_view(app)
    expected = position_similarity.cosine_similarity(
        position_similarity.encode("sincos_1d", (14, 14), 64, base=10.0)
    )
    np.testing.assert_allclose(cosines(found, 0)[0], expected, atol=2e-5)
    (toggle,) = (switch for switch in app.main.toggle if switch.key == "positions.raw")
    toggle.set_value(True).run()
    assert (
        read_first_view(app)[0]["unit"] == "dot product" and read_first_view(app)[0]["panels"][0]["hi"] < 32
    )


def test_random_weights_are_called_so(open_app: OpenApp) -> None:
    assert "no structure (random weights)" in captions(open_app(PAGE, model="preset:vit_digits"))


def test_training_is_a_timeline_and_the_caption_follows_the_step(open_app: OpenApp, trained: str) -> None:
    last = open_app(PAGE, model=trained, step="100")
    film = read_first_view(last)[1]["similarity1"]
    assert film.shape == (3, 64, 64) and film.dtype == np.uint16
    panel = read_first_view(last)[0]["panels"][1]
    assert panel["training"]["steps"] == [0, 10, 100] and panel["training"]["epochs"] == [0, 0.2, 2]
    assert len(panel["told"]) == 3 and "adjacent patches" in panel["told"][0]
    assert read_first_view(last)[0]["frame"] == 2
    assert "clearly higher for neighbours" in captions(last)
    first = open_app(PAGE, model=trained, step="0")
    assert read_first_view(first)[0]["frame"] == 0
    assert "no structure (at step 0 · epoch 0)" in captions(first)


def test_two_models_can_stand_side_by_side(open_app: OpenApp, trained: str) -> None:
    app = open_app(PAGE, model="preset:vit_mnist", positions__left=trained, positions__right="model")
    panels = read_first_view(app)[0]["panels"]
    assert [panel["grid"] for panel in panels] == [[8, 8], [7, 7]]
    assert len(panels[0]["training"]["steps"]) == 3
    assert (
        read_first_view(app)[0]["frame"] == 2
    )  # the other model's last step: the selected one has a single snapshot


def test_timelines_of_different_length_share_one_slider() -> None:
    from pages.stores.parameter_history import compute_start_frame

    assert compute_start_frame([(3, 0), (12, 11)]) == 0  # the first timeline decides
    assert compute_start_frame([(3, 2), (12, 4)]) == 11 and compute_start_frame([(3, 1), (13, 0)]) == 6
    assert compute_start_frame([(1, 0), (12, 11)]) == 11 and compute_start_frame([(1, 0)]) == 0


@pytest.mark.parametrize(
    ("model", "word", "right"),
    [
        ("preset:swin_digits", "relative position bias", "1-D sinusoidal"),
        ("preset:cnn_digits", "A CNN has no position embeddings", "1-D sinusoidal"),
        ("preset:recipe_e", "a single token", "1-D sinusoidal"),
        ("preset:recipe_a", "2-D sinusoidal, summed", "2-D sinusoidal, summed"),
        ("preset:recipe_d", "From the pixels", "From the pixels"),
        ("preset:recipe_f_poor", "nothing is added", "No encoding"),
    ],
)
def test_every_kind_of_model_has_its_image_or_a_reason(
    open_app: OpenApp, model: str, word: str, right: str
) -> None:
    app = open_app(PAGE, model=model)
    assert word in text(app, "markdown", "info", "caption")
    header, _ = message(app, "positions.mosaic")
    assert [panel["title"] for panel in header["panels"]] == ["2-D sinusoidal, concatenated", right]


@pytest.mark.parametrize("encoding", ["sincos_1d", "sincos_2d_concat", "slip", "random", "none", "model"])
def test_the_table_holds_the_encodings_numbers(open_app: OpenApp, encoding: str) -> None:
    app = open_app(PAGE, model="preset:vit_digits", positions__view="table", positions__encoding=encoding)
    found = read_first_view(app)
    values = found[1]["values"]
    assert values.shape == (64, 64)
    if encoding == "model":
        assert found[0]["kind"] == "learned" and "not trained" in captions(app)
        own = shared_cache.load_model(
            catalogue.list_models(UserSession("a visit"))["preset:vit_digits"]
        ).model.pos_embed
        np.testing.assert_allclose(values, own[0, 1:], atol=1e-6)
    elif encoding == "random":
        again = open_app(
            PAGE, model="preset:vit_digits", positions__view="table", positions__encoding=encoding
        )
        np.testing.assert_array_equal(values, read_first_view(again)[1]["values"])
        assert abs(values.mean()) < 0.05 and values.std() == pytest.approx(1, abs=0.05)
        assert np.abs(np.corrcoef(values) - np.eye(64)).max() < 0.7  # no two places alike
    else:
        np.testing.assert_allclose(values, position_similarity.encode(encoding, (8, 8), 64), atol=1e-6)


def test_the_lecture_examples_have_its_numbers(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", positions__view="lecture")
    table = text(app, "markdown", "info")
    assert "one of its slides has k/D" in captions(app)
    assert re.search(r"0\.9662 everywhere; with k/D it varies from (\S+) to (\S+)\. ", captions(app))
    for line in (
        "| 5 and 6 | 0.9662 | 0.9671 |",
        "| 5 and 8 | 0.7996 | 0.8084 |",
        "| 7 and 8 | 0.9662 | 0.9784 |",
    ):
        assert line in table
    flat = open_app(PAGE, model="preset:vit_digits", positions__view="lecture", positions__case="flat")
    assert "cosine 0.97, like the neighbours 3 and 4 (0.97)" in captions(flat)
    summed = open_app(PAGE, model="preset:vit_digits", positions__view="lecture", positions__case="sum")
    assert "have cosine 1.00" in captions(summed) and "25 % of the 16 " in captions(summed)


def test_resizing_stretches_the_models_own_table(open_app: OpenApp, trained: str) -> None:
    app = open_app(PAGE, model=trained, positions__view="resize", positions__side="12")
    assert [panel["grid"] for panel in read_first_view(app)[0]["panels"]] == [[8, 8], [12, 12]]
    before, after = map(float, re.findall(r"adjacent patches changes from (\S+) to (\S+),", captions(app))[0])
    assert after > before
    assert "only for the included checkpoints" in text(app, "markdown", "info")
    fixed = open_app(PAGE, model="preset:recipe_a", positions__view="resize")
    assert any("Only learned position embeddings" in note.value for note in fixed.sidebar.caption)


def test_the_stored_race_is_shown(open_app: OpenApp, no_shipped_checkpoints: Path) -> None:
    shutil.copy(ROOT / "checkpoints" / "positions_race.json", no_shipped_checkpoints)
    query = {
        "positions.view": "matter",
        "positions.dataset": "shapes",
        "experiments.positions_guess": "shown",
    }
    app = open_app(PAGE, model="preset:vit_digits", **query)
    assert "PE(row) + PE(column)" in captions(app)
    stored = json.loads((ROOT / "checkpoints" / "positions_race.json").read_text())["races"]["shapes"]
    measured = [run["measured"] for run in stored["runs"]]
    pairs = read_race(*read_first_view(app))[1].values()
    shown = [[share / 100 for share in pair["x"]] for pair in pairs]
    assert shown == [pytest.approx([entry["accuracy"], entry["shuffled"]]) for entry in measured]
    (link,) = [link for link in app.main.get("page_link") if link.proto.label == "Train these models live"]
    assert "live_lab.train=experiment" in link.proto.query_string
    assert "live_lab.race=shapes" in link.proto.query_string
    assert stored["measured"] in captions(app) and "benchmarks/positions_race.py" in captions(app)


def test_the_stored_race_supports_the_page() -> None:
    races = json.loads((ROOT / "checkpoints" / "positions_race.json").read_text())["races"]
    ends = {run["positions"]: run["measured"] for run in races["shapes"]["runs"]}
    assert abs(ends["none"]["accuracy"] - 0.25) < 0.04
    assert abs(ends["sincos_2d_sum"]["accuracy"] - 0.5) < 0.05
    for code in ("sincos_1d", "sincos_2d_concat", "learned"):
        assert ends[code]["accuracy"] > 0.9
    for name, race in races.items():  # a set of patches has no order
        assert from_dict(race["config"]) == replace(RACES[name].model, positions="none")
        assert from_dict(race["train"]) == RACES[name].train  # what the lab trains
        blind = next(run["measured"] for run in race["runs"] if run["positions"] == "none")
        assert abs(blind["accuracy"] - blind["shuffled"]) < 0.002


def test_one_position_has_no_other_to_compare_with(open_app: OpenApp, no_shipped_checkpoints: Path) -> None:
    app = open_app(
        PAGE,
        model=ship(no_shipped_checkpoints, "one", replace(VIT_DIGITS, patch_size=32)),
        positions__left="model",
        positions__right="model",
        positions__stretched="1",
    )
    assert not app.exception
    assert "only one position" in captions(app)


def test_the_waves_of_a_model_keep_their_base(open_app: OpenApp) -> None:
    sentences = [
        captions(
            open_app(
                PAGE, model="preset:recipe_a", positions__view="table", positions__encoding="model", **more
            )
        )
        for more in ({}, {"positions__base": "10"})
    ]
    assert "avelengths range from" in sentences[0] and sentences[0] == sentences[1]


def test_rotary_pairs_turn_with_the_offset(open_app: OpenApp) -> None:
    app = open_app(PAGE, positions__view="rotary", positions__down="1", positions__right="2")
    assert not app.exception
    (chart,) = charts(app)
    scores = np.array(chart["data"][0]["z"])
    assert scores.shape == (15, 15) and scores[7, 7] == 1.0
    assert f"the score of query and key is {scores[8, 9]:.2f} times its value at offset 0" in captions(app)
    compared = open_app(PAGE, positions__left="rotary", positions__right="none")
    assert cosines(read_first_view(compared), 0).shape[-2:] == (64, 64)
    assert "2-D rotary, q·k" in captions(compared)


def test_a_computed_grid_follows_the_model_until_another_is_chosen(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_mnist")
    grids = [read_first_view(app)[0]["panels"][0]["grid"]]
    for model in ("preset:vit_digits", "preset:vit_mnist"):
        app.selectbox(key="model").set_value(model).run()
        grids.append(read_first_view(app)[0]["panels"][0]["grid"])
    assert grids == [[7, 7], [8, 8], [7, 7]]
    assert (
        open_app(PAGE, model="preset:vit_digits", **{"positions.grid": "4,4"}).query_params["positions.grid"]
        == "4,4"
    )
