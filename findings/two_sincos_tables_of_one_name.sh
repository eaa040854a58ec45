#!/usr/bin/env bash
# vit-pytorch 1.26.11 and timm 1.0.31: the '2-D sine-cosine' table of SimpleViT is not the one that timm builds.
#
# Both use half of the width for rows and half for columns. vit-pytorch (as big_vision) spaces the frequencies
# by 10000^(-k / (D/4 - 1)), so that the slowest wave is 1/10000; timm (as MAE) by 10000^(-k / (D/4)). The
# difference is small for wide models and large for the narrow ones that are trained in lectures.
#
# Seen, largest difference between the two cosine-similarity grids of a 14 x 14 grid (which ignores the order of
# channels): 0.141 at width 16, 0.055 at 32, 0.031 at 64, 0.0035 at 384.
#
# Who meets it: whoever ports a small SimpleViT to timm with a computed table instead of copying it, or compares
# published similarity grids.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31 vit-pytorch==1.26.11
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

import torch.nn.functional as F
from timm.layers import build_sincos2d_pos_embed
from vit_pytorch.simple_vit import posemb_sincos_2d


def similarity(table):
    unit = F.normalize(table.double(), dim=-1)
    return unit @ unit.T


differences = {}
for width in (16, 32, 64, 384):
    grids = similarity(posemb_sincos_2d(14, 14, width)), similarity(build_sincos2d_pos_embed([14, 14], width))
    differences[width] = (grids[0] - grids[1]).abs().max().item()
print({width: round(value, 4) for width, value in differences.items()})
assert 0.12 < differences[16] < 0.16 and 0.02 < differences[64] < 0.04 and differences[384] < 0.005
EOF
