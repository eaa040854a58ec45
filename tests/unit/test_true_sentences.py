"""Test sentences that once were stronger than their numbers, each against its numbers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from pages.lenses.attention.captions import describe_random_weights
from pages.lenses.attention_distance.captions import describe_cnn_beside_heads
from pages.lenses.on_your_image import robustness_results
from pages.studies import robustness
from pages.studies.hybrid_training import CHECKPOINTS, build_courses
from pages.studies.renderer import build
from pages.studies.study import list_studies
from vitviz.analysis.image_changes import ROBUSTNESS, Losses, collect_losses
from vitviz.analysis.image_means import summarise_images
from vitviz.analysis.norms import describe_gradient_shares, select_norms
from vitviz.analysis.run_comparison import time_to_accuracy
from vitviz.analysis.verdict import compare_family, judge_difference
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.data.cifar10_few import few_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.experiments.gradients import VARIANTS
from vitviz.experiments.result_file import read_result
from vitviz.probe.capture import capture

ROOT = Path(__file__).resolve().parents[2]


def test_the_cited_gap_of_data_size_is_the_table_s() -> None:
    text = tomllib.loads((ROOT / "vitviz" / "papers.toml").read_text())["findings"]["data_size"]
    places, cnn, *vits = (list_studies()["published_sizes"].views[0].published or {}).values()
    gaps = [max((vit[place] or 0) for vit in vits) - (cnn[place] or 0) for place in (0, -1)]
    assert re.findall(r"(\d\.\d) points", text) == [f"{abs(gap):.1f}" for gap in gaps] == ["3.4", "0.5"]


def test_random_weights_are_ten_draws_and_rank_no_method() -> None:
    text = describe_random_weights({"raw": [0.33, *[-0.05] * 9], "rollout": [0.06, *[0.1] * 9]}, True)
    assert "raw attention -" not in text and "least" not in text
    assert "−0.01 ± 0.12" in text and "10 draws" in text and "on this image" in text


@pytest.mark.parametrize(
    ("change", "most", "least"), [("brightness", "CNN", "ViT"), ("noise", "DeiT", "Swin")]
)
def test_models_are_ranked_by_the_share_kept_and_nothing_at_the_floor(
    change: str, most: str, least: str
) -> None:
    losses = collect_losses(read_result(ROBUSTNESS), change, robustness.FAMILIES)
    text = robustness.describe_losses(losses, 1000)
    changed = [i for i in range(len(losses.strengths)) if i != losses.neutral]
    above = [i for i in changed if max(row[i] for row in losses.accuracy.values()) > 0.1 + 3 * 0.0094868]
    kept = {
        name: np.mean([row[i] for i in above]) / row[losses.neutral] for name, row in losses.accuracy.items()
    }
    assert max(kept, key=kept.__getitem__) == most and min(kept, key=kept.__getitem__) == least
    assert text.startswith(f"{most} keeps the largest share") and f"{least} the smallest" in text
    floor = Losses((0.0, 1.0, 2.0), {"A": [0.9, 0.5, 0.11], "B": [0.8, 0.4, 0.12]}, 0)
    assert floor.above_floor(0.1, 1000) == [1]
    assert "1 strength excluded" in robustness.describe_losses(floor, 1000)
    assert floor.find_leaders(0.1, 1000) == ("A",), "5.6 points with a standard error of 2.6"
    assert floor.find_leaders(0.1, 300) == ("A", "B") and "No difference" in robustness.describe_losses(
        floor, 300
    )
    assert robustness.describe_losses(
        Losses((0.0, 1.0), {"A": [0.9, 0.1], "B": [0.8, 0.11]}, 0), 1000
    ).startswith("All models are at chance")


def test_models_whose_predictions_change_as_often_all_count_as_right() -> None:
    images = int(read_result(ROBUSTNESS).settings["pictures"])
    apart = 4 * (0.25 / images) ** 0.5
    rates = {"a": 0.5, "b": 0.5 - apart / 4, "c": 0.5 - 2 * apart}
    assert robustness_results.find_change_leaders(rates) == ("a", "b")


def test_attention_over_convolutions_shows_no_loss_where_the_seeds_barely_differ() -> None:
    study = list_studies()["attention_over_convolutions"]
    text = build(study, {}).caption
    assert "separated" not in text and text.count("no difference shown") == 2


def test_the_smallest_gradient_ratio_is_shown_by_intervals() -> None:
    stored = read_result("gradient_norms")
    for mark, updates in enumerate(stored.settings["marks"]):
        norms = select_norms(stored.rows, mark, VARIANTS)
        ratios = {
            norm.name: np.log(
                [row["norms"][mark][0] / row["norms"][mark][-1] for row in stored.where(variant=norm.name)]
            )
            for norm in norms
        }
        smallest = min(ratios, key=lambda name: ratios[name].mean())
        gaps = [ratios[name] - ratios[smallest] for name in ratios if name != smallest]
        chances = sorted(float(ttest_1samp(gap, 0).pvalue) for gap in gaps)
        shown = 0
        while shown < len(chances) and chances[shown] < 0.05 / (len(chances) - shown):
            shown += 1
        text = describe_gradient_shares(norms, updates)
        assert ("shown to be smaller than each other one" in text) == (shown == len(gaps)), text
        assert text.partition("no difference from")[2].count("'") == 2 * (len(gaps) - shown), text


def test_hybrid_and_vit_are_not_compared_across_schedules() -> None:
    built = build(list_studies()["hybrid_training"], {})
    assert "of what the ViT needs" not in built.caption and built.prediction is None
    courses = {course.title: course.mean for course in build_courses()}
    best = courses["ViT"][1].max()
    needed = [time_to_accuracy(*courses[name], best) for name in ("Hybrid", "ViT")]
    assert f"best validation accuracy, {100 * best:.1f} %, after {needed[0]:,.0f} images" in built.caption
    assert f"the ViT after {needed[1]:,.0f} images" in built.caption
    final = ", ".join(f"{name} {100 * course[1, -1]:.1f} %" for name, course in courses.items())
    assert f"Final validation accuracy: {final}, on 2,000 images" in built.notes
    headers = {
        name: read_header(ROOT / "checkpoints" / f"{file}.safetensors") for name, file in CHECKPOINTS.items()
    }
    trains = {name: header.train for name, header in headers.items() if header.train is not None}
    ends = [
        f"{min(values):g} to {max(values):g}"
        for values in zip(
            *((t.epochs, t.learning_rate, t.weight_decay) for t in trains.values()), strict=True
        )
    ]
    assert "{} epochs; peak learning rate {}; weight decay {}".format(*ends) in built.notes
    assert [name for name, train in trains.items() if train.erase_px] == ["CNN", "Swin"]
    assert [name for name, train in trains.items() if train.mixup_alpha or train.cutmix_alpha] == ["ViT"]
    assert f"{(trains['ViT'].epochs or 0) / (trains['Hybrid'].epochs or 1):.1f} times as many" in built.notes
    images = {r["images"] for h in headers.values() for r in h.history if r.get("split") == "validation"}
    assert images == {2000} and len({header.card["machine"] for header in headers.values()}) == 2


def test_every_layer_s_distance_stands_beside_a_cnn_s() -> None:
    noise = np.random.default_rng(0).normal(0, 0.5, (3, 64))
    noise -= noise.mean(axis=1, keepdims=True)
    layers = summarise_images(
        "digits", dict(zip("123", np.array([[5.0], [9.0], [8.95]]) + noise, strict=True))
    )
    text = describe_cnn_beside_heads(layers, np.array([2.0, 4.0]), 16)
    assert (
        "5.0, 9.0 and 8.9 px over 64 images, largest in layer 2 (9.0 px, 95\N{NO-BREAK SPACE}% interval"
        in text
    )
    assert "; no difference shown to layer 3: the interval of the difference contains 0" in text
    few = summarise_images("digits", {"1": [5.0, 5.1], "2": [9.0, 9.1]})
    assert "layer 2 (9.1 px; too few images for a verdict)" in describe_cnn_beside_heads(few, np.ones(2), 2)


def test_the_lesson_s_effective_keys_are_measured() -> None:
    """Its link: CIFAR-10's image 118 in the last block of the ViT."""
    text = (ROOT / "lessons" / "lecture.toml").read_text()
    model = open_model(ROOT / "checkpoints" / "cifar10_vit.safetensors")
    inputs = prepare_batch(few_dataset().test_images[118:119], model.preparation)
    records = capture(model.model, inputs, ("blocks.5.q", "blocks.5.k"))
    q, k = (records[f"blocks.5.{name}"][0].astype(np.float64) for name in "qk")
    counts = []
    for scale in (1.0, 1 / np.sqrt(q.shape[-1])):
        scores = scale * q @ k.transpose(0, 2, 1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)
        counts.append(np.exp(entropy).mean(axis=-1))
    raw, scaled = counts
    assert (
        f"{raw.min():.1f} to {raw.max():.1f} effective keys, by head, instead of {scaled.min():.0f} to"
        in text
    )
    assert f"to {scaled.max():.0f}. The result" in text


