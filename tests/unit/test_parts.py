"""Compare opened parts with sums computed here, and reject invalid requests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.messages import unpack
from vitviz.analysis.forward_pass import Journey
from vitviz.analysis.opened_part import OpenedPart, Operation, PartRequest
from vitviz.checkpoints import open_model
from vitviz.config import Preparation
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.pin import Pin
from vitviz.plots.model_map import add_part_session, is_openable, pack_part
from vitviz.probe.capture import capture
from vitviz.probe.forward_pass import record_journey
from vitviz.probe.map_part import open_part

SHIPPED = Path(__file__).parents[2] / "checkpoints"
MODELS = ("digits_vit", "cifar10_deit_soft", "cifar10_hybrid", "cifar10_swin", "cifar10_cnn", "digits_cnn")
PIN = Pin((0.3, 0.7))


def prepared(model: LoadedModel) -> tuple[np.ndarray, Journey]:
    size, channels = model.preparation.image_size, model.preparation.in_chans
    coarse = np.random.default_rng(1).normal(size=(channels, 8, 8)).astype(np.float32)
    values = np.ascontiguousarray(np.kron(coarse, np.ones((size // 8, size // 8), np.float32)))
    return values, record_journey(model, values)


@pytest.fixture(scope="module", params=MODELS)
def subject(request: pytest.FixtureRequest) -> tuple[LoadedModel, np.ndarray, Journey]:
    model = open_model(SHIPPED / f"{request.param}.safetensors")
    return model, *prepared(model)


def answer(subject: tuple[LoadedModel, np.ndarray, Journey], part: str, **asked: object) -> OpenedPart:
    found = open_part(*subject, PartRequest(part, asked.pop("pin", PIN), **asked))  # type: ignore[arg-type]
    assert found is not None
    return found


def only(found: OpenedPart, kind: str) -> list[Operation]:
    return [operation for operation in found.operations if operation.kind == kind]


def test_every_part_that_says_so_opens_and_travels(subject) -> None:
    for part in subject[2].parts:
        if not is_openable(part):
            assert open_part(*subject, PartRequest(part.id, PIN)) is None
            continue
        found = answer(subject, part.id)
        link = {"slug": "block", "label": "x", "href": "block?y"}
        message = add_part_session(pack_part(found), "Title", link, "home.map")
        header, arrays = unpack(message)
        assert (header["title"], header["link"], header["map"]) == ("Title", link, "home.map")
        assert len(message) < 150_000 and header["part"] == part.id and header["steps"]
        for step in (*header["steps"], *header["tables"]):
            assert np.isfinite(arrays[step["array"]]).all()
        for table in header["tables"]:
            rows, columns = arrays[table["array"]].shape
            assert columns == len(table["columns"]) and 0 < rows <= 800
            assert table["rows"] is None or len(table["rows"]) == rows


def test_e_row_by_row_gives_the_models_own_token(subject) -> None:
    model, values, way = subject
    part = way.part("embed")
    if part is None:
        pytest.skip("a CNN has no E")
    found = answer(subject, "embed")
    cell = PIN.cell(part.tokens.grid)
    token = only(found, "vector")[0].values[0]
    made = capture(model.model, values[None], ("patch_embed",))["patch_embed"][0]
    own = made.reshape(-1, made.shape[-1])[cell]
    shown = only(found, "vector")[1].values[1] if len(only(found, "vector")) > 1 else token
    np.testing.assert_allclose(shown, own, rtol=1e-3, atol=1e-4)
    if len(only(found, "vector")) > 1:  # Swin's is followed by a LayerNorm
        norm = model.model.get_submodule("patch_embed.norm")
        np.testing.assert_allclose(norm(torch.tensor(token)).detach().numpy(), own, rtol=1e-3, atol=1e-3)
    products = only(found, "product") or only(found, "bars")
    assert len(products) == 3
    assert products[0].facts["result"] == pytest.approx(float(token[found.channel]), abs=1e-3)
    for product in only(found, "product"):
        assert product.facts["result"] == pytest.approx(float(token[product.facts["channel"]]), abs=1e-3)
    for product in only(found, "product"):
        x, row, each = product.values
        np.testing.assert_allclose(each, x * row, rtol=1e-6)
        assert product.facts["sum"] == pytest.approx(float((x * row).sum()), abs=1e-5)
        assert product.facts["sum"] + product.facts["bias"] == pytest.approx(product.facts["result"])


def test_another_row_of_e_can_be_asked_for_and_none_that_is_not_there(subject) -> None:
    if subject[2].part("embed") is None:
        pytest.skip("a CNN has no E")
    assert answer(subject, "embed", channel=5).channel == 5
    assert answer(subject, "embed", channel=99_999).channel == answer(subject, "embed").channel


def test_token_and_position_make_what_enters_the_first_layer(subject) -> None:
    model, values, way = subject
    if way.part("positions") is None:
        pytest.skip("it adds nothing")
    for pin in (PIN, Pin(None, "cls")):
        found = answer(subject, "positions", pin=pin)
        entering = capture(model.model, values[None], ("embedded",))["embedded"][0][found.token]
        np.testing.assert_allclose(only(found, "sum")[0].values[2], entering, rtol=1e-4, atol=1e-5)


def test_a_block_recomputes_its_softmax_and_its_sums(subject) -> None:
    _, _, way = subject
    blocks = [part for part in way.parts if part.id.startswith("block")]
    if not blocks:
        pytest.skip("a CNN has no attention")
    for part in (blocks[0], blocks[-1]):
        token = way.part(part.id).content
        for head in range(token.heads):
            found = answer(subject, part.id, head=head)
            (row,) = only(found, "softmax")
            product, score, weight = row.values.astype(np.float64)
            powers = np.exp(score - score.max())
            np.testing.assert_allclose(powers / powers.sum(), weight, rtol=1e-4, atol=1e-6)
            assert row.facts["total"] == pytest.approx(powers.sum(), rel=1e-5)
            assert sum(line["weight"] for line in row.facts["rows"]) == pytest.approx(1)
            (look,) = only(found, "heads")
            own = look.values[head]
            np.testing.assert_allclose(own[row.facts["keys"]], weight, rtol=1e-5, atol=1e-7)
            assert own.sum() == pytest.approx(1, abs=1e-4) and found.head == head
            if token.window is None:
                width = way.dims["D"] // token.heads
                np.testing.assert_allclose(score, product / width**0.5, rtol=1e-3, atol=1e-4)
        first, second = only(found, "sum")
        np.testing.assert_allclose(first.values[0], token.entering[found.token], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(first.values[2], token.stream[0][found.token], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(second.values[2], token.stream[1][found.token], rtol=1e-3, atol=1e-3)
        for operation in (first, second):
            a, b, total = operation.values
            assert operation.facts["lengths"] == pytest.approx(
                [float(np.linalg.norm(x)) for x in (a, b, total)], rel=1e-4
            )
            wanted = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
            assert operation.facts["cosine"] == pytest.approx(wanted, abs=1e-4)


def test_merging_reads_the_four_neighbours_below(subject) -> None:
    model, values, way = subject
    if way.part("merge.2") is None:
        pytest.skip("only a Swin merges")
    found = answer(subject, "merge.2")
    (quad,) = only(found, "quad")
    before = capture(model.model, values[None], ("layers.0",))["layers.0"][0]
    flat = before.reshape(-1, before.shape[-1])
    np.testing.assert_array_equal(quad.values, flat[quad.facts["cells"]])
    row, col = PIN.row_col(way.part("merge.2").tokens.grid)
    places = {divmod(cell, before.shape[1]) for cell in quad.facts["cells"]}
    assert places == {(2 * row + r, 2 * col + c) for r in (0, 1) for c in (0, 1)}
    merging = model.model.get_submodule("layers.1.downsample")
    ordered = torch.tensor(quad.values).reshape(-1)
    out = merging.reduction(merging.norm(ordered)).detach().numpy()
    np.testing.assert_allclose(found.operations[-1].values[0], out, rtol=1e-3, atol=1e-3)


def test_a_convolution_is_its_neighbourhood_times_its_filter(subject) -> None:
    model, values, way = subject
    stem = way.part("stem")
    if stem is None:
        pytest.skip("it has no convolutions")
    found = answer(subject, "stem")
    maps = stem.content.levels[0].maps
    row, col = PIN.row_col(maps.shape[1:])
    sum_of, normed, cut = found.operations[1].values[0]
    assert sum_of == pytest.approx(only(found, "product")[0].facts["sum"], abs=1e-5)
    assert cut == pytest.approx(maps[found.channel, row, col], abs=1e-3) == max(0, normed)
    stage = next((part for part in way.parts if part.id.startswith("stage")), None)
    if stage is not None:
        opened = answer(subject, stage.id)
        block = model.model.get_submodule(f"layers.{int(stage.id[-1]) - 1}.blocks.0")
        before = way.parts[way.parts.index(stage) - 1].content.levels[-1].maps
        made = block.conv1(torch.tensor(before)[None])[0].detach().numpy()
        row, col = PIN.row_col(made.shape[1:])
        result = only(opened, "bars")[0].facts["result"]
        assert result == pytest.approx(float(made[opened.channel, row, col]), rel=1e-3, abs=1e-3)


def test_the_heads_products_make_the_winning_score(subject) -> None:
    _, _, way = subject
    classes = way.part("classes").content
    found = answer(subject, "head")
    assert found.chosen_class == int(classes.probabilities.argmax())
    scores = [operation.facts["result"] for operation in only(found, "bars")]
    assert np.mean(scores) == pytest.approx(float(classes.logits[found.chosen_class]), abs=1e-3)
    for operation in only(found, "bars"):
        facts = operation.facts
        total = float(operation.values.sum()) + facts["rest"] + facts["bias"]
        assert total == pytest.approx(facts["result"], abs=1e-4)
    other = answer(subject, "head", chosen_class=2)
    wanted = [operation.facts["result"] for operation in only(other, "bars")]
    assert np.mean(wanted) == pytest.approx(float(classes.logits[2]), abs=1e-3)
    (row,) = only(answer(subject, "classes"), "softmax")
    np.testing.assert_allclose(row.values[2], classes.probabilities, rtol=1e-6)


def test_pool_and_norm_show_what_is_read(subject) -> None:
    _, _, way = subject
    if way.part("pool") is not None:
        found = answer(subject, "pool")
        one, how = only(found, "maps")[0].values[0], way.part("pool").content.how
        value = way.part("pool").content.vector[found.channel]
        assert (one.max() if how == "max" else one.mean()) == pytest.approx(float(value), abs=1e-4)
    if way.part("norm") is not None:
        found = answer(subject, "norm")
        before, after = found.operations[0].values
        norm = subject[0].model.get_submodule("norm")
        np.testing.assert_allclose(norm(torch.tensor(before)).detach().numpy(), after, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "preset", sorted(name for name, entry in PRESETS.items() if entry.config.image_size <= 64)
)
def test_every_shape_opens(preset: str) -> None:
    """Post-norm, slices, first patch as readout, positions from pixels: the lecture's models have it all."""
    entry = PRESETS[preset]
    classes = tuple(str(i) for i in range(entry.config.num_classes))
    made = create_model(entry.config, seed=0)
    model = LoadedModel(made, entry.config, entry.preparation, classes, entry.title, None, 0, "x")
    size = entry.preparation.image_size
    values = np.random.default_rng(2).normal(size=(entry.preparation.in_chans, size, size)).astype(np.float32)
    way = record_journey(model, values)
    for part in way.parts:
        if is_openable(part):
            found = open_part(model, values, way, PartRequest(part.id, PIN))
            assert found is not None and len(pack_part(found)) > 0, part.id
            for operation in found.operations:
                if operation.kind == "softmax" and operation.facts["of"] == "keys":
                    powers = np.exp(operation.values[1] - operation.values[1].max())
                    np.testing.assert_allclose(
                        powers / powers.sum(), operation.values[2], rtol=1e-3, atol=1e-6
                    )


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "block.1",
        "[]",
        "{",
        "[" * 200,
        '{"part": 3}',
        '{"part": "block.1", "head": "x"}',
        '{"part": "block.1", "head": -1}',
        '{"part": "block.1", "head": true}',
        '{"part": "block.1", "head": 1e9}',
        '{"part": "block.1", "class": 10000000}',
        '{"part": "block.1", "token": "nan,nan"}',
        '{"part": "block.1", "token": ["0.5", "0.5"]}',
        '{"part": "' + "x" * 300 + '"}',
    ],
)
def test_what_no_view_asks_is_ignored(text: object) -> None:
    assert PartRequest.parse(text, PIN) is None


