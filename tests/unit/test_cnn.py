"""The convolutional baselines: their blocks against the equations, their maps' sizes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz.config import CNNConfig
from vitviz.models.cnn import ConvNet, PlainBlock, ResidualBlock, by_pixel
from vitviz.models.zoo import create_model

WHITENED = CNNConfig(image_size=16, widths=(24, 32, 6), blocks=(0, 1, 2), pooled=True, whitened=True)
IMAGES = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("pooled", [False, True])
def test_a_stage_halves_the_map_and_the_first_may_be_empty(pooled: bool) -> None:
    config = CNNConfig(image_size=16, widths=(4, 8, 6), blocks=(0, 1, 2), pooled=pooled)
    model = create_model(config, seed=0).eval()
    assert isinstance(model, ConvNet)
    _, record = model(IMAGES, record=True)
    sizes = {name: tuple(tensor.shape[1:]) for name, tensor in record.items()}
    assert sizes == {
        "stem": (4, 16, 16),
        "layers.1.blocks.0": (8, 8, 8),
        "layers.2.blocks.0": (6, 4, 4),
        "layers.2.blocks.1": (6, 4, 4),
        "features": (6,),
        "logits": (10,),
    }
    last = record["layers.2.blocks.1"]
    torch.testing.assert_close(record["features"], last.amax((2, 3)) if pooled else last.mean((2, 3)))


def test_a_whitened_stem_answers_uncorrelated_and_convolutions_begin_by_passing_on() -> None:
    model = create_model(WHITENED, seed=0).eval()
    assert isinstance(model, ConvNet)
    images = torch.cumsum(torch.randn(64, 3, 16, 16, generator=torch.Generator().manual_seed(1)), dim=-1)
    model.whiten(images)
    answers = F.conv2d(images, model.stem[0].weight).movedim(1, -1).flatten(0, 2)
    assert torch.equal(answers[:, 12:], -answers[:, :12])
    moments = answers[:, :12].mT @ answers[:, :12] / len(answers)
    torch.testing.assert_close(moments - torch.diag(moments.diag()), torch.zeros(12, 12), atol=2e-3, rtol=0)
    assert ((moments.diag() > 0.5) & (moments.diag() < 1.001)).all()  # the floor takes from small variances
    first = model.layers[1].blocks[0].conv1.weight[:24]
    assert torch.equal(first, nn.init.dirac_(torch.empty(24, 24, 3, 3)))
    _, record = model(images[:2], record=True)
    assert [tuple(record[name].shape[2:]) for name in ("stem", "layers.1.blocks.0", "layers.2.blocks.1")] == [
        (15, 15),
        (7, 7),
        (3, 3),
    ]
    assert model.layout(16, 16).grid == (3, 3)


def norm(x: Tensor) -> Tensor:
    """A batch norm's first, untrained answer to a batch."""
    return F.batch_norm(x, None, None, training=True)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_plain_block_is_its_equation(stride: int) -> None:
    block = PlainBlock(3, 5, stride)
    y = F.conv2d(IMAGES, block.conv1.weight, padding=1)
    y = F.gelu(norm(F.max_pool2d(y, stride)))
    y = F.gelu(norm(F.conv2d(y, block.conv2.weight, padding=1)))
    torch.testing.assert_close(block(IMAGES), y)


def test_a_residual_block_is_its_equation() -> None:
    block = ResidualBlock(3, 5, 2)
    y = F.relu(norm(F.conv2d(IMAGES, block.conv1.weight, stride=2, padding=1)))
    y = norm(F.conv2d(y, block.conv2.weight, padding=1))
    assert isinstance(block.downsample, torch.nn.Sequential)
    shortcut = block.downsample[0]
    assert isinstance(shortcut, torch.nn.Conv2d)
    torch.testing.assert_close(block(IMAGES), F.relu(y + norm(F.conv2d(IMAGES, shortcut.weight, stride=2))))


@pytest.mark.parametrize("channels", [1, 3])
def test_images_by_pixel_are_the_same_ones_and_stay_so_behind_a_convolution(channels: int) -> None:
    """Else torch takes grey images for planes, and its slower kernels: a third of a training's time."""
    x = torch.randn(2, channels, 8, 6)
    laid = by_pixel(x)
    assert torch.equal(laid, x)
    maps = F.conv2d(laid, torch.randn(4, channels, 3, 3), padding=1)
    assert maps.is_contiguous(memory_format=torch.channels_last)
