"""Published weights: every listed entry has its publisher's shapes and preparation, and files load as theirs do.

The files are written here, with random weights, in the publishers' own formats; nothing is fetched from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import parity_peers as peers
import pytest
import torch
from parity_compare import FORWARD, shake
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.rows import rows
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models import pretrained
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.format_detection import _describe, recognise
from vitviz.models.pretrained import imagenet_classes, load_pretrained, state_config
from vitviz.models.pretrained_list import PRETRAINED, PretrainedError, UnknownArchitectureError, find

FROM_TIMM = [name for name, entry in PRETRAINED.items() if entry.format == "timm" and not entry.is_shipped]
FROM_TORCHVISION = [name for name, entry in PRETRAINED.items() if entry.format == "torchvision"]
Publish = Callable[[str, ViTConfig | SwinConfig, int, Mapping[str, Tensor]], str]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Publish:
    """Write a file as that of a named entry with a small shape, which opens at some px; return the entry's name."""

    def write(name: str, config: ViTConfig | SwinConfig, side: int, state: Mapping[str, Tensor]) -> str:
        entry = replace(find(name), config=config, opens_at_px=side)
        monkeypatch.setitem(PRETRAINED, entry.name, entry)
        save_file({key: tensor.contiguous() for key, tensor in state.items()}, tmp_path / "model.safetensors")
        monkeypatch.setattr(pretrained, "fetch", lambda _: tmp_path / "model.safetensors")
        return entry.name

    return write


def describe(name: str, state: Mapping[str, Tensor]) -> ModelConfig:
    """Return the config that tensors without values are opened with as an entry's."""
    settings = Settings(state_config(PRETRAINED[name]))
    shapes = {key: tuple(tensor.shape) for key, tensor in state.items()}
    return _describe(recognise(shapes, settings), shapes, settings)[0]


def first_of_each(names: list[str]) -> set[str]:
    """One entry of every family and grid."""
    known: dict[object, str] = {}
    for name in names:
        config = PRETRAINED[name].config
        known.setdefault((config.family, config.patch_size, getattr(config, "num_registers", 0)), name)
    return set(known.values())


@pytest.mark.parametrize("name", rows(FROM_TIMM, first_of_each(FROM_TIMM).__contains__))
def test_timm_entries_have_timms_shapes_and_preparation(name: str) -> None:
    entry = PRETRAINED[name]
    with torch.device("meta"):
        theirs = peers.timm.create_model(name, pretrained=False)
    assert describe(name, theirs.state_dict()) == entry.config
    cfg = peers.timm.get_pretrained_cfg(name)
    preparation = entry.preparation
    assert cfg.input_size == (3, entry.config.image_size, entry.config.image_size)
    assert (cfg.mean, cfg.std) == (preparation.mean, preparation.std)
    assert (cfg.crop_pct, cfg.interpolation) == (preparation.crop_fraction, preparation.interpolation)
    assert entry.url == f"https://huggingface.co/{cfg.hf_hub_id}/resolve/main/model.safetensors"
    eps = {m.eps for m in theirs.modules() if isinstance(m, nn.LayerNorm)}
    assert eps == {entry.config.norm_eps}


@pytest.mark.parametrize("name", FROM_TORCHVISION)
def test_torchvision_entries_have_torchvisions_shapes_and_preparation(name: str) -> None:
    entry = PRETRAINED[name]
    weights = peers.torchvision.models.get_model_weights(name).IMAGENET1K_V1
    with torch.device("meta"):
        theirs = peers.torchvision.models.get_model(name)
    assert describe(name, theirs.state_dict()) == entry.config
    transforms = weights.transforms()
    assert entry.url == weights.url
    assert (tuple(transforms.mean), tuple(transforms.std)) == (entry.preparation.mean, entry.preparation.std)
    assert transforms.interpolation.value == entry.preparation.interpolation
    assert round(224 / entry.preparation.crop_fraction) == transforms.resize_size[0]


