"""Compare the parts that a view opens with sums computed here, and records of the server with the engine's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.opened_parts import PIN, assert_equal, needs_node, open_parts, open_queries, read_values
from tests.random_models import preset_model
from vitviz.analysis.forward_pass import Journey
from vitviz.checkpoints import open_model
from vitviz.models.loaded_model import LoadedModel
from vitviz.pin import Pin
from vitviz.probe import named_records
from vitviz.probe.capture import capture
from vitviz.probe.forward_pass import record_journey
from vitviz.probe.named_records import MOST_NAMES, read_records

SHIPPED = Path(__file__).parents[2] / "checkpoints"
MODELS = ("digits_vit", "cifar10_deit_soft", "cifar10_hybrid", "cifar10_swin", "cifar10_cnn")
LARGE = ("cifar10_cnn_wide",)  # the browser does not run it

Subject = tuple[LoadedModel, np.ndarray, Journey, dict[str, dict[str, Any]]]


def draw_input(model: LoadedModel) -> np.ndarray:
    size, channels = model.preparation.image_size, model.preparation.in_chans
    coarse = np.random.default_rng(1).normal(size=(channels, 8, 8)).astype(np.float32)
    whole = np.kron(coarse, np.ones((-(-size // 8), -(-size // 8)), np.float32))
    return np.ascontiguousarray(whole[:, :size, :size])


@pytest.fixture(scope="module", params=[*MODELS, *LARGE])
def subject(request: pytest.FixtureRequest) -> Subject:
    model = open_model(SHIPPED / f"{request.param}.safetensors")
    values = draw_input(model)
    return model, values, record_journey(model, values), open_parts(model, values)


def only(opened: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [step for step in opened["steps"] if step["kind"] == kind]


pytestmark = needs_node


@pytest.mark.parametrize("name", MODELS)
def test_a_part_shows_the_same_from_records_of_the_engine_and_of_the_server(name: str) -> None:
    model = open_model(SHIPPED / f"{name}.safetensors")
    values = draw_input(model)
    by_engine, by_server = (open_parts(model, values, engine) for engine in (True, False))
    assert by_engine.keys() == by_server.keys()
    for part, opened in by_engine.items():
        assert_equal(opened, by_server[part])


def test_e_column_by_column_gives_the_models_own_token(subject: Subject) -> None:
    model, values, way, parts = subject
    if "embed" not in parts:
        pytest.skip("a CNN has no E")
    token = read_values(only(parts["embed"], "vector")[0])[0]
    made = capture(model.model, values[None], ("patch_embed",))["patch_embed"][0]
    own = made.reshape(-1, made.shape[-1])[Pin.parse(PIN).cell(way.part("embed").tokens.grid)]
    if (norm := getattr(model.model.get_submodule("patch_embed"), "norm", None)) is not None:  # Swin's
        token_after = norm(torch.tensor(token)).detach().numpy()
        np.testing.assert_allclose(token_after, own, rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_allclose(token, own, rtol=1e-3, atol=1e-4)
    for product in only(parts["embed"], "product"):
        x, column, each = read_values(product)
        np.testing.assert_allclose(each, x * column, rtol=1e-6)
        assert float((x * column).sum()) + product["bias"] == pytest.approx(product["result"], abs=1e-5)
        assert product["result"] == pytest.approx(float(token[product["channel"]]), abs=1e-3)


def test_token_and_position_make_what_enters_the_first_layer(subject: Subject) -> None:
    model, values, _, parts = subject
    if "positions" not in parts:
        pytest.skip("it adds nothing")
    entering = capture(model.model, values[None], ("embedded",))["embedded"][0]
    for opened in open_queries(model, values, [{"part": "positions", "pin": pin} for pin in (PIN, "cls")]):
        total = read_values(only(opened, "sum")[0])[2]
        np.testing.assert_allclose(total, entering[opened["token"]], rtol=1e-4, atol=1e-5)


def test_a_block_recomputes_its_softmax_and_its_sums(subject: Subject) -> None:
    model, values, way, parts = subject
    if "block.1" not in parts:
        pytest.skip("a CNN has no attention")
    queries = [{"part": "block.2", "pin": PIN, "head": head} for head in range(way.heads)]
    for opened in open_queries(model, values, queries):
        block, token = way.part("block.2").content, opened["token"]
        (row,) = only(opened, "softmax")
        product, score, weight = read_values(row).astype(np.float64)
        powers = np.exp(score - score.max())
        np.testing.assert_allclose(powers / powers.sum(), weight, rtol=1e-4, atol=1e-6)
        assert sum(line["weight"] for line in row["rows"]) == pytest.approx(1)
        own = read_values(only(opened, "heads")[0])[opened["head"]]
        np.testing.assert_allclose(own[row["keys"]], weight, rtol=1e-5, atol=1e-7)
        if block.window is None:
            width = block.entering.shape[1] // way.heads
            np.testing.assert_allclose(score, product / width**0.5, rtol=1e-3, atol=1e-4)
        first, second = map(read_values, only(opened, "sum"))
        np.testing.assert_allclose(first[0], block.entering[token], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(first[2], block.stream[0][token], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(second[2], block.stream[1][token], rtol=1e-3, atol=1e-3)


def test_masks_change_what_an_opened_part_shows_as_in_torch() -> None:
    """Four patches masked and two heads zeroed out: attention, stream and class of the engine's records."""
    model = open_model(SHIPPED / "digits_vit.safetensors")
    values, patches, heads = draw_input(model), np.ones(64, np.float32), np.ones((4, 4), np.float32)
    patches[[27, 28, 35, 36]] = heads[0, 1] = heads[1, 3] = 0
    masks = {"tokenMask": patches.tolist(), "headMask": heads.ravel().tolist()}
    queries = [{"part": "block.2", "pin": PIN, "head": 2}, {"part": "classes", "pin": PIN}]
    block, classes = open_queries(model, values, queries, engine=True, masks=masks)
    changes = {"token_mask": torch.tensor(patches) > 0, "head_mask": torch.tensor(heads)}
    kept = capture(model.model, values[None], ("blocks.1.attn", "blocks.1", "logits"), **changes)
    weights = read_values(only(block, "heads")[0])
    np.testing.assert_allclose(weights, kept["blocks.1.attn"][0][:, block["token"]], rtol=0, atol=1e-5)
    assert (weights[:, 1 + np.flatnonzero(patches == 0)] == 0).all()
    stream = read_values(only(block, "sum")[1])[2]
    np.testing.assert_allclose(stream, kept["blocks.1"][0][block["token"]], rtol=0, atol=1e-3)
    shares = torch.softmax(torch.tensor(kept["logits"][0]), 0).numpy()
    rows = only(classes, "softmax")[0]
    np.testing.assert_allclose(read_values(rows)[2], shares[rows["keys"]], rtol=0, atol=1e-4)


