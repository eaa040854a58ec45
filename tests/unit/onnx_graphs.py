"""A small encoder with DINOv2's names as an ONNX graph, and a wheel that holds it."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from vitviz.config import ViTConfig
from vitviz.models.vit import VisionTransformer

CONFIG = ViTConfig(
    image_size=28,
    patch_size=14,
    num_classes=0,
    embed_dim=12,
    depth=2,
    num_heads=3,
    layer_scale=1.0,
    positions_antialias=False,
)
MEMBER = "small_package/models/encoder.onnx"
Arrays = dict[str, np.ndarray]


def state(seed: int = 0) -> Arrays:
    """Random tensors of every name, as timm and this project call them."""
    rng = np.random.default_rng(seed)
    wanted = VisionTransformer(CONFIG).state_dict()
    return {name: rng.standard_normal(tensor.shape).astype(np.float32) for name, tensor in wanted.items()}


def graph(arrays: Arrays, leave_out: str = "") -> bytes:
    """The tensors as PyTorch exports them: named ones, and transposed weights known by their node alone."""
    stored: Arrays = {
        "backbone.embeddings.cls_token": arrays["cls_token"],
        "backbone.embeddings.patch_embeddings.projection.weight": arrays["patch_embed.proj.weight"],
        "backbone.embeddings.patch_embeddings.projection.bias": arrays["patch_embed.proj.bias"],
        "backbone.layernorm.weight": arrays["norm.weight"],
        "backbone.layernorm.bias": arrays["norm.bias"],
        "onnx::Concat_1": arrays["pos_embed"][:, :1],
        "onnx::Reshape_2": arrays["pos_embed"][:, 1:],
    }
    nodes = [
        helper.make_node(
            "Concat", ["onnx::Concat_1", "grid"], ["a"], "/backbone/embeddings/Concat_6", axis=1
        ),
        helper.make_node("Reshape", ["onnx::Reshape_2", "shape"], ["b"], "/backbone/embeddings/Reshape_1"),
    ]
    for layer in range(CONFIG.depth):
        ours, theirs = f"blocks.{layer}", f"backbone.encoder.layer.{layer}"
        for name, other in (
            ("norm1.weight", "norm1.weight"),
            ("norm1.bias", "norm1.bias"),
            ("norm2.weight", "norm2.weight"),
            ("norm2.bias", "norm2.bias"),
            ("attn.proj.bias", "attention.output.dense.bias"),
            ("mlp.fc1.bias", "mlp.fc1.bias"),
            ("mlp.fc2.bias", "mlp.fc2.bias"),
            ("ls1.gamma", "layer_scale1.lambda1"),
            ("ls2.gamma", "layer_scale2.lambda1"),
        ):
            stored[f"{theirs}.{other}"] = arrays[f"{ours}.{name}"]
        weights = dict(
            zip(
                ("query", "key", "value"),
                zip(
                    np.split(arrays[f"{ours}.attn.qkv.weight"], 3),
                    np.split(arrays[f"{ours}.attn.qkv.bias"], 3),
                    strict=True,
                ),
                strict=True,
            )
        )
        linear = {f"attention/attention/{part}": weight for part, (weight, _) in weights.items()}
        for part, (_, bias) in weights.items():
            stored[f"{theirs}.attention.attention.{part}.bias"] = bias
        linear["attention/output/dense"] = arrays[f"{ours}.attn.proj.weight"]
        linear["mlp/fc1"] = arrays[f"{ours}.mlp.fc1.weight"]
        linear["mlp/fc2"] = arrays[f"{ours}.mlp.fc2.weight"]
        for part, weight in linear.items():
            name = f"onnx::MatMul_{len(stored)}"
            stored[name] = np.ascontiguousarray(weight.T)
            node = f"/{theirs.replace('.', '/', 2).replace('layer/', 'layer.')}/{part}/MatMul"
            nodes.append(helper.make_node("MatMul", ["x", name], [node], node))
    tensors = [numpy_helper.from_array(a, n) for n, a in stored.items() if n != leave_out]
    return helper.make_model(helper.make_graph(nodes, "encoder", [], [], tensors)).SerializeToString()


def wheel(raw: bytes, version: str = "1.2.3") -> tuple[str, bytes]:
    """(file name, bytes) of a wheel that pip takes and that holds the graph."""
    info = f"small_package-{version}.dist-info"
    files = {
        MEMBER: raw,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: small-package\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return f"small_package-{version}-py3-none-any.whl", buffer.getvalue()


def damaged() -> bytes:
    """A valid graph without an encoder."""
    return onnx.ModelProto().SerializeToString() or b"\x08\x08"
