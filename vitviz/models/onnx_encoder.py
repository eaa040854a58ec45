"""Read the encoder of DINOv2 from an ONNX graph that PyTorch exported, under this project's tensor names."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

Arrays = dict[str, NDArray[np.float32]]

# Named initialisers of a layer carry transformers' names.
_NAMED = {
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
_LINEAR = {
    "attention/output/dense": "attn.proj.weight",
    "mlp/fc1": "mlp.fc1.weight",
    "mlp/fc2": "mlp.fc2.weight",
}


class EncoderError(ValueError):
    """A graph that is not the encoder of DINOv2 as PyTorch exports it."""


def read_encoder(raw: bytes) -> Arrays:
    """Return the tensors of the encoder in an ONNX file, named as in timm's `vit_small_patch14_dinov2`.

    Raises:
        EncoderError: if the file is no ONNX graph, or a tensor is missing.
    """
    import onnx

    try:
        graph = onnx.load_model_from_string(raw).graph
    except Exception as error:  # protobuf's DecodeError, which onnx does not export
        raise EncoderError("the file is not an ONNX graph") from error
    reader = _GraphReader({i.name: i for i in graph.initializer}, {n.name: n for n in graph.node})
    depth = sum(name.endswith("layer_scale1.lambda1") for name in reader.tensors)
    if not depth:
        raise EncoderError("the ONNX graph holds no encoder with LayerScale")
    arrays = {
        "cls_token": reader.read("backbone.embeddings.cls_token"),
        "pos_embed": reader.read_positions(),
        "patch_embed.proj.weight": reader.read("backbone.embeddings.patch_embeddings.projection.weight"),
        "patch_embed.proj.bias": reader.read("backbone.embeddings.patch_embeddings.projection.bias"),
        "norm.weight": reader.read("backbone.layernorm.weight"),
        "norm.bias": reader.read("backbone.layernorm.bias"),
    }
    for layer in range(depth):
        arrays |= {f"blocks.{layer}.{name}": array for name, array in reader.read_layer(layer).items()}
    return arrays


class _GraphReader:
    """Initialisers and nodes of one graph by name."""

    def __init__(self, tensors: "dict[str, TensorProto]", nodes: "dict[str, NodeProto]") -> None:
        self.tensors = tensors
        self._nodes = nodes

    def read(self, name: str) -> NDArray[np.float32]:
        """Return an initialiser as fp32."""
        from onnx import numpy_helper

        if name not in self.tensors:
            raise EncoderError(f"the ONNX graph holds no tensor {name}")
        # A copy: onnx returns a read-only view of the file's bytes.
        return np.array(numpy_helper.to_array(self.tensors[name]), dtype=np.float32)

    def read_input(self, node: str) -> NDArray[np.float32]:
        """Return the only initialiser among a node's inputs."""
        names = [name for name in getattr(self._nodes.get(node), "input", ()) if name in self.tensors]
        if len(names) != 1:
            raise EncoderError(f"node {node} must read one stored tensor, received {len(names)}")
        return self.read(names[0])

    def read_positions(self) -> NDArray[np.float32]:
        """Return the position embeddings of [CLS] and the grid, (1, 1 + N, D)."""
        return np.concatenate(
            [
                self.read_input("/backbone/embeddings/Concat_6"),
                self.read_input("/backbone/embeddings/Reshape_1"),
            ],
            axis=1,
        )

    def read_layer(self, layer: int) -> Arrays:
        """Return the tensors of a layer without its prefix; query, key and value are joined."""
        stored, nodes = f"backbone.encoder.layer.{layer}", f"/backbone/encoder/layer.{layer}"
        parts = ("query", "key", "value")
        weights = [self.read_input(f"{nodes}/attention/attention/{part}/MatMul") for part in parts]
        biases = [self.read(f"{stored}.attention.attention.{part}.bias") for part in parts]
        return {
            **{ours: self.read(f"{stored}.{theirs}") for theirs, ours in _NAMED.items()},
            **{
                ours: _transpose(self.read_input(f"{nodes}/{theirs}/MatMul"))
                for theirs, ours in _LINEAR.items()
            },
            "attn.qkv.weight": np.concatenate([_transpose(weight) for weight in weights]),
            "attn.qkv.bias": np.concatenate(biases),
        }


def _transpose(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.ascontiguousarray(weight.T)
