"""Every publisher's checkpoints, three shapes a family drawn at random: recognised and opened, with equal numbers.

The files are written here with random weights in the publishers' own formats, by their own functions where they have
them; nothing is fetched.
"""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parity_peers as peers
import pytest
import torch
from parity_compare import attention_of, shake
from safetensors.torch import save_file
from torch import Tensor, nn

from vitviz.models.formats import open_model
from vitviz.models.formats.module_settings import read_module
from vitviz.models.model_cost import parameters
from vitviz.models.pretrained_list import PretrainedError

Draw = random.Random
TOLERANCE = 1e-5  # of the largest number on the publisher's side


@dataclass
class Peer:
    """A publisher's model, its checkpoint on disk, and what gives its features."""

    model: nn.Module
    folder: Path
    side: int
    features: Callable[[Tensor], Tensor]


def written(model: nn.Module, folder: Path, config: dict[str, Any] | None = None, prefix: str = "") -> None:
    state = {f"{prefix}{name}": tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file({name: tensor.clone() for name, tensor in state.items()}, folder / "model.safetensors")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))


def finished(draw: Draw, model: nn.Module, folder: Path, side: int, config: dict[str, Any]) -> Peer:
    """Return a publisher's model with random weights, written to its folder."""
    shake(model, draw.randrange(99))
    written(model, folder, config)
    return Peer(model, folder, side, model)


def timm_sizes(shape: dict[str, Any]) -> dict[str, Any]:
    """Return the shape by the names of timm's arguments."""
    names = {"patch_size": "patch", "embed_dim": "width", "depth": "depth", "num_heads": "heads"}
    sizes = {argument: shape[name] for argument, name in names.items()}
    return sizes | {"img_size": shape["side"]}


def vit_shape(draw: Draw) -> dict[str, Any]:
    heads, patch = draw.choice([1, 2, 3]), draw.choice([4, 8])
    return {
        "patch": patch,
        "side": patch * draw.choice([3, 4, 5]),
        "heads": heads,
        "depth": draw.choice([1, 2]),
        "width": 8 * heads * draw.choice([1, 2]),
        "ratio": draw.choice([1.5, 2, 4]),
        "classes": draw.choice([0, 2, 7]),
    }


def timm_vit(draw: Draw, folder: Path, **options: Any) -> Peer:
    shape = vit_shape(draw)
    side = shape["side"]
    options.setdefault("init_values", draw.choice([None, 0.1]))
    options.setdefault("qk_norm", draw.choice([False, True]))
    options.setdefault("qkv_bias", draw.choice([False, True]))
    options.setdefault("class_token", draw.choice([True, True, False]))
    options.setdefault("global_pool", draw.choice(["token", "avg"]) if options["class_token"] else "avg")
    options.setdefault("reg_tokens", draw.choice([0, 2]))
    options.setdefault("no_embed_class", draw.choice([False, True]))
    options.setdefault("in_chans", draw.choice([3, 3, 1]))
    model = peers.TimmViT(
        **timm_sizes(shape), mlp_ratio=shape["ratio"], num_classes=shape["classes"], **options
    )
    shake(model, draw.randrange(99))
    pool = {"global_pool": options["global_pool"]}
    written(model, folder, {"model_args": {"num_heads": shape["heads"], "img_size": side}} | pool)
    return Peer(model, folder, side, model)


def timm_vit_prefixed(draw: Draw, folder: Path) -> Peer:
    peer = timm_vit(draw, folder, global_pool="avg", class_token=True)
    written(peer.model, folder, prefix=draw.choice(["model.", "module.", "backbone.model."]))
    return peer


def timm_swiglu(draw: Draw, folder: Path) -> Peer:
    layers = importlib.import_module("timm.layers")
    return timm_vit(
        draw, folder, mlp_layer=draw.choice([layers.SwiGLUPacked, layers.SwiGLU]), act_layer=nn.SiLU
    )


def timm_clip(draw: Draw, folder: Path) -> Peer:
    return timm_vit(
        draw, folder, pre_norm=True, norm_layer=nn.LayerNorm, global_pool="token", class_token=True
    )


