"""Models of images that are not square, against their publishers' own classes, from folders and from live modules."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import parity_peers as peers
import pytest
import torch
from parity_compare import shake
from test_formats import close, hf, written
from torch import Tensor, nn

import vitviz
from vitviz.config import Preparation, ViTConfig, from_dict, to_dict
from vitviz.models.formats.module_settings import read_module
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.vit import VisionTransformer
from vitviz.weight_identity import compute_identity

SHAPE = {"patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3, "num_classes": 5}
TALL, WIDE = (56, 40), (32, 88)  # (height, width)
HF = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 48,
    "patch_size": 8,
    "num_labels": 5,
}


def of_timm(size: tuple[int, int], **options: Any) -> nn.Module:
    return shake(peers.TimmViT(img_size=size, **SHAPE | options), 1)


def of_eva(size: tuple[int, int], rope_type: str, **options: Any) -> nn.Module:
    eva = importlib.import_module("timm.models.eva").Eva
    return shake(eva(img_size=size, use_rot_pos_emb=True, rope_type=rope_type, **SHAPE | options), 1)


def of_vit_pytorch(size: tuple[int, int], module: str, name: str) -> nn.Module:
    made = getattr(importlib.import_module(module), name)(
        image_size=size, patch_size=8, num_classes=5, dim=24, depth=2, heads=3, mlp_dim=48, dim_head=8
    )
    return shake(made, 1)


TIMM: dict[str, Callable[[tuple[int, int]], nn.Module]] = {
    "vit": of_timm,
    "registers": lambda size: of_timm(size, reg_tokens=4, no_embed_class=True),
    "mean": lambda size: of_timm(size, class_token=False, global_pool="avg"),
    "attention pooling": lambda size: of_timm(size, class_token=False, global_pool="map"),
    "deit": lambda size: shake(peers.TimmDistilled(img_size=size, **SHAPE), 1),
    "eva cat": lambda size: of_eva(size, "cat", ref_feat_shape=(7, 7)),
    "eva dinov3": lambda size: of_eva(size, "dinov3", use_abs_pos_emb=False),
    "eva mixed": lambda size: of_eva(size, "mixed"),
    "SimpleViT": lambda size: of_vit_pytorch(size, "vit_pytorch.simple_vit", "SimpleViT"),
}


def images(size: tuple[int, int]) -> Tensor:
    return torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("size", [TALL, WIDE])
@pytest.mark.parametrize("name", TIMM)
def test_a_live_module_opens_and_is_verified(name: str, size: tuple[int, int]) -> None:
    module = TIMM[name](size)
    opened = vitviz.load(module)
    assert opened.verified is True
    assert opened.config.image_size == opened.preparation.image_size == size
    assert opened.vit.config.grid == (size[0] // 8, size[1] // 8)
    close(opened.model(images(size)), module(images(size)).detach())


@pytest.mark.parametrize("name", ["vit", "registers", "eva cat"])
def test_a_timm_folder_states_its_size(name: str, tmp_path: Path) -> None:
    module = TIMM[name](TALL)
    written(module, tmp_path, {"model_args": read_module(module) | {"img_size": list(TALL)}})
    opened = vitviz.load(tmp_path)
    assert opened.config.image_size == TALL
    close(opened.model(images(TALL)), module(images(TALL)).detach())


def test_a_file_without_a_size_asks_for_it(tmp_path: Path) -> None:
    module = of_timm(WIDE)
    written(module, tmp_path)
    with pytest.raises(PretrainedError, match=r"45 positions are no square grid.*img_size=\(height, width\)"):
        vitviz.load(tmp_path, num_heads=3)
    opened = vitviz.load(tmp_path, num_heads=3, img_size=WIDE)
    close(opened.model(images(WIDE)), module(images(WIDE)).detach())


def test_a_table_that_two_grids_fit_says_which_was_read(tmp_path: Path) -> None:
    module = of_timm(TALL)
    written(module, tmp_path)  # 1 + 7 x 5 positions, or 6 x 6 without one of [CLS]
    read = vitviz.load(tmp_path, num_heads=3)
    assert any("assumed to be a square one of 6 × 6, without prefix tokens" in note for note in read.notes)
    opened = vitviz.load(tmp_path, num_heads=3, img_size=TALL)
    assert not any("its grid" in note for note in opened.notes)
    close(opened.model(images(TALL)), module(images(TALL)).detach())


def test_a_size_that_the_caller_gives_decides_between_two_grids_of_as_many_patches(tmp_path: Path) -> None:
    size = (32, 72)
    module = of_timm(size)
    written(module, tmp_path)  # 1 + 4 x 9 positions, or 1 + 6 x 6
    (note,) = [note for note in vitviz.load(tmp_path, num_heads=3).notes if "positions" in note]
    assert note == (
        "The file does not state its grid: its 37 positions are assumed to be a square one of 6 × 6"
        " (4 × 9 would fit too); img_size=(height, width) states another one."
    )
    opened = vitviz.load(tmp_path, num_heads=3, img_size=size)
    assert opened.config.image_size == size and not any("positions" in note for note in opened.notes)
    close(opened.model(images(size)), module(images(size)).detach())


def test_a_square_table_is_resized_to_another_shape_as_timm_resizes_it(tmp_path: Path) -> None:
    module = of_timm((48, 48))
    written(module, tmp_path, {"model_args": {"num_heads": 3, "img_size": 48}})
    opened = vitviz.load(tmp_path, img_size=WIDE)
    assert any("learned at 48 px and are resized to images of 32 × 88 px" in note for note in opened.notes)
    module.set_input_size(WIDE)  # type: ignore[operator]
    close(opened.model(images(WIDE)), module(images(WIDE)).detach())


@pytest.mark.parametrize("kind", ["ViT", "DeiT"])
def test_transformers_folders_and_modules_of_pairs(kind: str, tmp_path: Path) -> None:
    config = hf(f"{kind}Config")(**HF | {"image_size": list(TALL)}, attn_implementation="eager")
    module = hf(f"{kind}ForImageClassification")._from_config(config)
    shake(module, 1).save_pretrained(tmp_path)
    expected = module(images(TALL)).logits.detach()
    for opened in (vitviz.load(tmp_path), vitviz.load(module)):
        assert opened.config.image_size == TALL
        close(opened.model(images(TALL)), expected)


@pytest.mark.parametrize("kind", ["Dinov2", "Dinov2WithRegisters"])
def test_a_dinov2_that_its_publisher_cannot_run_is_refused(kind: str) -> None:
    config = hf(f"{kind}Config")(**HF | {"image_size": list(TALL)})
    module = hf(f"{kind}ForImageClassification")(config)
    with pytest.raises(RuntimeError):  # it resizes its 7 x 5 positions as if they were square
        module(images(TALL))
    with pytest.raises(PretrainedError, match="positions of a DINOv2 of transformers are a square grid"):
        vitviz.load(module)


@pytest.mark.parametrize("size", [(48, 72), (72, 40), 24, 88])
@pytest.mark.parametrize(
    "kind", ["ViT", "DeiT", "Dinov2", "Dinov2WithRegisters", "CLIPVision", "SiglipVision"]
)
def test_positions_are_resized_as_transformers_interpolates_them(
    kind: str, size: tuple[int, int] | int, tmp_path: Path
) -> None:
    config = hf(f"{kind}Config")(**HF | {"image_size": 56}, attn_implementation="eager")
    module = shake(hf(f"{kind}Model")._from_config(config), 1)
    module.save_pretrained(tmp_path)
    opened = vitviz.load(tmp_path, img_size=size)
    assert opened.config.image_size == opened.preparation.image_size == size
    x = images((size, size) if isinstance(size, int) else size)
    output = module(x, **({} if kind.startswith("Dinov2") else {"interpolate_pos_encoding": True}))
    tokens = output.last_hidden_state.detach()
    if kind == "CLIPVision":  # its pooled [CLS] alone is normed
        tokens = getattr(module, "vision_model", module).post_layernorm(tokens).detach()
    _, record = opened.model(x, record=("norm",))
    close(record["norm"], tokens)


def test_patches_that_are_not_square_and_swins_are_refused_in_a_sentence() -> None:
    with pytest.raises(PretrainedError, match="its patches are 8 x 4 px; only square patches"):
        vitviz.load(peers.TimmViT(img_size=32, **SHAPE | {"patch_size": (8, 4)}))
    swin = peers.TimmSwin(
        img_size=(64, 32), patch_size=4, window_size=4, embed_dim=12, depths=(2,), num_heads=(3,)
    )
    with pytest.raises(PretrainedError, match="only square images of a Swin"):
        vitviz.load(swin)


def test_square_models_keep_their_stored_form_and_identity() -> None:
    config = ViTConfig(image_size=(32, 32), patch_size=8)  # type: ignore[arg-type]
    assert config == ViTConfig(image_size=32, patch_size=8) and to_dict(config)["image_size"] == 32
    tensors = [("a", np.zeros(2, np.float32))]
    one, pair = Preparation(image_size=32), Preparation(image_size=(32, 32))
    assert compute_identity(config, one, tensors) == compute_identity(config, pair, tensors)
    tall = ViTConfig(image_size=TALL, patch_size=8)
    assert from_dict(json.loads(json.dumps(to_dict(tall)))) == tall
    assert compute_identity(tall, one, tensors) != compute_identity(config, one, tensors)
    assert VisionTransformer(tall).pos_embed.shape == (1, 1 + 7 * 5, 96)  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [(32,), (32, 0), (32, 48, 3), "32", (32.0, 48)])
def test_what_is_no_size_is_refused(size: Any) -> None:
    with pytest.raises(ValueError, match="image_size must be an integer of at least 1, or two"):
        ViTConfig(image_size=size)


def test_own_checkpoints_open_at_another_shape(tmp_path: Path) -> None:
    for name, size in (("cifar10_vit", (56, 40)), ("cifar10_hybrid", (40, 56))):
        native, opened = vitviz.load(name), vitviz.load(name, img_size=size)
        assert opened.config.image_size == opened.preparation.image_size == size
        assert opened.digest != native.digest
        x = images(size)
        close(opened.model(x), native.model(x))  # whose positions are resized in every forward pass


def test_a_module_that_does_not_run_on_the_grid_that_fits_its_positions_is_refused() -> None:
    """1 + 4 × 6 positions of vit-pytorch fit 5 × 5 without [CLS], which has a position in each of its models."""
    vit_pytorch = importlib.import_module("vit_pytorch")
    size = {"dim": 64, "depth": 1, "heads": 1, "mlp_dim": 64, "num_classes": 3}
    module = vit_pytorch.ViT(image_size=(32, 48), patch_size=8, **size).eval()
    with pytest.raises(
        PretrainedError, match="a grid of 5 × 5, on whose images the module does not run; state"
    ):
        vitviz.load(module)
    opened = vitviz.load(module, img_size=(32, 48))
    assert opened.verified
    close(opened.model(images((32, 48))), module(images((32, 48))).detach())
