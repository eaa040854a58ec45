"""Every key of transformers' config classes has a row with their default, and contradictions are refused."""

from __future__ import annotations

import importlib
import inspect
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import parity_peers as peers
import pytest
import torch
from parity_compare import shake
from test_formats import hf
from torch import nn

import vitviz
from vitviz.models.formats import open_model
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.config_keys import MODEL_TYPES, PARTS, list_keys
from vitviz.models.formats.timm import is_natively_quick_gelu
from vitviz.models.pretrained_list import PretrainedError

CLASSES = {
    "vit": "ViTConfig",
    "deit": "DeiTConfig",
    "dinov2": "Dinov2Config",
    "dinov2_with_registers": "Dinov2WithRegistersConfig",
    "dinov3_vit": "DINOv3ViTConfig",
    "swin": "SwinConfig",
    "swinv2": "Swinv2Config",
    "clip_vision_model": "CLIPVisionConfig",
    "siglip_vision_model": "SiglipVisionConfig",
}
SMALL = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    "image_size": 16,
    "patch_size": 8,
}
TIMM = {"img_size": 16, "patch_size": 8, "embed_dim": 8, "depth": 1, "num_heads": 2}


def test_the_table_in_the_docs_is_the_scripts() -> None:
    root = Path(__file__).parents[2]
    written = runpy.run_path(str(root / "benchmarks/config_keys.py"))["write_table"]()
    assert (root / "docs/config_keys.md").read_text("utf-8") == written


def test_every_model_type_has_its_class() -> None:
    assert set(CLASSES) == set(MODEL_TYPES)


@pytest.mark.parametrize("model_type", CLASSES)
def test_every_key_of_the_publishers_class_has_one_row_with_its_default(model_type: str) -> None:
    config = hf(CLASSES[model_type])()
    rows, stated = list_keys(model_type), config.to_dict()
    assert config.model_type == model_type
    assert sorted(stated.keys() - rows.keys()) == []
    for key, row in rows.items():
        uses = row.keys() & {"read", "checked", "ignored", "refused"}
        assert len(uses) == 1 and all(row[use] for use in uses), key
        if "default" in row:
            assert row["default"] == stated[key], key
        assert "refused" not in row or stated.get(key) in (None, *row["unless"]), key


def vit(folder: Path, **values: Any) -> nn.Module:
    torch.manual_seed(0)
    config = hf("ViTConfig")(**SMALL | {"num_attention_heads": 3, "num_labels": 3} | values)
    model = hf("ViTForImageClassification")(config).eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"num_hidden_layers": 1}, "num_hidden_layers"),
        ({"qkv_bias": False}, "qkv_bias"),
        ({"intermediate_size": 64}, "intermediate_size"),
        ({"hidden_size": 48}, "hidden_size"),
        ({"num_channels": 1}, "num_channels"),
        ({"patch_size": [[8], [8]]}, "patch_size"),
        (
            {"model_type": "swin", "depths": [2, 2], "layer_norm_eps": 1e-5},
            "states depths .* its tensors show none",
        ),
        ({"problem_type": "ranking"}, "problem_type 'ranking'"),
        ({"quantization_config": {"load_in_8bit": True}}, "config.json states quantization_config"),
        ({"vision_cfg": {"scale_heads": True}}, "vision_cfg states scale_heads"),
        ({"vision_cfg": {"act_kwargs": {"approximate": "tanh"}}}, "vision_cfg states act_kwargs"),
        ({"vision_cfg": {"norm_kwargs": {"eps": 1e-3}}}, "vision_cfg states norm_kwargs"),
        ({"model_args": {"dynamic_img_pad": True}}, "model_args states dynamic_img_pad"),
        ({"pretrained_cfg": {"label_offset": 1}}, "pretrained_cfg states label_offset"),
        ({"preprocess_cfg": {"mode": "L"}}, "preprocess_cfg states mode"),
    ],
)
def test_a_value_that_contradicts_the_tensors_or_is_not_computed_is_refused_by_its_key(
    stated: dict[str, Any], why: str, tmp_path: Path
) -> None:
    vit(tmp_path)
    with pytest.raises(PretrainedError, match=why):
        open_model(tmp_path, stated)


