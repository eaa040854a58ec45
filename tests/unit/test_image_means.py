"""Means of a model over images: intervals and verdicts by hand, stored files, and what is measured of known models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from vitviz.analysis.attention import rank_correlation
from vitviz.analysis.faithfulness import area
from vitviz.analysis.image_means import ImageMeans, compute_half_width, summarise_images
from vitviz.analysis.token_similarity import cosines_between, find_mutual_neighbours, share_at_true_place
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.experiments import image_sets
from vitviz.experiments.result_file import CHECKPOINTS, read_result
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.record import Replacement
from vitviz.probe import image_sets as probe
from vitviz.probe.capture import capture
from vitviz.probe.explanation_maps import Recipe, method_maps_of, order_curve


def test_intervals_and_differences_by_hand() -> None:
    means = summarise_images("digits", {"a": [1.0, 2.0, 3.0, 6.0], "b": [0.0, 2.0, 2.0, 4.0]})
    assert means.images == 4 and means["a"] == 3 and means["b"] == 2 and "c" not in means
    assert means.covariance[0, 0] == pytest.approx(14 / 3) and means.covariance[0, 1] == pytest.approx(10 / 3)
    assert means.half_width("a") == pytest.approx(3.18245 * (14 / 3) ** 0.5 / 2, rel=1e-5)  # t of 3 degrees
    verdict = means.compare("a", "b")  # differences 1, 0, 1, 2: variance 2 / 3
    assert verdict.estimate == 1 and verdict.variances[1] == pytest.approx(2 / 3 / 4)
    assert verdict.outcome is None and verdict.reason == "too few images"
    assert np.isnan(compute_half_width(1.0, 1))


def make_means(values: dict[str, Any]) -> ImageMeans:
    return summarise_images("digits", values)


def test_leaders_are_those_that_no_pair_shows_to_be_lower() -> None:
    noise = np.random.default_rng(0).normal(size=(4, 100))
    means = make_means(
        {"low": noise[0], "close": 4.98 + noise[1], "high": 5 + noise[2], "middle": 3 + noise[3]}
    )
    leaders = means.find_leaders()
    assert {*leaders} == {"close", "high"} and leaders[0] == max(leaders, key=lambda name: means[name])
    assert means.judge_pairs()["low", "middle"].outcome == "lower"
    few = make_means({"low": noise[0, :9], "high": 90 + noise[1, :9]})
    assert few.find_leaders() == ("high", "low"), "nine images are too few for a verdict"


def test_groups_and_prefixes_keep_the_covariance() -> None:
    rng = np.random.default_rng(1)
    values = {f"x {layer}.{head}": rng.normal(layer, 1, 50) for layer in (1, 2) for head in (1, 2)}
    means = make_means(values).select("x ")
    layers = means.average({"1": ["1.1", "1.2"], "2": ["2.1", "2.2"]})
    direct = make_means({str(n): (values[f"x {n}.1"] + values[f"x {n}.2"]) / 2 for n in (1, 2)})
    np.testing.assert_allclose(layers.means, direct.means)
    np.testing.assert_allclose(layers.covariance, direct.covariance)


def test_draws_of_random_weights_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    trained, control = rng.normal(1, 1, 100), rng.normal(0, 1, 100)
    draws = np.stack([[np.nan, mean] for mean in np.linspace(-0.9, 0.9, 10)])
    means = summarise_images("digits", {"a": trained, "random a": control}, draws)
    mean, deviation = means.control("random a")
    assert mean == pytest.approx(0) and deviation == pytest.approx(np.linspace(-0.9, 0.9, 10).std(ddof=1))
    verdict = means.compare_with_draws("a", "random a")
    half = (verdict.high or 0) - verdict.estimate
    of_images = (trained - control).var(ddof=1) / 100
    assert verdict.estimate == pytest.approx(float((trained - control).mean())) and verdict.seeds == 10
    assert half == pytest.approx((2.26216**2 * deviation**2 / 10 + 1.98422**2 * of_images) ** 0.5, rel=1e-4)


def test_packed_means_are_read_again() -> None:
    values = {name: np.random.default_rng(at).normal(at, 1, 40) for at, name in enumerate("abc")}
    draws = np.array([[0.1, 0.2, np.nan], [0.3, 0.4, np.nan]])
    means = summarise_images("digits", values, draws)
    again = image_sets.unpack_means(image_sets.pack_means(means))
    np.testing.assert_allclose(again.means, means.means, rtol=1e-4)
    np.testing.assert_allclose(again.covariance, means.covariance, rtol=6e-3)
    np.testing.assert_array_equal(again.draws, draws)


def collect(work: probe.Work) -> ImageMeans:
    with threadpool_limits(1):
        while True:
            try:
                assert 0 <= next(work) <= 1.0001
            except StopIteration as stop:
                means: ImageMeans = stop.value
                return means


@pytest.fixture(scope="module")
def digits_vit() -> LoadedModel:
    return open_model(CHECKPOINTS / "digits_vit.safetensors")


@pytest.fixture(scope="module")
def two(digits_vit: LoadedModel) -> probe.ImageSet:
    """Two test images of different classes, without labels, so that one is matched with the other."""
    from vitviz.data.datasets import load_dataset
    from vitviz.data.image_preprocessing import prepare_batch

    dataset = load_dataset("digits")
    labels = dataset.labels_of("test")
    images = dataset.test_images[[0, int(np.flatnonzero(labels != labels[0])[0])]]
    return probe.ImageSet("digits", prepare_batch(images, digits_vit.preparation))


@pytest.fixture(autouse=True)
def one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two images are two batches, and two draws of random weights are enough."""
    monkeypatch.setattr(probe, "BATCH", 1)
    monkeypatch.setattr(probe, "RANDOM_DRAWS", 2)


