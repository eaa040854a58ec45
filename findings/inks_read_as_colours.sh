#!/usr/bin/env bash
# Five readers of one CMYK JPEG: imageio 2.38.1 and scikit-image 0.26.0 return its four inks, an array of the shape of
# RGBA; Pillow 13.0.0's `convert("RGB")`, matplotlib 3.11.2 and OpenCV 5.0.0 return its colours.
#
# None warns. Inks are amounts of cyan, magenta, yellow and black, so as colours they show a negative, and the black ink,
# read as alpha, is 0 (transparent) nearly everywhere. Code that keeps `image[..., :3]` of an 'RGBA' image, as most does,
# gives a model the negative. OpenCV converts by a formula of its own, within one grey level of Pillow's.
#
# Seen, a photograph: (512, 512, 4) from imageio and scikit-image, whose first three channels are 146 grey levels from the
# photograph on average; Pillow and matplotlib 1.1, OpenCV 1.4.
#
# Who meets it: whoever reads folders of photographs with scikit-image; ImageNet's training images hold some in CMYK.
# Read with Pillow and `convert("RGB")`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pillow==13.0.0 opencv-python-headless==5.0.0.93 scikit-image==0.26.0 \
    imageio==2.38.1 matplotlib==3.11.2 numpy==2.4.6
"$folder/venv/bin/python" -W error - "$folder/inks.jpg" <<'PYTHON'
import sys

import cv2
import imageio.v3
import matplotlib.image
import numpy as np
import skimage.data
import skimage.io
from PIL import Image

path, photo = sys.argv[1], skimage.data.astronaut()
Image.fromarray(photo).convert("CMYK").save(path, quality=95)
read = {
    "Pillow": np.asarray(Image.open(path).convert("RGB")),
    "matplotlib": matplotlib.image.imread(path),
    "OpenCV": cv2.imread(path)[..., ::-1],
    "imageio": imageio.v3.imread(path),
    "scikit-image": skimage.io.imread(path),
}
away = {}
for name, image in read.items():
    away[name] = float(np.abs(image[..., :3].astype(int) - photo).mean())
    print(f"{name}: {image.shape}, {away[name]:.1f} grey levels from the photograph")
assert all(away[name] < 2 for name in ("Pillow", "matplotlib", "OpenCV"))
assert np.abs(read["OpenCV"].astype(int) - read["Pillow"]).max() <= 1
for name in ("imageio", "scikit-image"):
    assert read[name].shape == (512, 512, 4) and away[name] > 100
    assert np.array_equal(read[name], np.asarray(Image.open(path)))  # the inks
    assert (read[name][..., 3] == 0).mean() > 0.9
assert (read["matplotlib"][..., 3] == 255).all()
PYTHON
