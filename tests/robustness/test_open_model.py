"""Files that do not open: each makes exactly its sentence, and no model is half-loaded."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save, save_file
from torch import Tensor

from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.formats import open_model
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.zoo import create_model

VIT = dict(
    create_model(
        ViTConfig(image_size=16, patch_size=4, num_classes=3, embed_dim=64, depth=2, num_heads=1), seed=0
    ).state_dict()
)
SWIN = dict(create_model(SwinConfig(image_size=32, patch_size=2), seed=0).state_dict())
RUNS_CODE = (
    "which can run code when it is opened, so it is not opened here: save its weights as safetensors on your own"
    " machine"
)
OTHERS = (
    "no vision transformer of timm, transformers, torchvision, open_clip or vit-pytorch was recognised: tensors are"
    " named like "
)


def renamed(old: str, new: str, state: dict[str, Tensor] = VIT) -> dict[str, Tensor]:
    return {name.replace(old, new): tensor for name, tensor in state.items()}


def without(*names: str) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in VIT.items() if name not in names}


def zipped_pickle(**more: object) -> bytes:
    buffer = io.BytesIO()
    torch.save({"state_dict": VIT, **more}, buffer)
    return buffer.getvalue()


class Trap:
    """Fail the test where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("the pickle was opened",)


NOT_SAFETENSORS = (
    "the file is not safetensors, or it is truncated: copy it again, or save the weights with"
    " safetensors.torch.save_file"
)
# What is opened, the sentence, and config.json beside it. As netron's table: a file that ever broke it gets a line.
Source = Callable[[], bytes | dict[str, Tensor]]
BROKEN: dict[str, tuple[Source, str] | tuple[Source, str, dict[str, object]]] = {
    "empty": (lambda: b"", NOT_SAFETENSORS),
    "text": (lambda: b"hello world, this is text", NOT_SAFETENSORS),
    "truncated": (
        lambda: save(VIT)[:-4],
        "the file is not a whole safetensors file: Error while deserializing: incomplete metadata, file not"
        " fully covered; save it again",
    ),
    "pickle": (
        lambda: pickle.dumps(Trap()),
        f"the file is PyTorch's own format (.pth, .pt, .bin), {RUNS_CODE}",
    ),
    "pytorch_model.bin": (zipped_pickle, f"the file is PyTorch's own format (.pth, .pt, .bin), {RUNS_CODE}"),
    "lightning": (
        lambda: zipped_pickle(**{"pytorch-lightning_version": "2.6"}),
        f"the file is a Lightning checkpoint (.ckpt), {RUNS_CODE}",
    ),
    "keras": (
        lambda: b"\x89HDF\r\n\x1a\n" + bytes(100),
        "the file is a Keras file (.h5), which is not opened here: convert it with Keras and transformers or timm",
    ),
    "gguf": (
        lambda: b"GGUF" + bytes(100),
        "the file is a GGUF file, which is not opened here: use the safetensors file that it was made from",
    ),
    "npz": (
        lambda: b"PK\x03\x04" + bytes(26) + b"cls.npy" + bytes(99),
        "the file is a NumPy archive (.npz), which is not opened here: read it with timm (checkpoint_path='….npz')",
    ),
    "lfs": (
        lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
        "the file is a Git LFS pointer, not the weights, which is not opened here: fetch the file itself with git lfs"
        " pull",
    ),
    "html": (
        lambda: b"<!DOCTYPE html><html></html>",
        "the file is a web page, not the weights, which is not opened here: download the file itself",
    ),
    "quantised": (
        lambda: save(VIT | {"norm.weight": torch.zeros(64, dtype=torch.int8)}),
        "the weights must be BF16, F16, F32, F64, received I8; if the model is quantised, save the weights that it was"
        " made from, in fp32, fp16 or bf16",
    ),
    "language model": (
        lambda: {"model.embed_tokens.weight": torch.zeros(9, 4)},
        "this is a language model, or an image model with its blocks or words (ImageGPT, ViLT): vitviz opens ViTs"
        " and Swins",
    ),
    "convolutions": (
        lambda: {"layer1.0.conv1.weight": torch.zeros(8, 3, 7, 7), "layer1.0.bn1.num": torch.tensor(0)},
        "this is a convolutional network, or a hybrid that begins with one: vitviz opens ViTs and Swins",
    ),
    "unknown": (lambda: {"a.b": torch.zeros(2)}, f"{OTHERS}a.b"),
    "adapter": (
        lambda: {"base.query.lora_A.weight": torch.zeros(2, 2)},
        "this is a file of PEFT adapters (LoRA): it holds changes of a model, not the model: merge them"
        " (merge_and_unload) and save that",
    ),
    "swin v2": (
        lambda: SWIN | {"layers.0.blocks.0.attn.logit_scale": torch.zeros(3, 1, 1)},
        "a timm Swin was recognised, but the names of a Swin V2 show neither its windows nor its image size: state"
        " architecture='NAME' with timm's name of the model",
    ),
    "siglip": (
        lambda: VIT | {"visual.attn_pool.query": torch.zeros(1, 1, 64)},
        "this is a ViT with attention pooling in names that are not read here: only timm's and transformers' SigLIP is",
    ),
    "mae": (
        lambda: VIT | {"decoder_blocks.0.norm1.weight": torch.zeros(64)},
        "this is an autoencoder (MAE): save its encoder alone",
    ),
    "two models": (
        lambda: renamed(
            "", "", {f"{who}.{name}": t for who in ("student", "teacher") for name, t in VIT.items()}
        ),
        "the file holds 2 models (student., teacher.): save one of them alone",
    ),
    "other parts": (
        lambda: {f"encoder.{name}": t for name, t in VIT.items()} | {"neck.weight": torch.zeros(2, 2)},
        "beside a timm ViT (prefix 'encoder.') the file holds 1 other tensors (neck.weight, …): save the image encoder"
        " alone",
    ),
    "a missing tensor": (
        lambda: without("blocks.1.norm2.bias"),
        "a timm ViT was recognised: 1 of its 2 blocks fit, but blocks.1.norm2.bias of shape (64,) is missing;"
        " nothing was loaded",
    ),
    "an unknown tensor": (
        lambda: VIT | {"blocks.0.attn.gate.weight": torch.zeros(2, 2)},
        "a timm ViT was recognised: 1 of its 2 blocks fit, but blocks.0.attn.gate.weight of shape (2, 2) has no place"
        " in it; nothing was loaded",
    ),
    "a misshapen tensor": (
        lambda: VIT | {"norm.bias": torch.zeros(3)},
        "a timm ViT was recognised: 2 of its 2 blocks fit, but norm.bias has the shape (3,), expected (64,);"
        " nothing was loaded",
    ),
    "no MLP": (
        lambda: {name: t for name, t in VIT.items() if ".mlp." not in name},
        "a timm ViT was recognised, but the file has no blocks.0.mlp.fc2.weight, nothing was loaded",
    ),
    "not finite": (
        lambda: VIT | {"norm.bias": torch.full((64,), torch.nan)},
        "the weights of a timm ViT are broken, nothing was loaded: norm.bias is not finite",
    ),
    "oblong patches": (
        lambda: VIT | {"patch_embed.proj.weight": torch.zeros(64, 3, 4, 8)},
        "a timm ViT was recognised, but its patches are 4 x 8 px; only square patches are supported",
    ),
    "oblong grid": (
        lambda: VIT | {"pos_embed": torch.zeros(1, 13, 64)},
        "a timm ViT was recognised, but its 13 positions are no square grid of patches, with 1 prefix tokens or"
        " without; state the size of its images, img_size=(height, width)",
    ),
    "heads that do not divide": (
        lambda: VIT,
        "a timm ViT was recognised, but its tensors and configuration make no model: num_heads 7 does not divide"
        " embed_dim 64",
        {"num_heads": 7},
    ),
    "heads as a text": (
        lambda: VIT,
        "a timm ViT was recognised, but the configuration's num_heads must be a whole number of at least 1, received"
        " 'many'",
        {"num_heads": "many"},
    ),
    "an unknown activation": (
        lambda: VIT,
        "a timm ViT was recognised, but the configuration's activation 'mish' is not supported; known are gelu,"
        " gelu_tanh, quick_gelu, relu and silu",
        {"act_layer": "mish"},
    ),
    "an unknown pooling": (
        lambda: VIT,
        "a timm ViT was recognised, but its pooling (global_pool 'map') is not supported: known are 'token', 'map',"
        " and 'avg' of patches",
        {"global_pool": "map"},
    ),
    "labels that do not fit": (
        lambda: VIT,
        "expected 3 labels, one per class, received 2",
        {"id2label": {"0": "ant", "1": "bee"}},
    ),
    "labels that skip a class": (
        lambda: VIT,
        "the configuration's id2label must name the classes 0, 1, 2, …",
        {"id2label": {"0": "ant", "2": "bee"}},
    ),
    "std without a value": (
        lambda: VIT,
        "the stated preparation of images cannot be used: mean and std must have a value for each channel, received"
        " none",
        {"mean": [0, 0, 0], "std": []},
    ),
    "std of 0": (
        lambda: VIT,
        "the stated preparation of images cannot be used: std must be positive, received (0.0, 0.0, 0.0)",
        {"mean": [0, 0, 0], "std": [0, 0, 0]},
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_makes_exactly_its_sentence(name: str) -> None:
    source, sentence, *config = BROKEN[name]
    with pytest.raises(PretrainedError) as caught:
        open_model(source(), *config)
    assert str(caught.value) == sentence


def test_the_table_starts_from_models_that_open() -> None:
    assert open_model(VIT).config.num_classes == 3 and open_model(SWIN).config.num_classes == 10


FOLDERS: dict[str, tuple[dict[str, object], str]] = {
    "nothing": ({}, "the folder holds no safetensors file"),
    "two files": (
        {"a.safetensors": VIT, "b.safetensors": VIT},
        "the folder holds 2 safetensors files without an index: keep one, or add model.safetensors.index.json",
    ),
    "only a pickle": (
        {"pytorch_model.bin": zipped_pickle()},
        f"the file is PyTorch's own format (.pth, .pt, .bin), {RUNS_CODE}",
    ),
    "a missing shard": (
        {"model.safetensors.index.json": {"weight_map": {"a": "model-00001-of-00002.safetensors"}}},
        "model.safetensors.index.json names model-00001-of-00002.safetensors, which the folder lacks",
    ),
    "a shard elsewhere": (
        {"model.safetensors.index.json": {"weight_map": {"a": "../../etc/passwd"}}},
        "model.safetensors.index.json must name 1 to 64 files of its folder",
    ),
    "no JSON": ({"model.safetensors": VIT, "config.json": b"{"}, "config.json is not JSON"),
    "a list": ({"model.safetensors": VIT, "config.json": [1]}, "config.json must hold an object"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_broken_folder_makes_exactly_its_sentence(name: str, tmp_path: Path) -> None:
    files, sentence = FOLDERS[name]
    for file, content in files.items():
        if file.endswith(".safetensors"):
            save_file(content, tmp_path / file)
        else:
            (tmp_path / file).write_bytes(
                content if isinstance(content, bytes) else json.dumps(content).encode()
            )
    with pytest.raises(PretrainedError) as caught:
        open_model(tmp_path)
    assert str(caught.value) == sentence


NAMES = (
    "global_pool num_heads num_attention_heads head_width act_layer layer_norm_eps image_size img_size size crop_size"
    " crop_pct label_names label_descriptions id2label mean std image_mean image_std resample interpolation"
    " do_normalize do_center_crop model_args vision_config architecture window_size use_absolute_embeddings"
).split()
ITEMS = st.one_of(st.none(), st.integers(-1, 2), st.floats(), st.text(max_size=3), st.lists(st.none()))
PARTS = st.sampled_from(["0", "1", "2", "height", "width", "shortest_edge", "model_args"])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.sampled_from(["", "avg", "bicubic", "1" * 500]),
    st.lists(ITEMS, max_size=4),
    st.dictionaries(PARTS, st.integers(-1, 9)),
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4), st.sampled_from([VIT, SWIN]))
def test_a_config_of_odd_values_opens_or_makes_one_short_sentence(
    config: dict[str, object], state: dict[str, Tensor]
) -> None:
    try:
        open_model(state, config)
    except PretrainedError as error:
        assert "\n" not in str(error) and len(str(error)) < 500
