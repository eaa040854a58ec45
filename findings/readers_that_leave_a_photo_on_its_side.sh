#!/usr/bin/env bash
# Seven readers of one photo that a phone took upright (EXIF orientation 6): OpenCV 5.0.0, transformers 5.24.0 and
# datasets 5.2.0 turn it, Pillow 13.0.0, scikit-image 0.26.0, imageio 2.38.1 and matplotlib 3.11.2 return it on its side.
#
# None warns. torchvision's `decode_image` has `apply_exif_orientation=False` (not run here: its decoder needs a build of
# its own). So a model whose training images came through datasets and whose server reads with Pillow, or a notebook that
# plots with matplotlib what OpenCV read, has two images.
#
# Seen: 60 rows and 40 columns (upright) from three of them, 40 rows and 60 columns from four.
#
# Who meets it: whoever classifies photos of phones. `PIL.ImageOps.exif_transpose` turns them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pillow==13.0.0 opencv-python-headless==5.0.0.93 scikit-image==0.26.0 \
    imageio==2.38.1 matplotlib==3.11.2 transformers==5.24.0 datasets==5.2.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder/photo.jpg" <<'PYTHON'
import sys

import cv2
import imageio.v3
import matplotlib.image
import numpy as np
import skimage.io
from datasets import Image as DatasetImage
from PIL import Image
from transformers.image_utils import load_image

path = sys.argv[1]
pixels = np.random.default_rng(0).integers(255, size=(40, 60, 3), dtype=np.uint8)
exif = Image.Exif()
exif[0x0112] = 6
Image.fromarray(pixels).save(path, exif=exif)
read = {
    "OpenCV": cv2.imread(path),
    "transformers": load_image(path),
    "datasets": DatasetImage().decode_example({"path": path, "bytes": None}),
    "Pillow": Image.open(path),
    "scikit-image": skimage.io.imread(path),
    "imageio": imageio.v3.imread(path),
    "matplotlib": matplotlib.image.imread(path),
}
shapes = {name: np.asarray(image).shape[:2] for name, image in read.items()}
print(shapes)
assert {name for name, shape in shapes.items() if shape == (60, 40)} == {"OpenCV", "transformers", "datasets"}
assert set(shapes.values()) == {(60, 40), (40, 60)}
PYTHON
