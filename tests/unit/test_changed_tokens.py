"""Test a register added without training, and [CLS] exchanged between images, against blocks written out."""

from dataclasses import replace

import pytest
import torch

from tests.random_models import random_model
from vitviz.config import ViTConfig
from vitviz.models.layers import Mlp
from vitviz.models.record import IntermediateRecorder
from vitviz.models.vit import VisionTransformer
from vitviz.probe.changed_tokens import (
    RegisterNeurons,
    add_register,
    exchange_tokens,
    find_register_neurons,
)
from vitviz.probe.layers import strip_head

CONFIG = ViTConfig(image_size=8, patch_size=4, in_chans=1, embed_dim=12, depth=3, num_heads=3, num_classes=4)
NEURONS = RegisterNeurons(((1, 5), (0, 2), (1, 40)))
KINDS = {
    "learned": CONFIG,
    "two tokens and a register": replace(CONFIG, distilled=True, num_registers=1),
    "sines": replace(CONFIG, positions="sincos_1d"),
    "rotary, gated": replace(CONFIG, positions="rotary", embed_dim=24, gated_mlp=True),
    "no prefix position": replace(CONFIG, position_on_prefix=False, readout="mean"),
}


def images(count: int) -> torch.Tensor:
    return torch.randn(count, 1, 8, 8, generator=torch.Generator().manual_seed(4))


def run_with_zero_token(model: VisionTransformer, x: torch.Tensor) -> torch.Tensor:
    """Return the logits of a run whose last token starts at zero, MLP by MLP."""
    z = model(x, record=("embedded",))[1]["embedded"]
    z = torch.cat([z, torch.zeros_like(z[:, :1])], dim=1)
    for layer in range(model.config.depth):
        block, record = model.block(layer), IntermediateRecorder(None)
        z = z + block.attn(block.norm1(z), record, "")
        hidden = torch.nn.functional.gelu(block.mlp.fc1(block.norm2(z)))
        for channel in NEURONS.in_layer(layer):
            largest = hidden[:, :, channel].max(dim=1).values
            hidden[:, :, channel] = 0
            hidden[:, -1, channel] = largest
        z = z + block.mlp.fc2(hidden)
    return model.readout(model.norm(z)[:, :-1])


@pytest.mark.parametrize("name", ["learned", "two tokens and a register", "sines"])
def test_a_register_behind_the_prefix_equals_a_zero_token_at_the_end(name: str) -> None:
    loaded, x = random_model(KINDS[name], seed=2), images(2)
    changed = add_register(loaded, NEURONS)
    torch.testing.assert_close(changed.vit(x), run_with_zero_token(loaded.vit, x), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(changed.vit(x), loaded.vit(x), atol=1e-3)
    assert changed.digest != loaded.digest and changed.vit.head.weight is loaded.vit.head.weight


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_the_register_is_one_of_the_layout(config: ViTConfig) -> None:
    loaded = random_model(config, seed=2)
    changed = add_register(loaded, NEURONS)
    prefix = changed.layout(8, 8).prefix
    assert prefix == (*loaded.layout(8, 8).prefix, f"reg{config.num_registers + 1}")
    record = changed.vit(images(2), record=("embedded",))[1]["embedded"]
    assert (record[:, len(prefix) - 1] == 0).all() and record.shape[1] == 4 + len(prefix)
    assert loaded.vit.config == config and isinstance(loaded.vit.block(0).mlp, Mlp)


def test_neurons_are_those_that_write_the_longest_patch() -> None:
    loaded, x = random_model(CONFIG, seed=2), images(5)
    mlp = loaded.vit.block(1).mlp
    mlp.fc1.weight[7] *= 40  # both a large activation, and with it the patch of largest norm
    mlp.fc2.weight[:, 7] *= 40
    found = find_register_neurons(loaded.vit, x, 2)
    assert found.channels[0] == (1, 7) and len(found.channels) == 2
    record = loaded.vit(x, record=("blocks.2", "blocks.*.mlp_hidden"))[1]
    longest = record["blocks.2"][:, 1:].norm(dim=-1).argmax(dim=1) + 1
    means = [record[f"blocks.{layer}.mlp_hidden"][torch.arange(5), longest].mean(dim=0) for layer in range(3)]
    expected = torch.stack(means).flatten().topk(2).indices.tolist()
    assert [layer * 48 + channel for layer, channel in found.channels] == expected


def test_cls_of_the_previous_image_brings_its_output_after_the_last_layer() -> None:
    """Before layer 4 of 3 [CLS] alone is read; before the first one all images have the same [CLS]."""
    model, x = random_model(CONFIG, seed=2).vit, images(5)
    features = strip_head(model)(x)
    assert features.shape == (5, 12)
    torch.testing.assert_close(model.head(features), model(x))
    torch.testing.assert_close(exchange_tokens(model, x, 4, batch_size=2), model(x).roll(1, dims=0))
    torch.testing.assert_close(exchange_tokens(model, x, 1, batch_size=2), model(x))
    torch.testing.assert_close(exchange_tokens(model, x, 2, "none"), model(x))
