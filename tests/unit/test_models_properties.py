"""What must hold for every model: rows sum to 1, images do not mix, patches matter, order only by positions."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    SwinConfig,
    ViTConfig,
)
from vitviz.models.layers import unfold_patches
from vitviz.models.zoo import create_model

VIT = ViTConfig(image_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=3)
SWIN = SwinConfig(image_size=32, embed_dim=24, depths=(2, 2))
MODELS: dict[str, ModelConfig] = {
    "vit": VIT,
    "deit": replace(VIT, distilled=True),
    "registers": replace(VIT, num_registers=2, layer_scale=0.1, position_on_prefix=False),
    "mean": replace(VIT, readout="mean", positions="sincos_2d_concat"),
    "first_patch": replace(VIT, readout="first_patch", positions="pixels", norm="post"),
    "slices": replace(VIT, head_input="slice", output_projection=False, softmax_output=True),
    "counted": replace(VIT, distilled=True, positions="sincos_1d", sincos_on_prefix=True),
    "unfold": replace(VIT, embed="unfold", positions="sincos_1d"),
    "reshape": replace(VIT, embed="reshape"),
    "no_residual": replace(VIT, residual=False, norm="post"),
    "hybrid": replace(VIT, stem=(8, 16)),
    "hybrid_enlarged": replace(VIT, image_size=14, patch_size=7, stem=(8, 8, 16)),
    "swin": SWIN,
    "swin_unmasked": replace(SWIN, masked=False),
    "swin_timm": replace(SWIN, convention="timm", image_size=20),
    "cnn": CNNConfig(image_size=16, widths=(8, 16), blocks=(1, 2)),
    "cnn_pooled": CNNConfig(image_size=16, widths=(4, 8, 16), blocks=(0, 1, 2), pooled=True),
    "cnn_whitened": CNNConfig(image_size=16, widths=(24, 8, 6), blocks=(0, 1, 2), pooled=True, whitened=True),
    "conv_attention": ConvAttentionConfig(image_size=14, channels=4),
    "conv_attention_written": ConvAttentionConfig(
        image_size=14, channels=4, scaled=False, transposed_values=True
    ),
    "flat_attention": FlatAttentionConfig(image_size=14),
}


def build(config: ModelConfig) -> tuple[nn.Module, Tensor]:
    """A model with random numbers everywhere, in double precision, and three images."""
    torch.manual_seed(0)
    model = create_model(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model, torch.randn(3, config.in_chans, config.image_size, config.image_size, dtype=torch.float64)


@pytest.mark.parametrize("name", MODELS)
def test_recording_changes_nothing_and_attention_rows_sum_to_one(name: str) -> None:
    model, x = build(MODELS[name])
    logits, record = model(x, record=True)
    assert torch.equal(logits, model(x))
    assert torch.equal(record["logits"], logits)
    attention = {key: tensor for key, tensor in record.items() if key.endswith(".attn")}
    assert bool(attention) == (not name.startswith("cnn"))
    for tensor in attention.values():
        torch.testing.assert_close(tensor.sum(-1), torch.ones_like(tensor[..., 0]))
        assert (tensor >= 0).all()


@pytest.mark.parametrize("name", MODELS)
def test_images_of_a_batch_do_not_mix(name: str) -> None:
    model, x = build(MODELS[name])
    together = model(x)
    alone = torch.cat([model(image[None]) for image in x])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(model(x.flip(0)).flip(0), together)


@pytest.mark.parametrize("name", MODELS)
def test_every_changed_patch_changes_the_logits(name: str) -> None:
    model, x = build(MODELS[name])
    before = model(x[:1])
    step = 4
    for row in range(0, x.shape[-1] - step + 1, step):
        for col in range(0, x.shape[-1] - step + 1, step):
            changed = x[:1].clone()
            changed[..., row : row + step, col : col + step] += 1.0
            assert not torch.allclose(model(changed), before, atol=1e-9), (row, col)


@pytest.mark.parametrize("name", MODELS)
def test_records_are_named_alike_wherever_they_are_asked_for(name: str) -> None:
    """All, by pattern, and by observer give the same tensors; what is not per image is named as such."""
    model, x = build(MODELS[name])
    _, everything = model(x, record=True)
    _, some = model(x, record=["*.attn", "logits"])
    assert some.keys() == {key for key in everything if key.endswith(".attn") or key == "logits"}
    seen: dict[str, Tensor] = {}
    _, nothing = model(x, record=seen.__setitem__)
    assert nothing == {}
    assert seen.keys() == everything.keys()
    once = getattr(model, "unbatched_records", ())
    for key, tensor in everything.items():
        assert torch.equal(tensor, seen[key])
        if not any(fnmatchcase(key, pattern) for pattern in once):
            assert len(tensor) == len(x), key


@pytest.mark.parametrize("name", MODELS)
def test_records_are_never_detached(name: str) -> None:
    """The logits' gradient by a recorded intermediate of a frozen model is what relevance asks for."""
    model, x = build(MODELS[name])
    model.requires_grad_(False)
    logits, record = model(x.requires_grad_(), record=True)
    wanted = {key: tensor for key, tensor in record.items() if key.endswith((".attn", "features"))}
    gradients = torch.autograd.grad(
        logits[:, 0].sum(), list(wanted.values()), allow_unused=name == "flat_attention"
    )
    if name != "flat_attention":
        assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
        assert any(float(gradient.abs().max()) > 0 for gradient in gradients)