def test_images_of_four_channels_are_refused(tmp_path: Path) -> None:
    vit(tmp_path, num_channels=4)
    with pytest.raises(PretrainedError, match=r"its images have 4 channels; only 1 \(grey\) or 3"):
        open_model(tmp_path)


SWIN = {"embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4, "image_size": 32}


@pytest.mark.parametrize(
    ("name", "saved", "stated", "why"),
    [
        ("Swin", {"layer_norm_eps": 1e-2}, {}, "config.json states layer_norm_eps 0.01: another epsilon"),
        ("Swinv2", {"layer_norm_eps": 1e-2}, {}, "config.json states layer_norm_eps 0.01: another epsilon"),
        ("Swin", {}, {"model_args": {"act_layer": "relu"}}, "model_args states act_layer 'relu'"),
        ("Swinv2", {}, {"window_size": 3}, "windows of 3 tokens do not tile the 8 × 8 tokens of stage 1"),
        ("Swinv2", {}, {"image_size": 33}, "image_size 33 is no multiple of patch_size 4"),
    ],
)
def test_what_a_folder_of_a_swin_states_and_is_not_computed_is_refused(
    name: str, saved: dict[str, Any], stated: dict[str, Any], why: str, tmp_path: Path
) -> None:
    hf(f"{name}Model")(hf(f"{name}Config")(**SWIN | saved)).save_pretrained(tmp_path)
    with pytest.raises(PretrainedError, match=why):
        open_model(tmp_path, stated)


def test_windows_of_a_swin_v2_do_not_tile_every_size(tmp_path: Path) -> None:
    model = hf("Swinv2Model")(hf("Swinv2Config")(**SWIN))
    assert open_model(model.state_dict(), model.config.to_dict()).config.image_size == 32
    with pytest.raises(PretrainedError, match="do not tile the 10 × 10 tokens of stage 1"):
        open_model(model.state_dict(), model.config.to_dict(), given={"img_size": 40})


def test_a_config_of_another_kind_of_model_is_refused_in_a_sentence() -> None:
    swin = hf("SwinForImageClassification")(hf("SwinConfig")(**SWIN))
    with pytest.raises(PretrainedError, match="intermediate_size"):
        open_model(swin.state_dict(), {"model_type": "vit", "intermediate_size": 32})


def test_a_missing_key_has_the_publishers_default(tmp_path: Path) -> None:
    model = vit(tmp_path, hidden_size=24, num_attention_heads=12)
    config = {
        key: v
        for key, v in model.config.to_dict().items()
        if key not in ("num_attention_heads", "layer_norm_eps")
    }
    (tmp_path / "config.json").unlink()
    opened = open_model(tmp_path, config)
    assert (opened.vit.config.num_heads, opened.vit.config.norm_eps) == (12, 1e-12)
    assert not any("heads" in note for note in opened.notes)


@pytest.mark.parametrize(
    ("kind", "model_type"),
    [("ViTModel", "vit"), ("Dinov2Model", "dinov2"), ("CLIPVisionModelWithProjection", "clip_vision_model")],
)
def test_weights_without_a_config_have_the_epsilon_of_their_publishers_class(
    kind: str, model_type: str
) -> None:
    config = hf(CLASSES[model_type])(**SMALL, num_attention_heads=2)
    opened = open_model(hf(kind)(config).state_dict(), {}, given={"num_heads": 2})
    assert opened.vit.config.norm_eps == config.layer_norm_eps
    assert f"no epsilon of the LayerNorms: {config.layer_norm_eps:g} is assumed" in " ".join(opened.notes)


PARTS_OF_A_FILE = ("vision_cfg", "model_args", "pretrained_cfg", "preprocess_cfg")


@pytest.mark.parametrize("part", ["config.json", *PARTS_OF_A_FILE])
def test_a_key_without_a_row_is_noted(part: str, tmp_path: Path) -> None:
    vit(tmp_path)
    stated = {part: {"odd": 1}} if part in PARTS_OF_A_FILE else {"odd": 1}
    assert f"Keys of {part} that were not read: odd." in open_model(tmp_path, stated).notes


@pytest.mark.parametrize(
    "problem, labels, bias, expected",
    [
        ("multi_label_classification", 3, [2.0, 2.0, -2.0], [0.8808, 0.8808, 0.1192]),
        (None, 1, [0.3], [0.5744]),
        ("multi_label_classification", 1, [0.3], [0.5744]),
        ("regression", 1, [0.3], [0.3]),
        ("regression", 2, [-7.5, 120.0], [120.0, -7.5]),
        ("single_label_classification", 2, [0.0, 0.0], [0.5, 0.5]),
    ],
)
def test_the_problem_type_decides_what_outputs_mean(
    problem: str | None, labels: int, bias: list[float], expected: list[float], tmp_path: Path
) -> None:
    model = vit(tmp_path, num_labels=labels, problem_type=problem)
    nn.init.zeros_(model.classifier.weight)
    model.classifier.bias.data = torch.tensor(bias)
    model.save_pretrained(tmp_path)
    for source in (tmp_path, model):
        view = vitviz.inspect(vitviz.load(source), np.zeros((20, 20, 3), np.uint8))
        assert [round(value, 4) for _, value in view.prediction] == expected
        figure = view.figure("prediction")
        assert figure.layout.xaxis.title.text == ("value" if problem == "regression" else "probability, %")
        if problem == "multi_label_classification" and labels == 3:
            assert view.classes_above(0.5) == ["0", "1"]
        if problem == "regression":
            with pytest.raises(ValueError, match="values, not classes"):
                view.classes_above()


def test_an_image_size_that_patches_do_not_divide_is_refused(tmp_path: Path) -> None:
    vit(tmp_path, image_size=17)
    with pytest.raises(PretrainedError, match="image_size 17 is no multiple of patch_size 8"):
        open_model(tmp_path)
    assert vitviz.load(tmp_path, img_size=16).config.image_size == 16


def test_the_processors_crop_decides_the_size(tmp_path: Path) -> None:
    config = hf("Dinov2Config")(**SMALL | {"image_size": 40, "num_attention_heads": 3})
    model = hf("Dinov2Model")(config).eval()
    model.save_pretrained(tmp_path)
    hf("BitImageProcessor")(
        size={"shortest_edge": 32}, crop_size={"height": 24, "width": 24}
    ).save_pretrained(tmp_path)
    opened = open_model(tmp_path)
    assert opened.preparation.image_size == opened.config.image_size == 24
    x = torch.randn(1, 3, 24, 24)
    expected = model(x).last_hidden_state[:, 0]
    torch.testing.assert_close(opened.model(x), expected.detach(), rtol=0, atol=1e-5)


def list_timm_keys(folder: Path) -> set[str]:
    """Return the top-level keys that timm writes for a model with labels, and the one that it reads in older files."""
    hub = importlib.import_module("timm.models._hub")
    model = peers.timm.create_model("vit_tiny_patch16_224", num_classes=2)
    labels = {"label_names": ["a", "b"], "label_descriptions": {"a": "A", "b": "B"}}
    hub.save_config_for_hf(model, str(folder / "config.json"), labels, {"depth": 12})
    return {*json.loads((folder / "config.json").read_text()), "labels"}


def list_open_clip_keys() -> set[str]:
    """Return the arguments of open_clip's models and the keys of its own configurations."""
    home = Path(importlib.import_module("open_clip").__file__ or "").parent / "model_configs"
    keys = {key for file in home.glob("*.json") for key in json.loads(file.read_text())}
    for module, name in (("model", "CLIP"), ("model", "CustomTextCLIP"), ("coca_model", "CoCa")):
        keys |= inspect.signature(
            getattr(importlib.import_module(f"open_clip.{module}"), name)
        ).parameters.keys()
    return keys


def test_every_key_of_timm_and_open_clip_has_one_row(tmp_path: Path) -> None:
    hf("ViTConfig")  # imports torchvision first
    keys = {"timm": list_timm_keys(tmp_path), "model_cfg": list_open_clip_keys()}
    for part, home, name in (
        ("model_args", "timm.models.vision_transformer", "VisionTransformer"),
        ("model_args", "timm.models.eva", "Eva"),
        ("model_args", "timm.models.swin_transformer", "SwinTransformer"),
        ("model_args", "timm.models.swin_transformer_v2", "SwinTransformerV2"),
        ("pretrained_cfg", "timm.models", "PretrainedCfg"),
        ("vision_cfg", "open_clip.model", "CLIPVisionCfg"),
        ("preprocess_cfg", "open_clip.transform", "PreprocessCfg"),
    ):
        for key, argument in inspect.signature(
            getattr(importlib.import_module(home), name)
        ).parameters.items():
            keys.setdefault(part, set()).add(key)
            row = PARTS[part][key]
            plain = argument.default is None or isinstance(argument.default, bool | str)
            assert "refused" not in row or not plain or argument.default in (None, *row["unless"]), key
    assert keys == {part: set(rows) for part, rows in PARTS.items()}


@pytest.mark.parametrize("tag", ["openai", "laion400m_e32", "laion2b_e16", "metaclip_400m"])
@pytest.mark.parametrize("where", ["tag", "architecture", "notes"])
def test_a_tag_that_is_natively_quick_gelu_is_noted(tag: str, where: str) -> None:
    state, name = peers.TimmViT(**TIMM).state_dict(), "vit_base_patch32_clip_224"
    is_quick = tag != "laion2b_e16"
    notes = ["natively QuickGELU, use quickgelu model variant for original results"] if is_quick else []
    stated = {
        "tag": {"architecture": name, "pretrained_cfg": {"tag": tag}},
        "architecture": {"architecture": f"{name}.{tag}"},
        "notes": {"architecture": name, "pretrained_cfg": {"notes": notes}},
    }[where] | {"num_heads": 2, "img_size": 16}
    opened = open_model(state, stated)
    assert any("natively QuickGELU" in note for note in opened.notes) == is_quick
    assert opened.vit.config.activation == "gelu"  # as timm's class of this name
    by_hand = open_model(state, stated, given={"act_layer": "quick_gelu"})
    assert by_hand.vit.config.activation == "quick_gelu" and not any("natively" in n for n in by_hand.notes)


def test_the_tags_that_are_natively_quick_gelu_are_those_of_timms_notes() -> None:
    timm = peers.timm
    for name in timm.list_pretrained("vit_*"):
        noted = "natively QuickGELU" in str(timm.get_pretrained_cfg(name).notes)
        own = is_natively_quick_gelu(Settings({"architecture": name.replace("_quickgelu", "")}))
        assert own == noted, name


def test_a_model_of_timm_with_other_images_than_its_own_size_is_opened_at_theirs() -> None:
    model = peers.TimmViT(**TIMM, dynamic_img_size=True)
    stated = {"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 16, "num_heads": 2}}
    stated["model_args"] |= {"dynamic_img_size": True}
    stated["pretrained_cfg"] = {"input_size": [3, 32, 32]}
    opened = open_model(model.state_dict(), stated)
    assert opened.preparation.image_size == opened.config.image_size == 32
    x = torch.randn(1, 3, 32, 32)
    torch.testing.assert_close(opened.model(x), model.eval()(x).detach(), rtol=0, atol=1e-5)


def test_classes_that_are_named_by_their_number_keep_their_order() -> None:
    state = peers.TimmViT(**TIMM, num_classes=2).state_dict()
    stated = {"num_heads": 2, "pretrained_cfg": {"label_names": {"1": "dog", "0": "cat"}}}
    assert open_model(state, stated).classes == ("cat", "dog")


EVA = TIMM | {"embed_dim": 24, "num_classes": 3}
SWIN_OF_TIMM = {
    "img_size": 32,
    "embed_dim": 8,
    "depths": (1, 1),
    "num_heads": (1, 2),
    "window_size": 4,
    "num_classes": 3,
}


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("vit_small_patch16_rope_224", {"use_rot_pos_emb": False}),
        ("vit_small_patch16_rope_224", {"swiglu_mlp": True}),
        ("vit_pe_core_tiny_patch16_384", {"global_pool": "token"}),
        ("vit_pe_core_tiny_patch16_384", {"global_pool": "avg", "class_token": False}),
        ("vit_tiny_patch16_224", {"global_pool": "avg", "fc_norm": False}),
    ],
)
def test_arguments_of_a_timm_folder_win_over_its_architecture(name: str, arguments: dict[str, Any]) -> None:
    shape = {**EVA, **arguments}
    model = shake(peers.timm.create_model(name, **shape), 1)
    stated = {"architecture": name, "global_pool": "token", "model_args": shape}
    x = torch.randn(2, 3, 16, 16)
    theirs = model(x).detach()
    ours = open_model(model.state_dict(), stated).model(x)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4 * float(theirs.abs().max()))


