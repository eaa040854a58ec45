"""Names that wrappers, replaced heads and other parts give to tensors: equal numbers, or a refusal by name."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import parity_peers as peers
import pytest
import torch
from parity_compare import shake
from safetensors.torch import save_file
from torch import Tensor, nn

import vitviz
from vitviz.models.formats import open_model
from vitviz.models.formats.name_cleaning import clean_names
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError

SIZES = {"img_size": 16, "patch_size": 8, "embed_dim": 64, "depth": 2, "num_heads": 1, "num_classes": 3}
HEADS = {"num_heads": 1}


def timm_vit(**more: Any) -> nn.Module:
    return shake(peers.TimmViT(**SIZES | more), 5)


def two_layers() -> nn.Module:
    """A replaced head, as users write it."""
    return nn.Sequential(nn.Dropout(0.1), nn.Linear(64, 3))


def timm_head() -> tuple[nn.Module, dict[str, Any]]:
    model = timm_vit()
    model.head = two_layers()
    return model, HEADS


def timm_distilled_heads() -> tuple[nn.Module, dict[str, Any]]:
    model = peers.TimmDistilled(**SIZES)
    model.head, model.head_dist = two_layers(), two_layers()
    return model, HEADS


def timm_swin_head() -> tuple[nn.Module, dict[str, Any]]:
    model = peers.TimmSwin(
        img_size=32, patch_size=2, embed_dim=16, depths=(1, 1), num_heads=(1, 2), window_size=4
    )
    model.head.fc = nn.Sequential(nn.Dropout(0.1), nn.Linear(32, 3))
    return model, {"img_size": 32}


def torchvision_vit(head: Callable[[], nn.Module]) -> tuple[nn.Module, dict[str, Any]]:
    model = peers.TorchvisionViT(16, 8, 2, 1, 64, 64, num_classes=3)
    model.heads = head()
    return model, HEADS


def torchvision_swin_head() -> tuple[nn.Module, dict[str, Any]]:
    model = peers.TorchvisionSwin([2, 2], 16, [1, 1], [1, 2], [4, 4], num_classes=3)
    model.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(32, 3))
    return model, {"img_size": 32}


def hf_head(
    kind: str, name: str, *heads: str, width: int = 64, **sizes: Any
) -> tuple[nn.Module, dict[str, Any]]:
    transformers = importlib.import_module("transformers")
    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 64}
    config = getattr(transformers, f"{name}Config")(
        **(sizes or shape | {"image_size": 16, "patch_size": 8}), num_labels=3
    )
    model = getattr(transformers, kind)(config)
    for head in heads:
        setattr(model, head, nn.Sequential(nn.Dropout(0.1), nn.Linear(width, 3)))
    return model, config.to_dict()


SWIN = {
    "image_size": 32,
    "patch_size": 2,
    "embed_dim": 16,
    "depths": [1, 1],
    "num_heads": [1, 2],
    "window_size": 4,
}
REPLACED: dict[str, Callable[[], tuple[nn.Module, dict[str, Any]]]] = {
    "timm": timm_head,
    "timm, DeiT's two": timm_distilled_heads,
    "timm, Swin": timm_swin_head,
    "torchvision, one layer": lambda: torchvision_vit(lambda: nn.Linear(64, 3)),
    "torchvision, first of a sequence": lambda: torchvision_vit(lambda: nn.Sequential(nn.Linear(64, 3))),
    "torchvision, second of a sequence": lambda: torchvision_vit(two_layers),
    "torchvision, Swin": torchvision_swin_head,
    "transformers": lambda: hf_head("ViTForImageClassification", "ViT", "classifier"),
    "transformers, Swin": lambda: hf_head(
        "SwinForImageClassification", "Swin", "classifier", width=32, **SWIN
    ),
    "transformers, DeiT's two": lambda: hf_head(
        "DeiTForImageClassificationWithTeacher", "DeiT", "cls_classifier", "distillation_classifier"
    ),
}


def outputs(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        y = model.eval()(x)
    return y if isinstance(y, Tensor) else y.logits


def check_equal(opened: LoadedModel, model: nn.Module) -> None:
    x = torch.randn(2, 3, opened.config.image_size, opened.config.image_size)
    torch.testing.assert_close(opened.model(x), outputs(model, x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", REPLACED)
def test_a_replaced_head_opens(kind: str) -> None:
    model, config = REPLACED[kind]()
    shake(model, 3)
    opened = open_model(dict(model.state_dict()), config)
    check_equal(opened, model)
    assert len(opened.classes) == 3


@pytest.mark.parametrize(
    "head", [[nn.LayerNorm(64), nn.Linear(64, 3)], [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)]]
)
def test_a_head_of_several_layers_is_refused_by_their_names(head: list[nn.Module]) -> None:
    model = timm_vit()
    model.head = nn.Sequential(*head)
    last = len(head) - 1
    with pytest.raises(PretrainedError, match=rf"its head has several layers \(head\.0 and head\.{last}\)"):
        open_model(model.state_dict(), HEADS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("blocks.0.", "blocks.0._orig_mod."),
        ("", "_orig_mod."),
        ("blocks.1.", "blocks.1._checkpoint_wrapped_module."),
        ("blocks.1.attn.", "blocks.1._fsdp_wrapped_module.attn."),
        ("", "module._orig_mod.module."),
        ("blocks.1.", "module.blocks.1.module."),
    ],
)
def test_wrappers_are_taken_out_of_names(old: str, new: str) -> None:
    model = timm_vit()
    state = {name.replace(old, new, 1) if old else new + name: t for name, t in model.state_dict().items()}
    check_equal(open_model(state, HEADS), model)


@pytest.mark.parametrize("wrapper", ["_module", "_forward_module"])
def test_wrappers_of_opacus_and_fabric_are_taken_out_of_names(wrapper: str) -> None:
    state = timm_vit().state_dict()
    wrapped = {name.replace("blocks.0.", f"blocks.0.{wrapper}."): tensor for name, tensor in state.items()}
    assert list(clean_names(wrapped)) == list(state)


def test_an_averaged_model_of_torch_opens() -> None:
    averaged = torch.optim.swa_utils.AveragedModel(timm_vit())
    assert open_model(averaged.state_dict(), HEADS).config == vitviz.load(averaged).config


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda state: {"model_ema": {"state_dict": state}}, "holds no tensors: pass its 'model_ema'$"),
        (
            lambda state: {n: t.to(torch.int16) for n, t in state.items()},
            "no floats: cls_token is of torch.int16",
        ),
        (lambda state: state | {"head.weight": state["head.weight"].to_sparse()}, "layout torch.sparse_coo"),
    ],
)
def test_a_state_dict_that_holds_no_plain_weights_is_refused(change: Callable[..., Any], why: str) -> None:
    with pytest.raises(PretrainedError, match=why):
        vitviz.load(change(timm_vit().state_dict()), **HEADS)


def test_settings_may_be_of_numpy_or_torch_and_wrong_ones_are_refused() -> None:
    state = timm_vit().state_dict()
    given = {"num_heads": np.int64(2), "mean": torch.tensor([0.1, 0.2, 0.3]), "std": np.float32(0.5)}
    opened = vitviz.load(state, **given)
    assert opened.config.num_heads == 2 and opened.preparation.std == (0.5, 0.5, 0.5)
    assert opened.preparation.mean == pytest.approx((0.1, 0.2, 0.3))
    with pytest.raises(PretrainedError, match=r"must both have 1 \(grey\) or 3 \(RGB\) values"):
        vitviz.load(state, **HEADS, mean=[0.1, 0.2], std=[0.1, 0.2])
    with pytest.raises(PretrainedError, match="architecture 'vit_tinny' is none of timm's"):
        vitviz.load(state, architecture="vit_tinny")


def test_chunks_of_blocks_count_on() -> None:
    """DINOv2's authors store block 11 of chunks of six as blocks.1.11."""
    model = timm_vit(depth=4)
    state = {}
    for name, tensor in model.state_dict().items():
        number = name.split(".")[1] if name.startswith("blocks.") else ""
        chunked = (
            name.replace(f"blocks.{number}.", f"blocks.{int(number) // 2}.{number}.") if number else name
        )
        state[chunked] = tensor
    assert "blocks.1.3.attn.qkv.weight" in state
    check_equal(open_model(state, HEADS), model)


