"""Activation patching against values that a hook overwrites, and by cases whose result is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from tests.random_models import random_model
from vitviz.analysis.logits import normalise_logit_difference
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.record import Replacement
from vitviz.probe.activation_patching import patch_heads, patch_tokens
from vitviz.probe.capture import capture

Array = NDArray[np.float32]
VIT = ViTConfig(image_size=16, patch_size=8, num_classes=3, embed_dim=8, depth=2, num_heads=2)
SWIN = SwinConfig(image_size=16, patch_size=2, num_classes=3, embed_dim=8, depths=(2, 2), num_heads=(2, 4))
SWIN = replace(SWIN, window_size=4)


def load(config: ModelConfig) -> LoadedModel:
    loaded = random_model(config, seed=0)
    with torch.no_grad():
        for parameter in loaded.model.parameters():  # initial weights hardly let a head change the classes
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    return loaded


def images() -> Array:
    return np.random.default_rng(3).normal(size=(2, 3, 16, 16)).astype(np.float32)


def run(
    model: LoadedModel, image: Array, place: str = "", index: Any = (), value: Tensor | None = None
) -> tuple[Array, dict[str, Tensor]]:
    """Return the logits, and every layer's heads side by side and its output, one of which `value` overwrites."""
    kept = {}

    def note(name: str, _: object, __: object, found: Tensor) -> Tensor:
        if name == place:
            found[0, *index] = value
        kept[name] = found[0].clone()
        return found

    for layer, block in enumerate(model.vit.blocks):
        block.attn.norm.register_forward_hook(partial(note, f"heads of {layer}"))
        block.register_forward_hook(partial(note, f"output of {layer}"))
    return model.vit(torch.from_numpy(image)[None])[0].numpy(), kept


@torch.no_grad()
def test_patched_runs_equal_overwritten_ones() -> None:
    donor, receiver = images()
    plain, _ = run(load(VIT), receiver)
    _, kept = run(load(VIT), donor)
    by_head = patch_heads(load(VIT), donor, receiver)
    for layer in range(2):
        for head in range(2):
            index, given = (slice(None), slice(4 * head, 4 * head + 4)), kept[f"heads of {layer}"]
            expected, _ = run(load(VIT), receiver, f"heads of {layer}", index, given[index])
            np.testing.assert_allclose(by_head[layer, head], expected, atol=1e-5)
        by_token = patch_tokens(load(VIT), donor, receiver, layer + 1)
        for token in range(5):
            given = kept[f"output of {layer}"][token]
            expected, _ = run(load(VIT), receiver, f"output of {layer}", (token,), given)
            np.testing.assert_allclose(by_token[token], expected, atol=1e-5)
    assert np.abs(by_head - plain).max() > 0.01  # the comparison above is not one of equal numbers


def test_the_logit_difference_is_0_as_the_second_image_and_1_as_the_first() -> None:
    first, second = np.array([4.0, 1.0, 0.0]), np.array([1.0, 3.0, 9.0])  # of class 0 and of class 2
    runs = np.array([first, second, [0.0, 50.0, 1.5], [9.0, 0.0, -7.0]])
    shares = normalise_logit_difference(runs, first, second)
    assert shares is not None and shares.tolist() == [1, 0, 6.5 / 12, 2]  # differences 4, -8, -1.5, 16
    assert normalise_logit_difference(runs, first, first + 1) is None


@pytest.mark.parametrize("config", [VIT, SWIN], ids=["ViT", "Swin"])
def test_an_image_patched_into_itself_changes_nothing(config: ModelConfig) -> None:
    model, (image, _) = load(config), images()
    alone = capture(model.model, image[None], record=False).logits[0]
    shares: list[float] = []
    by_head = patch_heads(model, image, image, shares.append)
    assert shares == sorted(shares) and shares[-1] == 1
    present = np.isfinite(by_head[..., 0])
    assert present.sum(axis=1).tolist() == ([2, 2] if config is VIT else [2, 2, 4, 4])
    for patched in (by_head[present], patch_tokens(model, image, image, 0)):
        np.testing.assert_allclose(patched, np.tile(alone, (len(patched), 1)), atol=1e-6)


def test_a_swin_s_last_grid_patched_whole_gives_the_other_prediction() -> None:
    model = load(SWIN)
    alone = capture(model.model, images(), record=("layers.1.blocks.1",))
    values = torch.from_numpy(alone["layers.1.blocks.1"][:1])
    whole = {"layers.1.blocks.1": Replacement(values, torch.ones(1, 1, 1, 1, dtype=torch.bool))}
    patched = capture(model.model, images()[1:], record=False, replaced=whole)
    np.testing.assert_allclose(patched.logits[0], alone.logits[0], atol=1e-6)
    moved = patch_heads(model, *images())
    assert np.nanmax(np.abs(moved - alone.logits[1])) > 0.01


def test_a_name_that_cannot_be_replaced_is_refused() -> None:
    model = load(VIT)
    nothing = Replacement(torch.zeros(1), torch.ones(1, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"received blocks\.0\.q, blocks\.7$"):
        model.model(torch.from_numpy(images()), replaced={"blocks.7": nothing, "blocks.0.q": nothing})
