"""Read how a publisher prepares images: transformers' image processors, timm's and open_clip's settings."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from vitviz.config import Interpolation, Preparation
from vitviz.config_fields import Size, as_shape, format_size, join_size
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.pretrained_list import IMAGENET_MEAN, IMAGENET_STD, PretrainedError
from vitviz.text import cut

PROCESSORS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("image_processors.toml").read_text("utf-8")
)
_PILLOW: tuple[Interpolation, ...] = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_TYPE = re.compile(r"(?:ImageProcessor|FeatureExtractor)(?:Fast|Pil)?$")
_OF_MODEL_TYPES = {  # the processor that transformers opens for a model type, where the file does not name it
    "vit": "ViT",
    "deit": "DeiT",
    "dinov2": "Bit",
    "dinov2_with_registers": "Bit",
    "dinov3_vit": "DINOv3ViT",
    "swin": "ViT",
    "swinv2": "ViT",
    "clip": "CLIP",
    "clip_vision_model": "CLIP",
    "siglip": "Siglip",
    "siglip_vision_model": "Siglip",
}
_CLIP_MEAN, _CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_STEPS = {
    "do_flip_channel_order",
    "do_grayscale",
    "do_thumbnail",
    "do_align_long_axis",
    "do_crop_margin",
    "offset",
}
_PROCESSOR_KEYS = {  # read, or of the class and no number of an image
    *("do_resize", "do_rescale", "do_normalize", "do_center_crop", "do_pad", "pad_size", "rescale_factor"),
    *("size", "crop_size", "crop_pct", "resample", "image_mean", "image_std", "default_to_square"),
    *(
        "image_processor_type",
        "feature_extractor_type",
        "processor_class",
        "do_convert_rgb",
        "do_reduce_labels",
    ),
    *("_processor_class", "data_format", "input_data_format", "return_tensors", "device", "disable_grouping"),
    *("_valid_processor_keys", "auto_map", "image_seq_length"),
}
_SQUASHED = 384  # ConvNext's processor squeezes images of this side and more
_LEVIT = 256 / 224  # LeViT's processor resizes to this share of its size


def read_preparation(settings: Settings, image_size: Size, chans: int) -> Preparation:
    """Return the stated preparation of images; what is not stated is the publisher's default, or noted.

    Args:
        image_size: of the model, in px; used where the files do not state the size of images.
        chans: of the model's images.

    Raises:
        PretrainedError: if the values make no preparation, or one that is not computed here, by the key's name.
    """
    try:
        if settings.processor or name_processor(settings.values):
            fields = _read_processor(settings, image_size)
        elif settings.get("vision_cfg") is not None:
            fields = _read_open_clip(settings, image_size)
        else:
            fields = _read_timm(settings, image_size)
        fields |= _given(settings)
        fields |= {name: _for_channels(fields[name], chans) for name in ("mean", "std")}
        return Preparation(**fields)
    except PretrainedError:
        raise
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise _unusable(error) from error


def override_preparation(preparation: Preparation, settings: Settings, chans: int) -> Preparation:
    """Return a preparation with what the caller gives.

    Raises:
        PretrainedError: if the values make none.
    """
    try:
        fields = _given(settings)
        fields |= {name: _for_channels(fields[name], chans) for name in ("mean", "std") if name in fields}
        return replace(preparation, **fields)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> PretrainedError:
    return PretrainedError(f"the stated preparation of images cannot be used: {cut(str(error), 200)}")


def name_processor(processor: Mapping[str, Any]) -> str:
    """Return the type of an image processor as its file names it; empty without one."""
    stated = processor.get("image_processor_type") or processor.get("feature_extractor_type") or ""
    return stated if isinstance(stated, str) else repr(stated)


@lru_cache(maxsize=64)
def _defaults(kind: str) -> Mapping[str, Any]:
    own = PROCESSORS[kind]
    return PROCESSORS["shared"] | PROCESSORS.get(own.get("like", ""), {}) | own


def _read_processor(settings: Settings, image_size: Size) -> dict[str, Any]:
    stated, model_type = settings.processor or settings.values, settings.get("model_type")
    name = name_processor(stated)
    kind = _TYPE.sub("", name) if name else _OF_MODEL_TYPES.get(str(model_type), "")
    if not name and not kind:
        kind = "CLIP" if stated.get("crop_size") is not None else "ViT"
        settings.assume(
            f"preprocessor_config.json does not name its image processor: {kind}ImageProcessor is assumed."
        )
    if kind not in PROCESSORS or kind == "shared":
        raise PretrainedError(
            f"its images are prepared by {cut(name, 60)}, which is not computed here: pass a preparation"
        )
    values = {**_defaults(kind)} | {key: value for key, value in stated.items() if value is not None}
    if values.get("do_pad") and values.get("pad_size") is not None:
        raise PretrainedError("its image processor pads images (do_pad), which is not computed here")
    if steps := sorted(key for key in _STEPS if values.get(key)):
        raise PretrainedError(
            f"its image processor's step {steps[0]} is not computed here: pass a preparation"
        )
    unread = sorted(key for key in settings.processor.keys() - _PROCESSOR_KEYS if values.get(key))
    if unread:
        settings.assume(
            f"Keys of preprocessor_config.json that were not read: {cut(', '.join(unread), 120)}."
        )
    fields = _size_fields(kind, values, settings, image_size)
    scaled, normalised = values["do_rescale"], values["do_normalize"]
    return fields | {
        "mean": values["image_mean"] if normalised else (0.0,),
        "std": values["image_std"] if normalised else (1.0,),
        "interpolation": _interpolation(values["resample"]),
        "crop_rounding": "down",
        "pixel_range": 1 / values["rescale_factor"] if scaled else 1.0,
        "whole_levels": kind != "DINOv3ViT",
    }


def _size_fields(
    kind: str, values: Mapping[str, Any], settings: Settings, image_size: Size
) -> dict[str, Any]:
    """Return how a processor sizes images: which side it resizes, the size of the crop, and their ratio."""
    size = _size(values.get("size"), bool(values["default_to_square"]))
    crop = _read_crop(values["crop_size"]) if values.get("do_center_crop") else None
    if not values["do_resize"]:
        if crop is not None:
            return {"image_size": crop, "resize": "none"}
        height, width = as_shape(image_size)
        settings.assume(
            "Its image processor resizes nothing (do_resize is false): images of another size than"
            f" {height} × {width} px, which the publisher's model does not take, are resized and cropped here."
        )
        return {"image_size": image_size}
    if size.keys() == {"shortest_edge"}:
        edge = resized = size["shortest_edge"]
        if kind == "Levit":
            resized = int(_LEVIT * edge)
        if kind == "ConvNext":
            if edge >= _SQUASHED:
                return _crop_fields("squash", edge, crop or edge)
            inner = _crop_fields("shorter", int(edge / values["crop_pct"]), edge)
            return inner if crop in (None, edge) else _refuse_size("crop_size after crop_pct")
        if crop is None:
            settings.assume(
                "Its image processor crops nothing: images that are not square, which the publisher's model does not"
                " take, are cropped here."
            )
        return _crop_fields("shorter", resized, crop or resized)
    if size.keys() == {"height", "width"}:
        whole = join_size((size["height"], size["width"]))
        return _crop_fields("squash", whole, crop or whole)
    return _refuse_size(f"size with {', '.join(map(str, size)) or 'no side'}")


def _refuse_size(what: str) -> dict[str, Any]:
    raise PretrainedError(f"its image processor's {cut(what, 80)} is not computed here")


def _crop_fields(resize: str, resized: Size, crop: Size) -> dict[str, Any]:
    fractions = {part / whole for part, whole in zip(as_shape(crop), as_shape(resized), strict=True)}
    if len(fractions) > 1:
        return _refuse_size(
            f"crop of {format_size(crop)} px of an image resized to {format_size(resized)} px"
        )
    return {"image_size": crop, "resize": resize, "crop_fraction": fractions.pop()}


def _read_crop(stated: Any) -> Size:
    size = _size(stated, True)
    if size.keys() == {"shortest_edge"}:
        return size["shortest_edge"]
    if size.keys() == {"height", "width"}:
        return join_size((size["height"], size["width"]))
    raise PretrainedError(f"its image processor's crop_size {cut(str(dict(size)))} is not understood")


def _size(stated: Any, square: bool) -> dict[str, int]:
    """Return a size as transformers reads it: a number is a square, or the shorter side."""
    if isinstance(stated, int) and not isinstance(stated, bool):
        stated = {"height": stated, "width": stated} if square else {"shortest_edge": stated}
    elif isinstance(stated, list | tuple) and len(stated) == 2:
        stated = {"height": stated[0], "width": stated[1]}
    if not isinstance(stated, Mapping):
        raise PretrainedError(f"its image processor's size is not understood: {cut(repr(stated))}")
    sides = {str(name): side for name, side in stated.items() if side is not None}
    for name in sides:
        Settings(sides).integer(name)
    return sides


def _interpolation(stated: Any) -> Interpolation:
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 <= stated < len(_PILLOW):
        return _PILLOW[stated]
    if isinstance(stated, str) and stated in _PILLOW:
        return stated
    raise PretrainedError(f"its interpolation {cut(repr(stated), 40)} is not one of {', '.join(_PILLOW)}")


def _read_open_clip(settings: Settings, image_size: Size) -> dict[str, Any]:
    """Return open_clip's preparation; its defaults are OpenAI's."""
    table = settings.get("preprocess_cfg")
    stated = Settings(table if isinstance(table, Mapping) else {})
    mode, fill = stated.get("resize_mode") or "shortest", stated.get("fill_color") or 0
    modes = {"shortest": "shorter", "longest": "longer", "squash": "squash"}
    if mode not in modes:
        raise PretrainedError(f"its resize_mode {cut(repr(mode), 40)} is not one of {', '.join(modes)}")
    if fill != 0 and mode == "longest":
        raise PretrainedError(f"its fill_color {cut(repr(fill), 40)} is not supported: only 0 is")
    name = stated.get("interpolation") or "bicubic"
    interpolation = _interpolation("bicubic" if name == "random" else name)
    height, width = as_shape(image_size)
    if mode == "shortest" and height != width:
        interpolation = "bicubic"  # open_clip 3.3.0 does not pass it on for inputs that are not square
    return {
        "image_size": image_size,
        "mean": stated.get("mean") or _CLIP_MEAN,
        "std": stated.get("std") or _CLIP_STD,
        "resize": modes[mode],
        "interpolation": interpolation,
    }


def _read_timm(settings: Settings, image_size: Size) -> dict[str, Any]:
    """Return timm's preparation, or ImageNet's mean and standard deviation where nothing is stated."""
    mean, std = settings.get("image_mean", "mean"), settings.get("image_std", "std")
    is_timm = settings.get("architecture", "pretrained_cfg") is not None
    if (mean is None or std is None) and not (is_timm or settings.has_given("mean", "std")):
        settings.assume("The files state no mean and standard deviation: ImageNet's are assumed.")
    mode = settings.get("crop_mode") or "center"
    modes = {"center": "shorter", "squash": "squash", "border": "longer"}
    if mode not in modes:
        raise PretrainedError(f"its crop_mode {cut(repr(mode), 40)} is not one of {', '.join(modes)}")
    interpolation = settings.get("interpolation", "resample") or "bicubic"
    if interpolation == "random":
        raise PretrainedError("its interpolation 'random' is another one for every image")
    dynamic = (
        settings.get("dynamic_img_size") is True
    )  # of timm's model: images have another size than its own
    return {
        "image_size": dynamic and settings.size("input_size") or image_size,
        "mean": IMAGENET_MEAN if mean is None else mean,
        "std": IMAGENET_STD if std is None else std,
        "resize": modes[mode],
        "fill": "mean" if mode == "border" else "black",
        "crop_fraction": settings.number("crop_pct", 0.875 if is_timm else 1.0) or 0.875,
        "interpolation": _interpolation(interpolation),
    }


def _given(settings: Settings) -> dict[str, Any]:
    """Return what the caller gives over the files."""
    given = settings.given
    fields = {name: given[name] for name in ("mean", "std") if name in given}
    if "interpolation" in given:
        fields["interpolation"] = _interpolation(given["interpolation"])
    if "crop_pct" in given:
        fields["crop_fraction"] = given["crop_pct"]
    if "img_size" in given:
        fields["image_size"] = settings.size("img_size")
    return fields


def _for_channels(values: Any, chans: int) -> Any:
    if isinstance(values, int | float):
        values = [values]
    if not isinstance(values, list | tuple):
        return values
    if not values:
        raise ValueError("mean and std must have a value for each channel, received none")
    values = tuple(float(v) if isinstance(v, int | float) else v for v in values)
    if len(values) == chans:
        return values
    if len(values) == 1:
        return values * chans
    return (sum(values) / len(values),) if chans == 1 else values
