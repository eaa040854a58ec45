#!/usr/bin/env bash
# open_clip 3.3.0: an image encoder whose input is not square ignores the interpolation that its config states.
#
# `preprocess_cfg` states "interpolation": "bilinear" and "resize_mode": "shortest" (the default). For a square input the
# evaluation transform resizes with bilinear; for an oblong one it takes ResizeKeepRatio without passing the interpolation
# on, so that the image is resized with bicubic. 'longest' and 'squash' pass it on for both.
#
# Seen, largest difference between the prepared images of 300 x 400 px of noise with "bilinear" and with "bicubic" stated, in
# prepared units: square input of 224 px 0.555; oblong input of 224 x 112 px 0 with 'shortest', 0.21 with 'longest', 0.365
# with 'squash'.
#
# Who meets it: whoever trains or converts a CLIP for text lines, portraits or panoramas with bilinear inputs, evaluates with
# open_clip and serves with another library that reads the same config.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 open_clip_torch==3.3.0
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

import numpy as np
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image

photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 400, 3), np.uint8))


def difference(size, mode):
    """Return how far stating bilinear moves the prepared image from stating bicubic."""
    prepared = [
        image_transform_v2(PreprocessCfg(size=size, resize_mode=mode, interpolation=name), is_train=False)(photo)
        for name in ("bilinear", "bicubic")
    ]
    return (prepared[0] - prepared[1]).abs().max().item()


seen = {(size, mode): round(difference(size, mode), 3)
        for size in (224, (224, 112)) for mode in ("shortest", "longest", "squash")}
print(seen)
assert seen.pop(((224, 112), "shortest")) == 0
assert all(value > 0.1 for value in seen.values())
EOF