@pytest.mark.parametrize(("dataset", "images"), [("shapes", 2000), ("digits", 359), ("mnist", 10_000)])
def test_encodings_that_tie_are_not_ranked(dataset: str, images: int) -> None:
    built = build(list_studies()["positions"], {"dataset": dataset})
    numbers = built.numbers
    assert numbers is not None
    reached = {name: numbers.get_mean(name, "") for name in numbers.titles if name != "none"}
    best = "learned"  # the highest, with others where they tie
    assert (reached[best], reached["sincos_2d_sum"]) == (max(reached.values()), min(reached.values()))
    assert "best encoding" not in built.caption
    duels = []
    for name in reached.keys() - {best}:
        variance = 1e4 * sum(share * (1 - share) for share in (reached[best], reached[name])) / images
        duels.append(judge_difference(100 * (reached[best] - reached[name]), variance, images))
    shown = sum(verdict.shown for verdict in compare_family(duels))
    start = (
        "none of the other 4 encodings shows a"
        if not shown
        else f"{4 - shown} of the other 4 encodings show no"
    )
    assert f"On {images:,} test images, {start} difference" in built.notes
    shuffled = [100 * row["shuffled"] for name, (row,) in numbers.rows.items() if name != "none"]
    ends = f"{min(shuffled):.1f} % to {max(shuffled):.1f} %"
    assert (ends in built.notes) == (dataset != "shapes")