def test_effective_tokens_of_two_images(digits_vit: LoadedModel, two: probe.ImageSet) -> None:
    means = collect(probe.measure_effective_tokens(digits_vit, two))
    rows = capture(digits_vit.model, two.inputs, record=("blocks.2.attn",))["blocks.2.attn"][:, 1]
    entropy = -(rows * np.log2(np.maximum(rows, 1e-30))).sum(axis=-1)
    assert means["3.2"] == pytest.approx(float((2**entropy).mean()), rel=1e-5)


def test_faithfulness_of_two_images(digits_vit: LoadedModel, two: probe.ImageSet) -> None:
    means = collect(probe.measure_faithfulness(digits_vit, two))
    targets = capture(digits_vit.model, two.inputs, record=False).logits.argmax(axis=1)
    gaps, correlations = [], []
    for image, target in zip(two.inputs, targets, strict=True):
        maps = method_maps_of(digits_vit, image, Recipe(int(target), "mean", 0.0))
        curve = order_curve(digits_vit, image, maps["rollout"], int(target))
        gaps.append(area(curve.fraction, curve.insertion) - area(curve.fraction, curve.deletion))
        drawn = method_maps_of(probe.draw_untrained(digits_vit, 1), image, Recipe(int(target), "mean", 0.0))
        correlations.append(rank_correlation(maps["raw"], drawn["raw"]))
    assert means["gap rollout"] == pytest.approx(np.mean(gaps), abs=1e-6)
    assert means.draws[1, means.names.index("gap raw")] == pytest.approx(np.mean(correlations), abs=1e-6)
    assert np.isnan(means.draws[:, means.names.index("gap random")]).all()


