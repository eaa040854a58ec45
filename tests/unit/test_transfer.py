"""What a new model keeps of a trained one, and a training that begins there."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.unit.training_helpers import MODEL, TRAIN, toy_data
from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, TrainConfig, ViTConfig
from vitviz.models.backbone_transfer import body_names, fitted, fitted_preparation, pieces, transferred
from vitviz.models.vit import resize_positions
from vitviz.models.zoo import create_model
from vitviz.training.loop import Trainer, train
from vitviz.training.optimizers import layer_numbers

DATA = toy_data()
SOURCE = replace(MODEL, num_classes=5)
STARTED = replace(TRAIN, start_from="a model of five classes", start_digest="abc:9", learning_rate=1e-2)
CNN = CNNConfig(image_size=8, in_chans=1, widths=(8, 8), blocks=(1, 1), num_classes=5)
SWIN = SwinConfig(
    image_size=16, in_chans=1, patch_size=4, window_size=2, embed_dim=8, depths=(1, 1), num_heads=(1, 2)
)


def weights(config: ModelConfig, seed: int = 7) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in create_model(config, seed).state_dict().items()}


def trainer(config: TrainConfig = STARTED, source: ModelConfig = SOURCE) -> Trainer:
    target = fitted(source, 2)
    start = transferred(weights(source), source, target, config.seed)
    return Trainer(target, config, DATA, start=start)


@pytest.mark.parametrize("source", [SOURCE, CNN, SWIN, replace(SOURCE, distilled=True)])
def test_the_body_is_kept_to_the_bit_and_the_head_is_new(source: ModelConfig) -> None:
    target, old = fitted(source, 2), weights(source)
    new = transferred(old, source, target, seed=3)
    fates = {piece.name: piece.fate for piece in pieces(source, target)}
    for name, tensor in new.items():
        assert fates[name] == ("new" if name.startswith("head") else "kept")
        assert tensor.shape[0] == 2 if fates[name] == "new" else torch.equal(tensor, old[name])
    create_model(target).load_state_dict(new)


def test_the_new_head_follows_the_seed_alone() -> None:
    target, old = fitted(SOURCE, 2), weights(SOURCE)
    for seed in range(
        3
    ):  # MNIST's body of seed 0 and its new head of seed 0 began as one: a cosine of 0.87 with the trained
        began = create_model(SOURCE, seed).state_dict()
        same = fitted(SOURCE, SOURCE.num_classes)
        assert not torch.equal(transferred(began, SOURCE, same, seed)["head.weight"], began["head.weight"])
    one, again, other = (transferred(old, SOURCE, target, seed)["head.weight"] for seed in (1, 1, 2))
    assert torch.equal(one, again) and not torch.equal(one, other)


def test_what_is_kept_is_a_copy() -> None:
    old = weights(SOURCE)
    transferred(old, SOURCE, fitted(SOURCE, 2), 0)["norm.weight"].add_(1)
    assert torch.equal(old["norm.weight"], weights(SOURCE)["norm.weight"])


def test_a_higher_resolution_stretches_the_positions_and_nothing_else() -> None:
    target, old = fitted(SOURCE, 2, image_size=16), weights(SOURCE)
    new = transferred(old, SOURCE, target, 0)
    assert [p.name for p in pieces(SOURCE, target) if p.fate == "resized"] == ["pos_embed"]
    assert torch.equal(new["pos_embed"], resize_positions(old["pos_embed"], (2, 2), (4, 4)))
    assert torch.equal(new["pos_embed"][:, 0], old["pos_embed"][:, 0])
    assert create_model(target)(torch.zeros(1, 1, 16, 16)).shape == (1, 2)


def test_a_code_that_is_computed_needs_no_stretching() -> None:
    source = replace(SOURCE, positions="sincos_2d_concat")
    assert {p.fate for p in pieces(source, fitted(source, 2, image_size=16))} == {"kept", "new"}


def test_only_a_vit_changes_its_resolution() -> None:
    with pytest.raises(ValueError, match="received a swin for 16 px and 32 px"):
        fitted(SWIN, 2, image_size=32)


def test_other_bodies_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="cls_token must be"):
        pieces(SOURCE, replace(SOURCE, embed_dim=32))
    with pytest.raises(ValueError, match="lacks the parameters blocks.1"):
        pieces(replace(SOURCE, depth=2), SOURCE)


def test_a_softmax_behind_the_head_goes_with_it() -> None:
    assert not fitted(replace(ViTConfig(), softmax_output=True), 3).softmax_output  # type: ignore[union-attr]


def test_images_are_brought_to_what_the_body_reads() -> None:
    grey = Preparation(image_size=28, mean=(0.13,), std=(0.31,), digit=True)
    assert fitted_preparation(grey, 56, drawn=False) == replace(grey, image_size=56, digit=False)
    assert fitted_preparation(grey, 28, drawn=True) == grey


def test_training_begins_where_the_weights_are() -> None:
    started = trainer()
    old, now = weights(SOURCE), started.snapshot().state
    assert all(torch.equal(now[name], old[name]) for name in old if not name.startswith("head"))


def test_weights_and_their_name_go_together() -> None:
    with pytest.raises(ValueError, match="only one of them"):
        Trainer(fitted(SOURCE, 2), TRAIN, DATA, start=weights(fitted(SOURCE, 2)))
    with pytest.raises(ValueError, match="only one of them"):
        Trainer(fitted(SOURCE, 2), STARTED, DATA)


@pytest.mark.parametrize("source", [SOURCE, CNN])
def test_a_frozen_body_stays_to_the_bit_with_its_statistics(source: ModelConfig) -> None:
    learner = trainer(replace(STARTED, frozen=body_names(source)), source)
    before = learner.snapshot().state
    list(train(learner))
    after = learner.snapshot().state
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved == {"head.weight", "head.bias"}


def first_steps(**rates: float) -> dict[str, float]:
    """How far each weight moves at first: Adam's first step is as long as the learning rate, whatever the gradient."""
    learner = trainer(replace(STARTED, optimizer="adam", weight_decay=0.0, schedule="constant", **rates))
    before = learner.snapshot().state
    learner.advance()
    assert learner.record().learning_rate == pytest.approx(rates["learning_rate"])
    after = learner.snapshot().state
    return {name: (after[name] - before[name]).abs().max().item() for name in before}