@pytest.mark.parametrize(
    "name", ["vit_tiny_patch16_224.augreg_in21k_ft_in1k", "deit_tiny_distilled_patch16_224"]
)
def test_a_hub_file_gives_timms_logits(name: str, publish: Publish) -> None:
    theirs = shake(peers.timm.create_model(name.partition(".")[0], pretrained=False), 0)
    loaded = load_pretrained(publish(name, find(name).config, 224, theirs.state_dict()))
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.classes[281] == "tabby"
    x = torch.randn(1, 3, 224, 224)
    torch.testing.assert_close(loaded.model(x), theirs(x), atol=1e-4, rtol=1e-4)


def small_dinov2(registers: int) -> tuple[ViTConfig, peers.TimmViT]:
    shared: dict[str, Any] = {"patch_size": 14, "num_classes": 0, "embed_dim": 16, "depth": 2, "num_heads": 2}
    prefix = {"num_registers": registers, "position_on_prefix": not registers}
    config = ViTConfig(image_size=42, layer_scale=1.0, **prefix, **shared)
    options = {"reg_tokens": registers, "no_embed_class": bool(registers), "dynamic_img_size": True}
    theirs = peers.TimmViT(img_size=42, init_values=1e-5, **options, **shared)
    return config, shake(theirs, registers)


@pytest.mark.parametrize("registers", [0, 4])
@pytest.mark.parametrize("side", [42, 28, 70])
def test_dinov2_opens_at_another_resolution_as_timm_does(registers: int, side: int, publish: Publish) -> None:
    config, theirs = small_dinov2(registers)
    kind = "vit_small_patch14_reg4_dinov2" if registers else "vit_small_patch14_dinov2"
    loaded = load_pretrained(publish(kind, config, side, theirs.state_dict()))
    assert loaded.preparation.image_size == side
    assert loaded.classes == ()
    x = torch.randn(2, 3, side, side)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)


def test_dinov2s_own_file_is_read_as_timm_reads_it(publish: Publish) -> None:
    """In the authors' file [CLS] has a position, registers have another name, and a mask token is left over."""
    config, theirs = small_dinov2(4)
    state = shake(
        peers.TimmViT(img_size=42, patch_size=14, num_classes=0, embed_dim=16, depth=2, num_heads=2), 5
    ).state_dict()
    state |= {name: tensor for name, tensor in theirs.state_dict().items() if "ls" in name}
    state |= {"register_tokens": torch.randn(1, 4, 16), "mask_token": torch.zeros(1, 16)}
    loaded = load_pretrained(publish("vit_small_patch14_reg4_dinov2", config, 42, state))
    theirs.load_state_dict(peers.checkpoint_filter_fn(dict(state), theirs))
    x = torch.randn(1, 3, 42, 42)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)


@pytest.mark.parametrize(
    ("missing", "reason"), [("pos_embed", "do not show its positions"), ("cls_token", "but register_tokens")]
)
def test_a_dinov2_file_without_what_registers_need_is_reported(
    missing: str, reason: str, publish: Publish
) -> None:
    config, theirs = small_dinov2(4)
    state = theirs.state_dict() | {"register_tokens": torch.randn(1, 4, 16)}
    del state[missing]
    with pytest.raises(PretrainedError, match=reason):
        load_pretrained(publish("vit_small_patch14_reg4_dinov2", config, 42, state))


