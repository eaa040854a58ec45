"""Published weights: every listed entry has its publisher's shapes and preparation, and files load as theirs do.

The files are written here, with random weights, in the publishers' own formats; nothing is fetched from outside.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import parity_peers as peers
import pytest
import torch
from parity_compare import FORWARD, shake
from safetensors.torch import save, save_file
from torch import Tensor, nn

from tests.rows import rows
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.formats.state_loading import WeightsMismatchError
from vitviz.models.pretrained import imagenet_classes, load_pretrained, rename
from vitviz.models.pretrained_list import PRETRAINED, PretrainedError, UnknownArchitectureError, find
from vitviz.models.zoo import empty_model

FROM_TIMM = [name for name, entry in PRETRAINED.items() if entry.format == "timm" and not entry.is_shipped]
FROM_TORCHVISION = [name for name, entry in PRETRAINED.items() if entry.format == "torchvision"]


def shapes(state: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in state.items()}


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
    assert shapes(rename(theirs.state_dict(), entry)) == shapes(empty_model(entry.config).state_dict())
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
    assert shapes(rename(theirs.state_dict(), entry)) == shapes(empty_model(entry.config).state_dict())
    transforms = weights.transforms()
    assert entry.url == weights.url
    assert (tuple(transforms.mean), tuple(transforms.std)) == (entry.preparation.mean, entry.preparation.std)
    assert transforms.interpolation.value == entry.preparation.interpolation
    assert round(224 / entry.preparation.crop_fraction) == transforms.resize_size[0]


@pytest.mark.parametrize(
    "name", ["vit_tiny_patch16_224.augreg_in21k_ft_in1k", "deit_tiny_distilled_patch16_224"]
)
def test_a_hub_file_gives_timms_logits(name: str, tmp_path: Path) -> None:
    theirs = shake(peers.timm.create_model(name.partition(".")[0], pretrained=False), 0)
    save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    loaded = load_pretrained(name, tmp_path / "model.safetensors")
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.classes[281] == "tabby"
    x = torch.randn(1, 3, 224, 224)
    torch.testing.assert_close(loaded.model(x), theirs(x), atol=1e-4, rtol=1e-4)


def small_dinov2(registers: int) -> tuple[ViTConfig, peers.TimmViT]:
    shared: dict[str, Any] = {"patch_size": 14, "num_classes": 0, "embed_dim": 16, "depth": 2, "num_heads": 2}
    prefix = {"num_registers": registers, "position_on_prefix": not registers}
    config = ViTConfig(image_size=42, layer_scale=1e-5, **prefix, **shared)
    options = {"reg_tokens": registers, "no_embed_class": bool(registers), "dynamic_img_size": True}
    theirs = peers.TimmViT(img_size=42, init_values=1e-5, **options, **shared)
    return config, shake(theirs, registers)


def small(monkeypatch: pytest.MonkeyPatch, name: str, config: ViTConfig | SwinConfig, side: int) -> str:
    """The named entry with a small shape, opened at `side` px."""
    entry = replace(find(name), config=config, opens_at_px=side)
    monkeypatch.setitem(PRETRAINED, entry.name, entry)
    return entry.name


@pytest.mark.parametrize("registers", [0, 4])
@pytest.mark.parametrize("side", [42, 28, 70])
def test_dinov2_opens_at_another_resolution_as_timm_does(
    registers: int, side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, theirs = small_dinov2(registers)
    kind = "vit_small_patch14_reg4_dinov2" if registers else "vit_small_patch14_dinov2"
    loaded = load_pretrained(small(monkeypatch, kind, config, side), save(theirs.state_dict()))
    assert loaded.preparation.image_size == side
    assert loaded.classes == ()
    x = torch.randn(2, 3, side, side)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)


def test_dinov2s_own_file_is_read_as_timm_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the authors' file [CLS] has a position, registers have another name, and a mask token is left over."""
    config, theirs = small_dinov2(4)
    state = shake(
        peers.TimmViT(img_size=42, patch_size=14, num_classes=0, embed_dim=16, depth=2, num_heads=2), 5
    ).state_dict()
    state |= {name: tensor for name, tensor in theirs.state_dict().items() if "ls" in name}
    state |= {"register_tokens": torch.randn(1, 4, 16), "mask_token": torch.zeros(1, 16)}
    name = small(monkeypatch, "vit_small_patch14_reg4_dinov2", config, 42)
    loaded = load_pretrained(name, save(state))
    theirs.load_state_dict(peers.checkpoint_filter_fn(dict(state), theirs))
    x = torch.randn(1, 3, 42, 42)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)


