"""Inside one block: what a query is for, and where the class comes from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import body, unpack
from tests.pages.conftest import OpenApp
from tests.pages.test_attention import MODELS

PAGE = "pages/lenses/block/page.py"


def told(app, name):
    """Header and arrays of a view by its key."""
    (node,) = [one for one in app.main.get("bidi_component") if one.proto.id.endswith(name)]
    return unpack(body(node.proto.bytes))


def test_what_they_are_for_stands_before_the_numbers(open_app: OpenApp) -> None:
    header, _ = told(open_app(PAGE, model="preset:vit_digits", image="digits:0"), "block.flow")
    (qkv,) = [step for step in header["steps"] if step["title"].startswith("Query, key and value")]
    assert all(word in qkv["meaning"] for word in ("question", "offer", "message"))


@pytest.mark.parametrize("model", ["vit_digits", "deit_digits", "recipe_c", "recipe_d", "hybrid_cifar10"])
def test_the_last_block_ends_with_the_answer(open_app: OpenApp, model: str) -> None:
    early = open_app(PAGE, model=f"preset:{model}", image="digits:0")
    assert not [one for one in early.main.get("bidi_component") if one.proto.id.endswith("block.answer")]
    early.button(key="block.last").click().run()
    header, arrays = told(early, "block.answer")
    titles = [step["title"] for step in header["steps"]]
    assert titles[-2:] == ["Logits, one a class", "Softmax over the classes"]
    chances = arrays[f"s{len(titles) - 1}"][0]
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    logits = arrays[f"s{len(titles) - 2}"][0]
    winner = header["steps"][-1]["names"][int(np.argmax(logits))]
    (said,) = [text.value for text in early.main.caption if "The head reads" in text.value]
    assert f"**{winner}** wins with the logit" in said and f"{100 * chances.max():.1f}" in said


@pytest.mark.parametrize("model", [m for m in MODELS if "swin" not in m])
def test_the_block_page_walks_through_every_kind_of_vit(open_app: OpenApp, model: str) -> None:
    app = open_app(PAGE, model=model, image="digits:0", pin="cls")
    header, arrays = told(app, "block.flow")
    titles = [step["title"] for step in header["steps"]]
    projects = "Output projection" in titles
    assert titles[0] == "Into the block" and len(titles) == 12 + projects
    assert projects == (model != "preset:recipe_c")
    # Every sum is the stream plus the branch before it.
    steps = {i: arrays[f"s{i}"] for i in range(len(titles))}
    total = titles.index("Residual sum")
    branch = titles.index("Output projection" if projects else "All heads, one after the other")
    np.testing.assert_allclose(steps[total], steps[0] + steps[branch], atol=1e-5)
