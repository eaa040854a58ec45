"""Compare the map's numbers with the model's, computed layer by layer with torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from tests.messages import unpack
from tests.random_models import preset_model
from vitviz.analysis.forward_pass import (
    AddedPositions,
    BlockPass,
    ClassScores,
    EmbeddedPatches,
    FeatureMaps,
    Journey,
)
from vitviz.checkpoints import open_model
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.presets import PRESETS
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.plots.map_contents import MapModel
from vitviz.plots.map_words import ModelTraits, write_caption
from vitviz.plots.model_map import pack_map
from vitviz.probe.forward_pass import record_journey

SHIPPED = Path(__file__).parents[2] / "checkpoints"
TRAINED = [path for path in sorted(SHIPPED.glob("*.safetensors")) if path.stem not in PRETRAINED]
FAMILIES = ("cifar10_vit", "cifar10_deit_soft", "cifar10_hybrid")
Array = NDArray[np.float32]


def shipped(name: str) -> LoadedModel:
    return open_model(SHIPPED / f"{name}.safetensors")


def values_for(model: LoadedModel, seed: int = 3) -> Array:
    size, channels = model.preparation.image_size, model.preparation.in_chans
    smooth = np.random.default_rng(seed).normal(size=(channels, 4, 4)).astype(np.float32)
    return np.ascontiguousarray(np.kron(smooth, np.ones((size // 4, size // 4), np.float32)))


def recorded(model: LoadedModel, values: Array) -> dict[str, Tensor]:
    """What the model records of the image; each record's first and only row."""
    _, found = model.model(torch.tensor(values)[None], record=True)
    return {name: tensor[0] for name, tensor in found.items() if not name.endswith(".window_index")}


def close(found: object, wanted: Tensor, tolerance: float = 2e-4) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)


def content(way: Journey, name: str) -> object:
    part = way.part(name)
    assert part is not None, [part.id for part in way.parts]
    return part.content


@pytest.mark.parametrize("name", ["digits_vit", *FAMILIES])
@torch.no_grad()
def test_a_vit_deit_or_hybrid_by_hand(name: str) -> None:
    """From the patches to the logits the stream is the sum of what is added to it."""
    model = shipped(name)
    values, vit, config = values_for(model), model.vit, model.vit.config
    way, seen = record_journey(model, values), recorded(model, values)
    embedded, positions = content(way, "embed"), content(way, "positions")
    assert isinstance(embedded, EmbeddedPatches) and isinstance(positions, AddedPositions)
    maps, px = torch.tensor(values)[None], config.patch_size
    if config.stem:
        stem, px = content(way, "stem"), 1
        assert isinstance(stem, FeatureMaps)
        convolutions = zip(*[iter(vit.patch_embed.stem)] * 3, strict=True)
        for level, (conv, batch, _) in zip(stem.levels, convolutions, strict=True):
            maps = F.relu(batch(conv(maps)))
            close(level.maps, maps[0])
    proj = vit.patch_embed.proj
    tokens = F.conv2d(maps, proj.weight, proj.bias, px)[0].flatten(1).T
    close(embedded.vectors, tokens)
    close(positions.table, vit.pos_embed[0])
    learned = [t[0] for t in (vit.cls_token, vit.dist_token) if t is not None]
    z = torch.cat([*learned, tokens]) + vit.pos_embed[0]
    for layer in range(config.depth):
        block, attn = content(way, f"block.{layer + 1}"), seen[f"blocks.{layer}.attn"]
        attention, mlp = (seen[f"blocks.{layer}.{part}_out"] for part in ("attn", "mlp"))
        assert isinstance(block, BlockPass)
        close(block.entering, z)
        close(block.added, torch.stack([attention, mlp]), 1e-3)
        close(block.stream, torch.stack([z + attention, z + attention + mlp]), 1e-3)
        z = z + attention + mlp
        mean, top = attn.mean(0), attn.mean(0).topk(5)
        close(block.row, mean[0] if config.readout == "cls" else mean.mean(0))
        close(block.strongest.weights, top.values)
        close(np.take_along_axis(mean.numpy(), block.strongest.keys, axis=1), top.values)
    normed = vit.norm(z)
    close(content(way, "norm").before, z.norm(dim=1), 1e-3)
    close(content(way, "norm").after, normed.norm(dim=1), 1e-3)
    heads, classes = content(way, "head"), content(way, "classes")
    assert isinstance(classes, ClassScores)
    read = normed[0] if config.readout == "cls" else normed[len(learned) :].mean(0)
    logits = vit.head(read)
    close(heads.vectors[0], read, 1e-3)
    if config.distilled:
        close(heads.vectors[1], normed[1], 1e-3)
        logits = (logits + vit.head_dist(normed[1])) / 2
    close(classes.logits, logits, 1e-3)
    close(classes.probabilities, logits.softmax(-1), 1e-3)
    close(classes.lens[-1], logits.softmax(-1), 1e-3)


