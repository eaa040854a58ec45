"""Define the networks, images and recipe of the face experiment, without torch."""

from __future__ import annotations

from vitviz.config import CNNConfig, ModelConfig, Preparation, TrainConfig, ViTConfig
from vitviz.data.faces import SIDE_PX

NAME = "faces"
SEEDS = (0, 1, 2, 3, 4)
TITLES = {"cnn": "CNN", "vit": "ViT", "vit_nopos": "ViT without positions"}
BACKGROUND = "background"  # beside the arrangements of `vitviz.data.faces`: what is no face at all
_VIT = ViTConfig(
    image_size=SIDE_PX,
    patch_size=4,
    in_chans=1,
    num_classes=2,
    embed_dim=48,
    depth=3,
    num_heads=4,
    mlp_ratio=2.0,
)
MODELS: dict[str, ModelConfig] = {
    "cnn": CNNConfig(
        image_size=SIDE_PX, in_chans=1, num_classes=2, widths=(8, 16, 32), blocks=(0, 1, 1), pooled=True
    ),
    "vit": _VIT,
    "vit_nopos": ViTConfig(**{**vars(_VIT), "positions": "none"}),
}
PREPARATION = Preparation(image_size=SIDE_PX, mean=(0.5,), std=(0.5,))
TRAIN = TrainConfig(
    dataset="faces",
    validation_fraction=0.1,
    epochs=60,  # 240 updates: seconds
    batch_size=32,
    learning_rate=2e-3,
    weight_decay=0.05,
    flip=True,
    shift_px=1,
    precision="fp32",
    threads=1,
)
