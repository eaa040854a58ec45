"""A live module opens with equal numbers, verified by one run of a copy, or is refused: the first block is named."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import parity_peers as peers
import pytest
import torch
from parity_compare import shake
from test_formats import FAMILIES, Draw, close
from torch import Tensor, nn

import vitviz
from vitviz.models.pretrained_list import PretrainedError

SHAPE = {"img_size": 24, "patch_size": 8, "embed_dim": 24, "depth": 3, "num_heads": 3, "num_classes": 5}


def timm_vit(**options: Any) -> nn.Module:
    return shake(peers.TimmViT(**SHAPE | options), 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_publishers_live_module_is_verified(family: str, tmp_path: Path) -> None:
    peer = FAMILIES[family](Draw(f"{family} alive"), tmp_path)
    opened = vitviz.load(peer.model)
    assert opened.verified is True and opened.not_verified == ""
    x = torch.randn(1, opened.config.in_chans, peer.side, peer.side)
    close(opened.model(x), peer.features(x).detach())


class Eps(nn.LayerNorm):
    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(width, eps=1e-2)


def gelu_tanh() -> nn.Module:
    return nn.GELU(approximate="tanh")


OPTIONS: dict[str, dict[str, Any]] = {
    "mean without fc_norm": {"global_pool": "avg", "fc_norm": False, "final_norm": True},
    "mean without cls": {"global_pool": "avg", "class_token": False},
    "relu": {"act_layer": nn.ReLU},
    "gelu_tanh": {"act_layer": gelu_tanh},
    "eps": {"norm_layer": Eps},
    "pre_norm": {"pre_norm": True},
    "pre_norm and eps": {"pre_norm": True, "norm_layer": Eps},
    "heads": {"num_heads": 8},
    "no position of cls": {"no_embed_class": True, "reg_tokens": 2},
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_tensors_do_not_show_are_read_from_the_module(case: str) -> None:
    model = timm_vit(**OPTIONS[case])
    opened = vitviz.load(model)
    assert opened.verified is True
    x = torch.randn(2, 3, 24, 24)
    close(opened.model(x), model(x).detach())


@pytest.mark.parametrize("heads, per_head", [(2, 8), (4, 16), (3, 64)])
@pytest.mark.parametrize("options", [{"pool": "cls"}, {"pool": "mean"}, None])
def test_the_heads_of_vit_pytorch_are_read_from_the_module(
    heads: int, per_head: int, options: dict[str, str] | None
) -> None:
    name, kind = ("vit_pytorch", "ViT") if options else ("vit_pytorch.simple_vit", "SimpleViT")
    shape = {"image_size": 24, "patch_size": 8, "num_classes": 4, "dim": 32, "depth": 2, "mlp_dim": 48}
    build = getattr(importlib.import_module(name), kind)
    opened = vitviz.load(shake(build(**shape, heads=heads, dim_head=per_head, **options or {}), 2))
    assert (opened.vit.config.num_heads, opened.vit.config.image_size, opened.verified) == (heads, 24, True)


@pytest.mark.parametrize("pool", ["max", "avgmax"])
def test_other_pooling_is_refused_by_its_name(pool: str) -> None:
    with pytest.raises(PretrainedError, match=f"global_pool '{pool}'"):
        vitviz.load(timm_vit(global_pool=pool))


def test_the_pooling_query_of_siglip_attends_as_its_publishers() -> None:
    from test_formats import hf

    shape = {"hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 32, "num_attention_heads": 3}
    model = shake(hf("SiglipVisionModel")(hf("SiglipVisionConfig")(**shape, image_size=32, patch_size=8)), 3)
    view = vitviz.inspect(
        vitviz.load(model), np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8)
    )
    hidden = model(torch.tensor(view.prepared.input)[None]).last_hidden_state
    head = getattr(model, "vision_model", model).head
    _, expected = head.attention(head.probe, hidden, hidden, average_attn_weights=False)
    for number in range(3):
        weights = view.attention(head=number, query="pool")
        assert weights.shape == (4, 4) and weights.sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(weights.ravel(), expected[0, number, 0].detach(), atol=1e-5)
    with pytest.raises(ValueError, match="only a model with attention pooling, such as SigLIP"):
        vitviz.inspect(vitviz.load(timm_vit()), np.zeros((24, 24), np.uint8)).attention(query="pool")


def change_block(model: Any, index: int, change: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Let a block return something else of its input and its output."""

    class Other(type(model.blocks[index])):  # type: ignore[misc]
        def forward(self, x: Tensor, *more: Any, **named: Any) -> Tensor:
            return change(x, super().forward(x, *more, **named))

    model.blocks[index].__class__ = Other


def test_a_module_that_computes_something_else_is_refused_by_its_first_block() -> None:
    model = timm_vit()
    change_block(model, 1, lambda x, y: 2 * y)
    with pytest.raises(PretrainedError, match=r"first in block 2$"):
        vitviz.load(model)