def timm_eva(draw: Draw, folder: Path) -> Peer:
    """EVA-02, PE, DINOv3 and their relatives: rotary positions of every kind, norms inside, attention pooling."""
    eva, layers = (importlib.import_module(f"timm.{name}") for name in ("models.eva", "layers"))
    shape, has_cls = vit_shape(draw), draw.choice([True, False])
    side = shape["side"]
    kind = draw.choice(["eva", "rope"])
    rope_type = draw.choice(["cat", "dinov3", "mixed"])
    pools = ["token", "avg", "map"] if has_cls else ["avg", "map"]
    model = eva.Eva(
        **timm_sizes(shape),
        mlp_ratio=shape["ratio"],
        num_classes=shape["classes"],
        class_token=has_cls,
        num_reg_tokens=draw.choice([0, 2]),
        global_pool=draw.choice(pools),
        attn_type=kind,
        qkv_fused=draw.choice([True, False]),
        qkv_bias=draw.choice([True, False]),
        qk_norm=draw.choice([True, False]),
        swiglu_mlp=draw.choice([True, False]),
        scale_mlp=draw.choice([True, False]),
        scale_attn_inner=draw.choice([True, False]),
        init_values=draw.choice([None, 0.1]),
        norm_layer=draw.choice([layers.LayerNorm, layers.RmsNorm]),
        use_abs_pos_emb=draw.choice([True, False]),
        use_rot_pos_emb=True,
        rope_type=rope_type,
        rope_temperature=draw.choice([10.0, 100.0]),
        rope_grid_offset=draw.choice([0.0, 1.0]),
        rope_grid_indexing=draw.choice(["ij", "xy"]),
        rope_rotate_half=rope_type != "mixed" and draw.choice([True, False]),
        ref_feat_shape=draw.choice([None, (7, 7)]),
    )
    return finished(draw, model, folder, side, read_module(model))


def timm_siglip(draw: Draw, folder: Path) -> Peer:
    peer = timm_vit(draw, folder, class_token=False, global_pool="map")
    written(peer.model, folder, read_module(peer.model))
    return peer


def timm_aimv2(draw: Draw, folder: Path) -> Peer:
    layers = importlib.import_module("timm.layers")
    peer = timm_vit(
        draw,
        folder,
        class_token=False,
        global_pool="avg",
        norm_layer=layers.RmsNorm,
        embed_norm_layer=layers.RmsNorm,
        qkv_bias=False,
        proj_bias=False,
        mlp_layer=layers.SwiGLU,
        act_layer=nn.SiLU,
    )
    written(peer.model, folder, read_module(peer.model))
    return peer


def timm_deit(draw: Draw, folder: Path) -> Peer:
    shape = vit_shape(draw)
    side = shape["side"]
    model = peers.TimmDistilled(**timm_sizes(shape), num_classes=7)
    return finished(draw, model, folder, side, {"num_heads": shape["heads"]})


def swin_shape(draw: Draw) -> dict[str, Any]:
    window = draw.choice([2, 3, 4])
    depths = draw.choice([(2, 2), (2, 3, 2), (4,)])
    return {
        "patch_size": draw.choice([2, 4]),
        "embed_dim": 12,
        "depths": depths,
        "num_heads": (2, 3, 4)[: len(depths)],
        "window_size": window,
        "mlp_ratio": draw.choice([1.0, 1.3, 2.5]),
    }


def timm_swin(draw: Draw, folder: Path) -> Peer:
    shape = swin_shape(draw)
    side = shape["patch_size"] * draw.choice([4, 5, 8, 12])
    shape |= {"num_classes": draw.choice([0, 5]), "in_chans": draw.choice([1, 3])}
    shape |= {"qkv_bias": draw.choice([False, True])}
    model = shake(peers.TimmSwin(img_size=side, **shape), draw.randrange(99))
    written(model, folder, {"model_args": {"img_size": side}})
    return Peer(model, folder, side, model)


def timm_swin_v2(draw: Draw, folder: Path) -> Peer:
    shape = swin_shape(draw)
    side = shape["patch_size"] * draw.choice([4, 8, 12])
    swin = importlib.import_module("timm.models.swin_transformer_v2")
    windows = draw.choice([(0,), (3,)]) * len(shape["depths"])
    model = swin.SwinTransformerV2(
        img_size=side, num_classes=draw.choice([0, 5]), pretrained_window_sizes=windows, **shape
    )
    return finished(draw, model, folder, side, {"window_size": shape["window_size"]} | read_module(model))


