"""Models of timm that do not open here: each is refused by the name of its architecture, by its tensors alone."""

from __future__ import annotations

import importlib
import warnings

import pytest
import torch
from safetensors.torch import save
from torch import Tensor

from vitviz.models.formats import open_model
from vitviz.models.formats.safetensors_header import PickledWeightsError, check_header
from vitviz.models.pretrained_list import PretrainedError

NAMED = {
    "beit_base_patch16_224": "this is a BEiT: it adds a relative position bias in every block",
    "cait_xxs24_224": "this is a CaiT: its [CLS] is added after other blocks",
    "coat_tiny": "this is a CoaT: ",
    "convit_tiny": "this is a ConViT: ",
    "crossvit_tiny_240": "this is a CrossViT: ",
    "davit_tiny": "this is a DaViT: ",
    "focalnet_tiny_lrf": "this is a FocalNet: ",
    "gcvit_xxtiny": "this is a GC ViT: ",
    "hiera_tiny_224": "this is a Hiera: ",
    "levit_128s": "this is a LeViT or a relative of it",
    "maxvit_tiny_tf_224": "this is a MaxViT: ",
    "mvitv2_tiny": "this is an MViT: ",
    "naflexvit_base_patch16_gap": "this is a NaFlexViT: ",
    "nest_tiny": "this is a NesT: ",
    "nextvit_small": "this is a Next-ViT: ",
    "pit_ti_224": "this is a PiT: ",
    "pvt_v2_b0": "this is a PVT or SegFormer: ",
    "resnet18": "this is a convolutional network, or a hybrid that begins with one: ",
    "sam2_hiera_tiny": "this is a Hiera: ",
    "samvit_base_patch16": "this is the image encoder of SAM: ",
    "swin_s3_tiny_224": "its windows grow from stage to stage (as in Swin-S3)",
    "swinv2_cr_tiny_224": "this is a Swin V2 of another kind (swinv2_cr, Swin2SR): ",
    "swinv2_tiny_window8_256": "the names of a Swin V2 show neither its windows nor its image size",
    "tnt_s_patch16_224": "this is a TNT: ",
    "twins_svt_small": "this is a Twins: ",
    "vit_base_patch16_18x2_224": "this is a parallel ViT: ",
    "vit_base_patch16_sapiens2": "this is a Sapiens2: ",
    "vit_base_patch16_xp_224": "this is a parallel ViT: ",
    "vit_dwee_patch16_reg1_gap_256": "this is a ViT with differential attention: ",
    "vit_relpos_small_patch16_224": "this is a ViT with relative positions: ",
    "vit_tiny_r_s16_p8_224": "this is a hybrid ViT: ",
    "vitamin_small_224": "this is a hybrid ViT: ",
    "volo_d1_224": "this is a VOLO: ",
    "xcit_nano_12_p8_224": "this is an XCiT: it attends over channels",
    "vit_pe_spatial_tiny_patch16_512": "its names are those of timm's PE",
    "vit_small_patch16_rope_224": "its names do not show whether it has rotary positions",
    "deepseek_vit_412m": "its names do not show its positions",
    "qwen3_vit_88m": "its names do not show its positions",
}


def state_of(name: str) -> dict[str, Tensor]:
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        return dict(importlib.import_module("timm").create_model(name).state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_an_architecture_is_refused_by_its_name(name: str) -> None:
    state = state_of(name)
    shapes = {
        each: torch.zeros(t.shape) if t.numel() == 1 else torch.zeros(()).expand(t.shape)
        for each, t in state.items()
    }
    with pytest.raises(PretrainedError) as refused:
        open_model(shapes)
    assert NAMED[name] in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("_flat_param", "this is an FSDP checkpoint: "),
        # as torchao 0.18 (flatten_tensor_state_dict), bitsandbytes, GPTQ, quanto and compressed-tensors name them
        (
            "blocks.0.attn.qkv._weight_qdata",
            "this is a model quantised by torchao (blocks.0.attn.qkv._weight_qdata)",
        ),
        ("blocks.0.attn.qkv.SCB", "this is a model quantised by bitsandbytes "),
        ("blocks.0.attn.qkv.qweight", "this is a model quantised by GPTQ or AWQ "),
        ("blocks.0.attn.qkv.weight._data", "this is a model quantised by quanto "),
        ("blocks.0.attn.qkv.weight_scale", "this is a model quantised by compressed-tensors "),
        ("base_model.model.blocks.0.attn.qkv.lora_A.weight", "this is a file of PEFT adapters (LoRA): "),
        ("beit3.encoder.layers.0.self_attn.k_proj.A.weight", "this is a BEiT-3 in its authors' names: "),
        (
            "blocks.0.mlp.fc1.parametrizations.weight.original0",
            "this is a model with parametrised or pruned ",
        ),
        ("blocks.0.mlp.fc1.weight_mask", "this is a model with parametrised or pruned weights: "),
        ("vision_model.embeddings.patch_embedding.bias", "this is an image encoder like SigLIP's, without "),
        ("features.1.0.attn.logit_scale", "this is a Swin V2 of torchvision: "),
        ("stages.0.blocks.0.conv1_1x1.weight", "this is a CoAtNet: "),
        (
            "layers.0.layernorm_before.weight",
            "this is an I-JEPA or a relative of it (VideoMAE, ViTPose): it has no ",
        ),
        ("encoder.layer.0.attention.projection_layer.weight", "this is an InternVL image encoder: "),
        ("shared_rel_pos.mlp.fc1.weight", "this is a ViT with relative positions: "),
        ("conv_proj.conv_bn_relu_0.0.weight", "this is a hybrid ViT: "),
    ],
)
def test_a_wrapping_is_refused_by_its_name(name: str, why: str) -> None:
    for source in ({name: torch.zeros(2, 2)}, save({name: torch.zeros(2, 2, dtype=torch.int8)})):
        if isinstance(source, dict) or "quantised" in why:  # its integers are a file's first fault
            with pytest.raises(PretrainedError) as refused:
                open_model(source)
            assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    "model_type", ["yolos", "ijepa", "hiera", "levit", "beit", "qwen3_vit_88m", "pixtral"]
)
def test_a_stated_family_is_refused_by_its_name(model_type: str) -> None:
    for key in ("model_type", "architecture"):
        with pytest.raises(PretrainedError, match=r"^this is an? "):
            open_model({"encoder.weight": torch.zeros(2, 2)}, {key: model_type})


def test_a_flax_file_is_refused_by_its_name() -> None:
    with pytest.raises(PretrainedError, match=r"the file is a Flax file \(\.msgpack\)") as refused:
        check_header(b"\x82\xa6params\x81\xa3vit" + bytes(99))
    assert not isinstance(refused.value, PickledWeightsError)


@pytest.mark.parametrize(
    "name, config",
    [("BlipVisionModel", "BlipVisionConfig"), ("VitDetModel", "VitDetConfig"), ("VivitModel", "VivitConfig")],
)
def test_a_model_without_a_name_of_its_own_is_not_called_another(name: str, config: str) -> None:
    transformers = importlib.import_module("transformers")
    with torch.device("meta"):
        model = getattr(transformers, name)(getattr(transformers, config)())
    with pytest.raises(PretrainedError) as refused:
        open_model({each: torch.zeros(()).expand(t.shape) for each, t in model.state_dict().items()})
    assert not str(refused.value).startswith("this is ")
