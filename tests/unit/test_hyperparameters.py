"""Which fields of model and recipe are hyperparameters: all that do something on the bases, and why others are none."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache

import pytest
import torch
from torch import Tensor

from vitviz.config import ModelConfig, TrainConfig, ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments import hyperparameters
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.training.batches import TrainingData, prepare_training_data
from vitviz.training.loop import Trainer, bf16_is_fast

NOT_OFFERED = {  # names by the reason
    "how published positions are resized": "positions_antialias positions_align_corners",
    "follows from the labels that a checkpoint was trained on": "class_output",
    "a shape of checkpoints that were trained elsewhere": (
        "head_dim qk_norm gated_mlp patch_norms embed_norm unread_cls dist_head pooled_norm projection "
        "rope_theta rotary_beside rope_type rope_interleaved rope_columns_first rope_offset rope_reference "
        "norm_layer attn_norm mlp_norm patch_norm pool_prefix pool_heads pool_activation pool_ratio"
    ),
    "the pictures say it": "image_size in_chans num_classes",
    "of 1-D sinusoidal positions; the bases learn theirs": "sincos_on_prefix",
    "wants a teacher; 'DeiT' is about it": "distilled",
    "fine-tuning counts its pictures so; 'Share of the training set' is a knob": "a_class",
    "is chosen beside the knob, and has a base of its own": "dataset",
    "the models of one run are held against each other on the same pictures": "validation_fraction",
    "the models of one run are counted in epochs, so that they are equally far": "seconds",
    "only cuts the training short: the base's curve shows where": "stop_accuracy patience",
    "of SGD; the bases have AdamW": "momentum",
    "of a CNN's filters": "fixed_norms",
    "a way to flip; 'Horizontal flip' is a knob": "alternate_flip",
    "only undoes dropout, of which the bases have none; 'One slip' has it beside some": "stays_in_eval",
    "names a file of weights; 'Fine-tuning' and 'DeiT' are about them": (
        "start_from start_digest distill_from distillation distillation_weight distillation_temperature"
    ),
    "the models of one run share them": "threads",
    "of a training that is counted in seconds": "clock",
    "is asked for beside the knob: of every value the same ones": "seed",
    "what is kept for looking at later; the training is the same": "snapshots",
}
IDLE = {"sincos_on_prefix": True, "momentum": 0.5, "stays_in_eval": True, "clock": "core", "snapshots": 3}
SHORT = replace(BASES["digits"], train=replace(BASES["digits"].train, epochs=0.15))  # three updates


@lru_cache(maxsize=4)
def make_images(share: float) -> TrainingData:
    train = replace(SHORT.train, train_fraction=share)
    return prepare_training_data(load_dataset("digits"), SHORT.preparation, train)


@lru_cache(maxsize=1)
def of_base() -> Tensor:
    return answers(SHORT.model, SHORT.train)


def answers(model: ModelConfig, train: TrainConfig) -> Tensor:
    """Logits of some held-out digits after a few updates."""
    trainer = Trainer(model, train, make_images(train.train_fraction))
    for _ in range(3):
        trainer.advance()
        trainer.evaluate("validation")
    with trainer.weights.use_for_evaluation() as shown, torch.no_grad():
        return shown(trainer.normalise(trainer.splits.validation.images[:16])).float()


def test_every_field_is_a_hyperparameter_or_has_a_reason_why_not() -> None:
    known = {field.name for config in (ViTConfig, TrainConfig) for field in fields(config)}
    others = " ".join(NOT_OFFERED.values()).split()
    assert sorted(known) == sorted([*HYPERPARAMETERS, *others])
    for name, hyperparameter in HYPERPARAMETERS.items():
        part = ViTConfig if hyperparameter.part == "model" else TrainConfig
        assert name in {field.name for field in fields(part)}


@pytest.mark.slow
@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_hyperparameter_does_something_on_the_base(name: str) -> None:
    if name == "precision" and not bf16_is_fast(torch.device("cpu")):
        pytest.skip("this processor trains in fp32 in any case")
    hyperparameter = HYPERPARAMETERS[name]
    value = next(
        value for value in reversed(hyperparameter.offered(SHORT)) if value != hyperparameter.base(SHORT)
    )
    assert not torch.equal(answers(*hyperparameter.with_value(SHORT, value)), of_base())


def test_averages_of_the_weights_differ_within_a_run() -> None:
    """0.9, 0.99 and 0.999 were one model after three epochs: an average forgets its start, so its decay is capped."""
    train = replace(SHORT.train, epochs=BASES["digits"].train.epochs)
    updates = Trainer(SHORT.model, train, make_images(train.train_fraction)).total_steps
    assert updates is not None
    asked = [value for value in HYPERPARAMETERS["ema_decay"].values if isinstance(value, float)]
    assert max(asked) < (1 + updates) / (10 + updates)


@pytest.mark.parametrize("name", IDLE)
def test_what_does_nothing_on_the_base_is_no_hyperparameter(name: str) -> None:
    model, train = SHORT.model, SHORT.train
    changed = {name: IDLE[name]}
    if name in {field.name for field in fields(ViTConfig)}:
        model = replace(model, **changed)  # type: ignore[arg-type]
    else:
        train = replace(train, **changed)  # type: ignore[arg-type]
    assert (model, train) != (SHORT.model, SHORT.train)
    assert torch.equal(answers(model, train), of_base())


@pytest.mark.parametrize("dataset", BASES)
def test_the_base_is_among_the_values_and_numbers_ascend(dataset: str) -> None:
    for hyperparameter in HYPERPARAMETERS.values():
        assert hyperparameter.base(BASES[dataset]) in hyperparameter.offered(BASES[dataset]), (
            hyperparameter.name
        )
        assert len({hyperparameter.label(value) for value in hyperparameter.values}) == len(
            hyperparameter.values
        ), hyperparameter.name
        numbers = [value for value in hyperparameter.values if isinstance(value, int | float)]
        assert not hyperparameter.numeric or numbers == sorted(numbers), hyperparameter.name


def test_only_values_that_make_a_model_are_offered() -> None:
    patches = HYPERPARAMETERS["patch_size"]
    assert patches.offered(BASES["digits"]) == patches.offered(BASES["shapes"]) == (4, 8, 16, 32)
    assert patches.offered(BASES["mnist"]) == (4, 7, 14)


def test_what_may_be_off_is_written_and_read_so() -> None:
    clip = HYPERPARAMETERS["gradient_clip"]
    assert clip.label(None) == "off" and clip.parse("off, 1, .5") == (None, 1.0, 0.5)
    for name, hyperparameter in HYPERPARAMETERS.items():
        if hyperparameter.numeric:
            assert (
                hyperparameter.parse(", ".join(map(hyperparameter.label, hyperparameter.values)))
                == hyperparameter.values
            ), name
    with pytest.raises(ValueError, match="'Gradient clipping norm' must be numbers or 'off'"):
        clip.parse("off, on")
    with pytest.raises(ValueError, match="'Dropout' must be numbers"):
        HYPERPARAMETERS["dropout"].parse("off, 0.1")


def test_a_run_is_as_long_as_its_longest_model() -> None:
    config = hyperparameters.build_run_config("digits", "epochs", (1.0, 3.0), epochs=2.0)
    assert config.longest == 3.0 and [member.title for member in config.members] == ["1", "3"]
    assert hyperparameters.build_run_config("digits", "flip", (True, False), epochs=2.0).longest == 2.0