def test_two_tensors_of_one_plain_name_are_refused() -> None:
    with pytest.raises(
        PretrainedError, match=r"_orig_mod\.norm\.weight and norm\.weight, are both norm\.weight"
    ):
        clean_names({"_orig_mod.norm.weight": (3,), "norm.weight": (3,)})


def test_heads_of_self_supervision_are_not_read_each_by_its_name() -> None:
    state = {f"backbone.{name}": t for name, t in timm_vit(num_classes=0).state_dict().items()}
    for part in ("dino_head", "ibot_head", "head.mlp"):
        state |= {f"{part}.0.weight": torch.randn(4, 64), f"{part}.2.weight": torch.randn(4, 4)}
    opened = open_model(state, HEADS)
    assert "Not read: dino_head (2 tensors), ibot_head (2 tensors), head.mlp (2 tensors)." in opened.notes
    assert opened.classes == ()


def test_an_open_clip_model_with_a_timm_tower_gives_its_projected_features() -> None:
    tower, projection = timm_vit(num_classes=0), torch.randn(5, 64)
    state = {f"visual.trunk.{name}": t for name, t in tower.state_dict().items()}
    state |= {"visual.head.proj.weight": projection, "token_embedding.weight": torch.randn(9, 8)}
    opened = open_model(state, HEADS)
    x = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(opened.model(x), outputs(tower, x) @ projection.T, atol=1e-4, rtol=1e-4)
    assert "Not read: token_embedding (1 tensor)." in opened.notes


