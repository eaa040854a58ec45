"""What the lesson says stands beside computed numbers: the guide, the years, the first table, the block's parts."""

from __future__ import annotations

import re

import numpy as np

from tests.messages import message
from tests.pages.conftest import OpenApp
from vitviz.config import ViTConfig
from vitviz.models import model_cost
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model


def test_the_years_stand_beside_the_papers(open_app: OpenApp) -> None:
    app = open_app("pages/which_model/page.py", which_model__view="papers")
    (papers,) = [node.value for node in app.main.markdown if "**1998** CNNs" in node.value]
    assert "arxiv.org/abs/1810.04805" in papers


def test_the_first_lectures_table_is_shown(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/positions/page.py", positions__view="lecture", positions__case="first")
    _, arrays = message(app, "positions.first")
    assert arrays["values"].shape == (4, 50)
    (printed,) = [node.value for node in app.main.markdown if "| i0 |" in node.value]
    assert "| i2 | 0.000 | 0.638 | 0.983 | 0.875 |" in printed


def test_the_mlp_holds_two_thirds_of_a_block(open_app: OpenApp) -> None:
    config = PRESETS["vit_tiny_16"].config
    assert isinstance(config, ViTConfig)
    counts, model = model_cost.block_parameters(config), create_model(config)
    block = [(name, p.numel()) for name, p in model.named_parameters() if name.startswith("blocks.3.")]
    assert sum(counts.values()) == sum(size for _, size in block)
    assert counts[model_cost.MLP] == sum(size for name, size in block if ".mlp." in name)
    app = open_app("pages/lenses/block/page.py", model="preset:vit_digits", image="digits:0")
    bars = message(app, "block.parameters")[1]["now"]
    assert float(np.sum(bars)) == 1.0
    assert any(re.search(r"holds 50\s% of a block", note.value) for note in app.main.caption)
