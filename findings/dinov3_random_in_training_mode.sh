#!/usr/bin/env bash
# transformers 5.24.0: DINOv3 in training mode is random even if every dropout is 0; timm's DINOv3 (1.0.31) is
# not.
#
# In training mode transformers rescales the coordinates of the rotary positions by a random factor at every
# call (`pos_embed_rescale`, 2.0 by default). timm's model with the same weights has no such augmentation.
#
# Seen: two calls of `train()` on the same image differ by more than 1e-4 in transformers (all dropouts and drop
# paths 0), by exactly 0 in timm; in `eval()` both repeat exactly.
#
# Who meets it: whoever fine-tunes a head on frozen features with the whole module in training mode, caches
# features there, or checks that gradient checkpointing changes nothing; and whoever ports a recipe from one
# library to the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31 transformers==5.24.0
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
from transformers import DINOv3ViTConfig, DINOv3ViTModel

torch.manual_seed(0)
config = DINOv3ViTConfig(
    hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, image_size=224, patch_size=16
)
assert config.attention_dropout == 0 and config.drop_path_rate == 0
ours = DINOv3ViTModel(config)
theirs = timm.create_model("vit_small_patch16_dinov3", depth=2, num_classes=0)
image = torch.randn(1, 3, 224, 224)
differences = {}
for mode in (True, False):
    with torch.no_grad():
        ours.train(mode), theirs.train(mode)
        first, second = (ours(image).last_hidden_state for _ in range(2))
        differences["transformers", mode] = (first - second).abs().max().item()
        first, second = (theirs.forward_features(image) for _ in range(2))
        differences["timm", mode] = (first - second).abs().max().item()
print({f"{name}, {'train' if mode else 'eval'}": value for (name, mode), value in differences.items()})
assert differences["transformers", True] > 1e-4
assert differences["timm", True] == differences["timm", False] == differences["transformers", False] == 0
EOF
