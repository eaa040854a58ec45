"""Open the image models of transformers, torchvision, open_clip and vit-pytorch: opens, refused, or wrong.

`python tests/parity/library_sweep.py [PATTERN]` prints a line a model, --write the document. Models are small, with
random weights; each is opened as a live module, those of transformers and vit-pytorch as their files, too.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import tempfile
import warnings
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import torch
from parity_compare import shake
from safetensors.torch import save_file
from timm_sweep import TOLERANCE, Result, sweep
from torch import Tensor, nn

import vitviz
from vitviz.models.pretrained_list import PretrainedError
from vitviz.torchvision_fix import import_torchvision

DOCUMENT = Path(__file__).parents[2] / "docs" / "library_models.md"
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "num_labels": 3,
    "projection_dim": 8,
    "drop_path_rate": 0.0,
}
VIT_PYTORCH = {
    **{"image_size": 32, "patch_size": 8, "num_classes": 3, "dim": 32, "depth": 2, "heads": 2, "mlp_dim": 48},
    **{"dim_head": 16, "channels": 3, "cls_depth": 1, "num_parallel_branches": 2, "patch_dropout": 0.0},
    **{"num_register_tokens": 2, "window_size": 2, "local_patch_size": 2},
}
ENCODERS = (  # image encoders beside the classifiers
    *("ViTModel", "DeiTModel", "Dinov2Model", "Dinov2WithRegistersModel", "DINOv3ViTModel", "SwinModel"),
    *("Swinv2Model", "CLIPModel", "CLIPVisionModel", "CLIPVisionModelWithProjection", "SiglipModel"),
    *(
        "SiglipVisionModel",
        "Siglip2VisionModel",
        "Aimv2VisionModel",
        "ViTMAEForPreTraining",
        "ViTMSNModel",
        "IJepaModel",
    ),
    *("YolosModel", "ChineseCLIPVisionModel", "BeitModel", "HieraModel", "DPTModel"),
)


def list_transformers() -> list[str]:
    """Return transformers' classes for image classification, and image encoders."""
    import_torchvision()
    names = importlib.import_module("transformers.models.auto.modeling_auto")
    classes: set[str] = set(ENCODERS)
    for entry in names.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES.values():
        classes.update([entry] if isinstance(entry, str) else entry)
    return sorted(classes)


def list_vit_pytorch() -> list[str]:
    """Return vit-pytorch's modules that hold a class of an image model, as 'module.Class'."""
    home = importlib.import_module("vit_pytorch")
    found = []
    for module in pkgutil.iter_modules(home.__path__):
        try:
            content = importlib.import_module(f"vit_pytorch.{module.name}")
        except ImportError:  # needs a package that is not installed
            continue
        for name, kind in vars(content).items():
            is_model = inspect.isclass(kind) and issubclass(kind, nn.Module)
            if (
                is_model
                and kind.__module__ == content.__name__
                and "num_classes" in inspect.signature(kind).parameters
            ):
                found.append(f"{module.name}.{name}")
    return sorted(found)


def list_torchvision() -> list[str]:
    """Return torchvision's ViTs and Swins, as 'torchvision/name'."""
    names = import_torchvision().models.list_models(include=["*vit*", "*swin*"], exclude=["*3d*"])
    return [f"torchvision/{name}" for name in names]


def list_open_clip() -> list[str]:
    """Return open_clip's models whose image encoder is a ViT of its own, as 'open_clip/name'."""
    import_torchvision()
    factory = importlib.import_module("open_clip.factory")
    towers = {name: config["vision_cfg"] for name, config in factory._MODEL_CONFIGS.items()}
    return sorted(
        f"open_clip/{name}" for name, tower in towers.items() if isinstance(tower.get("layers"), int)
    )


def build_of_zoo(name: str) -> nn.Module:
    """Return a model of torchvision or an image encoder of open_clip; ViTs with two layers."""
    library, _, name = name.partition("/")
    if library == "torchvision":
        model = import_torchvision().models.get_model(name).eval()
        if name.startswith("vit"):
            first = dict(
                [*model.encoder.layers.named_children()][:2]
            )  # rounding grows with every random block
            model.encoder.layers = nn.Sequential(OrderedDict(first))
        return shake(model, 0)
    config = importlib.import_module("open_clip").get_model_config(name)
    tower = config["vision_cfg"] | {"layers": 2}
    make = importlib.import_module("open_clip.model")._build_vision_tower
    return shake(make(config["embed_dim"], tower, quick_gelu=config.get("quick_gelu", False)).eval(), 0)