def test_merging_reads_the_four_neighbours_below(subject: Subject) -> None:
    model, values, way, parts = subject
    if "merge.2" not in parts:
        pytest.skip("only a Swin merges")
    (quad,) = only(parts["merge.2"], "quad")
    before = capture(model.model, values[None], ("layers.0",))["layers.0"][0]
    row, col = Pin.parse(PIN).row_col(way.part("merge.2").tokens.grid)
    below = [before[2 * row + r, 2 * col + c] for c in (0, 1) for r in (0, 1)]
    np.testing.assert_array_equal(read_values(quad), below)
    merging = model.model.get_submodule("layers.1.downsample")
    out = merging.reduction(merging.norm(torch.tensor(read_values(quad)).reshape(-1))).detach().numpy()
    np.testing.assert_allclose(read_values(parts["merge.2"]["steps"][-1])[0], out, rtol=1e-3, atol=1e-3)


def test_a_convolution_is_its_neighbourhood_times_its_filter(subject: Subject) -> None:
    model, _, way, parts = subject
    if "stem" not in parts:
        pytest.skip("it has no convolutions")
    maps = way.part("stem").content.levels[0].maps
    row, col = Pin.parse(PIN).row_col(maps.shape[1:])
    (product,) = only(parts["stem"], "product")
    if only(parts["stem"], "vector"):
        total, normed, cut = read_values(only(parts["stem"], "vector")[0])[0]
        assert total == pytest.approx(product["sum"], abs=1e-5)
        assert cut == pytest.approx(maps[parts["stem"]["channel"], row, col], abs=1e-3) == max(0, normed)
    else:  # a whitened stem: the convolution and GELU
        made = torch.nn.functional.gelu(torch.tensor(product["sum"])).item()
        assert made == pytest.approx(maps[parts["stem"]["channel"], row, col], abs=1e-3)
    if "stage.1" in parts:
        for name in [part for part in parts if part.startswith("stage")]:
            stage = way.part(name)
            convolution = model.model.get_submodule(f"layers.{int(name[-1]) - 1}.blocks.0.conv1")
            before = way.parts[way.parts.index(stage) - 1].content.levels[-1].maps
            made = convolution(torch.tensor(before)[None])[0].detach().numpy()
            row, col = Pin.parse(PIN).row_col(made.shape[1:])
            wanted = float(made[parts[name]["channel"], row, col])
            assert only(parts[name], "bars")[0]["result"] == pytest.approx(wanted, rel=1e-3, abs=1e-3)


