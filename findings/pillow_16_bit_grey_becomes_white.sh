#!/usr/bin/env bash
# Pillow 13.0.0 (and transformers 5.24.0, which reads with it): a 16-bit grey PNG becomes white.
#
# `Image.open(...).convert("RGB")` and `.convert("L")` clip the 65,536 levels at 255 and do not scale them: all that is
# brighter than 0.4 % of the range is 255. No error and no warning. OpenCV's `imread` divides by 256.
#
# Seen for a ramp of 256 steps from black to white: 255 of 256 columns are 255 with Pillow, with transformers' `load_image`
# too; with OpenCV the ramp is 0, 1, ..., 255.
#
# Who meets it: whoever gives a ViT X-rays, microscope images or depth maps, which are stored with 16 bits, through the
# usual `convert("RGB")`: the model sees a white square and answers with confidence.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pillow==13.0.0 opencv-python-headless==5.0.0.93 transformers==5.24.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder/ramp.png" <<'PYTHON'
import sys

import cv2
import numpy as np
from PIL import Image
from transformers.image_utils import load_image

path = sys.argv[1]
steps = np.arange(256, dtype=np.uint16)
Image.fromarray(np.tile(257 * steps, (16, 1))).save(path)
assert Image.open(path).mode == "I;16"
read = {
    "Pillow, RGB": Image.open(path).convert("RGB"),
    "Pillow, L": Image.open(path).convert("L"),
    "transformers": load_image(path),
}
for name, image in read.items():
    row = np.asarray(image)[0].reshape(256, -1)[:, 0]
    print(f"{name}: {row[:4].tolist()} ... {(row == 255).sum()} of 256 columns white")
    assert row[0] == 0 and (row[1:] == 255).all()
assert np.array_equal(cv2.imread(path)[0, :, 0], steps)
PYTHON