def build(name: str) -> nn.Module:
    """Return a small model of a library.

    Raises:
        Exception: whatever the library raises if it takes other arguments.
    """
    if "/" in name:
        return build_of_zoo(name)
    if "." in name:
        module, _, kind = name.partition(".")
        model = getattr(importlib.import_module(f"vit_pytorch.{module}"), kind)
        arguments = inspect.signature(model).parameters
        return shake(model(**{k: v for k, v in VIT_PYTORCH.items() if k in arguments}).eval(), 0)
    transformers = importlib.import_module("transformers")
    kind = getattr(transformers, name)
    own = kind.config_class().to_dict()
    sizes = {k: v for k, v in SMALL.items() if k in own or k == "num_labels"}
    if (
        isinstance(own.get("image_size"), int)
        and isinstance(own.get("patch_size"), int)
        and "depths" not in own
    ):
        sizes["image_size"] = 4 * own["patch_size"]
    for part in ("vision_config", "text_config"):
        if part in own:
            sizes[part] = {k: v for k, v in SMALL.items() if k in own[part]} | {
                "image_size": 64,
                "patch_size": 16,
            }
    return shake(kind(kind.config_class(**sizes)).eval(), 0)


def write(name: str, model: nn.Module, folder: Path) -> dict[str, Any]:
    """Write the model's file as its library does; returns the settings that the file does not state."""
    if "." not in name:
        model.save_pretrained(folder)
        return {}
    save_file(
        {k: t.contiguous().clone() for k, t in model.state_dict().items()}, folder / "model.safetensors"
    )
    (folder / "config.json").write_text(json.dumps({}))
    return {"num_heads": VIT_PYTORCH["heads"], "img_size": VIT_PYTORCH["image_size"]}


def check(name: str) -> Result:
    """Return what happens if the model's file and the module are opened."""
    import_torchvision()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = build(name)
    except Exception as error:  # noqa: BLE001  (the library's own)
        return Result(name, "not built", f"{type(error).__name__}: {' '.join(str(error).split())[:90]}")
    try:
        live = vitviz.load(model)
    except PretrainedError as error:
        live, why = None, str(error)
    if "/" in name and live is None:
        return Result(name, "refused", why)
    if "/" in name:
        return Result(name, "opens" if live.verified else "not compared", live.not_verified)
    with tempfile.TemporaryDirectory() as folder:
        given = write(name, model, Path(folder))
        try:
            opened = vitviz.load(folder, **given)
        except (PretrainedError, TypeError) as error:
            return (
                Result(name, "refused", str(error))
                if live is None
                else Result(name, "opens", f"alive; file: {error}")
            )
    if live is None:
        return Result(name, "wrong", f"its file opens, the module does not: {why}")
    if live.verified is not True:
        return Result(name, "not compared", live.not_verified)
    size = live.preparation.image_size
    sides = size if isinstance(size, tuple) else (size, size)
    x = torch.randn(1, live.config.in_chans, *sides, generator=torch.Generator().manual_seed(1))
    ours, theirs = opened.model(x), live.model(x)
    return (
        Result(name, "opens") if _are_equal(ours, theirs) else Result(name, "wrong", "file and module differ")
    )


def _are_equal(ours: Tensor, theirs: Tensor) -> bool:
    scale = max(1.0, float(theirs.abs().max()))
    return ours.shape == theirs.shape and float((ours - theirs).abs().max()) <= TOLERANCE * scale


def list_lines(results: list[Result]) -> list[str]:
    """Return the results as a Markdown document."""
    lines = [
        "# Which models of transformers, torchvision, open_clip and vit-pytorch open",
        "",
        "Written by `tests/parity/library_sweep.py`: transformers' classes for image classification and its image",
        "encoders, all models of vit-pytorch, torchvision's ViTs and Swins, and open_clip's own ViTs, small and with",
        "random weights. A model opens if the live module, and of transformers and vit-pytorch its file, give the",
        "publisher's outputs to 1e-4 of the largest number.",
        "",
    ]
    for title in ("transformers", "torchvision", "open_clip", "vit-pytorch"):
        of_library = [result for result in results if name_library(result.name) == title]
        counts = Counter(result.outcome for result in of_library)
        opened = ", ".join(
            f"`{result.name.removeprefix(title + '/')}`" for result in of_library if result.outcome == "opens"
        )
        lines += [
            f"## {title}",
            "",
            f"**{counts['opens']} of {len(of_library)} open, {counts['refused']} are refused with a reason,"
            f" {counts['wrong']} are wrong**; {counts['not compared']} open without an output to compare, and"
            f" {counts['not built']} take other arguments and were not built.",
            "",
            f"Opened: {opened}.",
            "",
            "| others | reason |",
            "|---|---|",
            *(
                f"| `{r.name.removeprefix(title + '/')}` | {r.outcome}: {r.why.replace('|', '/')} |"
                for r in of_library
                if r.outcome != "opens"
            ),
            "",
        ]
    return lines[:-1]


def name_library(name: str) -> str:
    """Return the library of a model's name in this sweep."""
    if "/" in name:
        return name.partition("/")[0]
    return "vit-pytorch" if "." in name else "transformers"


def main() -> None:
    """Print every result and the counts; with --write and without a pattern, write the document, too."""
    names = [*list_transformers(), *list_torchvision(), *list_open_clip(), *list_vit_pytorch()]
    results = sweep(names, check)
    if "--write" in sys.argv:
        DOCUMENT.write_text("\n".join(list_lines(results)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