def test_the_heads_products_make_the_winning_score(subject: Subject) -> None:
    model, values, way, parts = subject
    classes = way.part("classes").content
    assert parts["head"]["class"] == int(classes.probabilities.argmax())
    (other,) = open_queries(model, values, [{"part": "head", "pin": PIN, "class": 2}])
    for opened in (parts["head"], other):
        bars = only(opened, "bars")
        assert np.mean([step["result"] for step in bars]) == pytest.approx(
            classes.logits[opened["class"]], abs=1e-3
        )
        for step in bars:
            total = float(read_values(step).sum()) + step["rest"] + step["bias"]
            assert total == pytest.approx(step["result"], abs=1e-4)
    (row,) = only(parts["classes"], "softmax")
    np.testing.assert_allclose(read_values(row)[2], classes.probabilities, rtol=1e-5, atol=1e-7)


def test_pool_and_norm_show_what_is_read(subject: Subject) -> None:
    model, _, way, parts = subject
    if "pool" in parts:
        shown, content = read_values(only(parts["pool"], "maps")[0])[0], way.part("pool").content
        value = float(content.vector[parts["pool"]["channel"]])
        assert (shown.max() if content.how == "max" else shown.mean()) == pytest.approx(value, abs=1e-4)
    if "norm" in parts:
        before, after = read_values(parts["norm"]["steps"][0])
        norm = model.model.get_submodule("norm")
        np.testing.assert_allclose(norm(torch.tensor(before)).detach().numpy(), after, rtol=1e-3, atol=1e-3)


def test_heads_and_classes_that_are_not_there_fall_back(subject: Subject) -> None:
    model, values, _, parts = subject
    absent = {"head": 999, "class": 999, "channel": 99_999}
    for opened in open_queries(model, values, [{"part": part, "pin": PIN, **absent} for part in parts]):
        assert_equal(opened, parts[opened["part"]])


@pytest.mark.parametrize("preset", ["recipe_a", "recipe_d", "recipe_e", "vit_shapes"])
def test_lecture_models_open(preset: str) -> None:
    """Post-norm, slices, first patch as readout, positions from pixels."""
    model = preset_model(preset)
    parts = open_parts(model, draw_input(model))
    assert all(part["steps"] for part in parts.values())
    for step in (step for part in parts.values() for step in only(part, "softmax") if step["of"] == "keys"):
        powers = np.exp(read_values(step)[1] - read_values(step)[1].max())
        np.testing.assert_allclose(powers / powers.sum(), read_values(step)[2], rtol=1e-3, atol=1e-6)
    if preset == "recipe_d":
        assert "second linear map" in parts["positions"]["steps"][0]["title"]


