"""The table of docs/surprises.md on counters of multiply-adds, measured again with the pinned packages."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from vitviz.config import ViTConfig
from vitviz.models import model_cost
from vitviz.torchvision_fix import import_torchvision

PAGE = Path(__file__).parents[2] / "docs" / "surprises.md"


class TransformersViT(nn.Module):
    """Transformers' ViT-B/16, called with one tensor as the counters call a model."""

    def __init__(self) -> None:
        from transformers import ViTConfig, ViTForImageClassification

        super().__init__()
        self.model = ViTForImageClassification(ViTConfig(num_labels=1000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(pixel_values=x).logits
        return logits


def create_timm_vit() -> nn.Module:
    from parity_peers import timm

    model: nn.Module = timm.create_model("vit_base_patch16_224")
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "torchvision": lambda: import_torchvision().models.vit_b_16(),
    "timm": create_timm_vit,
    "transformers": TransformersViT,
}


def by_torch(model: nn.Module, x: torch.Tensor) -> float:
    with FlopCounterMode(display=False) as counter:
        model(x)
    return counter.get_total_flops() / 2


def by_torch_in_evaluation(model: nn.Module, x: torch.Tensor) -> float:
    with torch.no_grad():
        return by_torch(model, x)


def by_torchinfo(model: nn.Module, x: torch.Tensor) -> float:
    from torchinfo import summary

    return float(summary(model, input_data=x, verbose=0).total_mult_adds)


def by_fvcore(model: nn.Module, x: torch.Tensor) -> float:
    from fvcore.nn import FlopCountAnalysis

    return float(FlopCountAnalysis(model, x).unsupported_ops_warnings(False).total())


def by_ptflops(model: nn.Module, x: torch.Tensor, backend: str = "pytorch") -> float:
    from ptflops import get_model_complexity_info

    with contextlib.redirect_stdout(io.StringIO()):
        macs, _ = get_model_complexity_info(
            model,
            tuple(x.shape[1:]),
            as_strings=False,
            print_per_layer_stat=False,
            backend=backend,
            verbose=False,
        )
    return float(macs)


def by_torchprofile(model: nn.Module, x: torch.Tensor) -> float:
    from torchprofile import profile_macs

    with torch.no_grad():
        return float(profile_macs(model, x))


COUNTERS: dict[str, Callable[[nn.Module, torch.Tensor], float]] = {
    "torch, gradients on": by_torch,
    "torch, gradients off": by_torch_in_evaluation,
    "torchinfo": by_torchinfo,
    "fvcore": by_fvcore,
    "ptflops, pytorch": by_ptflops,
    "ptflops, aten": lambda model, x: by_ptflops(model, x, "aten"),
    "torchprofile": by_torchprofile,
}


def read_table() -> dict[str, dict[str, str]]:
    """Billions of multiply-adds by counter and publisher, as the page prints them."""
    lines = [
        line
        for line in PAGE.read_text().splitlines()
        if re.match(r"\| (counter|" + "|".join(COUNTERS) + r"|by hand) \|", line)
    ]
    head, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in rows}


def test_the_number_by_hand_is_vitviz_s_own() -> None:
    config = ViTConfig(image_size=224, patch_size=16, embed_dim=768, depth=12, num_heads=12, num_classes=1000)
    ours = sum(model_cost.multiply_adds(config, 224).values()) / 1e9
    assert set(read_table()["by hand"].values()) == {f"{ours:.2f}"}
    n, d = 197, 768
    per_block = 12 * n * d * d + 2 * n * n * d  # q, k, v, output and MLP; two products of attention
    assert ours == pytest.approx((12 * per_block + 196 * d * d + 1000 * d) / 1e9)


@pytest.mark.slow
@pytest.mark.parametrize("publisher", MODELS)
def test_each_counter_gives_the_number_of_the_table(publisher: str) -> None:
    torch.manual_seed(0)
    model, x = MODELS[publisher]().eval(), torch.randn(1, 3, 224, 224)
    table, measured = read_table(), {}
    assert set(table) == {*COUNTERS, "by hand"}
    for name, count in COUNTERS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the counters' own
            try:
                measured[name] = f"{count(model, x) / 1e9:.2f}"
            except AttributeError:
                measured[name] = "error"
    assert measured == {name: row[publisher] for name, row in table.items() if name in COUNTERS}
