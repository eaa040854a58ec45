"""The block page: the steps of a token and of the prediction."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import body, unpack
from tests.pages.conftest import OpenApp
from tests.pages.test_attention import MODELS

PAGE = "pages/lenses/block/page.py"


def read_view(app, name):
    """Return header and arrays of a view by its key."""
    (node,) = [one for one in app.main.get("bidi_component") if one.proto.id.endswith(name)]
    return unpack(body(node.proto.bytes))


def test_query_key_and_value_are_explained(open_app: OpenApp) -> None:
    header, _ = read_view(open_app(PAGE, model="preset:vit_digits", image="digits:0"), "block.flow")
    (qkv,) = [step for step in header["steps"] if step["labels"] == ["q", "k", "v"]]
    assert all(word in qkv["meaning"] for word in ("query", "key", "value"))


@pytest.mark.parametrize("model", ["vit_digits", "deit_digits", "recipe_c", "recipe_d", "hybrid_cifar10"])
def test_the_last_block_ends_with_the_prediction(open_app: OpenApp, model: str) -> None:
    early = open_app(PAGE, model=f"preset:{model}", image="digits:0")
    assert not [one for one in early.main.get("bidi_component") if one.proto.id.endswith("block.answer")]
    early.button(key="block.last").click().run()
    header, arrays = read_view(early, "block.answer")
    count = len(header["steps"])
    chances = arrays[f"s{count - 1}"][0]
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    logits = arrays[f"s{count - 2}"][0]
    np.testing.assert_allclose(np.exp(logits) / np.exp(logits).sum(), chances, atol=1e-5)
    winner = header["steps"][-1]["names"][int(np.argmax(logits))]
    (caption,) = [text.value for text in early.main.caption if "classifier head reads" in text.value]
    assert f"**{winner}**" in caption and f"{100 * chances.max():.1f}" in caption


@pytest.mark.parametrize("model", [m for m in MODELS if "swin" not in m])
def test_the_block_page_walks_through_every_kind_of_vit(open_app: OpenApp, model: str) -> None:
    app = open_app(PAGE, model=model, image="digits:0", pin="cls")
    header, arrays = read_view(app, "block.flow")
    titles = [step["title"] for step in header["steps"]]
    projects = "Output projection" in titles
    assert titles[0] == "Block input" and len(titles) == 12 + projects
    assert projects == (model != "preset:recipe_c")
    # Every sum is the stream plus the branch before it.
    steps = {i: arrays[f"s{i}"] for i in range(len(titles))}
    total = titles.index("Residual sum")
    branch = titles.index("Output projection" if projects else "Concatenation of all heads")
    np.testing.assert_allclose(steps[total], steps[0] + steps[branch], atol=1e-5)
