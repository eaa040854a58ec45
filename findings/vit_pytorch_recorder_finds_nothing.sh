#!/usr/bin/env bash
# vit-pytorch 1.26.11: `Recorder`, the package's own way to get attention, returns None for most of the
# package's ViTs.
#
# The recorder hooks modules that are instances of `vit_pytorch.vit.Attention`. Most files of the package define
# an Attention class of their own, so that nothing is hooked; the second value returned is then None, not an
# error.
#
# Seen: `ViT` gives (1, 2, 2, 17, 17); `SimpleViT`, `ViT` of `vit_for_small_dataset` and `DeepViT` give None.
#
# Who meets it: whoever swaps `ViT` for `SimpleViT` (the package's own suggestion for training from scratch) and
# keeps the recorder: the code that draws attention breaks later, at the None, far from its cause.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 vit-pytorch==1.26.11
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

from vit_pytorch import SimpleViT, ViT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.recorder import Recorder
from vit_pytorch.vit_for_small_dataset import ViT as SmallDatasetViT

shape = dict(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64)
found = {}
for model in (ViT, SimpleViT, SmallDatasetViT, DeepViT):
    attention = Recorder(model(**shape))(torch.randn(1, 3, 32, 32))[1]
    found[f"{model.__module__}.{model.__name__}"] = None if attention is None else tuple(attention.shape)
print(found)
assert found["vit_pytorch.vit.ViT"] == (1, 2, 2, 17, 17)
assert [value for name, value in found.items() if name != "vit_pytorch.vit.ViT"] == [None] * 3
EOF