def test_what_a_view_asks_is_read() -> None:
    asked = PartRequest.parse('{"part":"block.2","head":1,"class":3,"channel":5,"token":"0.5,0.25"}', PIN)
    assert asked == PartRequest("block.2", Pin((0.5, 0.25)), 1, 3, 5)
    assert PartRequest.parse('{"part":"head","token":"cls","more":[]}', PIN) == PartRequest(
        "head", Pin(None, "cls")
    )
    assert PartRequest.parse('{"part":"head"}', PIN) == PartRequest("head", PIN)


@pytest.mark.parametrize(
    "asked",
    [
        PartRequest("block.99", PIN),
        PartRequest("../../etc/passwd", PIN),
        PartRequest("picture", PIN),
        PartRequest("", PIN),
        PartRequest("block.", PIN),
    ],
)
def test_a_part_that_is_not_there_is_none(subject, asked: PartRequest) -> None:
    assert open_part(*subject, asked) is None


def test_heads_and_classes_that_are_not_there_fall_back(subject) -> None:
    for part in subject[2].parts:
        if is_openable(part):
            found = answer(subject, part.id, head=999, chosen_class=999, channel=999, pin=Pin(None, "dist"))
            plain = answer(subject, part.id, pin=Pin(None, "dist"))
            assert (found.head, found.chosen_class, found.channel) == (
                plain.head,
                plain.chosen_class,
                plain.channel,
            )


def test_independent_classes_open_as_sigmoids_not_as_a_softmax() -> None:
    config = replace(PRESETS["vit_shapes"].config, num_classes=3, class_output="sigmoid")
    network = create_model(config, seed=0)
    torch.nn.init.zeros_(network.head.weight)
    network.head.bias.data = torch.tensor([2.0, 0.0, -2.0])
    preparation = Preparation(config.image_size)
    model = LoadedModel(network, config, preparation, ("a", "b", "c"), "Mine", None, 0, "mine")
    (step,) = answer((model, *prepared(model)), "classes").operations
    assert step.kind == "bars" and step.formula == "p = 1 / (1 + exp(−s))"
    assert dict(zip(step.facts["names"], step.values.tolist(), strict=True)) == {
        "a": 2.0,
        "c": -2.0,
        "b": 0.0,
    }
    assert step.numbers == "a: s = 2.00, p = 0.881"