@pytest.mark.parametrize(
    ("rates", "wanted"),
    [
        (
            {"head_learning_rate": 1e-3, "learning_rate": 1e-5},
            {"head.weight": 1e-3, "blocks.0.mlp.fc1.weight": 1e-5},
        ),
        (
            {"layer_decay": 0.5, "learning_rate": 8e-4},
            {"head.weight": 8e-4, "blocks.0.mlp.fc1.weight": 4e-4, "patch_embed.proj.weight": 2e-4},
        ),
    ],
)
def test_head_body_and_layers_learn_at_their_own_rates(
    rates: dict[str, float], wanted: dict[str, float]
) -> None:
    step = first_steps(**rates)
    assert {name: step[name] for name in wanted} == pytest.approx(wanted, rel=0.05)


def test_layers_are_counted_in_every_family() -> None:
    for config, last in ((replace(MODEL, depth=3), 4), (SWIN, 4), (CNN, 3)):
        found = layer_numbers(name for name, _ in create_model(config).named_parameters())
        assert {number for name, number in found.items() if name.startswith("head")} == {last}
        assert set(found.values()) == set(range(last + 1))


def test_a_resumed_fine_tuning_equals_an_uninterrupted_one() -> None:
    config = replace(STARTED, head_learning_rate=3e-2, layer_decay=0.8, ema_decay=0.9)
    whole = trainer(config)
    for _ in range(8):
        whole.advance()
    first = trainer(config)
    for _ in range(4):
        first.advance()
    second = trainer(config)
    second.load_state(*first.state())
    for _ in range(4):
        second.advance()
    for name, tensor in whole.snapshot().state.items():
        assert torch.equal(tensor, second.snapshot().state[name]), name


@pytest.mark.parametrize(
    ("changes", "returned"),
    [
        ({"start_from": "x"}, "go together"),
        ({"start_from": "x" * 201, "start_digest": "d"}, "1 to 200"),
        ({"head_learning_rate": 0.0}, "head_learning_rate must lie"),
        ({"layer_decay": 1.5}, "layer_decay must lie"),
        ({"optimizer": "muon", "layer_decay": 0.9}, "muon has one"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object], returned: str) -> None:
    with pytest.raises(ValueError, match=returned):
        TrainConfig(**changes)  # type: ignore[arg-type]
