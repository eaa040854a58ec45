"""`vitviz.inspect` takes numbers and images of NumPy, torch and Pillow, and refuses others in one sentence."""

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from vitviz import cli
from vitviz.data.image_decoding import ImageError

PIXELS = np.zeros((40, 40, 3), np.uint8)


@pytest.fixture(scope="module")
def view():
    return vitviz.inspect("digits_vit", PIXELS)


def test_numpy_integers_are_indices(view):
    plain = view.attention(layer=1, head=2, query=(3, 4))
    numbers = view.attention(layer=np.int64(1), head=np.int32(2), query=(np.int64(3), np.int16(4)))
    np.testing.assert_array_equal(plain, numbers)
    np.testing.assert_array_equal(view.attention(query=5), view.attention(query=np.uint8(5)))
    np.testing.assert_array_equal(view.relevance(3), view.relevance(np.int64(3)))


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("layer", {"layer": 1.0}),
        ("layer", {"layer": True}),
        ("head", {"head": None}),
        ("query", {"query": 2.5}),
        ("row", {"query": ("a", 1)}),
    ],
)
def test_a_wrong_type_is_one_sentence(view, name, arguments):
    with pytest.raises(TypeError, match=f"{name} must be a whole number, received"):
        view.attention(**arguments)


def test_a_patch_has_two_numbers(view):
    with pytest.raises(ValueError, match=r"a patch is \(row, col\)"):
        view.attention(query=(1, 2, 3))


def test_a_tensor_with_gradient_is_an_image():
    tensor = torch.zeros(40, 40, 3, requires_grad=True)
    np.testing.assert_array_equal(vitviz.inspect("digits_vit", tensor).image, PIXELS)


def test_a_truncated_pillow_image_is_an_image_error():
    file = BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(file, "PNG")
    with pytest.raises(ImageError, match="truncated or damaged"):
        vitviz.inspect("digits_vit", Image.open(BytesIO(file.getvalue()[:2000])))


def test_settings_of_the_command_line_reach_the_model(tmp_path, capsys):
    Image.fromarray(PIXELS).save(tmp_path / "ZERO.PNG")
    words = ["distance", str(tmp_path), "--model", "digits_vit", "--num-heads", "2"]
    assert cli.main(words) == 1  # the weights of vitviz state their heads
    assert "num_heads" in capsys.readouterr().err
    assert cli.main(["distance", str(tmp_path), "--model", "digits_vit", "--json"]) == 0
