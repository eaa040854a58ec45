# /// script
# dependencies = ["lxt==2.1", "zennit==0.5.1", "torch==2.13.0", "transformers==5.24.0", "numpy>=2"]
# ///
"""Write explanation_reference.json: AttnLRP of a random ViT of transformers by its authors' package, lxt.

    python -m tests.parity.explanation_reference     # in an environment with the packages above

lxt changes classes of torch and transformers for the whole process, so the reference is stored. The weights are drawn
by numpy in the order of the parameters' names.
"""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from vitviz.torchvision_fix import import_torchvision

PATH = Path(__file__).with_suffix(".json")
CLASSES = (2, 0)


def create_peer() -> torch.nn.Module:
    """Return transformers' ViT with two layers of two heads, on images of 3 x 8 x 8 px in 4 patches."""
    import_torchvision()
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=8,
        patch_size=4,
        num_labels=4,
        attn_implementation="eager",
    )
    model = ViTForImageClassification(config).eval().requires_grad_(False)
    rng = np.random.default_rng(0)
    for name, parameter in sorted(model.named_parameters()):
        started = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        parameter.copy_(torch.from_numpy(started + 0.4 * rng.normal(size=parameter.shape)))
    return model


def draw_images() -> np.ndarray:
    """Return (2, 3, 8, 8)."""
    return np.random.default_rng(1).normal(size=(len(CLASSES), 3, 8, 8)).astype(np.float32)


def main() -> None:
    """Write the relevance (images, layers, tokens) of the tokens that enter each layer."""
    model = create_peer()
    # lxt's list of models imports a module that transformers 5 no longer has; only its rules are used here.
    sys.modules["lxt.efficient.models"] = ModuleType("models")
    sys.modules["lxt.efficient.models"].get_default_map = None  # type: ignore[attr-defined]
    from lxt.efficient.patches import (
        layer_norm_forward,
        non_linear_forward,
        patch_method,
        wrap_attention_forward,
    )
    from transformers.activations import GELUActivation
    from transformers.models.vit import modeling_vit

    patch_method(layer_norm_forward, torch.nn.LayerNorm)
    patch_method(non_linear_forward, GELUActivation, keep_original=True)
    modeling_vit.eager_attention_forward = wrap_attention_forward(modeling_vit.eager_attention_forward)
    relevance = []
    for image, target in zip(draw_images(), CLASSES, strict=True):
        entering = [model.vit.embeddings(torch.from_numpy(image[None])).requires_grad_()]
        for layer in model.vit.layers:
            entering.append(layer(entering[-1], None))
        score = model.classifier(model.vit.layernorm(entering.pop())[:, 0])[0, target]
        gradients = torch.autograd.grad(score, entering)
        pairs = zip(entering, gradients, strict=True)
        relevance.append([(z * gradient).sum(-1)[0].tolist() for z, gradient in pairs])
    PATH.write_text(json.dumps({"relevance": relevance}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