def test_patching_of_two_images(digits_vit: LoadedModel, two: probe.ImageSet) -> None:
    import torch

    means = collect(probe.measure_patching(digits_vit, two))
    first, second = two.inputs[:1], two.inputs[1:]
    changes = []
    for donor, receiver in ((second, first), (first, second)):
        record = capture(digits_vit.model, donor, record=("blocks.0.heads",))
        values = torch.from_numpy(record["blocks.0.heads"])
        where = (torch.arange(values.shape[-1]) // (values.shape[-1] // 4) == 2).expand(1, 1, -1)
        replaced = {"blocks.0.heads": Replacement(values, where)}
        after = capture(digits_vit.model, receiver, record=False, replaced=replaced).logits
        before = capture(digits_vit.model, receiver, record=False).logits
        target = int(record.logits[0].argmax())
        chances = [digits_vit.probabilities(logits)[0, target] for logits in (before, after)]
        changes.append(100 * (chances[1] - chances[0]))
    assert means["1.3"] == pytest.approx(np.mean(changes), abs=1e-3)


def test_matches_of_two_images(digits_vit: LoadedModel, two: probe.ImageSet) -> None:
    means = collect(probe.measure_matches(digits_vit, two))

    def read(model: LoadedModel, inputs: np.ndarray) -> np.ndarray:
        return capture(model.model, inputs, record=("blocks.3",))["blocks.3"][:, 1:]

    shares = []
    for model in (digits_vit, *(probe.draw_untrained(digits_vit, draw) for draw in (0, 1))):
        tokens = read(model, two.inputs)
        cosines = [cosines_between(tokens[a], tokens[1 - a], without_mean=True) for a in (0, 1)]
        shares.append(np.mean([len(find_mutual_neighbours(table).first) / 64 for table in cosines]))
    assert means["match 4"] == pytest.approx(shares[0])
    assert means.draws[:, means.names.index("random match 4")] == pytest.approx(shares[1:])
    assert means["random match 4"] == pytest.approx(np.mean(shares[1:]))
    mirrored = read(digits_vit, two.inputs[..., ::-1].copy())
    tokens = read(digits_vit, two.inputs)
    cells = np.arange(64).reshape(8, 8)[:, ::-1].ravel()
    found = [
        share_at_true_place(cosines_between(tokens[i], mirrored[i], without_mean=True), cells, (8, 8))
        for i in (0, 1)
    ]
    assert means["copy 4"] == pytest.approx(np.mean(found))


def test_the_next_of_a_group() -> None:
    groups = np.array([0, 1, 0, 2])
    assert [probe.find_next(groups, at, same=True) for at in range(4)] == [2, None, 0, None]
    assert [probe.find_next(groups, at, same=False) for at in range(4)] == [1, 2, 3, 0]


def test_every_shipped_model_is_stored_by_its_identity() -> None:
    stored = read_result(image_sets.NAME)
    assert stored.missing == 0
    for name in image_sets.MODELS:
        header = read_header(CHECKPOINTS / f"{name}.safetensors")
        able = abilities(header.config)
        for measure in image_sets.NEEDS:
            means = image_sets.find_stored(measure, header.identity)
            is_measured = image_sets.is_meaningful(measure, able) and image_sets.is_stored(name, measure)
            assert (means is not None) == is_measured
            if means is not None:
                photos = header.card.get("dataset") is None and means.source == "photos"
                assert means.images == 8 if photos else 180 <= means.images <= 200
    assert image_sets.find_stored("maps", "0" * 64) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "measures"),
    [("digits_vit", ("effective_tokens", "maps")), ("cifar10_vit_p8", ("effective_tokens",))],
)
def test_stored_means_are_measured_again(name: str, measures: tuple[str, ...]) -> None:
    """Quick measures over their 200 images are equal within what another machine rounds."""
    model = open_model(CHECKPOINTS / f"{name}.safetensors")
    for measure in measures:
        stored = image_sets.find_stored(measure, model.digest)
        assert stored is not None
        again = collect(image_sets.measure(model, measure, stored.source, 200))
        assert again.names == stored.names and again.images == stored.images
        np.testing.assert_allclose(again.means, stored.means, rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(again.covariance, stored.covariance, rtol=0.05, atol=1e-3)


def test_a_damaged_row_is_refused() -> None:
    identity = read_header(CHECKPOINTS / "digits_vit.safetensors").identity
    row = dict(read_result(image_sets.NAME).where(measure="maps", identity=identity)[0])
    row["covariance"] = row["covariance"][:-1]
    with pytest.raises(image_sets.ResultError, match="damaged"):
        image_sets.unpack_means(row)
