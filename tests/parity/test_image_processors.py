"""Images are prepared as every publisher's own classes prepare them; other image processors are refused by name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import parity_peers as peers
import pytest
from numpy.typing import NDArray
from PIL import Image
from skimage import data

from vitviz.data.image_preprocessing import Crop, prepare
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.preparation_settings import PROCESSORS, read_preparation
from vitviz.models.pretrained_list import PRETRAINED, PretrainedError

Pixels = NDArray[np.uint8]


def resized(size: tuple[int, int]) -> Pixels:
    return np.asarray(Image.fromarray(data.astronaut()).resize(size))


def ring() -> Pixels:
    """A black image of 256 px with a white ring of 16 px."""
    image = np.full((256, 256, 3), 255, np.uint8)
    image[16:-16, 16:-16] = 0
    return image


IMAGES = {
    "515x384": resized((515, 384)),
    "1000x667": resized((1000, 667)),
    "400x200": resized((400, 200)),
    "ring": ring(),
    "33x1000": resized((33, 1000)),
}
SETTINGS: dict[str, dict[str, Any]] = {  # values of the keys that change the numbers
    "ViT": {"size": {"height": 96, "width": 96}},
    "DeiT": {},
    "CLIP": {},
    "Bit": {"size": {"shortest_edge": 256}},
    "Siglip": {"resample": 2},
    "DINOv3ViT": {},
    "ConvNext": {"size": {"shortest_edge": 224}},
    "Levit": {},
}
SETTINGS_OF_VIT: dict[str, dict[str, Any]] = {
    "do_rescale": {"do_rescale": False},
    "rescale_factor": {"rescale_factor": 1 / 127.5, "do_normalize": False},
    "do_normalize": {"do_normalize": False},
    "size is a number": {"size": 64},
    "nearest": {"resample": 0},
    "box": {"resample": 4},
    "lanczos": {"resample": 1, "size": {"height": 512, "width": 512}},
    "crop beyond the image": {"do_center_crop": True, "crop_size": 240, "size": 224},
    "crop": {"do_center_crop": True, "crop_size": {"height": 160, "width": 160}, "size": 181},
    "crop without resizing": {"do_resize": False, "do_center_crop": True, "crop_size": 31},
}


def processor_class(name: str, backend: str) -> Any:
    transformers = importlib.import_module("transformers")
    return getattr(transformers, f"{name}ImageProcessor{'Pil' if backend == 'pil' else ''}", None)


def ours(image: Pixels, processor: Any, name: str) -> NDArray[np.float32]:
    stated = {**processor.to_dict(), "image_processor_type": f"{name}ImageProcessor"}
    settings = Settings(processor=stated)
    return prepare(image, read_preparation(settings, 32, 3)).input


def theirs(image: Pixels, processor: Any) -> NDArray[np.float32]:
    pixels = processor(images=[Image.fromarray(image)], return_tensors="np")["pixel_values"]
    return np.asarray(pixels)[0]


def check_equal(image: Pixels, processor: Any, name: str, backend: str) -> None:
    mine, expected = ours(image, processor, name), theirs(image, processor)
    if mine.shape != expected.shape:  # without a crop its images are not square
        assert expected.shape[1] != expected.shape[2]
        return
    std = np.reshape(processor.image_std or 1.0, (-1, 1, 1)) if processor.do_normalize else 1.0
    factor = processor.rescale_factor if processor.do_rescale else 1.0
    difference = np.abs(mine - expected) * std / factor  # in levels
    # torchvision's kernels of whole levels round otherwise than Pillow's; a crop shifted by 1 px differs by 20 levels.
    tolerance = 1e-2 if backend == "pil" or name == "DINOv3ViT" else 8
    assert difference.max() <= tolerance
    assert difference.mean() <= 0.3


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["pil", "torchvision"])
@pytest.mark.parametrize("name", [name for name in PROCESSORS if name != "shared"])
def test_every_image_processor_of_the_table_gives_equal_numbers(name: str, backend: str) -> None:
    kind = processor_class(name, backend)
    if kind is None:
        pytest.skip(f"transformers has no {backend} back end for it")
    for image in IMAGES.values():
        check_equal(image, kind(**SETTINGS.get(name, {})), name, backend)


@pytest.mark.parametrize("backend", ["pil", "torchvision"])
@pytest.mark.parametrize("case", SETTINGS_OF_VIT)
def test_every_key_that_changes_the_numbers_is_read(case: str, backend: str) -> None:
    if backend == "torchvision" and case in ("nearest", "box"):
        pytest.skip("torchvision takes another pixel for nearest and has no box")
    processor = processor_class("ViT", backend)(**SETTINGS_OF_VIT[case])
    for image in IMAGES.values():
        check_equal(image, processor, "ViT", backend)


def list_processors() -> dict[str, type]:
    models = importlib.import_module("transformers.models")
    backends = importlib.import_module("transformers.image_processing_backends")
    found = {}
    for file in sorted(Path(models.__file__).parent.glob("*/image_processing_*.py")):
        module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
        for name in getattr(module, "__all__", ()):
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(
                kind, (backends.TorchvisionBackend, backends.PilBackend)
            ):
                found[name] = kind
    return found


@pytest.mark.slow
def test_every_other_image_processor_of_transformers_is_refused_by_name() -> None:
    known, refused = set(), 0
    for name in list_processors():
        kind = name.removesuffix("Pil").removesuffix("ImageProcessor")
        if kind in PROCESSORS:
            known.add(kind)
            continue
        with pytest.raises(PretrainedError, match=name):
            read_preparation(Settings(processor={"image_processor_type": name}), 32, 3)
        refused += 1
    assert known == PROCESSORS.keys() - {"shared"} and refused > 100


@pytest.mark.parametrize("name", [name for name in PROCESSORS if name != "shared"])
def test_keys_that_a_file_lacks_have_the_defaults_of_the_class(name: str) -> None:
    processor = processor_class(name, "torchvision")()
    whole = read_preparation(
        Settings(processor={**processor.to_dict(), "image_processor_type": f"{name}ImageProcessor"}), 32, 3
    )
    for suffix in ("ImageProcessor", "ImageProcessorFast", "FeatureExtractor"):
        key = "feature_extractor_type" if suffix == "FeatureExtractor" else "image_processor_type"
        assert read_preparation(Settings(processor={key: f"{name}{suffix}"}), 32, 3) == whole


@pytest.mark.parametrize(
    "values, why",
    [
        ({"size": {"longest_edge": 224}}, "size with longest_edge"),
        ({"size": {"shortest_edge": 224, "longest_edge": 400}}, "size with shortest_edge, longest_edge"),
        (
            {"size": 224, "do_center_crop": True, "crop_size": {"height": 224, "width": 192}},
            "crop of 224 × 192 px",
        ),
        ({"size": 64, "do_center_crop": True, "crop_size": {"height": 64}}, "crop_size .* is not understood"),
        ({"do_pad": True, "pad_size": {"height": 256, "width": 256}}, "do_pad"),
        ({"resample": 9}, "interpolation 9"),
        ({"resample": True}, "interpolation True"),
        ({"size": "large"}, "size is not understood"),
        ({"rescale_factor": 0}, "cannot be used"),
        ({"image_std": [0.5, 0.5, 0.0]}, "std must be positive"),
    ],
)
def test_values_that_are_not_computed_are_refused_by_name(values: dict[str, Any], why: str) -> None:
    stated = {"image_processor_type": "ViTImageProcessor"} | values
    for size in (32, (64, 48)):
        with pytest.raises(PretrainedError, match=why):
            read_preparation(Settings(processor=stated), size, 3)


def test_a_white_ring_reaches_deit_all_black() -> None:
    preparation = read_preparation(Settings(processor={"image_processor_type": "DeiTImageProcessor"}), 224, 3)
    assert (prepare(ring(), preparation).shown == 0).all()
    assert preparation.image_size == 224


def test_a_squashed_image_keeps_its_sides() -> None:
    image = np.zeros((200, 400, 3), np.uint8)
    image[:, :100] = image[:, -100:] = 255
    for settings in (
        Settings({"crop_mode": "squash", "architecture": "vit", "crop_pct": 1.0}),
        Settings({"vision_cfg": {}, "preprocess_cfg": {"resize_mode": "squash"}}),
        Settings(processor={"image_processor_type": "ViTImageProcessor"}),
    ):
        shown = prepare(image, read_preparation(settings, 224, 3)).shown
        assert (shown[:, :54] == 255).all() and (shown[:, -54:] == 255).all()
        assert (shown[:, 58:-58] == 0).all()


@pytest.mark.parametrize(
    "size, edge, even, down",
    [((384, 515), 256, 60, 59), ((667, 1000), 256, 80, 79), ((224, 259), 224, 18, 17)],
)
def test_the_left_edge_of_a_crop_is_rounded_as_the_publisher_rounds(
    size: tuple[int, int], edge: int, even: int, down: int
) -> None:
    processor = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": edge}}
    by_transformers = read_preparation(Settings(processor=processor), 224, 3)
    by_timm = read_preparation(Settings({"architecture": "vit", "crop_pct": 224 / edge}), 224, 3)
    assert Crop.place(*size, by_transformers, (0.5, 0.5)).left == down
    assert Crop.place(*size, by_timm, (0.5, 0.5)).left == even


@pytest.mark.parametrize("crop_pct", [0.875, 0.9, 1.0])
@pytest.mark.parametrize(
    ("size", "interpolation"),
    [((96, 96), "bicubic"), ((96, 96), "bilinear"), ((64, 96), "bicubic"), ((112, 80), "bicubic")],
)
@pytest.mark.parametrize("crop_mode", ["center", "squash", "border"])
def test_inputs_equal_timms_for_every_crop_mode(
    crop_mode: str, size: tuple[int, int], interpolation: str, crop_pct: float
) -> None:
    stated = {"crop_mode": crop_mode, "interpolation": interpolation, "crop_pct": crop_pct}
    mean_std = {"mean": (0.48, 0.45, 0.4), "std": (0.22, 0.23, 0.24)}
    transform = peers.create_transform((3, *size), **stated, **mean_std)
    preparation = read_preparation(Settings({"pretrained_cfg": stated | mean_std}), size, 3)
    for image in IMAGES.values():
        expected = transform(Image.fromarray(image)).numpy()
        np.testing.assert_allclose(prepare(image, preparation).input, expected, rtol=0, atol=2e-5)


def test_the_resized_size_equals_timms_for_all_its_published_settings() -> None:
    for name in peers.timm.list_models("*", module="", pretrained=True):
        cfg = peers.timm.get_pretrained_cfg(name)
        if cfg.input_size[1] == cfg.input_size[2]:
            stated = {"pretrained_cfg": {"crop_pct": cfg.crop_pct, "mean": cfg.mean, "std": cfg.std}}
            preparation = read_preparation(Settings(stated), cfg.input_size[1], cfg.input_size[0])
            assert preparation.resized_shape == (int(cfg.input_size[1] / cfg.crop_pct),) * 2, name


@pytest.mark.parametrize("name", ["vit_b_32", "swin_t"])
def test_inputs_equal_torchvisions(name: str) -> None:
    transform = peers.get_model_weights(name).DEFAULT.transforms()
    for image in IMAGES.values():
        expected = transform(Image.fromarray(image)).numpy()
        ours = prepare(image, PRETRAINED[name].preparation).input
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)  # a level is 1e-2


@pytest.mark.parametrize("size", [(96, 96), (64, 96)])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear", "random", None])
@pytest.mark.parametrize("mode", ["shortest", "longest", "squash", None])
def test_inputs_equal_open_clips_for_every_resize_mode(
    mode: str | None, interpolation: str | None, size: tuple[int, int]
) -> None:
    transform = importlib.import_module("open_clip.transform")
    stated = {k: v for k, v in {"resize_mode": mode, "interpolation": interpolation}.items() if v is not None}
    apply = transform.image_transform_v2(transform.PreprocessCfg(size=size, **stated), is_train=False)
    preparation = read_preparation(Settings({"vision_cfg": {}, "preprocess_cfg": stated}), size, 3)
    for image in IMAGES.values():
        expected = apply(Image.fromarray(image)).numpy()
        np.testing.assert_allclose(prepare(image, preparation).input, expected, rtol=0, atol=2e-5)


def test_inputs_equal_a_processor_of_height_and_width() -> None:
    stated = {"size": {"height": 64, "width": 48}, "image_processor_type": "ViTImageProcessor"}
    preparation = read_preparation(Settings(processor=stated), (64, 48), 3)
    assert preparation.image_size == (64, 48)
    processor = processor_class("ViT", "pil")(size=stated["size"])
    for image in IMAGES.values():
        np.testing.assert_allclose(
            prepare(image, preparation).input, theirs(image, processor), rtol=0, atol=1e-2
        )


def test_other_keys_of_a_processor_are_refused_or_noted() -> None:
    named = {"image_processor_type": "ViTImageProcessor"}
    settings = Settings(processor=named | {"odd": 2})
    read_preparation(settings, 32, 3)
    assert settings.notes == ["Keys of preprocessor_config.json that were not read: odd."]
    with pytest.raises(PretrainedError, match="step do_grayscale"):
        read_preparation(Settings(processor=named | {"do_grayscale": True}), 32, 3)