@pytest.mark.parametrize(
    "name, stated, why",
    [
        (
            "vit_tiny_patch16_224",
            {"num_classes": 0},
            "config.json states num_classes 0, but its tensors show 3",
        ),
        ("swin_tiny_patch4_window7_224", {"model_args": {"global_pool": "max"}}, "its pooling .*'max'"),
        (
            "swin_tiny_patch4_window7_224",
            {"model_args": {"always_partition": True}},
            "states always_partition",
        ),
        ("eva_giant_patch14_224", {"model_args": {"use_rot_pos_emb": True}}, "rope_type 'cat' alone"),
    ],
)
def test_what_a_timm_folder_states_and_is_not_computed_is_refused(
    name: str, stated: dict[str, Any], why: str
) -> None:

    shape = SWIN_OF_TIMM if name.startswith("swin") else EVA
    state = peers.timm.create_model(name, **shape).state_dict()
    arguments = {**shape, **stated.get("model_args", {})}
    whole = {"architecture": name, "pretrained_cfg": {}, **stated, "model_args": arguments}
    with pytest.raises(PretrainedError, match=why):
        open_model(state, whole)


def test_a_timm_model_that_classifies_every_token_is_noted() -> None:
    state = peers.timm.create_model("vit_tiny_patch16_224", **EVA, global_pool="").state_dict()
    opened = open_model(state, {"num_heads": 2, "global_pool": ""})
    assert any("classifies every token" in note for note in opened.notes)


