"""Methods side by side, deletion and insertion, the logit lens: against the model and by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest

from vitviz.analysis import logits
from vitviz.analysis.block import BlockForm, add_branch_outputs, list_block_steps, measure_norm_statistics
from vitviz.analysis.explanation_methods import METHODS, method_maps, rollout
from vitviz.analysis.faithfulness import (
    Score,
    area,
    blank_patches,
    create_fill,
    create_schedule,
    describe_scores,
    random_orders,
)
from vitviz.analysis.logits import ReadoutWeights
from vitviz.config import ViTConfig
from vitviz.models.zoo import create_model
from vitviz.probe.capture import capture
from vitviz.text import gained, signed


def _attention(*shape: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).exponential(size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_methods_read_the_row_of_the_readout() -> None:
    attn = _attention(2, 3, 5, 5)
    relevance = np.eye(5) + np.arange(25).reshape(5, 5) / 10
    maps = method_maps(
        attn,
        ("cls",),
        "cls",
        from_layer=1,
        relevance=relevance,
        sensitivity=np.array([9.0, 2, 4, 3, 6]),
        token_relevance=np.array([9.0, 5, -4, 1, 0]),
        input_sums=np.array([1.0, -2, 3, 0]),
    )
    assert list(maps) == list(METHODS)
    np.testing.assert_allclose(maps["raw"], attn[-1].mean(axis=0)[0, 1:])
    np.testing.assert_allclose(maps["rollout"], rollout(attn[1:, None])[0, 0, 1:])
    np.testing.assert_allclose(maps["gradient"], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(maps["legrad"], [0, 0.5, 0.25, 1])  # from the smallest patch to the largest
    np.testing.assert_allclose(maps["attnlrp"], [5, 0, 1, 0])
    np.testing.assert_allclose(maps["input"], [1, 0, 3, 0])  # negative evidence is clipped


def test_a_mean_readout_averages_the_query_rows() -> None:
    attn = _attention(1, 2, 4, 4)
    relevance = np.eye(4) + 0.1
    maps = method_maps(attn, (), "mean", relevance=relevance)
    np.testing.assert_allclose(maps["raw"], attn[0].mean(axis=0).mean(axis=0))
    np.testing.assert_allclose(maps["gradient"], [0.1] * 4)  # R's identity says nothing of the patches
    assert "input" not in maps


def test_signs_are_written_as_such() -> None:
    assert [signed(v) for v in (0.126, -0.126, -0.001)] == ["0.13", "−0.13", "0.00"]
    assert [gained(v) for v in (0.16, -0.16, 0.04, -0.04)] == ["+0.2", "−0.2", "0.0", "0.0"]


def test_patches_go_in_the_order_of_the_map() -> None:
    plan = create_schedule(np.array([0.1, 0.9, 0.5, 0.5]), 4)
    assert plan.deletion.tolist() == [
        [True, True, True, True],
        [True, False, True, True],
        [True, False, False, True],
        [True, False, False, False],
        [False, False, False, False],
    ]
    assert (plan.insertion == ~plan.deletion).all()
    np.testing.assert_allclose(plan.fraction, [0, 0.25, 0.5, 0.75, 1])


def test_blanked_patches_are_the_mean_colour_and_no_other_pixel_changes() -> None:
    image = np.random.default_rng(0).normal(size=(3, 4, 6)).astype(np.float32)
    shown = np.array([[True] * 6, [True, True, False, True, True, True]])
    copies = blank_patches(image, shown, (2, 3))
    np.testing.assert_array_equal(copies[0], image)
    assert (copies[1][:, :2, 4:6] == 0).all()
    expected = image.copy()
    expected[:, :2, 4:6] = 0
    np.testing.assert_array_equal(copies[1], expected)


def test_patches_are_replaced_by_the_mean_patch_or_by_a_blur() -> None:
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
    shown = np.array([[True, False, True, True]])
    mean = blank_patches(image, shown, (2, 2), "patch")[0, 0]
    assert mean[:2, 2:].tolist() == [[5, 6], [9, 10]]  # of 0, 2, 8 and 10, and so on
    mean[:2, 2:] = image[0, :2, 2:]
    np.testing.assert_array_equal(mean, image[0])
    blurred = create_fill(image, (2, 2), "blur")[0]
    at = np.arange(-8, 9)
    weights = np.exp(-(at**2) / 8)  # the deviation is a patch's side, 2 px; the edges are continued
    rows = weights @ image[0].astype(float)[at.clip(0, 3) % 4] / weights.sum()
    assert blurred[0, 0] == pytest.approx(weights @ rows[at.clip(0, 3)] / weights.sum(), rel=1e-5)
    with pytest.raises(ValueError, match="fill must be one of colour, patch, blur"):
        blank_patches(image, shown, (2, 2), "noise")


def test_areas_and_the_words_about_them() -> None:
    fraction = np.linspace(0, 1, 5)
    assert area(fraction, np.full(5, 0.3)) == pytest.approx(0.3)
    assert area(fraction, 1 - fraction) == pytest.approx(0.5)
    noise = [Score("One random order", 0.5, insertion) for insertion in (0.42, 0.52)]
    good, poor = Score("Rollout", 0.2, 0.8), Score("Raw attention", 0.4, 0.6)
    assert "rollout explains the prediction best" in describe_scores([poor, good], noise)
    assert re.search(r"0\.60.* 0\.02 .*2 random", describe_scores([poor, good], noise))
    lucky = [*noise, Score("One random order", 0.3, 0.55)]
    assert re.search(r"0\.20 .*0\.25 .*3 random", describe_scores([poor], lucky))
    unlucky = [*noise, Score("One random order", 0.6, 0.2)]  # far from the mean, on the other side
    assert "raw attention explains" in describe_scores([poor], unlucky)
    assert Score("Rollout", 0.7461, 0.3149).gap == pytest.approx(0.31 - 0.75)  # as the table shows all three


def test_random_orders_are_orders_and_the_same_every_time() -> None:
    orders = random_orders(9, 3)
    assert orders.shape == (3, 9)
    assert all(len(set(order)) == 9 for order in orders)
    np.testing.assert_array_equal(orders, random_orders(9, 3))
    raster = tuple(range(9))
    assert len({raster, raster[::-1], *map(tuple, orders.argsort(axis=1).tolist())}) == 2 + 3


CLS = ViTConfig(image_size=8, patch_size=4, in_chans=1, embed_dim=12, depth=3, num_heads=3, num_classes=5)
CONFIGS = {
    "cls": CLS,
    "distilled": replace(CLS, distilled=True),
    "mean": replace(CLS, readout="mean"),
    "post": replace(CLS, norm="post", readout="first_patch"),
}


def test_a_model_without_a_second_head_says_so() -> None:
    weights = ReadoutWeights(None, None, 1e-6, np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="no distillation head"):
        logits.lens_of_token(np.zeros((1, 2)), weights, "dist")
    np.testing.assert_allclose(logits.lens_of_token(np.zeros((1, 2)), weights), [[0.5, 0.5]])


def test_from_which_layer_the_answer_stands() -> None:
    rows = np.eye(3)[[1, 2, 0, 2, 2]]
    assert logits.settling_layer(rows) == 3
    assert logits.settling_layer(np.eye(3)[[1, 1]]) == 0


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("cls", {}, "q = W_q y + b_q, k = W_k y + b_k, v = W_v y + b_v"),
        ("post", {}, "q = W_q y + b_q, k = W_k y + b_k, v = W_v y + b_v"),
        ("cls", {"layer_scale": 0.3}, "q = W_q y + b_q, k = W_k y + b_k, v = W_v y + b_v"),
        ("post", {"layer_scale": 0.3, "qkv_bias": False}, "q = W_q y, k = W_k y, v = W_v y"),
        (
            "cls",
            {"output_projection": False, "head_input": "slice", "qkv_bias": False},
            "q = W_q y_h, k = W_k y_h, v = W_v y_h; y_h: this head's slice of y",
        ),
    ],
)
def test_the_blocks_steps_add_up(name: str, changes: dict[str, object], words: str) -> None:
    config = replace(CONFIGS[name], **changes)  # type: ignore[arg-type]
    model = create_model(config, seed=1).eval().requires_grad_(False)
    images = np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)
    found = capture(model, images, record=("blocks.1.*", "blocks.1"))
    record = {key.removeprefix("blocks.1."): value[0] for key, value in found.arrays.items()}
    record["output"] = found["blocks.1"][0]
    gain = config.layer_scale or 1.0  # as it starts
    form = BlockForm(
        0.5,
        pre_norm=config.norm == "pre",
        qkv_bias=config.qkv_bias,
        slices=config.head_input == "slice",
        projects=config.output_projection,
        layer_scale=config.layer_scale is not None,
    )
    steps = list_block_steps(
        add_branch_outputs(record, gain, gain), token=1, head=2, form=form, name="token {}".format
    )
    values = {step.title: step.values for step in steps}
    x = steps[0].values[0]
    sums = [step for step in steps if step.title == "Residual sum"]
    # What is added: projected, scaled, or the heads themselves.
    before = steps[steps.index(sums[0]) - 1].values[0]
    np.testing.assert_allclose(sums[0].values[0], x + before, atol=1e-6)
    assert ("Output projection" in values) == config.output_projection
    assert words in [step.formula for step in steps]
    np.testing.assert_allclose(steps[-1].values[0], record["output"][1], atol=1e-6)
    weighted = record["attn"][2, 1] @ record["v"][2]
    np.testing.assert_allclose(values["Weighted sum of the values, head 3"][0], weighted, rtol=1e-5)
    (mixed,) = [step for step in steps if step.title.startswith("Weighted sum")]
    longest = np.linalg.norm(record["v"][2], axis=-1).max()
    assert f"|v| = {longest:.2f}" in mixed.numbers
    np.testing.assert_allclose(values["Concatenation of all heads"][0, 8:], weighted, rtol=1e-4, atol=1e-6)
    scores = record["q"][2, 1] @ record["k"][2].T * 0.5
    np.testing.assert_allclose(values["Scores with every key"][0], scores, rtol=1e-4, atol=1e-6)
    assert values["Softmax"].sum(axis=-1) == pytest.approx([1, 1])


def test_what_the_two_norms_average_over() -> None:
    tokens = np.arange(12.0).reshape(3, 4)
    found = measure_norm_statistics(tokens, token=1, channel=2)
    assert (found.token_mean, found.channel_mean) == (5.5, 6.0)
    assert found.token_std == pytest.approx(np.std([4, 5, 6, 7]))
    assert found.channel_std == pytest.approx(np.std([2, 6, 10]))