def torchvision_vit(draw: Draw, folder: Path) -> Peer:
    shape = vit_shape(draw)
    side = shape["side"]
    model = peers.TorchvisionViT(
        side,
        shape["patch"],
        shape["depth"],
        shape["heads"],
        shape["width"],
        int(shape["width"] * shape["ratio"]),
        num_classes=5,
    )
    return finished(draw, model, folder, side, {"num_heads": shape["heads"]})


def torchvision_swin(draw: Draw, folder: Path) -> Peer:
    shape = swin_shape(draw)
    side = shape["patch_size"] * draw.choice([4, 6, 10])
    two = {name: [shape[name]] * 2 for name in ("patch_size", "window_size")}
    model = peers.TorchvisionSwin(
        **shape | two | {"depths": list(shape["depths"]), "num_heads": list(shape["num_heads"])},
        num_classes=5,
    )
    return finished(draw, model, folder, side, {"img_size": side})


def vit_pytorch(draw: Draw, folder: Path) -> Peer:
    shape = vit_shape(draw)
    sizes = vit_pytorch_sizes(shape, shape["width"], draw)
    model = importlib.import_module("vit_pytorch").ViT(**sizes, pool=draw.choice(["cls", "mean"]))
    return finished(draw, model, folder, sizes["image_size"], {"heads": shape["heads"]})


def vit_pytorch_simple(draw: Draw, folder: Path) -> Peer:
    shape = vit_shape(draw)
    sizes = vit_pytorch_sizes(shape, 16 * shape["heads"], draw)
    model, side = importlib.import_module("vit_pytorch.simple_vit").SimpleViT(**sizes), sizes["image_size"]
    return finished(draw, model, folder, side, {"heads": shape["heads"], "image_size": side})


def vit_pytorch_sizes(shape: dict[str, Any], width: int, draw: Draw) -> dict[str, Any]:
    """Return the shape by the names of vit-pytorch's arguments."""
    sizes = {"image_size": shape["side"], "patch_size": shape["patch"], "num_classes": 7}
    sizes |= {"dim": width, "mlp_dim": int(width * shape["ratio"]), "dim_head": draw.choice([4, 8])}
    return sizes | {"depth": shape["depth"], "heads": shape["heads"]}


def saved(model: Any, folder: Path, side: int, draw: Draw, features: str = "logits") -> Peer:
    """A transformers model, in its own folder; 'logits' or the name of what its output holds."""
    shake(model, draw.randrange(99))
    model.save_pretrained(folder, **draw.choice([{}, {"max_shard_size": "20KB"}]))
    take = (
        (lambda out: out[features][:, 0]) if features == "last_hidden_state" else (lambda out: out[features])
    )
    return Peer(model, folder, side, lambda x: take(model(x)))


def hf(name: str) -> Any:
    return getattr(importlib.import_module("transformers"), name)


def hf_config(draw: Draw, **more: Any) -> tuple[dict[str, Any], int]:
    shape = vit_shape(draw)
    side = shape["side"]
    return {
        "hidden_size": shape["width"],
        "num_hidden_layers": shape["depth"],
        "num_attention_heads": shape["heads"],
        "intermediate_size": int(shape["width"] * shape["ratio"]),
        "image_size": side,
        "patch_size": shape["patch"],
        "num_labels": 5,
        "attn_implementation": draw.choice(["eager", "sdpa"]),
    } | more, side


def hf_vit(draw: Draw, folder: Path) -> Peer:
    config, side = hf_config(
        draw, qkv_bias=draw.choice([True, False]), hidden_act=draw.choice(["gelu", "quick_gelu"])
    )
    if draw.random() < 0.3:
        return saved(hf("ViTModel")(hf("ViTConfig")(**config)), folder, side, draw, "last_hidden_state")
    return saved(hf("ViTForImageClassification")(hf("ViTConfig")(**config)), folder, side, draw)


def hf_deit(draw: Draw, folder: Path) -> Peer:
    config, side = hf_config(draw)
    kind = draw.choice(["DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"])
    return saved(hf(kind)(hf("DeiTConfig")(**config)), folder, side, draw)


def hf_dinov2(draw: Draw, folder: Path) -> Peer:
    config, side = hf_config(draw, mlp_ratio=draw.choice([2, 4]), use_swiglu_ffn=draw.choice([False, True]))
    kind = draw.choice(["Dinov2", "Dinov2WithRegisters"])
    if draw.random() < 0.4:
        return saved(
            hf(f"{kind}Model")(hf(f"{kind}Config")(**config)), folder, side, draw, "last_hidden_state"
        )
    return saved(hf(f"{kind}ForImageClassification")(hf(f"{kind}Config")(**config)), folder, side, draw)