@pytest.mark.parametrize("pool", ["", "token", "avg"])
def test_a_timm_tower_has_the_settings_of_its_architecture(pool: str) -> None:
    vision = {"timm_model_name": "test_vit", "timm_pool": pool, "timm_proj": "linear", "image_size": 160}
    vision["head_width"] = 8  # of open_clip's own towers
    text = {"context_length": 8, "vocab_size": 9, "width": 8, "heads": 1, "layers": 1}
    model = shake(importlib.import_module("open_clip.model").CLIP(6, vision, text), 1)
    config = {"model_cfg": {"embed_dim": 6, "vision_cfg": vision, "text_cfg": text}, "preprocess_cfg": {}}
    x = torch.randn(1, 3, 160, 160)
    theirs = model.encode_image(x).detach()
    ours = open_model(model.state_dict(), config).model(x)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4 * float(theirs.abs().max()))


def test_a_timm_tower_that_open_clip_projects_by_an_mlp_is_refused() -> None:
    state = {f"visual.trunk.{name}": t for name, t in timm_vit(num_classes=0).state_dict().items()}
    state |= {
        "visual.head.mlp.fc1.weight": torch.zeros(8, 64),
        "visual.head.mlp.fc2.weight": torch.zeros(8, 8),
    }
    with pytest.raises(PretrainedError, match="features are projected by an MLP"):
        open_model(state, HEADS)


def test_the_first_odd_tensor_has_its_name_in_the_file() -> None:
    model = peers.TorchvisionViT(16, 8, 3, 1, 64, 64, num_classes=3)
    block = "encoder.layers.encoder_layer_1"
    state = model.state_dict() | {f"{block}.ln_2.weight": torch.zeros(5)}
    state[f"{block}.ln_2.scale"] = torch.zeros(7)
    with pytest.raises(PretrainedError) as refused:
        open_model(state, HEADS)
    assert str(refused.value) == (
        f"a torchvision ViT was recognised: 2 of its 3 blocks fit, but {block}.ln_2.scale of shape (7,) has no place in"
        " it; 1 more tensor does not fit; nothing was loaded"
    )


