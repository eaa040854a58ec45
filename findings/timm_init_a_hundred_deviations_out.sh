#!/usr/bin/env bash
# timm 1.0.31 beside torch 2.13.0: new weights of a ViT hold single values of exactly -2.0, a hundred standard deviations from
# zero; in bfloat16 one weight in 500.
#
# Both libraries have a `trunc_normal_`. timm's is a copy of torch's older one: a uniform number in [-1, 1) goes through the
# inverse error function and is clamped to [-2, 2]. With std=0.02 the bounds cut nothing off, so the number may be -1 itself,
# whose inverse is minus infinity and clamps to -2. A float32 is -1 once in 2^24 draws, a bfloat16 once in about 500, and
# in bfloat16 no value on the other side exceeds 0.06. torch 2.13 draws again in place of the inverse; timm's linear maps still
# take the copy, also with the argument `dtype` of `create_model`. No warning.
#
# Seen, ViT-L/16 with ten classes in float32, seed 0: ten weights of -2.0 (with 1,000 classes 11, with seed 1 as well 28; two
# in total in ViT-B/16 of two seeds).
# Seen, ViT-Ti/16 created with dtype=torch.bfloat16, seed 0: 10,502 weights of -2.0 (0.19 %), queries', keys' and values'
# deviation 0.092 and not 0.020; the last layer's tokens have deviation 9.7, those of the same seed in float32 0.64.
#
# Who meets it: whoever trains a large ViT from timm's initial weights, creates one in bfloat16 to save memory, or measures a
# random network as the control of an analysis. Create the model in float32 and convert it; in float32 redraw the values
# beyond a few standard deviations.
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


def create(name, dtype):
    torch.manual_seed(0)
    return timm.create_model(name, num_classes=10, dtype=dtype).eval()


def count(model):
    matrices = [p for p in model.parameters() if p.ndim > 1]
    outliers = sum((p == -2).sum().item() for p in matrices)
    return outliers, outliers / sum(p.numel() for p in matrices)


large, _ = count(create("vit_large_patch16_224", torch.float32))
print(f"ViT-L/16 in float32: {large} weights of -2.0")
assert 1 <= large <= 60

images, spread = torch.randn(4, 3, 224, 224, generator=torch.Generator().manual_seed(1)), {}
for dtype in (torch.float32, torch.bfloat16):
    model = create("vit_tiny_patch16_224", dtype)
    number, share = count(model)
    qkv = model.blocks[0].attn.qkv.weight.float().std().item()
    with torch.no_grad():
        spread[dtype] = model.float().forward_intermediates(images)[1][-1].std().item()
    print(f"ViT-Ti/16 in {dtype}: {number} weights of -2.0 ({share:.2%}), qkv's deviation {qkv:.3f}, tokens' {spread[dtype]:.2f}")
    assert (share > 0.001) == (dtype == torch.bfloat16) and (qkv > 0.05) == (dtype == torch.bfloat16)
assert spread[torch.bfloat16] > 5 * spread[torch.float32]

for dtype in (torch.float32, torch.bfloat16):
    torch.manual_seed(0)
    drawn = torch.nn.init.trunc_normal_(torch.empty(20_000_000, dtype=dtype), std=0.02)
    print(f"torch's own in {dtype}: {drawn.min().item():.3f} to {drawn.max().item():.3f}")
    assert drawn.abs().max() < 0.2
EOF
