"""Write a model as a folder that timm and transformers open."""

import json
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.loading import load
from vitviz.models.formats.timm import describe_timm_model
from vitviz.models.loaded_model import LoadedModel
from vitviz.usage_code import write_timm_usage

_README = """# {title}

Written by vitviz. These lines open it in other projects, from the folder that holds this one:

```python
{usage}```

Or with the `model_args` of config.json, in which `…` stands for `{folder}/model.safetensors`:
`timm.create_model("{architecture}", checkpoint_path="…", num_classes={classes}, **model_args)`.
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
    loaded, folder = load(model, device="cpu"), Path(folder)
    architecture, arguments = describe_timm_model(loaded.config)
    preparation = loaded.preparation
    settings = {
        "architecture": architecture,
        "num_classes": loaded.config.num_classes,
        "num_features": arguments["embed_dim"],
        "global_pool": arguments.get("global_pool", "avg"),
        "model_args": {name: argument for name, argument in arguments.items() if name != "num_classes"},
        "label_names": list(loaded.classes),
        "pretrained_cfg": {
            "input_size": [preparation.in_chans, *preparation.image_shape],
            "mean": list(preparation.mean),
            "std": list(preparation.std),
            "crop_pct": preparation.crop_fraction,
            "interpolation": preparation.interpolation,
            "fixed_input_size": True,
            "first_conv": "patch_embed.proj",
            "classifier": _name_heads(loaded.config),
            "num_classes": loaded.config.num_classes,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_name_tensors(loaded), folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(settings, indent=2), "utf-8")
    text = _README.format(
        title=loaded.title,
        usage=write_timm_usage(f"local-dir:{folder.name}", loaded.config, folder.name),
        folder=folder.name,
        architecture=architecture,
        classes=loaded.config.num_classes,
    )
    (folder / "README.md").write_text(text, "utf-8")
    return folder


def _name_heads(config: ModelConfig) -> str | list[str]:
    """Return timm's names of the layers that it replaces where `num_classes` differs."""
    if isinstance(config, SwinConfig):
        return "head.fc"
    return ["head", "head_dist"] if isinstance(config, ViTConfig) and config.two_heads else "head"


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
