"""The page 'Hybrids' and its studies: the stem, learning curves, attention over convolutions, one token."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.studies import hybrid_training
from pages.studies.hybrid_training import describe_trainings
from tests.messages import charts
from tests.pages.conftest import OpenApp
from tests.pages.test_drawers import CODE, MATH, NUMBERS, open_drawers
from vitviz.analysis.run_comparison import describe_recipe_differences, time_to_accuracy
from vitviz.checkpoint_header import Header, read_header
from vitviz.experiments.conv_attention import TITLES
from vitviz.experiments.result_file import RESULTS, read_result
from vitviz.text import join_words, percent

PAGE = "pages/lenses/hybrids/page.py"
SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
GUESSED = {f"hybrids__{key}": "shown" for key in ("reads", "sooner", "weight", "question")}
HYBRID = {"model": "preset:hybrid_cifar10", "image": "sample:cat", **GUESSED}


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.main.caption)


def text(app: AppTest) -> str:
    return "\n".join(part.value for part in app.main.markdown)


def test_the_stem_caption_states_the_shapes(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__step="1")
    assert "Convolution 1 outputs 32 feature maps of 32 × 32" in captions(app) and "of 3 × 3 px" in captions(
        app
    )
    app = open_app(PAGE, **HYBRID, hybrids__step="3")
    assert "Convolution 3 outputs 128 feature maps of 8 × 8" in captions(app) and "of 9 × 9 px" in captions(
        app
    )
    app = open_app(PAGE, **HYBRID, hybrids__step="tokens")
    assert "8 × 8 positions to a token: 64 tokens of 128" in captions(app)
    assert "not the 4 × 4 px of a patch" in captions(app)
    assert not app.exception


def test_training_is_drawn_from_the_files_own_records(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    assert [info.value for info in app.main.info if "CIFAR-10" in info.value]
    for name in ("cifar10_cnn", "cifar10_hybrid", "cifar10_vit"):
        shutil.copy(SHIPPED / f"{name}.safetensors", no_shipped_checkpoints / f"{name}.safetensors")
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    curves: dict[str, Any] = {}
    headers = {
        name: read_header(SHIPPED / f"{name}.safetensors") for name in ("cifar10_hybrid", "cifar10_vit")
    }
    for name, header in headers.items():  # of two machines, so over pictures
        rows = [r for r in header.history if r.get("split") == "validation"]
        assert header.train is not None
        seen = [r["step"] * header.train.batch_size for r in rows]
        curves[name] = (seen, [r["accuracy"] for r in rows])
    best = max(curves["cifar10_vit"][1])
    when = time_to_accuracy(*(np.array(part) for part in curves["cifar10_hybrid"]), best)
    assert when is not None
    assert f"reaches the ViT's best accuracy, {percent(best)}, after {when:,.0f} images" in captions(app)
    assert "different machines, so seconds are not compared: AMD EPYC" in captions(app).replace("\\", "")


def test_every_number_of_the_open_question_stands_in_its_file(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="asked")
    assert open_drawers(app) == [MATH, CODE, NUMBERS]
    found = read_result("conv_attention")
    (table,) = app.main.dataframe
    by_title = {title: name for name, title in TITLES.items()}
    assert len(table.value) == len(TITLES)
    for _, row in table.value.iterrows():
        name = by_title[row["Model"]]
        tests = [entry["test"] for entry in found.where(model=name)]
        assert row["Mean accuracy"] == pytest.approx(sum(tests) / len(tests)) and row["Seeds"] == len(tests)
        assert row["Parameters"] == found.settings["parameters"][name]
        assert row["Multiply-adds"] == found.settings["multiply_adds"][name]
    drawn = charts(app)
    dots = [
        x
        for figure in drawn
        for trace in figure["data"]
        if trace["mode"] == "markers"
        for x in _numbers(trace["x"])
    ]
    assert sorted(dots) == pytest.approx(sorted(100 * entry["test"] for entry in found.rows))
    assert (
        found.made[0].date in captions(app).replace("\\", "") and (RESULTS / "conv_attention.json").is_file()
    )


def test_a_link_to_the_results_of_an_earlier_version_shows_them(open_app: OpenApp) -> None:
    view = {"hybrids.view": "asked", "hybrids.results": "1"}
    app = open_app(PAGE, model="preset:hybrid_cifar10", image="sample:cat", **view)
    assert "Test accuracy with attention over convolutions" in captions(app)


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values]


def test_the_answer_follows_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.studies.attention_over_convolutions import describe_results
    from vitviz.experiments.result_file import Result

    settings = {"multiply_adds": {name: 10 if name == "control" else 100 for name in TITLES}}

    def told(written: float, control: float, seeds: int = 3) -> str:
        rows = tuple(
            {"model": name, "seed": seed, "test": value + seed / 1000}
            for name, value in (("written", written), ("control", control))
            for seed in range(seeds)
        )
        return describe_results(Result("conv_attention", "", "", settings, (), rows))

    assert "higher, +10.0 points" in told(0.9, 0.8)
    assert "lower, −10.0 points" in told(0.8, 0.9)
    assert "no difference shown, +0.1 points" in told(0.801, 0.8)
    assert "needs 10 times the multiply-adds" in told(0.9, 0.8)
    assert "no verdict (one seed)" in told(0.9, 0.8, seeds=1)


def test_the_one_token_s_weight_is_shown_as_computed(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, **(HYBRID | {"model": "preset:vit_digits", "image": "digits:3"}), hybrids__view="flat"
    )
    assert [metric.value for metric in app.main.metric] == ["1.000000", "1.000000"]
    assert "changes no logit" in captions(app)
    assert f"{2 * 128 * 129 + 2 * 64 * 65:,} of" in captions(app)


def test_trainings_with_mixed_images_are_named() -> None:
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors")
        for family, name in hybrid_training.CHECKPOINTS.items()
    }
    plain = {family: _mixing(header, 0.0) for family, header in known.items()}
    assert "mixup" not in describe(plain)
    one = plain | {"ViT": _mixing(known["ViT"], 1.0)}
    assert "mixup or CutMix for ViT" in describe(one)
    assert "mixup" not in describe({family: _mixing(h, 1.0) for family, h in known.items()})


def test_all_differences_of_the_trainings_are_named() -> None:
    """The sentence names cutout (CNN, Swin) as well as mixup."""
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors")
        for family, name in hybrid_training.CHECKPOINTS.items()
    }
    trains = {family: header.train for family, header in known.items() if header.train}
    said = describe_recipe_differences(trains)
    assert said and said in describe(known)
    for field, named in (("epochs", "epochs"), ("learning_rate", "rate"), ("weight_decay", "decay")):
        differs = len({getattr(train, field) for train in trains.values()}) > 1
        assert (named in said) == differs
    erased = [family for family, train in trains.items() if train.erase_px]
    assert f"for {join_words(erased)}" in said.partition("random erasing")[2]
    student = trains | {"DeiT": replace(trains["ViT"], distill_from="a.safetensors")}
    assert describe_recipe_differences(student).endswith("; distillation for DeiT")
    assert describe_recipe_differences(dict.fromkeys("ab", trains["ViT"])) == ""


def test_seconds_of_different_machines_are_not_compared(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors")
        for family, name in hybrid_training.CHECKPOINTS.items()
    }
    alike = {family: replace(h, card=h.card | {"machine": "A"}) for family, h in known.items()}
    apart = alike | {"ViT": replace(known["ViT"], card=known["ViT"].card | {"machine": "B"})}
    for here, axes in ((alike, ["Seconds", "Images seen"]), (apart, ["Images seen"])):
        monkeypatch.setattr(hybrid_training, "load_headers", lambda here=here: here)
        app = open_app(PAGE, model="preset:hybrid_cifar10", image="sample:cat", hybrids__view="training")
        assert app.main.button_group(key="hybrids.over").options == axes
        assert "so this does not compare the two architectures" in captions(app)
        assert ("seconds are not compared: A; B." in captions(app)) == (len(axes) == 1)


def describe(headers: dict[str, Header]) -> str:
    return describe_trainings(headers, hybrid_training.list_machines(headers))


def _mixing(header: Header, alpha: float) -> Header:
    assert header.train is not None
    return replace(header, train=replace(header.train, mixup_alpha=0.0, cutmix_alpha=alpha))
