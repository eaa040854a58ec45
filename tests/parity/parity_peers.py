"""The other implementations, each imported when a test first asks for it.

Every worker reads every file of tests, and one runs these: timm and torchvision are two seconds of processor time and
200 MB to each of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vitviz.torchvision_fix import import_torchvision

_HOMES = {
    "timm": "timm",
    "torchvision": "torchvision",
    "TimmDistilled": "timm.models.deit:VisionTransformerDistilled",
    "TimmSwin": "timm.models.swin_transformer:SwinTransformer",
    "TimmViT": "timm.models.vision_transformer:VisionTransformer",
    "TorchvisionSwin": "torchvision.models.swin_transformer:SwinTransformer",
    "interpolate_embeddings": "torchvision.models.vision_transformer:interpolate_embeddings",
    "TorchvisionViT": "torchvision.models.vision_transformer:VisionTransformer",
    "checkpoint_filter_fn": "timm.models.vision_transformer:checkpoint_filter_fn",
    "create_transform": "timm.data:create_transform",
    "get_model_weights": "torchvision.models:get_model_weights",
    "param_groups_layer_decay": "timm.optim:param_groups_layer_decay",
    "resample_abs_pos_embed": "timm.layers:resample_abs_pos_embed",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(name)
    import_torchvision()  # timm needs it, and it may need its two operators declared: before either is imported
    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
