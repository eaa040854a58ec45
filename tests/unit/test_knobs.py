"""Which fields of model and recipe are knobs: all that do something on the bases, and why the others are none."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache

import pytest
import torch
from torch import Tensor

from vitviz.config import ModelConfig, TrainConfig, ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments import hyperparameters
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS, SUBJECT_OF
from vitviz.training.batches import TrainingData, prepare_training_data
from vitviz.training.loop import Trainer, bf16_is_fast

SET = "the pictures say it"
FILE = "names a file of weights; 'Fine-tuning' and 'DeiT' are about them"
ENDS = "only cuts the training short: the base's curve shows where"
VARIANT = "a shape of checkpoints that were trained elsewhere"
NOT_OFFERED = {
    "positions_antialias": "how published positions are resized",
    "positions_align_corners": "how published positions are resized",
    "class_output": "follows from the labels that a checkpoint was trained on",
    "head_dim": VARIANT,
    "qk_norm": VARIANT,
    "gated_mlp": VARIANT,
    "patch_norms": VARIANT,
    "embed_norm": VARIANT,
    "unread_cls": VARIANT,
    "dist_head": VARIANT,
    "pooled_norm": VARIANT,
    "projection": VARIANT,
    "rope_theta": VARIANT,
    "rotary_beside": VARIANT,
    "rope_type": VARIANT,
    "rope_interleaved": VARIANT,
    "rope_columns_first": VARIANT,
    "rope_offset": VARIANT,
    "rope_reference": VARIANT,
    "norm_layer": VARIANT,
    "attn_norm": VARIANT,
    "mlp_norm": VARIANT,
    "patch_norm": VARIANT,
    "pool_prefix": VARIANT,
    "pool_heads": VARIANT,
    "pool_activation": VARIANT,
    "pool_ratio": VARIANT,
    "image_size": SET,
    "in_chans": SET,
    "num_classes": SET,
    "sincos_on_prefix": "of 1-D sinusoidal positions; the bases learn theirs",
    "distilled": "wants a teacher; 'DeiT' is about it",
    "a_class": "fine-tuning counts its pictures so; 'Share of the training set' is a knob",
    "dataset": "is chosen beside the knob, and has a base of its own",
    "validation_fraction": "the models of one run are held against each other on the same pictures",
    "seconds": "the models of one run are counted in epochs, so that they are equally far",
    "stop_accuracy": ENDS,
    "patience": ENDS,
    "momentum": "of SGD; the bases have AdamW",
    "fixed_norms": "of a CNN's filters",
    "alternate_flip": "a way to flip; 'Horizontal flip' is a knob",
    "stays_in_eval": "only undoes dropout, of which the bases have none; 'One slip' has it beside some",
    "start_from": FILE,
    "start_digest": FILE,
    "distill_from": FILE,
    "distillation": FILE,
    "distillation_weight": FILE,
    "distillation_temperature": FILE,
    "threads": "the models of one run share them",
    "clock": "of a training that is counted in seconds",
    "seed": "is asked for beside the knob: of every value the same ones",
    "snapshots": "what is kept for looking at later; the training is the same",
}
IDLE = {"sincos_on_prefix": True, "momentum": 0.5, "stays_in_eval": True, "clock": "core", "snapshots": 3}
SHORT = replace(BASES["digits"], train=replace(BASES["digits"].train, epochs=0.15))  # three updates


@lru_cache(maxsize=4)
def pictures(share: float) -> TrainingData:
    train = replace(SHORT.train, train_fraction=share)
    return prepare_training_data(load_dataset("digits"), SHORT.preparation, train)


@lru_cache(maxsize=1)
def of_base() -> Tensor:
    return answers(SHORT.model, SHORT.train)


def answers(model: ModelConfig, train: TrainConfig) -> Tensor:
    """Logits of some held-out digits after a few updates."""
    trainer = Trainer(model, train, pictures(train.train_fraction))
    for _ in range(3):
        trainer.advance()
        trainer.evaluate("validation")
    with trainer.weights.use_for_evaluation() as shown, torch.no_grad():
        return shown(trainer.normalise(trainer.splits.validation.images[:16])).float()


def test_every_field_is_a_knob_or_has_a_reason_why_not() -> None:
    known = {field.name for config in (ViTConfig, TrainConfig) for field in fields(config)}
    assert known == HYPERPARAMETERS.keys() | NOT_OFFERED.keys()
    assert not HYPERPARAMETERS.keys() & NOT_OFFERED.keys()
    for name, knob in HYPERPARAMETERS.items():
        part = ViTConfig if knob.part == "model" else TrainConfig
        assert name in {field.name for field in fields(part)}


@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_knob_does_something_on_the_base(name: str) -> None:
    if name == "precision" and not bf16_is_fast(torch.device("cpu")):
        pytest.skip("this processor trains in fp32 in any case")
    knob = HYPERPARAMETERS[name]
    value = next(value for value in reversed(knob.offered(SHORT)) if value != knob.base(SHORT))
    assert not torch.equal(answers(*knob.with_value(SHORT, value)), of_base())


def test_averages_of_the_weights_differ_within_a_run() -> None:
    """0.9, 0.99 and 0.999 were one model after three epochs: an average forgets its start, so its decay is capped."""
    train = replace(SHORT.train, epochs=BASES["digits"].train.epochs)
    updates = Trainer(SHORT.model, train, pictures(train.train_fraction)).total_steps
    assert updates is not None
    asked = [value for value in HYPERPARAMETERS["ema_decay"].values if isinstance(value, float)]
    assert max(asked) < (1 + updates) / (10 + updates)


def test_a_knob_stands_under_what_it_is_about() -> None:
    assert SUBJECT_OF.keys() == HYPERPARAMETERS.keys()
    assert SUBJECT_OF["num_heads"] == "Attention"


@pytest.mark.parametrize("name", IDLE)
def test_what_does_nothing_on_the_base_is_no_knob(name: str) -> None:
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
    for knob in HYPERPARAMETERS.values():
        assert knob.base(BASES[dataset]) in knob.offered(BASES[dataset]), knob.name
        assert len({knob.label(value) for value in knob.values}) == len(knob.values), knob.name
        numbers = [value for value in knob.values if isinstance(value, int | float)]
        assert not knob.numeric or numbers == sorted(numbers), knob.name


def test_only_values_that_make_a_model_are_offered() -> None:
    patches = HYPERPARAMETERS["patch_size"]
    assert patches.offered(BASES["digits"]) == patches.offered(BASES["shapes"]) == (4, 8, 16, 32)
    assert patches.offered(BASES["mnist"]) == (4, 7, 14)


def test_what_may_be_off_is_written_and_read_so() -> None:
    clip = HYPERPARAMETERS["gradient_clip"]
    assert clip.label(None) == "off" and clip.parse("off, 1, .5") == (None, 1.0, 0.5)
    for name, knob in HYPERPARAMETERS.items():
        if knob.numeric:
            assert knob.parse(", ".join(map(knob.label, knob.values))) == knob.values, name
    with pytest.raises(ValueError, match="'Gradient clipping norm' must be numbers or 'off'"):
        clip.parse("off, on")
    with pytest.raises(ValueError, match="'Dropout' must be numbers"):
        HYPERPARAMETERS["dropout"].parse("off, 0.1")


def test_a_run_is_as_long_as_its_longest_model() -> None:
    config = hyperparameters.build_run_config("digits", "epochs", (1.0, 3.0), epochs=2.0)
    assert config.longest == 3.0 and [member.title for member in config.members] == ["1", "3"]
    assert hyperparameters.build_run_config("digits", "flip", (True, False), epochs=2.0).longest == 2.0
