"""What layers say, in one form for every kind of model, is what the model records."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.random_models import preset_model
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.presets import PRESETS
from vitviz.probe.layers import list_layers, stream_layer_outputs

KINDS = ("vit_digits", "deit_digits", "hybrid_cifar10", "swin_digits", "cnn_cifar10")


def make_images(model: LoadedModel, count: int) -> np.ndarray:
    side = model.preparation.image_size
    shape = (count, model.preparation.in_chans, side, side)
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", KINDS)
def test_layers_say_what_the_model_records_place_by_place(name: str) -> None:
    model = preset_model(name)
    images = make_images(model, 5)
    batches = list(stream_layer_outputs(model, images, 2))
    assert [len(batch[0].places) for batch in batches] == [2, 2, 1]
    layers = list_layers(model.config)
    with torch.inference_mode():
        _, record = model.model(torch.tensor(images), record=tuple(layer.record for layer in layers))
    for index, layer in enumerate(layers):
        returned = np.concatenate([batch[index].places for batch in batches])
        whole = record[layer.record].numpy()
        row, col = 1, returned.shape[2] - 1
        if abilities(model.config).blocks:
            prefix = len(model.config.prefix_tokens)
            assert batches[0][index].prefix.shape[1] == prefix
            expected = whole[:, prefix + row * returned.shape[2] + col]
        elif name.startswith("swin"):
            expected = whole[:, row, col]
        else:
            expected = whole[:, :, row, col]
        np.testing.assert_allclose(returned[:, row, col], expected, atol=2e-5)


def test_all_of_it_in_a_row_and_its_mean() -> None:
    model = preset_model("vit_digits")
    (batch,) = stream_layer_outputs(model, make_images(model, 3), 3)
    returned = batch[1]
    assert returned.grid == (8, 8) and returned.flat.shape == (3, 65 * returned.places.shape[-1])
    np.testing.assert_allclose(returned.mean, returned.places.reshape(3, 64, -1).mean(axis=1), atol=1e-6)


def test_layers_have_names_and_other_models_none() -> None:
    titles = [layer.title for layer in list_layers(PRESETS["vit_digits"].config)]
    assert [layer.phrase for layer in list_layers(PRESETS["vit_digits"].config)][:2] == [
        "the embedding",
        "layer 1",
    ]
    assert titles == ["embedding", *(f"layer {i + 1}" for i in range(len(titles) - 1))]
    assert [layer.title for layer in list_layers(PRESETS["cnn_cifar10"].config)][0] == "stem"
    config = PRESETS["recipe_e"].config
    assert not abilities(config).layers
    with pytest.raises(TypeError, match="FlatAttentionConfig"):
        list_layers(config)