def hf_dinov3(draw: Draw, folder: Path) -> Peer:
    config, side = hf_config(
        draw,
        use_gated_mlp=draw.choice([False, True]),
        num_register_tokens=draw.choice([1, 4]),
        mlp_bias=draw.choice([True, False]),
        hidden_act=draw.choice(["gelu", "silu"]),
        rope_theta=draw.choice([20.0, 100.0]),
    )
    return saved(
        hf("DINOv3ViTModel")(hf("DINOv3ViTConfig")(**config)), folder, side, draw, "last_hidden_state"
    )


def hf_swin(draw: Draw, folder: Path, version: str = "", **windows: int) -> Peer:
    shape = swin_shape(draw) | {"mlp_ratio": draw.choice([1.0, 2.5])}
    stages = len(shape["depths"])
    side = shape["patch_size"] * shape["window_size"] * 2 ** (stages - 1) * draw.choice([1, 2])
    shape |= {"depths": list(shape["depths"]), "num_heads": list(shape["num_heads"])}
    shape |= {name: [window] * stages for name, window in windows.items()}
    config = hf(f"Swin{version}Config")(image_size=side, num_labels=5, **shape)
    return saved(hf(f"Swin{version}ForImageClassification")(config), folder, side, draw)


def hf_swin_v2(draw: Draw, folder: Path) -> Peer:
    return hf_swin(draw, folder, "v2", pretrained_window_sizes=draw.choice([0, 6]))


def hf_clip(draw: Draw, folder: Path) -> Peer:
    config, side = hf_config(draw, projection_dim=6, hidden_act=draw.choice(["gelu", "quick_gelu"]))
    if draw.random() < 0.5:
        text = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
        del config["num_labels"]
        whole = hf("CLIPModel")(
            hf("CLIPConfig")(vision_config=config, text_config=text | {"vocab_size": 9}, projection_dim=6)
        )
        peer = saved(whole, folder, side, draw)
        peer.features = lambda x: whole.visual_projection(whole.vision_model(x).pooler_output)
        return peer
    model = hf("CLIPVisionModelWithProjection")(hf("CLIPVisionConfig")(**config))
    return saved(model, folder, side, draw, "image_embeds")


def hf_siglip(draw: Draw, folder: Path) -> Peer:
    config, side = hf_config(draw, hidden_act=draw.choice(["gelu", "gelu_pytorch_tanh"]))
    del config["num_labels"]
    return saved(
        hf("SiglipVisionModel")(hf("SiglipVisionConfig")(**config)), folder, side, draw, "pooler_output"
    )