@pytest.mark.parametrize("name", ["gelu_python", "gelu_fast", "gelu_accurate", "gelu_python_tanh"])
def test_other_names_of_gelu_equal_the_publishers(name: str, tmp_path: Path) -> None:
    model = vit(tmp_path, hidden_act=name)
    x = torch.randn(1, 3, 16, 16)
    theirs = model.eval()(x).logits.detach()
    torch.testing.assert_close(open_model(tmp_path).model(x), theirs, rtol=0, atol=1e-5)


def test_a_key_beside_timms_or_open_clips_is_noted() -> None:
    state = peers.TimmViT(**TIMM).state_dict()
    stated = {"architecture": "vit_tiny_patch16_224", "model_args": {"num_heads": 2, "img_size": 16}}
    stated["twice"] = 1
    assert "Keys of the configuration that were not read: twice." in open_model(state, stated).notes
    with pytest.raises(
        PretrainedError, match="config.json states label_offset 1: a head whose first outputs"
    ):
        open_model(state, {"architecture": "x", "num_heads": 2, "label_offset": 1})


def test_a_clip_has_the_activation_that_its_file_states_by_transformers_name() -> None:
    shape = {**SMALL, "num_attention_heads": 3, "hidden_act": "gelu_pytorch_tanh"}
    opened = vitviz.load(hf("CLIPVisionModel")(hf("CLIPVisionConfig")(**shape)))
    assert opened.vit.config.activation == "gelu_tanh" and opened.verified is True
