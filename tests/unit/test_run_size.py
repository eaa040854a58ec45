"""How large a run may be: counted without building it, refused where its config is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.training_helpers import GREY, TINY
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, open_model
from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    Preparation,
    SwinConfig,
    TrainConfig,
    ViTConfig,
)
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model, empty_model
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.run_size import MAX_PARAMETERS, MAX_TRAINING_S, check_run, parameters
from vitviz.upload_limits import CHECKPOINT_BYTES

ODD: tuple[ModelConfig, ...] = (
    ViTConfig(head_input="slice", layer_scale=0.1, num_registers=3, position_on_prefix=False, distilled=True),
    ViTConfig(positions="pixels", output_projection=False, qkv_bias=False, readout="mean", final_norm=False),
    ViTConfig(stem=(8, 16, 24), positions="none", num_classes=0, mlp_ratio=2.5, image_size=64, patch_size=8),
    ViTConfig(embed="unfold", embed_bias=False, positions="sincos_1d"),
    SwinConfig(depths=(1, 2, 1), num_heads=(1, 2, 4), window_size=8, num_classes=0, qkv_bias=False),
    SwinConfig(depths=(1, 2, 1), num_heads=(1, 2, 4), window_size=8, convention="timm"),
    CNNConfig(widths=(8, 8, 16), blocks=(0, 2, 1)),
    CNNConfig(widths=(8, 16), blocks=(2, 2), pooled=True),
    ConvAttentionConfig(in_chans=3, channels=5),
    ConvAttentionConfig(attends=False),
    FlatAttentionConfig(widths=(5, 6)),
)


@pytest.mark.parametrize(
    "model", [*(preset.config for preset in PRESETS.values()), *ODD], ids=lambda m: m.kind
)
def test_parameters_are_counted_as_the_model_has_them(model: ModelConfig) -> None:
    assert parameters(model) == sum(tensor.numel() for tensor in empty_model(model).parameters())


def test_every_recipe_is_within_the_limits() -> None:
    for recipe in TRAINING_PRESETS.values():
        check_run([(recipe.model, recipe.train)])


WIDE = ViTConfig(in_chans=1, embed_dim=65536, depth=4, num_heads=1)


def epochs(count: float, **changes: Any) -> TrainConfig:
    return TrainConfig(epochs=count, **changes)


@pytest.mark.parametrize(
    ("model", "train", "why"),
    [
        (
            WIDE,
            TrainConfig(),
            "has 206,1.* parameters; the limit is 15,000,000: reduce",
        ),
        (replace(TINY, depth=257), TrainConfig(), "257 layers; the limit is 256"),
        (CNNConfig(widths=(1,), blocks=(10**9,)), TrainConfig(), "1,000,000,001 layers"),
        (
            ViTConfig(image_size=65, patch_size=1),
            TrainConfig(),
            "attends over 4,226 tokens; the limit is 4,096",
        ),
        (SwinConfig(window_size=65), TrainConfig(), "attends over 4,225 tokens"),
        (
            ViTConfig(image_size=64, patch_size=1, embed_dim=32, depth=16, num_heads=32, readout="mean"),
            TrainConfig(batch_size=16),
            "16 layers of 32 heads over 4,096 tokens have 8,589,934,592 attention weights; the limit is 134,217,728",
        ),
        (
            ViTConfig(image_size=48, patch_size=1, embed_dim=16, depth=1, num_heads=8),
            TrainConfig(batch_size=32),
            "a batch of 32 images has .* attention weights in a layer; the limit is 536,870,912",
        ),
        (
            ViTConfig(image_size=252, patch_size=4),
            TrainConfig(batch_size=128),
            "values; the limit is 134,217,728",
        ),
        (
            ViTConfig(embed_dim=384, num_heads=6),
            TrainConfig(snapshots=120),
            "120 snapshots of 41 MB are 4,896 MB; the limit is 512",
        ),
        (
            TINY,
            epochs(10_000, dataset="mnist", batch_size=8),
            "are 75,000,000 updates; the limit is 2,000,000",
        ),
        (TINY, epochs(200, dataset="cifar10", batch_size=1), "12,000,000 updates"),
        (TINY, TrainConfig(epochs=None, seconds=7 * 86_400), "at most 24 hours, received 168.0"),
    ],
)
def test_what_is_too_much_is_reported_where_the_run_is_made(
    model: ModelConfig, train: TrainConfig, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        RunConfig(model, Preparation(), train)


def test_an_experiment_counts_all_its_members() -> None:
    model = ViTConfig(embed_dim=192)
    members = tuple(Member(f"m{i}", f"M {i}", model) for i in range(8))
    train = TrainConfig(snapshots=12)
    RunConfig(model, GREY, train)
    with pytest.raises(ValueError, match="12 snapshots of"):
        RunConfig(model, GREY, train, members=members)


def test_the_largest_snapshot_can_be_opened_again() -> None:
    model = ViTConfig(embed_dim=455, depth=6, num_heads=1, num_classes=2)
    assert 0.99 * MAX_PARAMETERS < parameters(model) <= MAX_PARAMETERS
    built = create_model(model)
    raw = checkpoint_bytes(
        Checkpoint(model, Preparation(), None, ("a", "b"), [], {1: dict(built.state_dict())})
    )
    assert len(raw) < CHECKPOINT_BYTES and open_model(raw).config == model


def test_a_run_on_disk_that_asks_for_too_much_is_reported(tmp_path: Path) -> None:
    run = Run.create(tmp_path, RunConfig(TINY, GREY, TrainConfig()))
    file = run.directory / "config.json"
    file.write_text(file.read_text().replace('"embed_dim": 16', '"embed_dim": 65536'))
    with pytest.raises(RunError, match="invalid: this model has .* parameters"):
        run.config()


def test_a_run_counted_in_epochs_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vitviz.training import run_trainer

    assert MAX_TRAINING_S == run_trainer.MAX_TRAINING_S
    monkeypatch.setattr(run_trainer, "MAX_TRAINING_S", 0.0)
    train = TrainConfig(epochs=1000, batch_size=32, train_fraction=0.1)
    status = run_trainer.Session(Run.create(tmp_path, RunConfig(TINY, GREY, train)), "cpu").perform()
    assert (status.state, status.step) == (
        "stopped",
        1,
    ) and "0 hours" in status.message