def open_clip(draw: Draw, folder: Path) -> Peer:
    shape = vit_shape(draw)
    side, quick = shape["side"], draw.choice([False, True])
    vision = {
        "image_size": side,
        "layers": shape["depth"],
        "width": shape["width"],
        "patch_size": shape["patch"],
    }
    vision |= {"head_width": shape["width"] // shape["heads"], "ls_init_value": draw.choice([None, 0.1])}
    text = {"context_length": 5, "vocab_size": 11, "width": 8, "heads": 1, "layers": 1}
    model = importlib.import_module("open_clip.model").CLIP(6, vision, text, quick_gelu=quick)
    shake(model, draw.randrange(99))
    written(model, folder)
    (folder / "open_clip_config.json").write_text(
        json.dumps(
            {"model_cfg": {"embed_dim": 6, "vision_cfg": vision, "text_cfg": text, "quick_gelu": quick}}
        )
    )
    return Peer(model, folder, side, model.visual)


FAMILIES: dict[str, Callable[[Draw, Path], Peer]] = {
    family.__name__: family
    for family in (
        timm_vit,
        timm_vit_prefixed,
        timm_swiglu,
        timm_eva,
        timm_siglip,
        timm_aimv2,
        timm_clip,
        timm_deit,
        timm_swin,
        timm_swin_v2,
        hf_vit,
        hf_deit,
        hf_dinov2,
        hf_dinov3,
        hf_swin,
        hf_swin_v2,
        hf_clip,
        hf_siglip,
        torchvision_vit,
        torchvision_swin,
        open_clip,
        vit_pytorch,
        vit_pytorch_simple,
    )
}


def close(ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> None:
    assert ours.shape == theirs.shape
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance * max(1.0, float(theirs.abs().max())))


def check_equal(ours: nn.Module, theirs: nn.Module, features: Callable[[Tensor], Tensor], x: Tensor) -> int:
    """Compare outputs, all attention, and d(outputs * fixed noise) by the images and by each weight of equal name.

    Returns:
        How many weights have the same name on both sides.
    """
    weights = [dict(model.requires_grad_().named_parameters()) for model in (theirs, ours)]
    named = [name for name in weights[0] if name in weights[1]]
    expected, attention = attention_of(features, x.requires_grad_())
    outputs, records = ours(x, record=["logits", "*.attn"])
    close(outputs.detach(), expected.detach())
    maps = [tensor for name, tensor in records.items() if name.endswith(".attn")]
    assert len(maps) == len(attention) > 0
    for mine, other in zip(maps, attention, strict=True):
        if other.ndim == 3:  # torch's own attention: images and heads together
            other = other.reshape(mine.shape)
        close(mine.detach().flatten(0, -4), other.detach().flatten(0, -4))
    noise = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    slopes = [
        torch.autograd.grad(
            (values * noise).mean(), [x, *(of_model[name] for name in named)], allow_unused=True
        )
        for values, of_model in zip((expected, outputs), weights, strict=True)
    ]
    for name, wanted, found in zip(("x", *named), *slopes, strict=True):
        assert (wanted is None) == (found is None), name
        if wanted is not None:
            close(found.reshape(wanted.shape), wanted, 1e-4)  # vit_pytorch's [CLS] has fewer axes
    return len(named)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_publishers_folder_opens_with_equal_numbers(family: str, seed: int, tmp_path: Path) -> None:
    peer = FAMILIES[family](Draw(f"{family}{seed}"), tmp_path)
    config = {"num_heads": heads(peer.model)} if family == "timm_vit_prefixed" else None
    opened = open_model(peer.folder, config)
    assert opened.preparation.image_size == opened.config.image_size == peer.side
    sides = (opened.config.in_chans, peer.side, peer.side)
    x = torch.randn(2, *sides, generator=torch.Generator().manual_seed(seed))
    named = check_equal(opened.model, peer.model, peer.features, x)
    assert named >= 10 or family not in ("timm_vit", "timm_deit", "timm_swin")
    assert sum(parameters(opened.config).values()) == sum(p.numel() for p in opened.model.parameters())


def heads(model: nn.Module) -> int:
    return int(model.blocks[0].attn.num_heads)


def test_both_heads_of_a_deit_equal_timms(tmp_path: Path) -> None:
    peer = timm_deit(Draw("heads"), tmp_path)
    peer.model.set_distilled_training(True)
    x = torch.randn(2, 3, peer.side, peer.side)
    _, records = open_model(tmp_path).model(x, record=["logits_*"])
    for ours, theirs in zip(
        (records["logits_cls"], records["logits_dist"]), peer.model.train()(x), strict=True
    ):
        close(ours, theirs.detach())


@pytest.mark.parametrize("family", [name for name in FAMILIES if name.startswith("hf_")])
def test_a_live_transformers_model_opens_by_its_state_dict(family: str, tmp_path: Path) -> None:
    """Since version 5 a model's own names differ from those of the files that it saves."""
    peer = FAMILIES[family](Draw(f"{family} live"), tmp_path)
    opened = open_model(peer.model.state_dict(), peer.model.config.to_dict())
    x = torch.randn(1, 3, peer.side, peer.side)
    close(opened.model(x), peer.features(x).detach())


def test_timms_own_folder_states_the_preparation(tmp_path: Path) -> None:
    model = peers.timm.create_model("vit_tiny_patch16_224.augreg_in21k_ft_in1k", img_size=160, num_classes=3)
    save = importlib.import_module("timm.models").save_for_hf
    save(
        model,
        tmp_path,
        {"label_names": ["ant", "bee", "cow"]},
        safe_serialization=True,
        model_args={"img_size": 160},
    )
    opened = open_model(tmp_path)
    assert (opened.config.image_size, opened.classes) == (160, ("ant", "bee", "cow"))
    preparation = opened.preparation
    assert (preparation.mean, preparation.std) == ((0.5,) * 3, (0.5,) * 3)
    assert (preparation.crop_fraction, preparation.interpolation) == (0.9, "bicubic")
    assert (
        opened.config.num_heads == 3 and opened.notes == ()
    )  # timm's own number, by the architecture's name


def test_transformers_image_processors_state_the_preparation(tmp_path: Path) -> None:
    peer = hf_clip(Draw("processor"), tmp_path)
    size = {"shortest_edge": 2 * peer.side}
    processor = hf("CLIPImageProcessor")(size=size, crop_size={"height": peer.side, "width": peer.side})
    processor.save_pretrained(tmp_path)
    opened = open_model(tmp_path)
    assert opened.preparation.mean == tuple(processor.image_mean)
    assert (opened.preparation.crop_fraction, opened.preparation.interpolation) == (0.5, "bicubic")
    assert not any("mean" in note for note in opened.notes)
    hf("ViTImageProcessor")(do_normalize=False, resample=2).save_pretrained(tmp_path)
    plain = open_model(tmp_path).preparation
    assert (plain.mean, plain.std, plain.interpolation) == ((0.0,) * 3, (1.0,) * 3, "bilinear")


SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
SMALL |= {"image_size": 16, "patch_size": 8}
REFUSED = {  # transformers' own models of other families -> their one sentence
    "YolosForObjectDetection": ("YolosConfig", SMALL | {"image_size": [16, 16]}, "this is a YOLOS: "),
    "IJepaModel": (
        "IJepaConfig",
        SMALL,
        "this is an I-JEPA or a relative of it (VideoMAE, ViTPose): it has no [CLS]",
    ),
    "LevitForImageClassification": ("LevitConfig", {}, "this is a LeViT or a relative of it"),
    "HieraModel": ("HieraConfig", {}, "this is a Hiera: it pools its tokens from stage to stage"),
    "Aimv2VisionModel": ("Aimv2VisionConfig", SMALL, "this is an AIMv2 in transformers' names"),
    "SamVisionModel": (
        "SamVisionConfig",
        SMALL | {"output_channels": 8},
        "this is the image encoder of SAM: ",
    ),
    "BeitForImageClassification": (
        "BeitConfig",
        SMALL | {"use_relative_position_bias": True},
        "this is a BEiT: it adds a relative position bias in every block",
    ),
    "ConvNextForImageClassification": (
        "ConvNextConfig",
        {"hidden_sizes": [4, 8], "depths": [1, 1], "num_stages": 2},
        "a convolutional network",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_folder_of_another_family_is_refused_in_one_sentence(kind: str, tmp_path: Path) -> None:
    config, sizes, why = REFUSED[kind]
    hf(kind)(hf(config)(**sizes)).save_pretrained(tmp_path)
    with pytest.raises(PretrainedError) as refused:
        open_model(tmp_path)
    assert why in str(refused.value) and "\n" not in str(refused.value)


def test_a_thousand_classes_are_imagenets_only_if_the_labels_say_so(tmp_path: Path) -> None:
    config = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config |= {"image_size": 8, "patch_size": 4}
    hf("ViTForImageClassification")(hf("ViTConfig")(**config, num_labels=1000)).save_pretrained(tmp_path)
    assert open_model(tmp_path).classes == tuple(map(str, range(1000)))
    assert "The files name no classes: outputs have numbers." in open_model(tmp_path).notes
    named = open_model(tmp_path, {"id2label": {str(i): f"kind {i}" for i in range(1000)}})
    assert named.classes[281] == "kind 281"
    assert open_model(tmp_path, labels=[f"sort {i}" for i in range(1000)]).classes[7] == "sort 7"


def test_a_head_beside_a_prefixed_backbone_is_found_and_said() -> None:
    model = shake(
        peers.TimmViT(img_size=32, patch_size=8, embed_dim=64, depth=1, num_heads=1, num_classes=4), 3
    )
    state = {
        ("fc.0." + n[5:] if n.startswith("head.") else f"backbone.{n}"): t
        for n, t in model.state_dict().items()
    }
    opened = open_model(state)
    assert {"The prefix 'backbone.' was removed from the names of its weights.", "The head is 'fc.0'."} <= {
        *opened.notes
    }
    x = torch.randn(1, 3, 32, 32)
    close(opened.model(x), model(x).detach())
