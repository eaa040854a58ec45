#!/usr/bin/env bash
# transformers 5.24.0: `pipeline("image-feature-extraction", pool=True)` returns another vector each time a
# classification checkpoint is opened.
#
# The pipeline opens ViTModel, whose pooler (a Linear and a Tanh on [CLS]) is no part of a
# ViTForImageClassification checkpoint, of DINO or of MAE; it is initialised at random. `pool=True` returns its
# output and not [CLS]. The load report lists `pooler.dense.weight` as missing, in the same table as harmless
# entries; nothing stops the call.
#
# Seen: two pipelines of one folder: token features are identical, pooled features differ by 0.36 (of at most 2,
# since Tanh).
#
# Who meets it: whoever builds an image search or a linear probe on `pool=True`: features that are stored today
# do not match those of tomorrow's process.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 transformers==5.24.0 pillow==13.0.0
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

import tempfile

import numpy as np
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor, pipeline

torch.manual_seed(0)
shape = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
folder = tempfile.mkdtemp()
ViTForImageClassification(ViTConfig(**shape, image_size=32, patch_size=8)).save_pretrained(folder)
ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
image = Image.fromarray(np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8))
pooled, tokens = [], []
for _ in range(2):
    extract = pipeline("image-feature-extraction", model=folder, device="cpu")
    pooled.append(np.array(extract(image, pool=True)))
    tokens.append(np.array(extract(image)))
print("tokens differ by", abs(tokens[0] - tokens[1]).max(), "pooled features by", abs(pooled[0] - pooled[1]).max())
assert abs(tokens[0] - tokens[1]).max() == 0
assert abs(pooled[0] - pooled[1]).max() > 0.05
EOF