def test_an_index_that_names_a_lost_tensor_is_refused(tmp_path: Path) -> None:
    save_file(timm_vit().state_dict(), tmp_path / "a.safetensors")
    shards = dict.fromkeys([*timm_vit().state_dict(), "head.extra"], "a.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    with pytest.raises(PretrainedError, match=r"the index names head\.extra, which none of its files holds"):
        open_model(tmp_path, HEADS)


def test_dinov3_opens_in_its_authors_names() -> None:
    """Registers are storage tokens, the bias of keys is masked, and the rotary periods are a buffer."""
    timm = peers.timm
    model = shake(
        timm.create_model(
            "vit_tiny_patch16_dinov3_qkvb", img_size=48, depth=2, num_classes=0, global_pool="token"
        ),
        1,
    )
    state = {}
    for name, tensor in model.state_dict().items():
        for old, new in (("reg_token", "storage_tokens"), ("gamma_1", "ls1.gamma"), ("gamma_2", "ls2.gamma")):
            name = name.replace(old, new)
        state[name] = tensor
    for block in range(2):
        parts = [state.pop(f"blocks.{block}.attn.{part}_bias") for part in ("q", "v")]
        unread = torch.full_like(parts[0], torch.nan)  # keys
        state[f"blocks.{block}.attn.qkv.bias"] = torch.cat([parts[0], unread, parts[1]])
        ones, zeros = torch.ones_like(parts[0]), torch.zeros_like(parts[0])
        state[f"blocks.{block}.attn.qkv.bias_mask"] = torch.cat([ones, zeros, ones])
    state["rope_embed.periods"] = 100.0 ** (torch.arange(16) / 16)
    check_equal(open_model(state, {"img_size": 48}), model)
    with pytest.raises(PretrainedError, match="its rotary periods are not those of DINOv3"):
        open_model(state | {"rope_embed.periods": 50.0 ** (torch.arange(16) / 16)}, {"img_size": 48})


def test_a_quantised_module_gets_its_one_sentence() -> None:
    model = timm_vit()
    proj = model.blocks[0].attn.proj
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch moves its quantised tensors to another package
        quantised = torch.quantize_per_tensor(proj.weight.detach(), 0.1, 0, torch.qint8)
        proj.weight = nn.Parameter(quantised, requires_grad=False)
    for source in (model, model.state_dict()):
        with pytest.raises(PretrainedError, match=r"quantised or sharded: blocks\.0\.attn\.proj"):
            vitviz.load(source)


def test_a_dynamically_quantised_model_of_torch_gets_its_one_sentence() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(timm_vit().eval(), {nn.Linear})
        state = model.state_dict()
    for source in (model, state):
        with pytest.raises(PretrainedError, match=r"^this is a model quantised by torch\.ao \(blocks\.0"):
            vitviz.load(source)


def test_a_module_without_values_gets_its_one_sentence() -> None:
    model = timm_vit()
    model.blocks[1].to("meta")
    for source in (model, model.state_dict()):
        with pytest.raises(
            PretrainedError, match=r"no values: blocks\.1\.norm1\.weight is on the meta device"
        ):
            vitviz.load(source)


@pytest.mark.parametrize("quick", [False, True])
def test_an_open_clip_module_keeps_its_preparation(quick: bool) -> None:
    kind = importlib.import_module("open_clip.model").CLIP
    vision = {"layers": 2, "width": 64, "head_width": 32, "patch_size": 8, "image_size": 32}
    text = {"context_length": 8, "vocab_size": 20, "width": 32, "heads": 2, "layers": 1}
    model = kind(16, vision, text, quick_gelu=quick)
    default = vitviz.load(model).preparation
    assert default.mean == (0.48145466, 0.4578275, 0.40821073) and default.interpolation == "bicubic"
    model.visual.image_mean, model.visual.image_std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    for module in (model, model.visual):
        opened = vitviz.load(module)
        assert opened.verified is True
        assert (opened.preparation.mean, opened.preparation.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
        assert not any("assumed" in note or "Keys of" in note for note in opened.notes)
    model.visual.preprocess_cfg = {
        "mean": (0.5,),
        "std": (0.5,),
        "resize_mode": "squash",
        "interpolation": "bilinear",
    }
    preparation = vitviz.load(model).preparation
    assert (preparation.mean, preparation.resize, preparation.interpolation) == (
        (0.5,) * 3,
        "squash",
        "bilinear",
    )