@torch.no_grad()
def test_a_swin_window_by_window() -> None:
    """Attention inside windows written as attention over all tokens, zero between those that share no window."""
    model = shipped("digits_swin")
    swin, config = model.swin, model.swin.config
    values = values_for(model)
    way, seen = record_journey(model, values), recorded(model, values)
    x = F.conv2d(torch.tensor(values)[None], swin.patch_embed.proj.weight, swin.patch_embed.proj.bias, 2)
    z = swin.patch_embed.norm(x[0].flatten(1).T)
    close(content(way, "embed").vectors, z)
    layer, side = 0, 16
    for stage, depth in enumerate(config.depths):
        if stage:
            grid = z.reshape(side, side, -1)
            quads = torch.cat([grid[r::2, c::2] for c in (0, 1) for r in (0, 1)], dim=-1)
            merging, side = swin.layers[stage].downsample, side // 2
            z = merging.reduction(merging.norm(quads.flatten(0, 1)))
            close(content(way, f"merge.{stage + 1}").vectors, z, 1e-3)
        for index in range(depth):
            layer += 1
            part, name = content(way, f"block.{layer}"), f"layers.{stage}.blocks.{index}"
            assert isinstance(part, BlockPass)
            shift = 2 if index % 2 and side > 4 else 0
            attn = over_all_tokens(seen[f"{name}.attn"], side, shift)
            attention, mlp = (seen[f"{name}.{given}_out"].flatten(0, 1) for given in ("attn", "mlp"))
            close(part.entering, z, 1e-3)
            close(part.added, torch.stack([attention, mlp]), 2e-3)
            close(part.stream, torch.stack([z + attention, z + attention + mlp]), 2e-3)
            close(part.strongest.weights, attn.mean(0).topk(5).values, 1e-3)
            close(part.row, attn.mean(0).sum(0) / 16, 1e-3)  # every window has 16 tokens
            assert part.shifted == bool(shift)
            z = z + attention + mlp
    normed = swin.norm(z)
    close(content(way, "pool").vector, normed.mean(0), 1e-3)
    close(content(way, "classes").logits, swin.head.fc(normed.mean(0)), 1e-3)


