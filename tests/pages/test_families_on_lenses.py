"""Every family of opened checkpoints on every lens: it works, or the page says in a sentence why not.

The table is `families_on_lenses.json`; VITVIZ_WRITE_TABLE=1 writes it anew.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import own_weights, registry
from tests.opened_parts import open_parts
from tests.pages.conftest import OpenApp
from tests.random_models import random_model
from tests.rows import rows
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.formats.uploaded_weights import TemporaryFolder
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import capture
from vitviz.probe.forward_pass import record_journey
from vitviz.text import FOREIGN

TABLE = Path(__file__).with_name("families_on_lenses.json")
WORKS = "works"
SUBSTITUTED = re.compile(r" [^.]+ is shown instead\.$")
VIT = ViTConfig(image_size=32, patch_size=8, num_classes=4, embed_dim=16, depth=2, num_heads=2)
SWIN = SwinConfig(image_size=32, patch_size=2, num_classes=4, embed_dim=16, depths=(2, 2), num_heads=(2, 4))
ALWAYS = ("timm ViT", "transformers DINOv2 with registers", "torchvision or transformers Swin")
HEADLESS = replace(VIT, num_classes=0)
FAMILIES: dict[str, ModelConfig] = {
    "timm ViT": VIT,
    "timm ViT, QK-norm, LayerScale, registers": replace(VIT, qk_norm=True, layer_scale=0.1, num_registers=2),
    "timm ViT, average pool, no [CLS]": replace(VIT, readout="mean", final_norm=False, pooled_norm=True),
    "timm ViT, average pool beside [CLS]": replace(VIT, readout="mean", unread_cls=True),
    "timm ViT, SwiGLU": replace(VIT, gated_mlp=True, activation="silu"),
    "timm DeiT, distilled": replace(VIT, distilled=True),
    "transformers DeiT": replace(VIT, distilled=True, dist_head=False),
    "transformers DINOv2 with a classifier": replace(VIT, readout="cls_mean", layer_scale=0.1),
    "transformers DINOv2 with registers": replace(
        HEADLESS, num_registers=4, position_on_prefix=False, layer_scale=0.1
    ),
    "transformers DINOv3 ViT": replace(
        HEADLESS, positions="rotary", num_registers=4, layer_scale=0.1, gated_mlp=True
    ),
    "transformers or open_clip CLIP": replace(
        HEADLESS, embed_norm=True, embed_bias=False, projection=8, activation="quick_gelu"
    ),
    "torchvision ViT": VIT,
    "vit-pytorch ViT": replace(VIT, patch_norms=True, head_dim=16, qkv_bias=False),
    "timm ViT, 56 × 40 px": replace(VIT, image_size=(56, 40), patch_size=4, num_registers=1),
    "timm Swin": replace(SWIN, convention="timm"),
    "torchvision or transformers Swin": SWIN,
}
PAGES = [page for page in registry.PAGES if page.path.startswith("pages/lenses/") or page.slug == "home"]
VIEWS = {
    "attention": ("look", "matrix", "compare", "depth", "methods", "truth", "shares", "ablate"),
    "positions": ("similarity", "rotary"),
    "swin": ("attention", "bias", "merge"),
    "two_images": ("match", "colours", "patching", "uses"),
}


def opened(family: str) -> LoadedModel:
    config = FAMILIES[family]
    classes = tuple("abcd"[: config.num_classes])
    return random_model(config, classes=classes, title=f"Mine: {family}", trained_on="images", digest=family)


def add(family: str) -> str:
    """The same as a user's own."""
    model = opened(family)
    return f"weights:{own_weights.STORE.add(own_weights.OpenedModel(model, 1, TemporaryFolder()), 'me')}"


def outcome(app: AppTest, family: str) -> str:
    """'works', or why not, as the page says it."""
    main = [element.value for kind in ("info", "warning", "error") for element in getattr(app.main, kind)]
    main += [
        SUBSTITUTED.sub("", text.value) for text in app.sidebar.caption if SUBSTITUTED.search(text.value)
    ]
    sentence = " ".join(main).replace(FOREIGN, "").replace("\\", "").replace(f"Mine: {family}", "This model")
    return sentence or WORKS


def measure(open_app: OpenApp, family: str) -> dict[str, str]:
    key = add(family)
    row = {}
    for page in PAGES:
        for view in VIEWS.get(page.slug, ("",)):
            more = {f"{page.slug}__view": view} if view else {}
            app = open_app(page.path, model=key, image="sample:cat", **more)
            row[f"{page.slug}, {view}" if view else page.slug] = outcome(app, family)
    return row


@pytest.mark.parametrize("family", rows(FAMILIES, lambda family: family in ALWAYS))
def test_a_family_works_on_a_lens_or_the_lens_says_why_not(open_app: OpenApp, family: str) -> None:
    measured = measure(open_app, family)
    if os.environ.get("VITVIZ_WRITE_TABLE"):
        table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        TABLE.write_text(json.dumps(table | {family: measured}, indent=1, ensure_ascii=False) + "\n")
    assert measured == json.loads(TABLE.read_text())[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_part_of_the_map_opens_and_its_numbers_are_the_models(family: str) -> None:
    model = opened(family)
    values = np.random.default_rng(2).normal(size=(3, *model.config.image_shape)).astype(np.float32)
    journey = record_journey(model, values)
    if model.config.num_classes:  # the map shows only models with classes
        parts = open_parts(model, values)
        assert len(parts) > 4 and all(part["steps"] for part in parts.values())
    head = journey.part("head")
    if head is not None and not (isinstance(model.config, ViTConfig) and model.config.two_heads):
        own = capture(model.model, values[None], ["logits"]).logits[0]
        state = model.model.state_dict()
        biases = state.get("head.fc.bias", state.get("head.bias")).numpy()
        np.testing.assert_allclose(head.content.weights[0] @ head.content.vectors[0] + biases, own, atol=1e-5)
