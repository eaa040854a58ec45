"""The trainers of Lightning and transformers are recorded by their own callbacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import vitviz
from tests.parity.test_recorder import IMAGES, transformers_vit

BATCHES, EPOCHS = 4, 2


def make_data() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(8 * BATCHES, 3, 32, 32), torch.randint(0, 5, (8 * BATCHES,))


def train_lightning(folder: Path, **settings: Any) -> Any:
    """Train a LightningModule, recorded in a folder; return the callback."""
    import lightning.pytorch as lightning
    import timm

    class Classifier(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = timm.create_model(
                "vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, num_classes=5
            )

        def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
            return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    callback = vitviz.LightningRecorder("net", out=folder, **settings)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        callbacks=[callback],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder.parent,
    )
    trainer.fit(Classifier(), DataLoader(TensorDataset(*make_data()), batch_size=8))
    return callback


def train_transformers(folder: Path, **settings: Any) -> Any:
    """Train with the Trainer of transformers, recorded in a folder; return the callback."""
    from transformers import Trainer, TrainingArguments

    images, labels = make_data()

    class Examples(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return len(images)

        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            return {"pixel_values": images[index], "labels": labels[index]}

    arguments = TrainingArguments(
        str(folder.parent / "out"),
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=8,
        logging_steps=2,
        save_strategy="no",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    callback = vitviz.TrainerRecorder(out=folder, **settings)
    Trainer(transformers_vit(), arguments, train_dataset=Examples(), callbacks=[callback]).train()
    return callback


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Lightning, about itself
def test_a_lightning_module_is_recorded(tmp_path: Path) -> None:
    check(train_lightning(tmp_path / "run", images=IMAGES), [*range(EPOCHS * BATCHES)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of transformers, about itself
def test_a_trainer_of_transformers_is_recorded(tmp_path: Path) -> None:
    callback = train_transformers(tmp_path / "run", images=IMAGES)
    check(callback, [*range(1, EPOCHS * BATCHES + 1)], logged=2)


def check(callback: Any, steps: list[int], logged: int = 1) -> None:
    """Check the curve's steps and losses, and that the last moment is that of the last step."""
    records = callback.recorder.run.records()
    assert [record["step"] for record in records] == steps
    losses = [record["loss"] is not None for record in records]
    assert losses == [place % logged == logged - 1 for place in range(len(steps))]
    assert callback.recorder.run.steps()[-1] == steps[-1]
    assert callback.recorder.run.status().state == "done"
