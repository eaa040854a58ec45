"""Configs: random valid ones run and travel as JSON, random invalid ones say what was expected and received."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    Preparation,
    SwinConfig,
    TrainConfig,
    ViTConfig,
    from_dict,
    to_dict,
)
from vitviz.models.zoo import create_model

FAST = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SMALL = st.integers(1, 3)


@st.composite
def vit_configs(draw: Any) -> ViTConfig:
    patch, heads = draw(st.sampled_from([1, 2, 4])), draw(SMALL)
    distilled = draw(st.booleans())
    stem = draw(st.sampled_from([(), (), (4, 8)]))
    return ViTConfig(
        image_size=patch * draw(st.integers(1, 4)),
        patch_size=patch,
        in_chans=draw(st.sampled_from([1, 3])),
        num_classes=draw(st.integers(0, 5)),
        embed_dim=heads * 8,
        depth=draw(SMALL),
        num_heads=heads,
        mlp_ratio=draw(st.floats(0.2, 4)),
        qkv_bias=draw(st.booleans()),
        output_projection=draw(st.booleans()),
        head_input=draw(st.sampled_from(["all", "slice"])),
        attention_scale=draw(st.sampled_from(["head", "width", "none"])),
        norm=draw(st.sampled_from(["pre", "post"])),
        final_norm=draw(st.booleans()),
        activation=draw(st.sampled_from(["gelu", "relu", "silu"])),
        positions=draw(
            st.sampled_from(["none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned", "pixels"])
        ),
        position_on_prefix=draw(st.booleans()),
        sincos_on_prefix=draw(st.booleans()),
        readout="cls" if distilled else draw(st.sampled_from(["cls", "mean", "first_patch"])),
        distilled=distilled,
        num_registers=draw(st.integers(0, 2)),
        embed="conv" if stem else draw(st.sampled_from(["conv", "unfold"])),
        embed_bias=bool(stem) or draw(st.booleans()),
        stem=stem,
        layer_scale=draw(st.sampled_from([None, 0.1])),
        dropout=draw(st.sampled_from([0.0, 0.1])),
        attention_dropout=draw(st.sampled_from([0.0, 0.1])),
        drop_path=draw(st.sampled_from([0.0, 0.1])),
        softmax_output=draw(st.booleans()),
    )


@st.composite
def swin_configs(draw: Any) -> SwinConfig:
    stages, patch = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2]))
    return SwinConfig(
        image_size=patch * draw(st.integers(1, 9)),
        patch_size=patch,
        in_chans=draw(st.sampled_from([1, 3])),
        num_classes=draw(st.integers(0, 4)),
        embed_dim=12,
        depths=tuple(draw(SMALL) for _ in range(stages)),
        num_heads=tuple(draw(SMALL) for _ in range(stages)),
        window_size=draw(st.integers(1, 5)),
        mlp_ratio=draw(st.floats(0.2, 3)),
        qkv_bias=draw(st.booleans()),
        dropout=draw(st.sampled_from([0.0, 0.1])),
        drop_path=draw(st.sampled_from([0.0, 0.1])),
        convention=draw(st.sampled_from(["torchvision", "timm"])),
    )


OTHERS = st.sampled_from(
    [
        CNNConfig(image_size=9, widths=(4, 6), blocks=(1, 2)),
        CNNConfig(in_chans=1, widths=(3,), blocks=(1,)),
        CNNConfig(widths=(3, 5), blocks=(0, 1), pooled=True),
        CNNConfig(image_size=9, in_chans=1, widths=(8, 5), blocks=(0, 1), pooled=True, whitened=True),
        ConvAttentionConfig(image_size=8, channels=3),
        ConvAttentionConfig(image_size=10, in_chans=3, scaled=False, transposed_values=True),
        FlatAttentionConfig(image_size=6, widths=(5, 4)),
    ]
)


@given(st.one_of(vit_configs(), swin_configs(), OTHERS))
@FAST
def test_valid_configs_run_train_and_travel(config: ModelConfig) -> None:
    model = create_model(config, seed=0)
    x = torch.randn(2, config.in_chans, config.image_size, config.image_size)
    logits = model.train()(x)
    logits.sum().backward()
    if config.num_classes:
        assert logits.shape == (2, config.num_classes)
    shown, record = model.eval()(x, record=True)
    assert torch.isfinite(shown).all()
    assert all(torch.isfinite(tensor).all() for tensor in record.values())
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    assert hash(from_dict(to_dict(config))) == hash(config)


WRONG: list[tuple[type, dict[str, Any], str]] = [
    (CNNConfig, {"whitened": True}, "must have pooled, widths of 24, … and blocks of 0, …, received False"),
    (
        CNNConfig,
        {"image_size": 8, "widths": (24, 4, 4, 4), "blocks": (0, 1, 1, 1), "pooled": True, "whitened": True},
        "image_size must be at least 9 for 4 stages of a CNN with whitened, received 8",
    ),
    (ViTConfig, {"patch_size": 5}, "patch_size 5 does not divide image_size 32"),
    (ViTConfig, {"num_heads": 5}, "num_heads 5 does not divide embed_dim 96"),
    (ViTConfig, {"depth": 0}, "depth must be an integer of at least 1, received 0"),
    (ViTConfig, {"depth": True}, "depth must be an integer of at least 1, received True"),
    (ViTConfig, {"embed_dim": 9.5}, "embed_dim must be an integer of at least 1, received 9.5"),
    (ViTConfig, {"dropout": 1.0}, r"dropout must lie in \[0, 1\), received 1.0"),
    (
        ViTConfig,
        {"activation": "tanh"},
        "activation must be one of gelu, gelu_tanh, quick_gelu, relu, silu, received 'tanh'",
    ),
    (ViTConfig, {"distilled": True, "readout": "mean"}, "needs readout 'cls', received 'mean'"),
    (ViTConfig, {"mlp_ratio": 0.0}, "at least one hidden unit, received 0.0"),
    (ViTConfig, {"mlp_ratio": float("nan")}, "mlp_ratio must be a finite number, received nan"),
    (ViTConfig, {"mlp_ratio": "4"}, "mlp_ratio must be a finite number, received '4'"),
    (ViTConfig, {"num_classes": -1}, "received -1"),
    (ViTConfig, {"num_classes": 2.5}, "received 2.5"),
    (ViTConfig, {"norm_eps": 2.0}, r"norm_eps must lie in \(0, 1\), received 2.0"),
    (ViTConfig, {"layer_scale": float("inf")}, "layer_scale must be a finite number, received inf"),
    (ViTConfig, {"qkv_bias": 1}, "qkv_bias must be True or False, received 1"),
    (ViTConfig, {"embed_dim": 90, "positions": "sincos_2d_concat"}, "received 90"),
    (ViTConfig, {"embed_dim": 9, "positions": "sincos_1d"}, "even embed_dim, received 9"),
    (ViTConfig, {"stem": (8,)}, "at least 2 layers, received 1"),
    (ViTConfig, {"stem": (8, 0)}, r"received \(8, 0\)"),
    (ViTConfig, {"stem": (8, 8), "patch_size": 32, "image_size": 96}, "at least 5 layers, received 2"),
    (ViTConfig, {"stem": (8, 8), "patch_size": 6, "image_size": 12}, "at least 3 layers, received 2"),
    (
        ViTConfig,
        {"stem": (8, 8), "embed": "unfold"},
        "a stem is made of convolutions .*, received embed 'unfold'",
    ),
    (SwinConfig, {"depths": (2,)}, "one entry per stage"),
    (SwinConfig, {"depths": (), "num_heads": ()}, "one entry per stage"),
    (SwinConfig, {"num_heads": (3, 7)}, "num_heads 7 does not divide stage 1's width 96"),
    (SwinConfig, {"depths": (2, 0)}, "at least 1"),
    (SwinConfig, {"convention": "jax"}, "convention must be one of torchvision, timm, received 'jax'"),
    (SwinConfig, {"window_size": 0}, "window_size must be an integer of at least 1, received 0"),
    (SwinConfig, {"image_size": 33}, "patch_size 2 does not divide image_size 33"),
    (SwinConfig, {"norm_eps": 0.0}, r"norm_eps must lie in \(0, 1\), received 0.0"),
    (SwinConfig, {"mlp_ratio": float("inf")}, "mlp_ratio must be a finite number, received inf"),
    (CNNConfig, {"widths": (8,)}, "one entry per stage"),
    (CNNConfig, {"blocks": (1, 0, 1)}, "at least 1"),
    (CNNConfig, {"blocks": (-1, 1, 1)}, r"integers of at least 0, received \(-1, 1, 1\)"),
    (ConvAttentionConfig, {"channels": 0}, "channels must be an integer of at least 1, received 0"),
    (FlatAttentionConfig, {"widths": (4,)}, "two hidden widths"),
    (Preparation, {"std": (0.5, 0.0, 0.5)}, "std must be positive"),
    (Preparation, {"mean": (0.5, 0.5), "std": (0.5, 0.5)}, r"1 \(grey\) or 3 \(RGB\)"),
    (Preparation, {"crop_fraction": 0.0}, r"crop_fraction must lie in \(0, 16\], received 0.0"),
    (Preparation, {"mean": (float("nan"),) * 3}, "mean must hold finite numbers"),
    (Preparation, {"mean": (1e308, 0.5, 0.5)}, r"must be at most 1e\+06, .* received inf"),
    (Preparation, {"std": (0.5, 1e-46, 0.5)}, r"must be at most 1e\+06, .* received 5e\+45"),
    (Preparation, {"pixel_range": 1e-300}, r"must be at most 1e\+06, .* received 5.1e\+302"),
    (Preparation, {"mean": (-1.7e308,) * 3, "std": (1e308,) * 3}, r"at most 1e\+06, .* received 1.7e\+308"),
    (Preparation, {"mean": 0.5}, "mean must be a list, received 0.5"),
    (TrainConfig, {"dataset": 3}, "dataset must be a text, received 3"),
    (TrainConfig, {"seed": 0.5}, "seed must be an integer, received 0.5"),
    (TrainConfig, {"alternate_flip": True}, "alternate_flip needs flip=True, received flip=False"),
    (TrainConfig, {"epochs": None}, "exactly one of epochs and seconds"),
    (TrainConfig, {"learning_rate": 0.0}, r"learning_rate must lie in \(0, 10\], received 0.0"),
    (TrainConfig, {"stop_accuracy": 97.0}, r"stop_accuracy must lie in \(0, 1\], received 97.0"),
    (TrainConfig, {"patience": 0.0}, r"patience must lie in \(0, 10000\], received 0.0"),
    (TrainConfig, {"optimizer": "lion"}, "optimizer must be one of"),
]


@pytest.mark.parametrize(("cls", "values", "message"), WRONG)
def test_invalid_configs_state_expected_and_received(cls: type, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cls(**values)


@given(
    st.sampled_from(["image_size", "patch_size", "embed_dim", "depth", "num_heads", "in_chans"]),
    st.one_of(st.integers(-5, 0), st.floats(), st.text(), st.none()),
)
@FAST
def test_whatever_is_no_positive_integer_is_refused(name: str, value: Any) -> None:
    with pytest.raises(
        ValueError, match=f"{name} must be an integer of at least 1(, or two .height, width.)?, received"
    ):
        ViTConfig(**{name: value})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(sorted({*ViTConfig.__dataclass_fields__, *SwinConfig.__dataclass_fields__, "other"}))


@given(st.sampled_from(["vit", "swin", "cnn", "train", "nothing"]), st.dictionaries(FIELDS, JSON, max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_strangers_json_gives_a_config_or_a_value_error(kind: str, values: dict[str, Any]) -> None:
    try:
        config = from_dict({"kind": kind, **values})
    except ValueError as error:
        assert str(error)
    else:
        assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a config is an object, received list"),
        ('{"kind": "rnn"}', "kind must be one of .*, received 'rnn'"),
        ('{"kind": "vit", "wings": 2}', "a vit config has no wings"),
    ],
)
def test_json_that_is_no_config(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_dict(json.loads(text))


@pytest.mark.parametrize("absurd", [{"num_registers": 10**30}, {"mlp_ratio": 1e308}])
def test_absurd_numbers_are_refused_before_anything_is_made_of_them(absurd: dict[str, Any]) -> None:
    """A fuzzer found them in config.json: a tuple of 10^30 names took all of the machine's memory."""
    with pytest.raises(
        ValueError, match=r"num_registers must be an integer in \[0, 9\]|at least one hidden unit"
    ):
        ViTConfig(**absurd)


def test_a_later_field_is_written_only_where_it_differs() -> None:
    """Files, links and digests of before name no field that was added after them."""
    assert "mlp_norm" not in to_dict(ViTConfig()) and "mlp_norm" not in repr(ViTConfig())
    config = ViTConfig(mlp_norm=True, rotary_beside=True, rope_type="cat")
    assert to_dict(config)["mlp_norm"] is True and "rope_type='cat'" in repr(config)
    assert from_dict(to_dict(config)) == config and from_dict(to_dict(ViTConfig())) == ViTConfig()
    assert repr(ViTConfig()).endswith("projection=0, rope_theta=100.0)")


@pytest.mark.parametrize(
    ("config", "count"),
    [(ViTConfig(), 42), (SwinConfig(), 16), (CNNConfig(), 7), (Preparation(), 6), (TrainConfig(), 40)],
)
def test_a_config_names_no_field_that_an_earlier_version_lacks(config: Any, count: int) -> None:
    """After a rollback, runs and checkpoints of this version open where they use none of its new options."""
    assert len(to_dict(config)) == 1 + count
