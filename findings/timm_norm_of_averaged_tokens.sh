#!/usr/bin/env bash
# timm 1.0.31: `forward_intermediates(norm=True)` does not normalise the tokens of a ViT with
# `global_pool="avg"`.
#
# Such a model keeps its final LayerNorm behind the pooling (`fc_norm`), and `norm` is an Identity. `norm=True`
# applies the Identity, without a warning. The same call on the same architecture with `global_pool="token"`
# returns normalised tokens.
#
# Seen: standard deviation over the channels of the last layer's tokens: 1.00 with `token`, 0.59 with `avg`
# (random weights, seed 0, depth 2).
#
# Who meets it: whoever compares features, token norms or PCA colours of two checkpoints through this one
# interface, such as a model that was pretrained with [CLS] and its MAE or fine-tuned variant that averages.
# Expected: normalised tokens, or an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31
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

torch.manual_seed(0)
images = torch.randn(2, 3, 224, 224)
spread = {}
for pool in ("token", "avg"):
    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", global_pool=pool, depth=2, num_classes=10).eval()
    with torch.no_grad():
        tokens = model.forward_intermediates(images, norm=True, intermediates_only=True, output_fmt="NLC")[-1]
    spread[pool] = tokens.std(dim=-1, correction=0).mean().item()
print(f"standard deviation over channels with norm=True: {spread}")
assert abs(spread["token"] - 1) < 0.01
assert abs(spread["avg"] - 1) > 0.2
EOF
