"""`vitviz.inspect` takes numbers and images of NumPy, torch and Pillow, and refuses others in one sentence."""

import json
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


INTEGER = "must be a whole number, received"


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda view: view.attention(layer=1.0), f"layer {INTEGER}"),
        (lambda view: view.attention(layer=True), f"layer {INTEGER}"),
        (lambda view: view.attention(head=0.5), f"head {INTEGER}"),
        (lambda view: view.attention(query=2.5), f"query {INTEGER}"),
        (lambda view: view.attention(query=("a", 1)), f"row {INTEGER}"),
        (lambda view: view.rollout(discard="a"), "discard must be a number, received 'a'"),
        (lambda view: view.classes_above(None), "threshold must be a number, received None"),
        (lambda view: view.save("maps.png", 1), "layers must be a list of whole numbers, received 1"),
        (lambda view: view.save(None), "path must be a path, received NoneType"),
        (
            lambda view: vitviz.inspect(view.model, None),
            "an image must be a path, a Pillow image or an array",
        ),
        (lambda view: vitviz.inspect(view.model, BytesIO()), "received BytesIO"),
    ],
)
def test_a_wrong_type_is_one_sentence(view, call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call(view)


@pytest.mark.parametrize(
    "image, sentence",
    [
        ([[1], [1, 2]], "a rectangle of numbers, received rows of different lengths"),
        (torch.zeros(4, 4, device="meta"), "a dense tensor with values"),
        (torch.zeros(4, 4).to_sparse(), "a dense tensor with values"),
    ],
)
def test_an_array_without_pixels_is_one_sentence(view, image, sentence):
    with pytest.raises(ValueError, match=sentence):
        vitviz.inspect(view.model, image)


def test_a_patch_may_be_an_array_and_half_precision_an_image(view):
    np.testing.assert_array_equal(view.attention(query=np.array([3, 4])), view.attention(query=(3, 4)))
    np.testing.assert_array_equal(view.attention(query=torch.tensor([3, 4])), view.attention(query=(3, 4)))
    half = vitviz.inspect(view.model, torch.ones(8, 8, dtype=torch.bfloat16))
    assert half.image.min() == 255


def test_the_ending_of_a_file_may_have_capital_letters(view, tmp_path):
    assert view.save(tmp_path / "maps.PNG").read_bytes()[1:4] == b"PNG"
    assert view.save(tmp_path / "maps.HTML").read_text().startswith("<!doctype html>")


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
    words = ["distance", str(tmp_path), "--model", "digits_vit", "--num-heads"]
    assert cli.main([*words, "3"]) == 1
    assert "num_heads 3 does not divide embed_dim 64" in capsys.readouterr().err
    assert cli.main([*words, "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (
        printed["layers_and_heads_count_from"] == 0 and [len(row) for row in printed["distance"]] == [2] * 4
    )
    assert cli.main(["distance", str(tmp_path), "--model", "digits_vit", "--json"]) == 0
