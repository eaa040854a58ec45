"""Activation patching against a ViT written out in NumPy, and by cases whose result is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import erf

from tests.random_models import random_model
from vitviz.analysis.attention import softmax
from vitviz.analysis.logits import normalise_logit_difference
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.record import Replacement
from vitviz.probe.activation_patching import patch_heads, patch_tokens
from vitviz.probe.capture import capture

Array = NDArray[np.float64]
VIT = ViTConfig(image_size=16, patch_size=8, num_classes=3, embed_dim=8, depth=2, num_heads=2)
SWIN = SwinConfig(image_size=16, patch_size=2, num_classes=3, embed_dim=8, depths=(2, 2), num_heads=(2, 4))
SWIN = replace(SWIN, window_size=4)


def load(config: ModelConfig) -> LoadedModel:
    loaded = random_model(config, seed=0)
    with torch.no_grad():
        for parameter in loaded.model.parameters():  # initial weights hardly let a head change the classes
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    return loaded


def images() -> NDArray[np.float32]:
    return np.random.default_rng(3).normal(size=(2, 3, 16, 16)).astype(np.float32)


def norm(x: Array, w: dict[str, Array], name: str) -> Array:
    x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + VIT.norm_eps)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x: Array, w: dict[str, Array], name: str) -> Array:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def forward(
    w: dict[str, Array], image: Array, given: dict[Any, Array] | None = None
) -> tuple[Array, dict[Any, Array]]:
    """Logits, the heads' outputs by (layer, head) and the layers' outputs by layer; `given` replaces some.

    A token of a layer is replaced by a key (layer, 'token', index).
    """
    given, kept = given or {}, {}
    patches = np.stack([image[:, r : r + 8, c : c + 8].ravel() for r in (0, 8) for c in (0, 8)])
    embedded = patches @ w["patch_embed.proj.weight"].reshape(8, -1).T + w["patch_embed.proj.bias"]
    z = np.concatenate([w["cls_token"][0], embedded]) + w["pos_embed"][0]
    for layer in range(2):
        name = f"blocks.{layer}"
        q, k, v = (
            part.reshape(5, 2, 4)
            for part in np.split(linear(norm(z, w, f"{name}.norm1"), w, f"{name}.attn.qkv"), 3, -1)
        )
        outputs = []
        for head in range(2):
            y = softmax(q[:, head] @ k[:, head].T / 2) @ v[:, head]
            kept[layer, head] = y
            outputs.append(given.get((layer, head), y))
        z = z + linear(np.concatenate(outputs, axis=-1), w, f"{name}.attn.proj")
        hidden = linear(norm(z, w, f"{name}.norm2"), w, f"{name}.mlp.fc1")
        z = z + linear(hidden * (1 + erf(hidden / np.sqrt(2))) / 2, w, f"{name}.mlp.fc2")
        for token in range(5):
            z[token] = given.get((layer, "token", token), z[token])
        kept[layer] = z
    return linear(norm(z, w, "norm")[0], w, "head"), kept


def test_patched_runs_equal_numpy() -> None:
    model, (donor, receiver) = load(VIT), images()
    weights = {name: value.double().numpy() for name, value in model.model.state_dict().items()}
    _, kept = forward(weights, donor.astype(np.float64))
    plain = capture(model.model, receiver[None], record=False).logits[0]
    np.testing.assert_allclose(forward(weights, receiver)[0], plain, atol=1e-5)
    by_head = patch_heads(model, donor, receiver)
    for layer in range(2):
        for head in range(2):
            expected = forward(weights, receiver, {(layer, head): kept[layer, head]})[0]
            np.testing.assert_allclose(by_head[layer, head], expected, atol=1e-5)
        by_token = patch_tokens(model, donor, receiver, layer + 1)
        for token in range(5):
            expected = forward(weights, receiver, {(layer, "token", token): kept[layer][token]})[0]
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
