"""Every image model of four libraries opens with equal numbers or is refused: 0 are wrong."""

from __future__ import annotations

from collections import Counter

import pytest
from library_sweep import check, list_open_clip, list_torchvision, list_transformers, list_vit_pytorch

OPEN = (
    "SiglipForImageClassification",
    "Swinv2ForImageClassification",
    "vit.ViT",
    "simple_vit.SimpleViT",
    "torchvision/vit_b_16",
    "open_clip/ViT-S-32",
)
REFUSED = {
    "open_clip/ViT-H-14-CLIPA": "pool_type 'avg'",
    "Aimv2VisionModel": "this is an AIMv2 in transformers' names: its head pools by the attention of [CLS] without",
    "Siglip2VisionModel": "this is a SigLIP 2 of any image shape (NaFlex): ",
    "CLIPForImageClassification": "CLIP with a classifier is not supported",
    "ImageGPTForImageClassification": "this is a language model, or an image model with its blocks or words (",
    "simple_vit_with_sparse_gating.SimpleViTWithSparseGating": "the file has no blocks.0.attn.qkv.weight (timm's name)",
    "deepvit.DeepViT": "a vit-pytorch ViT was recognised: 2 of its 2 blocks fit, but mlp_head.0.bias of shape (32,)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN)
def test_a_model_opens_with_equal_numbers(name: str) -> None:
    result = check(name)
    assert (result.outcome, result.why) == ("opens", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_model_is_refused_with_its_reason(name: str) -> None:
    result = check(name)
    assert result.outcome == "refused" and REFUSED[name] in result.why


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_models_open_or_are_refused() -> None:
    for names in (list_transformers(), list_torchvision(), list_open_clip(), list_vit_pytorch()):
        results = [check(name) for name in names]
        for result in results:
            print(f"{result.outcome:12} {result.name:45} {result.why}")
        counts = Counter(result.outcome for result in results)
        print(dict(counts))
        assert counts["wrong"] == 0