def test_one_patch_has_no_other_position() -> None:
    model = preset_model("vit_shapes", patch_size=32, image_size=32)
    assert "only one position" in open_parts(model, draw_input(model))["positions"]["steps"][1]["numbers"]


def test_independent_classes_open_as_sigmoids_not_as_a_softmax() -> None:
    model = preset_model("vit_shapes", num_classes=3, class_output="sigmoid")
    torch.nn.init.zeros_(model.model.head.weight)
    model.model.head.bias.data = torch.tensor([2.0, 0.0, -2.0])
    (step,) = open_parts(model, draw_input(model))["classes"]["steps"]
    assert step["kind"] == "bars" and step["formula"] == "p = 1 / (1 + exp(−s))"
    assert (step["names"], step["values"]["data"]) == (["0", "2", "1"], [2.0, -2.0, 0.0])
    assert step["numbers"] == "0: s = 2.00, p = 0.881"


@pytest.mark.parametrize(
    ("name", "part", "look", "score"),
    [
        ("vit_digits", "block.1", "softmax(q kᵀ / √16)", "q·k × 0.250,"),
        ("recipe_d", "block.1", "softmax(q kᵀ / √32)", "q·k × 0.177,"),
        ("swin_digits", "block.1", "softmax(q kᵀ / √16 + B) in the window", "q·k × 0.250 + b,"),
        ("swin_digits", "block.2", "softmax(q kᵀ / √16 + B + mask) in the window", "q·k × 0.250 + b + mask,"),
    ],
)
def test_an_opened_block_s_formulas_are_its_own(name: str, part: str, look: str, score: str) -> None:
    model = preset_model(name)
    opened = open_parts(model, draw_input(model))[part]
    assert f"A = {look}" in only(opened, "heads")[0]["formula"]
    assert f"s = {score}" in only(opened, "softmax")[0]["formula"]


def test_records_are_cut_as_numpy_does() -> None:
    model = open_model(SHIPPED / "digits_swin.safetensors")
    values = draw_input(model)
    name = "layers.0.blocks.1"
    whole = capture(model.model, values[None], (f"{name}.attn", f"{name}.window_index"))
    names = (f"{name}.attn[1,:,2]", f"{name}.window_index", "input[:,0:4,5]", "weight:norm.weight[3:]")
    attn, index, pixels, weight = read_records(model, values, names).values()
    np.testing.assert_array_equal(attn, whole[f"{name}.attn"][0][1, :, 2])
    np.testing.assert_array_equal(index, whole[f"{name}.window_index"])
    np.testing.assert_array_equal(pixels, values[:, 0:4, 5])
    np.testing.assert_array_equal(weight, model.swin.norm.weight.detach().numpy()[3:])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "blocks.9",
        "blocks.*",
        "__class__",
        "../x",
        "norm[99999]",
        "norm[1,2,3,4]",
        "norm[,]",
        "norm[a]",
        "weight:x",
    ],
)
def test_a_name_of_no_record_is_refused(name: str) -> None:
    model = open_model(SHIPPED / "digits_vit.safetensors")
    with pytest.raises(ValueError):
        read_records(model, draw_input(model), (name,))


def test_more_names_or_values_than_a_part_needs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(SHIPPED / "digits_vit.safetensors")
    with pytest.raises(ValueError, match=f"at most {MOST_NAMES}"):
        read_records(model, draw_input(model), [f"norm[{i}]" for i in range(MOST_NAMES + 1)])
    monkeypatch.setattr(named_records, "MOST_VALUES", 100)
    with pytest.raises(ValueError, match="at most 100 values"):
        read_records(model, draw_input(model), ("norm",))
