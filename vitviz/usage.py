"""Write the lines that open a model in timm, transformers, torchvision or vitviz, take features, and fine-tune it."""

from __future__ import annotations

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.pretrained_list import PRETRAINED, Pretrained

_TIMM = """\
# pip install timm
import timm, torch
from PIL import Image

timm.list_models("{family}*")  # architectures; timm.list_pretrained("{family}*") lists those with weights
model = timm.create_model("{name}", pretrained=True).eval()
transform = timm.data.create_transform(**timm.data.resolve_data_config(model=model))
x = transform(Image.open("image.png").convert("{mode}"))[None]
{scores}
# Features: the tokens after the last block, and one vector of an image without the head.
tokens = model.forward_features(x)  # {tokens}
extractor = timm.create_model("{name}", pretrained=True, num_classes=0).eval()
features = extractor(x)  # (1, {width})

# Fine-tune on 10 classes with two learning rates: the new head learns ten times as fast as the backbone.
model = timm.create_model("{name}", pretrained=True, num_classes=10)
head = [p for name, p in model.named_parameters() if name.startswith("head")]
backbone = [p for name, p in model.named_parameters() if not name.startswith("head")]
optimizer = torch.optim.AdamW([{{"params": backbone, "lr": 1e-4}}, {{"params": head, "lr": 1e-3}}])
"""
_SCORES = "logits = model(x)  # (1, {classes})\n"
_TRANSFORMERS = """
# The same weights in transformers, which needs timm for them: pip install transformers timm
from transformers import AutoImageProcessor, AutoModelForImageClassification

processor = AutoImageProcessor.from_pretrained("{name}")
model = AutoModelForImageClassification.from_pretrained("{name}").eval()
logits = model(**processor(Image.open("image.png").convert("{mode}"), return_tensors="pt")).logits
"""
_TORCHVISION = """\
# pip install torchvision
import torch
from PIL import Image
from torchvision.models import get_model, get_model_weights, list_models
from torchvision.models.feature_extraction import create_feature_extractor

list_models(include="{family}*")  # architectures; get_model_weights(name) lists the weights of one
weights = get_model_weights("{name}").IMAGENET1K_V1
model = get_model("{name}", weights=weights).eval()
x = weights.transforms()(Image.open("image.png").convert("RGB"))[None]
logits = model(x)  # (1, {classes}); weights.meta["categories"] names them

# Features: the tokens after the last block.
tokens = create_feature_extractor(model, ["{node}"])(x)["{node}"]  # {tokens}

# Fine-tune on 10 classes with two learning rates: the new head learns ten times as fast as the backbone.
model.{head} = torch.nn.Linear({width}, 10)
head = [p for name, p in model.named_parameters() if name.startswith("head")]
backbone = [p for name, p in model.named_parameters() if not name.startswith("head")]
optimizer = torch.optim.AdamW([{{"params": backbone, "lr": 1e-4}}, {{"params": head, "lr": 1e-3}}])
"""
_VITVIZ = """\
# In a checkout of vitviz
import vitviz

model = vitviz.load("{name}")
view = vitviz.inspect(model, "image.png")
"""
_EXPORT = """\
# In a checkout of vitviz: write a folder that timm and transformers open
import vitviz

vitviz.export("{name}", "{name}")

"""


def write_usage(name: str, config: ModelConfig) -> str:
    """Return Python lines for a published model, or for a model that `vitviz.load` takes by this name.

    Args:
        name: of published weights, of a shipped model, or of a run or file.
        config: the model's shape.
    """
    entry = PRETRAINED.get(name)
    if entry is not None and entry.package is None:
        if entry.format == "torchvision":
            return _write_torchvision_usage(entry)
        return write_timm_usage(name, entry.config, f"timm/{name}")
    try:
        from vitviz.models.formats.timm import describe_timm_model

        describe_timm_model(config)
    except ValueError as error:
        return f"{_VITVIZ.format(name=name)}\n# It opens in vitviz alone: {error}.\n"
    return _EXPORT.format(name=name) + write_timm_usage(f"local-dir:{name}", config, name)


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
    scores = _SCORES.format(**values) if config.num_classes else ""
    text = _TIMM.format(**values, scores=scores)
    return text + (_TRANSFORMERS.format(**values | {"name": transformers_name}) if config.num_classes else "")


def _write_torchvision_usage(entry: Pretrained) -> str:
    is_swin = isinstance(entry.config, SwinConfig)
    return _TORCHVISION.format(
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
