"""Write the lines that open a model in timm, transformers, torchvision or vitviz, take features, and fine-tune it."""

import tomllib
from pathlib import Path

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.pretrained_list import PRETRAINED, Pretrained

_LINES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def write_usage(name: str, config: ModelConfig) -> str:
    """Return Python lines for a published model, or for a model that `vitviz.load` takes by this name.

    Args:
        name: of published weights, of a shipped model, or of a run or file.
        config: the model's shape.
    """
    entry = PRETRAINED.get(name)
    if entry is not None and not entry.is_shipped:
        if entry.format == "torchvision":
            return _write_torchvision_usage(entry)
        return write_timm_usage(name, entry.config, f"timm/{name}")
    try:
        from vitviz.models.formats.timm import describe_timm_model

        describe_timm_model(config)
    except ValueError as error:
        return f"{_LINES['vitviz'].format(name=name)}\n# It opens in vitviz alone: {error}.\n"
    return _LINES["export"].format(name=name) + write_timm_usage(f"local-dir:{name}", config, name)


def write_timm_usage(name: str, config: ModelConfig, transformers_name: str) -> str:
    """Return lines that open weights in timm and, with a head, in transformers.

    Args:
        name: as `timm.create_model` takes it.
        config: the model's shape.
        transformers_name: as `from_pretrained` takes it.
    """
    values = {
        "name": name,
        "family": "swin" if isinstance(config, SwinConfig) else config.family,
        "mode": "L" if config.in_chans == 1 else "RGB",
        "classes": f"{config.num_classes}",
        **_describe_tokens(config),
    }
    scores = _LINES["scores"].format(**values) if config.num_classes else ""
    text = _LINES["timm"].format(**values, scores=scores)
    return text + (
        _LINES["transformers"].format(**values | {"name": transformers_name}) if config.num_classes else ""
    )


def _write_torchvision_usage(entry: Pretrained) -> str:
    is_swin = isinstance(entry.config, SwinConfig)
    return _LINES["torchvision"].format(
        name=entry.name,
        family=entry.name.partition("_")[0],
        classes=entry.config.num_classes,
        node="norm" if is_swin else "encoder.ln",
        head="head" if is_swin else "heads.head",
        **_describe_tokens(entry.config),
    )


def _describe_tokens(config: ModelConfig) -> dict[str, str]:
    """Return the shape of an image's last tokens, and their width."""
    if isinstance(config, SwinConfig):
        halvings = len(config.depths) - 1
        side, width = config.image_size // config.patch_size >> halvings, config.embed_dim << halvings
        return {"tokens": f"(1, {side}, {side}, {width})", "width": f"{width}"}
    assert isinstance(config, ViTConfig)
    count = len(config.prefix_tokens) + config.grid[0] * config.grid[1]
    return {"tokens": f"(1, {count}, {config.embed_dim})", "width": f"{config.embed_dim}"}
