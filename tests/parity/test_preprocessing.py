"""Images are prepared exactly as timm's evaluation transform and torchvision's presets do it."""

from __future__ import annotations

import numpy as np
import parity_peers as peers
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from skimage import data

from vitviz.data.image_preprocessing import prepare
from vitviz.models.pretrained_list import PRETRAINED

IMAGES = {
    "square": data.astronaut(),
    "wide": data.chelsea(),
    "tall": data.rocket()[:, 100:300],
    "odd": data.coffee()[:101, :333],
    "long": data.coffee()[:50, :390],
}
NAMES = (
    "vit_small_patch16_224.augreg_in21k_ft_in1k",  # 224 px of 248
    "vit_small_patch16_384.augreg_in21k_ft_in1k",
    "vit_small_patch14_dinov2.lvd142m",
    "swin_tiny_patch4_window7_224.ms_in1k",
)


def input_of(image: NDArray[np.uint8], name: str) -> torch.Tensor:
    return torch.from_numpy(prepare(image, PRETRAINED[name].preparation).input)


@pytest.mark.parametrize("shape", IMAGES)
@pytest.mark.parametrize("name", NAMES)
def test_inputs_equal_timms(name: str, shape: str) -> None:
    cfg, entry = peers.timm.get_pretrained_cfg(name), PRETRAINED[name]
    transform = peers.create_transform(
        (3, entry.opens_at_px, entry.opens_at_px),
        interpolation=cfg.interpolation,
        crop_pct=cfg.crop_pct,
        mean=cfg.mean,
        std=cfg.std,
    )
    theirs = transform(Image.fromarray(IMAGES[shape]))
    torch.testing.assert_close(input_of(IMAGES[shape], name), theirs, rtol=0, atol=1e-5)  # a level is 1e-2


@pytest.mark.parametrize("shape", IMAGES)
@pytest.mark.parametrize("name", ["vit_b_32", "swin_t"])
def test_inputs_equal_torchvisions(name: str, shape: str) -> None:
    transform = peers.get_model_weights(name).DEFAULT.transforms()
    theirs = transform(Image.fromarray(IMAGES[shape]))
    torch.testing.assert_close(input_of(IMAGES[shape], name), theirs, rtol=0, atol=1e-5)