@pytest.mark.parametrize("old_names", [False, True])
def test_swin_files_of_both_kinds_load(old_names: bool, publish: Publish) -> None:
    """The authors' own files end a stage by merging, call the head 'head' and hold computed tables."""
    shared: dict[str, Any] = {
        "patch_size": 4,
        "num_classes": 3,
        "embed_dim": 12,
        "depths": (2, 2),
        "num_heads": (2, 3),
        "window_size": 4,
    }
    theirs = shake(peers.TimmSwin(img_size=32, **shared), 1)
    state = theirs.state_dict()
    if old_names:
        state = {
            name.replace("layers.1.downsample", "layers.0.downsample").replace("head.fc", "head"): tensor
            for name, tensor in state.items()
        }
        state["layers.0.blocks.1.attn_mask"] = torch.zeros(4, 16, 16)
        state["layers.0.blocks.1.attn.relative_position_index"] = torch.zeros(16, 16, dtype=torch.long)
    config = SwinConfig(image_size=32, convention="timm", **shared)
    name = publish("swin_tiny_patch4_window7_224", config, 32, state)
    x = torch.randn(1, 3, 32, 32)
    torch.testing.assert_close(load_pretrained(name).model(x), theirs(x), **FORWARD)
    wider = load_pretrained(name, image_size=64)
    assert wider.config == replace(config, image_size=64)
    assert wider.preparation.image_size == 64
    assert wider.model(torch.randn(1, 3, 64, 64)).shape == (1, 3)


def test_torchvisions_first_files_load_too(publish: Publish) -> None:
    """Their MLP layers are called linear_1 and linear_2; torchvision renames them when it loads."""
    shape = {"patch_size": 4, "num_classes": 3, "embed_dim": 8, "depth": 1, "num_heads": 2}
    resized = {"positions_antialias": False, "positions_align_corners": True}
    config = ViTConfig(image_size=8, **shape, **resized)
    theirs = shake(peers.torchvision.models.VisionTransformer(8, 4, 1, 2, 8, 32, num_classes=3), 2)
    state = {
        name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): tensor
        for name, tensor in theirs.state_dict().items()
    }
    loaded = load_pretrained(publish("vit_b_16", config, 8, state))
    x = torch.randn(1, 3, 8, 8)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)


def test_another_file_is_refused(publish: Publish) -> None:
    config, theirs = small_dinov2(0)
    name = publish("vit_small_patch14_dinov2", replace(config, layer_scale=None), 42, theirs.state_dict())
    with pytest.raises(
        PretrainedError, match="model.safetensors is not the published file of DINOv2 ViT-S/14"
    ):
        load_pretrained(name)
    broken = publish(
        "vit_small_patch14_dinov2", config, 42, {**theirs.state_dict(), "norm.bias": torch.zeros(7)}
    )
    with pytest.raises(
        PretrainedError,
        match="not the weights of vit_small_patch14_dinov2.*norm.bias.*; delete model.safetensors",
    ):
        load_pretrained(broken)


def test_a_file_that_is_written_anew_does_not_change_an_opened_model(
    publish: Publish, tmp_path: Path
) -> None:
    config, theirs = small_dinov2(0)
    name = publish("vit_small_patch14_dinov2", config, 42, theirs.state_dict())
    loaded, x = load_pretrained(name), torch.randn(1, 3, 42, 42)
    before = loaded.model(x)
    path = tmp_path / "model.safetensors"
    with path.open("r+b") as file:
        file.seek(-4096, 2)
        file.write(bytes(4096))
    torch.testing.assert_close(loaded.model(x), before, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["swinv2_tiny_window8_256", "vit_base_patch16_224.augreg_in21k", "gpt2"])
def test_other_families_are_refused_with_a_way_to_open_them(name: str) -> None:
    with pytest.raises(UnknownArchitectureError, match="ViTs and Swins by their id on the hub"):
        load_pretrained(name)


def test_a_resolution_that_the_patches_do_not_divide_is_refused() -> None:
    with pytest.raises(PretrainedError, match="patch_size 16 does not divide image_size 230"):
        load_pretrained("deit_tiny_patch16_224", image_size=230)


def test_class_names_are_imagenets() -> None:
    classes = imagenet_classes()
    assert len(classes) == 1000
    assert (classes[0], classes[281], classes[999]) == ("tench", "tabby", "toilet tissue")
