#!/usr/bin/env bash
# torchvision 0.28.0: `interpolate_embeddings` places a resized position table elsewhere than timm 1.0.31 and
# transformers do.
#
# torchvision resizes with `align_corners=True` (the outer patches' centres stay the outer ones) and without
# antialiasing, timm with `align_corners=False` and antialiasing, transformers' ViT with `align_corners=False`
# and without antialiasing. So one ViT checkpoint has three position tables at one new image size.
#
# Seen, on a 14 x 14 table of 64 plane waves, relative difference from timm's table: torchvision 0.14 at 384 px (24 x 24) and
# 0.50 at 112 px (7 x 7); transformers 0.05 at 384 px (torch's bicubic has another coefficient once antialiasing is on) and
# 0.27 at 112 px.
#
# Who meets it: whoever fine-tunes torchvision's ViT at another size and exports it to timm's names, or compares
# the two at 384 px.
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

from collections import OrderedDict

from timm.layers import resample_abs_pos_embed
from torchvision.models.vision_transformer import interpolate_embeddings
from transformers import ViTConfig, ViTModel

rows, cols = torch.meshgrid(torch.arange(14.0), torch.arange(14.0), indexing="ij")
waves = [torch.sin(rows * i / 5 + cols * j / 6) for i in range(8) for j in range(8)]
table = torch.cat([torch.zeros(1, 1, 64), torch.stack(waves, -1).reshape(1, 196, 64)], dim=1)
model = ViTModel(ViTConfig(hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
model.embeddings.position_embeddings.data.copy_(table)
differences = {}
for px in (384, 112):
    grid = px // 16
    by_timm = resample_abs_pos_embed(table, [grid, grid], num_prefix_tokens=1)[:, 1:]
    state = OrderedDict({"encoder.pos_embedding": table})
    by_torchvision = interpolate_embeddings(px, 16, state)["encoder.pos_embedding"][:, 1:]
    with torch.no_grad():
        tokens = torch.zeros(1, 1 + grid * grid, 64)
        by_transformers = model.embeddings.interpolate_pos_encoding(tokens, px, px)[:, 1:]
    for name, other in (("torchvision", by_torchvision), ("transformers", by_transformers)):
        differences[name, px] = ((other - by_timm).norm() / by_timm.norm()).item()
print(differences)
assert differences["torchvision", 384] > 0.1 and differences["torchvision", 112] > 0.3
assert 0.02 < differences["transformers", 384] < 0.1 and 0.1 < differences["transformers", 112] < 0.45
EOF
