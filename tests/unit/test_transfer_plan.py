"""The stored experiment of fine-tuning: balanced draws, one small cell of each way, and features without a head."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vitviz.analysis.probes import linear_accuracy
from vitviz.config import CNNConfig, ModelConfig, SwinConfig, ViTConfig
from vitviz.data.dataset import stratified_split
from vitviz.data.datasets import available_datasets, load_dataset
from vitviz.experiments import transfer, transfer_plan
from vitviz.experiments.transfer_plan import PLAN_OF, PLANS, Plan
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.probe import layers
from vitviz.probe.layers import extract_features, patch_means
from vitviz.training.fine_tuning_race import TuningMethod

SMALL = {"image_size": 16, "in_chans": 1, "num_classes": 3}


def test_every_class_has_as_many_images_and_the_seed_draws_them() -> None:
    labels = np.repeat(np.arange(4), 9)
    one, again, other = (transfer.draw_indices(labels, 5, seed) for seed in (0, 0, 1))
    assert np.bincount(labels[one]).tolist() == [5] * 4 and len({*one.tolist()}) == 20
    assert one.tolist() == again.tolist() != other.tolist()
    with pytest.raises(ValueError, match="10 images per class, received a class of 9"):
        transfer.draw_indices(labels, 10, 0)


@pytest.mark.parametrize(
    "config",
    [
        ViTConfig(patch_size=8, embed_dim=12, depth=1, distilled=True, **SMALL),  # type: ignore[arg-type]
        ViTConfig(patch_size=8, embed_dim=12, depth=1, readout="mean", **SMALL),  # type: ignore[arg-type]
        SwinConfig(patch_size=4, window_size=2, embed_dim=8, depths=(1, 1), num_heads=(1, 2), **SMALL),  # type: ignore[arg-type]
        CNNConfig(widths=(8, 12), blocks=(1, 1), **SMALL),  # type: ignore[arg-type]
    ],
)
def test_features_under_the_head_are_the_logits(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "BATCH", 2)
    model = create_model(config, 0).eval()
    inputs = np.random.default_rng(0).normal(size=(3, 1, 16, 16)).astype(np.float32)
    head = getattr(model.head, "fc", model.head)
    with torch.inference_mode():
        found = torch.from_numpy(extract_features(model, inputs)) @ head.weight.T + head.bias
        logits = model(torch.from_numpy(inputs), record=("logits", "logits_cls"))[1]
    torch.testing.assert_close(found, logits.get("logits_cls", logits["logits"]))
    assert model.head is not None and model(torch.from_numpy(inputs)).shape == (3, 3)  # it is left as it was


def test_the_mean_of_the_patches_is_what_a_mean_readout_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prefix tokens, two of a DeiT, stay out."""
    monkeypatch.setattr(layers, "BATCH", 2)
    config = ViTConfig(patch_size=8, embed_dim=12, depth=2, distilled=True, **SMALL)  # type: ignore[arg-type]
    model = create_model(config, 0).eval()
    inputs = np.random.default_rng(0).normal(size=(3, 1, 16, 16)).astype(np.float32)
    with torch.inference_mode():
        tokens = model(torch.from_numpy(inputs), record=("norm",))[1]["norm"].numpy()
    assert isinstance(model, VisionTransformer) and tokens.shape == (3, 2 + 4, 12)
    np.testing.assert_allclose(patch_means(model, inputs), tokens[:, 2:].mean(axis=1), atol=1e-6)


def test_a_linear_map_reads_what_is_there_and_no_more() -> None:
    dice = np.random.default_rng(0)
    labels, wanted = dice.integers(0, 2, 60), dice.integers(0, 2, 400)
    returned = [
        np.stack([y + dice.normal(0, 0.1, len(y)), dice.normal(size=len(y))], 1) for y in (labels, wanted)
    ]
    noise = [dice.normal(size=(len(y), 2)) for y in (labels, wanted)]
    assert linear_accuracy(returned[0], labels, returned[1], wanted) > 0.99
    assert 0.4 < linear_accuracy(noise[0], labels, noise[1], wanted) < 0.6


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_plan_holds_what_its_target_has(plan: Plan) -> None:
    if plan.dataset not in available_datasets():
        pytest.skip(f"{plan.dataset} is not on this machine")
    dataset = load_dataset(plan.dataset)
    kept, _ = stratified_split(dataset.labels_of("train"), plan.validation, 0)
    assert plan.test_pictures == len(dataset.test_images)
    assert plan.sizes[-1] <= np.bincount(dataset.labels_of("train")[kept]).min()
    assert plan.sources.keys() == plan.scratch_rates.keys()


def test_a_body_has_one_target() -> None:
    assert len(PLAN_OF) == sum(len(plan.sources) for plan in PLANS.values())


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_one_cell_of_each_way_is_measured_and_twice_the_same(plan: Plan, tmp_path: Path) -> None:
    """The digits stand in for images that would have to be fetched."""
    made = transfer.experiment(replace(plan, dataset="digits", method=TuningMethod(updates=4, batch_size=16)))
    source, fewest = next(iter(plan.sources)), plan.sizes[0]
    cells = [c for c in made.cells if (c["source"], c["a_class"], c["seed"]) == (source, fewest, 1)]
    assert [cell["method"] for cell in cells] == list(plan.methods)
    found = [made.measure(cell, tmp_path)["test"] for cell in cells]
    assert found[0] == made.measure(cells[0], tmp_path)["test"]
    assert found[1] > 0.9  # MNIST's features read two digits a class: 96 % was measured


def test_the_longer_way_makes_so_many_times_the_updates(tmp_path: Path) -> None:
    plan = replace(transfer_plan.DIGITS, method=TuningMethod(updates=4, batch_size=16), times=3)
    cell = {"source": "mnist_vit", "method": transfer_plan.LONGER, "a_class": 2, "seed": 0}
    row = transfer.experiment(plan).measure(cell, tmp_path)
    assert row["curve"][-1][0] == 12 and plan.methods[transfer_plan.LONGER].endswith("3 times as long")
