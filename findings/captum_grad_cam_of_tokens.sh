#!/usr/bin/env bash
# captum 0.9.0 with timm 1.0.31: `LayerGradCam` on a block of a ViT returns one value per channel, not per
# patch.
#
# Grad-CAM averages the gradient over all axes behind the second and sums over the second. In a convolutional
# layer (B, C, H, W) the second axis holds channels; in a ViT block (B, N, D) it holds tokens. So tokens are
# weighted and summed away, and what is left has D values. No error and no warning; with D a square number (256,
# 576, 1024) it even reshapes to an image.
#
# Seen: shape (1, 1, 192) for `vit_tiny_patch16_224` at 224 px, which has 196 patches; equal to the sum over
# tokens of activation times the gradient averaged over channels.
#
# Who meets it: whoever moves a Grad-CAM script from a CNN to a ViT in captum, which has no argument for a
# reshaping. The tokens must be moved to (B, D, H, W) by a layer of one's own first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31 captum==0.9.0
"$folder/venv/bin/python" -W ignore - <<'EOF'
import torch
try:
    import torchvision
except RuntimeError:  # PyPI's torchvision beside a CPU build of torch: two operators are only declared there
    import sys
    for name in [name for name in sys.modules if name.startswith("torchvision")]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

import timm
from captum.attr import LayerGradCam

torch.manual_seed(0)
model = timm.create_model("vit_tiny_patch16_224", depth=2).eval()
image, layer, kept = torch.randn(1, 3, 224, 224), model.blocks[-1].norm1, {}
cam = LayerGradCam(model, layer).attribute(image, target=3)


def keep(module, inputs, output):
    output.retain_grad()
    kept["tokens"] = output


handle = layer.register_forward_hook(keep)
model(image)[0, 3].backward()
handle.remove()
tokens = kept["tokens"]
per_channel = (tokens.grad.mean(dim=2, keepdim=True) * tokens).sum(dim=1)
print(f"{tuple(tokens.shape)} tokens give a map of {tuple(cam.shape)}")
assert tokens.shape == (1, 197, 192) and cam.shape == (1, 1, 192)
assert torch.allclose(cam[:, 0], per_channel, atol=1e-6)
EOF