@pytest.mark.parametrize("readout", ["cls", "mean"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_positions_a_vit_is_blind_to_the_order_of_patches(readout: Any, norm: Any) -> None:
    def logits(config: ViTConfig) -> tuple[Tensor, Tensor]:
        model, x = build(config)
        order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
        patches = unfold_patches(x, 4)[:, order].view(3, 4, 4, 3, 4, 4)
        return model(x), model(patches.permute(0, 3, 1, 4, 2, 5).reshape(x.shape))

    config = replace(VIT, readout=readout, norm=norm, positions="none")
    torch.testing.assert_close(*logits(config))
    for positions in ("learned", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat"):
        seeing = logits(replace(config, positions=positions))
        assert not torch.allclose(*seeing, atol=1e-6), positions


def test_convolution_and_unfold_are_one_map() -> None:
    conv, x = build(VIT)
    unfold = create_model(replace(VIT, embed="unfold")).double().eval()
    unfold.load_state_dict(conv.state_dict())
    torch.testing.assert_close(conv(x), unfold(x))


def test_masked_pairs_of_a_shifted_window_get_no_attention() -> None:
    model, x = build(SWIN)
    _, record = model(x, record=True)
    assert "layers.0.blocks.0.mask" not in record
    for block, touched in (("layers.0.blocks.1", 7), ("layers.1.blocks.1", 3)):
        mask, attn = record[f"{block}.mask"], record[f"{block}.attn"]
        masked = (mask < 0)[None, :, None].expand_as(attn)
        assert int((mask < 0).any((1, 2)).sum()) == touched
        assert attn[masked].max() < 1e-20
        assert attn[~masked].min() > 1e-8


def test_swin_records_say_where_every_patch_went() -> None:
    model, x = build(SWIN)
    _, record = model(x[..., :20, :26], record=True)
    for block, (rows, cols) in (("layers.0.blocks.1", (10, 13)), ("layers.1.blocks.1", (5, 7))):
        index = record[f"{block}.window_index"]
        assert index.dtype == torch.int64
        assert sorted(index[index >= 0].tolist()) == list(range(rows * cols))
        assert record[f"{block}.attn"].shape[1] == len(index)
        assert record[block].shape[1:3] == (rows, cols)


def test_without_a_mask_only_the_shifted_windows_change() -> None:
    masked, x = build(SWIN)
    bare = create_model(replace(SWIN, masked=False)).double().eval()
    bare.load_state_dict(masked.state_dict())
    (_, with_mask), (_, without) = (model(x, record=["layers.0.blocks.*"]) for model in (masked, bare))
    assert "layers.0.blocks.1.mask" in with_mask and "layers.0.blocks.1.mask" not in without
    torch.testing.assert_close(without["layers.0.blocks.0.attn"], with_mask["layers.0.blocks.0.attn"])
    hidden = (with_mask["layers.0.blocks.1.mask"] < 0)[None, :, None].expand_as(
        with_mask["layers.0.blocks.1.attn"]
    )
    assert (
        with_mask["layers.0.blocks.1.attn"][hidden].max()
        < 1e-20
        < without["layers.0.blocks.1.attn"][hidden].min()
    )


def test_a_reshape_cuts_whole_rows_of_pixels() -> None:
    """The first token of a 16 px image with patches of 4 px is its first row, in each channel's memory order."""
    model, x = build(replace(VIT, embed="reshape", in_chans=1))
    changed = x.clone()
    changed[:, 0, 0] += 1.0
    differs = [model(y, record=["patch_embed"])[1]["patch_embed"] for y in (x, changed)]
    assert (differs[0] != differs[1]).any(dim=-1).nonzero()[:, 1].tolist() == [0, 0, 0]


def test_a_block_without_residual_gives_what_its_mlp_gives() -> None:
    for residual in (True, False):
        model, x = build(replace(VIT, residual=residual))
        _, record = model(x, record=["blocks.0*"])
        mid = (
            record["blocks.0.input"] + record["blocks.0.attn_out"]
            if residual
            else record["blocks.0.attn_out"]
        )
        torch.testing.assert_close(record["blocks.0.mid"], mid)
        out = mid + record["blocks.0.mlp_out"] if residual else record["blocks.0.mlp_out"]
        torch.testing.assert_close(record["blocks.0"], out)


def test_token_mask_removes_keys() -> None:
    model, x = build(VIT)
    kept = torch.ones(16, dtype=torch.bool)
    kept[5] = False
    logits, record = model(x, record=["*.attn"], token_mask=kept)
    for attn in record.values():
        assert (attn[..., 1 + 5] == 0).all()
    changed = x.clone()
    changed[..., 4:8, 4:8] += 1.0  # patch 5
    torch.testing.assert_close(model(changed, token_mask=kept), logits)
    torch.testing.assert_close(model(x, token_mask=torch.ones(16, dtype=torch.bool)), model(x))
    each = torch.stack([kept, ~kept, torch.ones_like(kept)])
    torch.testing.assert_close(model(x, token_mask=each)[0], logits[0])


@pytest.mark.parametrize("config", [VIT, SWIN])
def test_head_mask_silences_a_head_and_ones_change_nothing(config: ModelConfig) -> None:
    model, x = build(config)
    shape = (2, 3) if config is VIT else (4, 6)
    ones = torch.ones(shape, dtype=x.dtype)
    torch.testing.assert_close(model(x, head_mask=ones), model(x))
    silent = ones.clone()
    silent[1, 2] = 0.0
    logits, record = model(x, record=True, head_mask=silent)
    assert not torch.allclose(logits, model(x), atol=1e-6)
    without = deepcopy(model)  # nothing of block 1 reads what its third head gives
    attn = without.blocks[1].attn if config is VIT else without.layers[0].blocks[1].attn
    with torch.no_grad():
        attn.proj.weight.unflatten(1, (attn.num_heads, -1))[:, 2] = 0
    torch.testing.assert_close(logits, without(x))
    if config is VIT:
        assert (record["blocks.1.heads"][..., 16:] == 0).all()
        assert (record["blocks.1.heads"][..., :16] != 0).any()


def test_masks_that_do_not_fit_say_so() -> None:
    vit, x = build(VIT)
    with pytest.raises(ValueError, match=r"head_mask must be \(depth, heads\) = \(2, 3\), received \(3, 2\)"):
        vit(x, head_mask=torch.ones(3, 2))
    with pytest.raises(
        ValueError, match="token_mask must be boolean with 16 patches, received torch.float32"
    ):
        vit(x, token_mask=torch.ones(16))
    swin, x = build(SWIN)
    with pytest.raises(
        ValueError, match=r"head_mask must be \(blocks, heads\) = \(4, 6\), received \(2, 2\)"
    ):
        swin(x, head_mask=torch.ones(2, 2))
    with pytest.raises(
        ValueError, match="Swin takes no token_mask: after merging, one token mixes four patches"
    ):
        swin(x, token_mask=torch.ones(256, dtype=torch.bool))


@pytest.mark.parametrize("name", MODELS)
def test_wrong_channels_are_refused(name: str) -> None:
    model, x = build(MODELS[name])
    channels = x.shape[1]
    with pytest.raises(ValueError, match=f"takes {channels} channels, received 2"):
        model(x[:, :1].expand(-1, 2, -1, -1))


def test_sizes_that_do_not_fit_are_refused() -> None:
    for name, size, message in (
        ("vit", (18, 16), "patch_size 4 must divide the image, received 18 x 16 px"),
        ("swin", (1, 9), "at least 2 x 2 px is needed, received 1 x 9"),
        ("swin_timm", (21, 20), "patch_size 2 must divide the image, received 21 x 20 px"),
        ("flat_attention", (16, 16), "takes 14 x 14 px, received 16 x 16 px"),
    ):
        with pytest.raises(ValueError, match=message):
            model, _ = build(MODELS[name])
            model(torch.zeros(1, MODELS[name].in_chans, *size, dtype=torch.float64))


def test_flat_attention_attends_to_its_only_token() -> None:
    model, x = build(MODELS["flat_attention"])
    _, record = model(x, record=True)
    for layer in (0, 1):
        assert record[f"blocks.{layer}.attn"].shape == (3, 1, 1, 1)
        assert (record[f"blocks.{layer}.attn"] == 1).all()
        assert torch.equal(record[f"blocks.{layer}"], record[f"blocks.{layer}.v"][:, 0])


def test_the_lectures_transposed_product_mixes_over_queries() -> None:
    written, x = build(MODELS["conv_attention_written"])
    _, record = written(x, record=True)
    attn, v = record["blocks.0.attn"][:, 0], record["blocks.0.v"][:, 0]
    torch.testing.assert_close(record["blocks.0"], torch.einsum("bqk,bqd->bkd", attn, v))
    assert not torch.allclose(attn.sum(1), torch.ones_like(attn[:, 0]), atol=1e-3)


def test_stochastic_depth_drops_whole_images_and_keeps_the_mean() -> None:
    from vitviz.models.layers import drop_path

    torch.manual_seed(0)
    x = torch.ones(4000, 3, 2)
    dropped = drop_path(x, 0.25, training=True)
    per_picture = dropped.flatten(1)
    assert ((per_picture == 0).all(1) | (per_picture == 1 / 0.75).all(1)).all()
    assert dropped.mean() == pytest.approx(1.0, abs=0.05)
    assert drop_path(x, 0.25, training=False) is x


def test_without_attention_every_pixel_keeps_its_own_value() -> None:
    config = ConvAttentionConfig(image_size=14, channels=4, attends=False)
    model, x = build(config)
    logits, record = model(x, record=("blocks.0*",))
    assert list(record) == ["blocks.0"] and model.q is None
    torch.testing.assert_close(record["blocks.0"], model.v(x).flatten(2).mT)
    attends, _ = build(replace(config, attends=True))
    attends.load_state_dict(model.state_dict(), strict=False)
    assert not torch.allclose(attends(x), logits)
