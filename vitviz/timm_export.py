"""Write a model as a folder that timm and transformers open."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.loading import load
from vitviz.models.loaded_model import LoadedModel

_SHARED = ("patch_size", "in_chans", "num_classes", "embed_dim", "num_heads", "mlp_ratio", "qkv_bias")
_TRAINED_ONLY = {
    "dropout",
    "attention_dropout",
    "drop_path",
    "image_size",
    "positions_antialias",
    "convention",
}
_SNIPPET = """# {title}

Written by vitviz. These lines give the logits of an image with timm; `pip install timm`:

```python
import timm, torch
from PIL import Image

model = timm.create_model("local-dir:{folder}", pretrained=True).eval()
# Or create_model("{architecture}", checkpoint_path="{folder}/model.safetensors", num_classes={classes}, **model_args)
# with the model_args of config.json.
transform = timm.data.create_transform(**timm.data.resolve_data_config(model=model))
logits = model(transform(Image.open("image.png").convert("RGB"))[None])
```

With transformers (which needs timm for it):

```python
from transformers import AutoModelForImageClassification

model = AutoModelForImageClassification.from_pretrained("{folder}").eval()
```

Fine-tune the head ten times as fast as the backbone:

```python
head = [parameter for name, parameter in model.named_parameters() if name.startswith("head")]
backbone = [parameter for name, parameter in model.named_parameters() if not name.startswith("head")]
optimizer = torch.optim.AdamW([{{"params": backbone, "lr": 1e-4}}, {{"params": head, "lr": 1e-3}}])
```
"""


def export(model: str | Path | nn.Module | LoadedModel, folder: str | Path) -> Path:
    """Write `model.safetensors`, `config.json` and a README with lines that open them in timm and transformers.

    Args:
        model: of `vitviz.load`, or what it takes: a ViT, a DeiT or a Swin.
        folder: created if missing.

    Returns:
        The folder.

    Raises:
        ValueError: if timm has no such model; the message names the options that it lacks.

    Example:
        >>> import tempfile, vitviz
        >>> folder = vitviz.export("digits_vit", tempfile.mkdtemp())
        >>> sorted(file.name for file in folder.iterdir())
        ['README.md', 'config.json', 'model.safetensors']
    """
    loaded, folder = load(model), Path(folder)
    architecture, arguments = describe_timm_model(loaded.config)
    preparation = loaded.preparation
    side = preparation.image_size
    settings = {
        "architecture": architecture,
        "num_classes": loaded.config.num_classes,
        "num_features": arguments["embed_dim"],
        "global_pool": arguments.get("global_pool", "avg"),
        "model_args": {name: value for name, value in arguments.items() if name != "num_classes"},
        "label_names": list(loaded.classes),
        "pretrained_cfg": {
            "input_size": [preparation.in_chans, side, side],
            "mean": list(preparation.mean),
            "std": list(preparation.std),
            "crop_pct": preparation.crop_fraction,
            "interpolation": preparation.interpolation,
            "fixed_input_size": True,
            "num_classes": loaded.config.num_classes,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_name_tensors(loaded), folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(settings, indent=2), "utf-8")
    text = _SNIPPET.format(
        title=loaded.title, folder=folder.name, architecture=architecture, classes=loaded.config.num_classes
    )
    (folder / "README.md").write_text(text, "utf-8")
    return folder


def describe_timm_model(config: ModelConfig) -> tuple[str, dict[str, Any]]:
    """Return the name of a timm architecture and the arguments that give it this shape.

    Raises:
        ValueError: if timm has no such model.
    """
    if isinstance(config, SwinConfig):
        shared = {name: getattr(config, name) for name in (*_SHARED, "depths", "window_size")}
        if not config.masked:
            raise ValueError("timm has no Swin without the mask of its shifted windows")
        _check_windows(config)
        return "swin_tiny_patch4_window7_224", {**shared, "img_size": config.image_size}
    if not isinstance(config, ViTConfig):
        raise ValueError(f"only a ViT, DeiT or Swin has a counterpart in timm, received a {config.kind}")
    like: dict[str, Any] = {name: getattr(config, name) for name in (*_SHARED, "depth")}
    more: dict[str, Any] = {
        "readout": config.readout,
        "distilled": config.distilled,
        "num_registers": config.num_registers,
        "final_norm": config.final_norm,
        "layer_scale": config.layer_scale,
        "positions": config.positions,
    }
    plain = ViTConfig(image_size=config.image_size, **like, **more)
    unlike = [
        field.name
        for field in fields(config)
        if field.name not in _TRAINED_ONLY and getattr(config, field.name) != getattr(plain, field.name)
    ]
    if config.readout not in ("cls", "mean") or config.positions in ("pixels", "rotary"):
        unlike += ["positions" if config.readout in ("cls", "mean") else "readout"]
    if unlike:
        raise ValueError(f"timm has no ViT with this {', '.join(unlike)}")
    arguments = {
        **like,
        "img_size": config.image_size,
        "class_token": config.readout == "cls",
        "global_pool": "token" if config.readout == "cls" else "avg",
        "fc_norm": False,
        "final_norm": config.final_norm,
        "init_values": config.layer_scale,
        "reg_tokens": config.num_registers,
    }
    if config.distilled:
        del arguments["class_token"]
    return f"{'deit_tiny_distilled' if config.distilled else 'vit_tiny'}_patch16_224", arguments


def _check_windows(config: SwinConfig) -> None:
    """Check that windows divide every grid: timm pads the others in another way than torchvision."""
    for stage in range(len(config.depths)):
        side = config.image_size // config.patch_size // 2**stage
        if side % min(config.window_size, side) and config.convention != "timm":
            raise ValueError(
                f"windows of {config.window_size} do not divide the {side} x {side} tokens of stage {stage}"
            )


def _name_tensors(loaded: LoadedModel) -> dict[str, Tensor]:
    """Return the weights by timm's names; encodings from a formula become a table."""
    state = {name: tensor.clone().contiguous() for name, tensor in loaded.model.state_dict().items()}
    config = loaded.config
    if isinstance(config, ViTConfig) and "pos_embed" not in state:
        count = len(config.prefix_tokens)
        rows, cols = config.grid
        table = state["patch_embed.proj.weight"].new_zeros(1, count + rows * cols, config.embed_dim)
        formula = loaded.vit.position_table(config.grid)
        if formula is not None:
            table[:, -formula.shape[1] :] = formula
        state["pos_embed"] = table
    return state