@pytest.mark.parametrize("missing", ["pos_embed", "cls_token"])
def test_a_dinov2_file_without_what_registers_need_is_reported(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, theirs = small_dinov2(4)
    state = theirs.state_dict() | {"register_tokens": torch.randn(1, 4, 16)}
    del state[missing]
    with pytest.raises(PretrainedError, match=missing):
        load_pretrained(small(monkeypatch, "vit_small_patch14_reg4_dinov2", config, 42), save(state))


@pytest.mark.parametrize("old_names", [False, True])
def test_swin_files_of_both_kinds_load(old_names: bool, monkeypatch: pytest.MonkeyPatch) -> None:
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
    loaded = load_pretrained(small(monkeypatch, "swin_tiny_patch4_window7_224", config, 32), save(state))
    x = torch.randn(1, 3, 32, 32)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)
    # Its windows are the weights': another resolution changes the preparation only.
    wider = load_pretrained("swin_tiny_patch4_window7_224", save(state), image_size=64)
    assert wider.config == config
    assert wider.preparation.image_size == 64
    assert wider.model(torch.randn(1, 3, 64, 64)).shape == (1, 3)


def test_torchvisions_first_files_load_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their MLP layers are called linear_1 and linear_2; torchvision renames them when it loads."""
    config = ViTConfig(image_size=8, patch_size=4, num_classes=3, embed_dim=8, depth=1, num_heads=2)
    theirs = shake(peers.torchvision.models.VisionTransformer(8, 4, 1, 2, 8, 32, num_classes=3), 2)
    state = {
        name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): tensor
        for name, tensor in theirs.state_dict().items()
    }
    loaded = load_pretrained(small(monkeypatch, "vit_b_16", config, 8), save(state))
    x = torch.randn(1, 3, 8, 8)
    torch.testing.assert_close(loaded.model(x), theirs(x), **FORWARD)


def test_half_precision_files_become_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    config, theirs = small_dinov2(0)
    state = {name: tensor.bfloat16() for name, tensor in theirs.state_dict().items()}
    loaded = load_pretrained(small(monkeypatch, "vit_small_patch14_dinov2", config, 42), save(state))
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}


def test_what_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    config, theirs = small_dinov2(0)
    name = small(monkeypatch, "vit_small_patch14_dinov2", config, 42)
    state = dict(theirs.state_dict())
    state["norm.weight"] = torch.zeros(7)
    state["extra"] = state.pop("cls_token")
    with pytest.raises(WeightsMismatchError) as caught:
        load_pretrained(name, save(state))
    assert caught.value.missing == ("cls_token",)
    assert caught.value.unexpected == ("extra",)
    assert caught.value.misshapen == ("norm.weight: expected (16,), received (7,)",)
    assert "nothing was loaded" in str(caught.value)
    wrong_grid = dict(theirs.state_dict()) | {"pos_embed": torch.zeros(1, 26, 16)}
    with pytest.raises(WeightsMismatchError, match="pos_embed: expected"):
        load_pretrained(name, save(wrong_grid), image_size=28)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_broken_numbers_are_refused(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    config, theirs = small_dinov2(0)
    state = dict(theirs.state_dict())
    state["norm.bias"] = torch.full((16,), value)
    with pytest.raises(PretrainedError, match="norm.bias is not finite"):
        load_pretrained(small(monkeypatch, "vit_small_patch14_dinov2", config, 42), save(state))


@pytest.mark.parametrize("cut", [0, 5, 200, 4000])
def test_a_truncated_file_is_refused_in_one_sentence(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(save({"norm.weight": torch.zeros(4096)})[:cut])
    with pytest.raises(PretrainedError, match="safetensors"):
        load_pretrained("deit_tiny_patch16_224", path)
    with pytest.raises(PretrainedError, match="cannot be read: No such file"):
        load_pretrained("deit_tiny_patch16_224", tmp_path / "absent.safetensors")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("swinv2_tiny_window8_256", "cosine attention"),
        ("vit_base_patch16_clip_224.openai", "normalises the tokens before the first block"),
        ("vit_giant_patch14_dinov2.lvd142m", "only the S and B sizes of DINOv2"),
        ("convnext_tiny", "convolutional network"),
        ("beit_base_patch16_224", "relative position bias"),
        ("vit_base_patch16_224.augreg_in21k", "21,000 classes"),
        ("gpt2", "the name is unknown"),
    ],
)
def test_other_families_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(UnknownArchitectureError, match=reason):
        load_pretrained(name, b"")


def test_a_resolution_that_the_patches_do_not_divide_is_refused() -> None:
    with pytest.raises(PretrainedError, match="patches of 16 px, which do not divide 230 px"):
        load_pretrained("deit_tiny_patch16_224", b"", image_size=230)


def test_class_names_are_imagenets() -> None:
    classes = imagenet_classes()
    assert len(classes) == 1000
    assert (classes[0], classes[281], classes[999]) == ("tench", "tabby", "toilet tissue")