def test_a_difference_in_the_embedding_or_the_head_is_named() -> None:
    class Louder(type(timm_vit())):  # type: ignore[misc]
        def _pos_embed(self, x: Tensor) -> Tensor:
            return 2 * super()._pos_embed(x)

    class Scaled(type(timm_vit())):  # type: ignore[misc]
        def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
            return 3 * super().forward_head(x, pre_logits)

    for kind, place in ((Louder, "in the embedding"), (Scaled, "after the last block")):
        model = shake(kind(**SHAPE), 1)
        with pytest.raises(PretrainedError, match=place):
            vitviz.load(model)


def test_equal_features_do_not_excuse_other_logits() -> None:
    class Doubled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = timm_vit()

        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {"logits": 2 * self.model(x), "features": self.model.forward_features(x)}

    with pytest.raises(PretrainedError, match="differ by 0.5 of the largest"):
        vitviz.load(Doubled())


def test_a_difference_after_unseen_blocks_names_no_place() -> None:
    class Hidden(nn.Module):
        def __init__(self, blocks: nn.Sequential) -> None:
            super().__init__()
            for index, block in enumerate(blocks):
                self.add_module(str(index), block)

        def forward(self, x: Tensor) -> Tensor:
            for block in self.children():
                x = block(x)
            return torch.relu(x)

    model = timm_vit()
    model.blocks = Hidden(model.blocks)
    with pytest.raises(PretrainedError, match="of the largest$"):
        vitviz.load(model)


def test_the_stages_of_a_small_swin_are_not_taken_for_its_blocks() -> None:
    shape = {"img_size": 32, "embed_dim": 8, "depths": (2, 2), "num_heads": (1, 2), "window_size": 4}
    model = shake(peers.timm.create_model("swin_tiny_patch4_window7_224", **shape, num_classes=3), 1)
    model.layers[0].blocks[1].norm1.eps = 0.1
    with pytest.raises(PretrainedError, match="first in block 2 of stage 1$"):
        vitviz.load(model)


def test_a_module_with_a_head_of_zeros_is_compared_by_its_blocks() -> None:
    model = timm_vit()
    nn.init.zeros_(model.head.weight)
    nn.init.zeros_(model.head.bias)
    assert vitviz.load(model).verified is True
    change_block(model, 2, lambda x, y: y - x)
    with pytest.raises(PretrainedError, match=r"first in block 3$"):
        vitviz.load(model)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_module_in_half_precision_is_verified_by_its_values(dtype: torch.dtype) -> None:
    assert vitviz.load(timm_vit().to(dtype)).verified is True


def test_the_module_and_the_random_states_stay_as_they_are() -> None:
    model = timm_vit(proj_drop_rate=0.5).train()
    model(torch.randn(1, 3, 24, 24)).sum().backward()
    model.register_buffer("seen", torch.ones(2), persistent=False)
    handle = model.register_forward_hook(lambda *_: None)
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    state, numbers = torch.get_rng_state(), random.getstate()
    opened = vitviz.load(model)
    assert opened.verified is True
    assert torch.equal(torch.get_rng_state(), state) and random.getstate() == numbers
    for parameter in opened.model.parameters():
        parameter.data.add_(1)  # the copy, not the module
    assert all(part.training for part in model.modules()) and torch.equal(model.seen, torch.ones(2))
    assert len(model._forward_hooks) == 1 and not model.blocks[0]._forward_hooks
    assert all(torch.equal(p.grad, gradients[n]) for n, p in model.named_parameters() if n in gradients)
    assert all(torch.equal(p, weights[n]) and p.requires_grad for n, p in model.named_parameters())
    handle.remove()


def test_a_module_that_cannot_run_opens_with_the_reason() -> None:
    model = timm_vit()

    class Broken(type(model)):  # type: ignore[misc]
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("needs two inputs")

    model.__class__ = Broken
    opened = vitviz.load(model)
    assert opened.verified is None and "needs two inputs" in opened.not_verified


def test_a_file_is_not_verified(tmp_path: Path) -> None:
    peer = FAMILIES["timm_vit"](Draw("file"), tmp_path)
    opened = vitviz.load(peer.folder)
    assert opened.verified is None and opened.not_verified


def test_a_setting_of_the_caller_wins_over_the_module_and_is_not_verified() -> None:
    opened = vitviz.load(timm_vit(), act_layer="relu")
    assert opened.vit.config.activation == "relu"
    assert opened.verified is None and "settings were given" in opened.not_verified


def test_a_compiled_or_parallel_module_is_opened_by_its_own_module() -> None:
    assert vitviz.load(nn.DataParallel(timm_vit())).verified is True


def test_a_wrapped_module_keeps_the_settings_of_the_module_inside() -> None:
    model = timm_vit()
    model.pretrained_cfg = {"mean": (0.1, 0.2, 0.3), "std": (0.5, 0.5, 0.5), "label_names": list("abcde")}
    alone, wrapped = vitviz.load(model), vitviz.load(nn.DataParallel(model))
    assert wrapped.preparation == alone.preparation and alone.preparation.mean == (0.1, 0.2, 0.3)
    assert wrapped.classes == alone.classes == tuple("abcde") and wrapped.verified is True


def test_a_new_head_does_not_keep_the_names_of_the_published_one() -> None:
    model = timm_vit()
    model.pretrained_cfg = {"label_names": [f"class {i}" for i in range(1000)]}
    assert vitviz.load(model).classes == tuple("01234")