def over_all_tokens(attn: Tensor, side: int, shift: int) -> Tensor:
    """(windows, heads, 16, 16) to (heads, n, n), where a roll by `shift` took each token (Swin paper, fig. 4)."""
    places = torch.arange(side * side).reshape(side, side).roll((-shift, -shift), (0, 1))
    windows = places.unfold(0, 4, 4).unfold(1, 4, 4).reshape(-1, 16)
    whole = torch.zeros(attn.shape[1], side * side, side * side)
    for tokens, weights in zip(windows, attn, strict=True):
        whole[:, tokens[:, None], tokens] = weights
    # The last `shift` rows (columns) are rolled to the far side: windows there never mix with the first ones.
    row, col = np.divmod(np.arange(side * side), side)
    window = ((row - shift) // 4) * 100 + (col - shift) // 4
    assert torch.equal(whole.mean(0) > 1e-20, torch.tensor(window[:, None] == window))
    return whole


@pytest.mark.parametrize("name", ["digits_cnn", "cifar10_cnn"])
@torch.no_grad()
def test_a_cnn_convolution_by_convolution(name: str) -> None:
    model = shipped(name)
    net, values = model.model, values_for(model)
    way = record_journey(model, values)
    x = torch.tensor(values)[None]
    for layer in net.stem:
        x = layer(x)
    close(content(way, "stem").levels[0].maps, x[0])
    for stage, layer in enumerate(net.layers):
        if not len(layer.blocks):
            assert way.part(f"stage.{stage + 1}") is None
            continue
        for index, block in enumerate(layer.blocks):
            x = block(x)
            close(content(way, f"stage.{stage + 1}").levels[index].maps, x[0])
    pooled = x[0].amax(dim=(1, 2)) if net.config.pooled else x[0].mean(dim=(1, 2))
    close(content(way, "pool").vector, pooled)
    close(content(way, "classes").logits, net.head(pooled))


def scene_of(model: LoadedModel, way: Journey) -> MapModel:
    return MapModel(model.config.kind, ModelTraits(way.readout), model.classes)


@pytest.mark.parametrize("path", TRAINED, ids=lambda path: path.stem)
def test_the_message_is_small_and_says_what_the_journey_holds(path: Path) -> None:
    model = open_model(path)
    way = record_journey(model, values_for(model))
    shown = np.zeros((model.preparation.image_size, model.preparation.image_size, 3), np.uint8)
    message = pack_map(scene_of(model, way), shown, way)
    assert len(message) <= 150_000
    header, arrays = unpack(message)
    assert [part["id"] for part in header["parts"]] == [part.id for part in way.parts]
    classes = content(way, "classes")
    np.testing.assert_array_equal(arrays["logits"], np.asarray(classes.logits, np.float32))
    np.testing.assert_array_equal(arrays["probabilities"], np.asarray(classes.probabilities, np.float32))
    for fields, part in zip(header["parts"], way.parts, strict=True):
        assert fields["words"] and fields["shape_out"] == list(part.shape_out)
        if isinstance(part.content, BlockPass):
            check_block(fields, arrays, part.content)
        if isinstance(part.content, EmbeddedPatches):
            if part.content.filters is None:
                maps = part.content.vectors.T.reshape(-1, *part.tokens.grid)
                check_maps(arrays[f"{part.id}.maps"], maps, signed=True)
            np.testing.assert_allclose(
                arrays[f"{part.id}.length"], np.linalg.norm(part.content.vectors, axis=1), rtol=1e-5
            )
        if isinstance(part.content, FeatureMaps):
            assert fields["levels"] == [level.title for level in part.content.levels]
            check_maps(arrays[f"{part.id}.maps"], part.content.levels[-1].maps, signed=False)
        if isinstance(part.content, AddedPositions):
            table = part.content.table.astype(np.float64)
            wanted = table @ table.T / np.outer(*[np.linalg.norm(table, axis=1)] * 2)
            assert np.abs(arrays["positions.cosine"] / 127 - wanted).max() < 0.5 / 127 + 1e-5


def check_maps(codes: NDArray[np.uint8], maps: Array, signed: bool) -> None:
    """Compare four maps with those that vary most, each on its own range."""
    varied = np.argsort(-maps.reshape(len(maps), -1).var(axis=1), kind="stable")[:4]
    for one, wanted in zip(codes, maps[varied], strict=True):
        high = np.abs(wanted).max() if signed else wanted.max()
        low = -high if signed else wanted.min()
        assert np.abs(low + one / 255 * (high - low) - wanted).max() <= (high - low) / 509


def check_block(fields: dict, arrays: dict[str, NDArray], block: BlockPass) -> None:
    name = fields["id"]
    np.testing.assert_array_equal(arrays[f"{name}.keys"], block.strongest.keys)
    assert np.abs(arrays[f"{name}.weights"] / 65535 - block.strongest.weights).max() < 1e-5
    (row,) = (arrays[f"{name}.row"] / 65535) ** 2 * arrays[f"{name}.row_max"]
    assert (np.abs(row - block.row) <= arrays[f"{name}.row_max"] / 64000).all()
    by_hand = np.stack(
        [np.linalg.norm(x, axis=1) for x in (block.entering, *block.added, *block.stream)], axis=1
    )
    np.testing.assert_allclose(arrays[f"{name}.lengths"], by_hand, rtol=1e-5)
    stream = arrays[f"{name}.stream"] / 127 * fields["stream_scale"]
    assert np.abs(stream - block.stream[..., :32]).max() <= fields["stream_scale"] / 253


@pytest.mark.parametrize(
    ("name", "model_traits", "captions"),
    [
        (
            "cifar10_vit",
            ModelTraits("cls"),
            {
                "picture": "read as 32 × 32 px, RGB",
                "embed": "E: 48 values → 128",
                "prefix": "+ 1 learned token",
            },
        ),
        ("cifar10_deit_soft", ModelTraits("cls", distilled=True), {"prefix": "+ 2 learned tokens"}),
        ("cifar10_swin", ModelTraits("mean", windows=True), {"patches": "256 patches of 12 values"}),
        ("digits_cnn", ModelTraits("mean", convolutions=True), {"picture": "read as 32 × 32 px, grey"}),
    ],
)
def test_captions_name_the_model_s_sizes_and_tokens(
    name: str, model_traits: ModelTraits, captions: dict[str, str]
) -> None:
    model = shipped(name)
    parts = {part.id: part for part in record_journey(model, values_for(model)).parts}
    assert {part: write_caption(parts[part], model_traits) for part in captions} == captions


BARE = {"recipe_e", "recipe_g", "recipe_g_corrected"}  # one token, or no patch


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_shape_has_a_map(preset: str) -> None:
    if (size := PRESETS[preset].config.image_size) > 64:
        pytest.skip("the papers' sizes take long: one of them is below")
    model = preset_model(preset)
    way = record_journey(model, values_for(model))
    assert bool(way.why_bare) == (preset in BARE)
    header, _ = unpack(pack_map(scene_of(model, way), np.zeros((size, size, 3), np.uint8), way))
    assert header["parts"][0]["id"] == "picture" and header["parts"][-1]["id"] == "classes"


def test_a_large_vit_stays_below_the_limit() -> None:
    model = preset_model("vit_tiny_16")
    way = record_journey(model, values_for(model))
    message = pack_map(scene_of(model, way), np.zeros((224, 224, 3), np.uint8), way)
    assert len(message) <= 150_000
    header, arrays = unpack(message)
    assert len(header["classes"]["names"]) == 10
    order = np.argsort(-content(way, "classes").probabilities, kind="stable")[:10]
    assert header["classes"]["index"] == order.tolist()
    assert arrays["lens"].shape == (13, 10)
