"""Shares of a logit sum to it, and each equals a computation from the records by the formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.random_models import random_model
from tests.unit.test_models_properties import MODELS, SWIN, VIT
from vitviz.analysis.logits import Attribution
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.abilities import REASONS, abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.presets import GREY_32
from vitviz.probe.capture import Capture, capture
from vitviz.probe.logits import attribute, list_records

TARGET = 3
DEEP = replace(VIT, depth=3, num_registers=2, layer_scale=0.5)
SUMMED: dict[str, ModelConfig] = {
    name: config for name, config in MODELS.items() if isinstance(config, ViTConfig | SwinConfig)
} | {
    "post": replace(VIT, norm="post"),
    "mean_pooled_norm": replace(VIT, readout="mean", pooled_norm=True, final_norm=False),
    "both_norms": replace(VIT, pooled_norm=True),
    "cls_mean": replace(VIT, readout="cls_mean"),
    "no_final_norm": replace(VIT, final_norm=False),
    "rotary": replace(VIT, positions="rotary", gated_mlp=True),
    "deep": DEEP,
    "swin_padded": replace(SWIN, image_size=20, window_size=3, depths=(1, 2, 1), num_heads=(3, 6, 6)),
}
SUMMED.pop("no_residual")


def build(config: ModelConfig) -> tuple[LoadedModel, Capture]:
    torch.manual_seed(0)
    loaded = random_model(config, GREY_32)
    model = loaded.model
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    image = np.random.default_rng(0).standard_normal(
        (1, config.in_chans, config.image_size, config.image_size)
    )
    return loaded, capture(model, image.astype(np.float32), (*list_records(config), "logits", "logits_*"))  # type: ignore[arg-type]


def attributed(config: ModelConfig) -> tuple[LoadedModel, Capture, Attribution]:
    model, records = build(config)
    return model, records, attribute(model, records, TARGET)


@pytest.mark.parametrize("name", SUMMED)
def test_the_shares_sum_to_the_logit(name: str) -> None:
    config = SUMMED[name]
    model, records, shares = attributed(config)
    logits = records.logits[0].astype(np.float64)
    if getattr(config, "softmax_output", False):  # the model's output is exp(logit) / sum: differences remain
        other = attribute(model, records, TARGET + 1)
        assert shares.logit - other.logit == pytest.approx(
            np.log(logits[TARGET] / logits[TARGET + 1]), abs=1e-4
        )
        return
    scale = max(np.abs(shares.heads[np.isfinite(shares.heads)]).max(), np.abs(logits).max())
    assert abs(shares.logit - logits[TARGET]) <= 1e-5 * scale
    assert np.isfinite(
        shares.mlps
    ).all() and shares.layers.sum() + shares.embedding + shares.biases == pytest.approx(shares.logit)


def normed(term: np.ndarray, stream: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """LN of a term of the stream, with the stream's own deviation."""
    return gain * (term - term.mean(-1, keepdims=True)) / np.sqrt(stream.var(-1, keepdims=True) + 1e-6)


@pytest.mark.parametrize("readout", ["cls", "mean", "deit"])
def test_every_share_is_the_term_through_the_fixed_norm(readout: str) -> None:
    config = replace(DEEP, distilled=True) if readout == "deit" else replace(DEEP, readout=readout)  # type: ignore[arg-type]
    model, records, shares = attributed(config)
    state: dict[str, Any] = {
        name: tensor.double().numpy() for name, tensor in model.model.state_dict().items()
    }
    last, width, prefix = records["blocks.2"][0].astype(np.float64), 8, len(config.prefix_tokens)

    def read(term: np.ndarray) -> float:
        y, weight = normed(term, last, state["norm.weight"]), state["head.weight"][TARGET]
        if readout == "mean":
            return float(y[prefix:].mean(0) @ weight)
        return float(
            y[0] @ weight
            if readout == "cls"
            else (y[0] @ weight + y[1] @ state["head_dist.weight"][TARGET]) / 2
        )

    for layer in range(3):
        name = f"blocks.{layer}"
        outputs, matrix = records[f"{name}.heads"][0], state[f"{name}.attn.proj.weight"]
        for head in range(3):
            part = slice(head * width, (head + 1) * width)
            term = state[f"{name}.ls1.gamma"] * (outputs[:, part] @ matrix[:, part].T)
            assert shares.heads[layer, head] == pytest.approx(read(term), abs=1e-6)
        assert shares.mlps[layer] == pytest.approx(
            read(state[f"{name}.ls2.gamma"] * records[f"{name}.mlp_out"][0]), abs=1e-6
        )
    assert shares.embedding == pytest.approx(read(records["embedded"][0]), abs=1e-6)


def test_a_swins_last_heads_are_read_through_the_mean() -> None:
    model, records, shares = attributed(SWIN)
    name, state = "layers.1.blocks.1", {k: t.double().numpy() for k, t in model.model.state_dict().items()}
    windows = records[f"{name}.attn"][0] @ records[f"{name}.v"][0]
    index, last = records[f"{name}.window_index"], records["layers.1"][0].reshape(-1, 48).astype(np.float64)
    for head in range(6):
        part, outputs = slice(head * 8, (head + 1) * 8), np.zeros((64, 8))
        for window, patches in enumerate(index):
            outputs[patches] = windows[window, head]
        term = outputs @ state[f"{name}.attn.proj.weight"][:, part].T
        y = state["norm.weight"] * (term - term.mean(-1, keepdims=True))
        y /= np.sqrt(last.var(-1, keepdims=True) + 1e-5)
        assert shares.heads[3, head] == pytest.approx(
            float(y.mean(0) @ state["head.fc.weight"][TARGET]), abs=1e-6
        )
    assert np.isnan(shares.heads[0, 3:]).all() and np.isfinite(shares.heads[2]).all()


@pytest.mark.parametrize("name", ["cnn", "conv_attention", "flat_attention", "no_residual"])
def test_a_logit_that_is_no_sum_is_refused_with_a_reason(name: str) -> None:
    model = random_model(MODELS[name], GREY_32)
    with pytest.raises(ValueError, match="sum of shares|no residual stream"):
        attribute(model, Capture({}, np.zeros((1, 10), np.float32), None), 0)


def test_a_model_without_classes_has_no_logit() -> None:
    assert abilities(replace(VIT, num_classes=0)).logit_shares.why_not == REASONS["headless"]
