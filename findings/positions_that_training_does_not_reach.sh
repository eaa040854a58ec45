#!/usr/bin/env bash
# vit-pytorch 1.26.11 and kornia 0.9.0 beside timm 1.0.31, transformers 5.24.0 and torchvision 0.28.0: the learned position
# table begins with deviation 1 in the first two and 0.02 in the others, and a small training leaves the large one as random as
# it was.
#
# A step of Adam moves a value by about the learning rate, whatever its size. From 0.02 a few hundred steps of 0.001 replace the
# table; from 1 they change it by a few per cent, so its cosine similarities stay those of random vectors. The model still
# learns.
#
# Seen, vit-pytorch's `ViT` (4 x 4 patches, D = 64, four blocks) on scikit-learn's digits, 300 steps of AdamW, twice the same
# but for the table's first size: from 1 (as built) it moves by 3 % of its length, and its similarity grid correlates 1.00 with
# the one before training; from 0.02 it moves by six times its length, and the correlation is -0.09. Of the last 397 digits the
# first classifies 86 %, the second 79 %.
#
# Who meets it: whoever trains a ViT of these packages, or one copied from them, and draws the paper's figure 7, the similarity
# of position embeddings: it shows the noise of the first step. Multiplied by 0.02 before training, the table is replaced in a
# few hundred steps; the accuracy is not higher for it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31 transformers==5.24.0 vit-pytorch==1.26.11 \
  kornia==0.9.0 scikit-learn==1.9.1
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
from kornia.models.vit import VisionTransformer
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy, normalize
from transformers import ViTConfig, ViTModel
from vit_pytorch import ViT

torch.manual_seed(0)
tables = {
    "timm": timm.create_model("vit_tiny_patch16_224").pos_embed,
    "transformers": ViTModel(ViTConfig(hidden_size=192, num_attention_heads=3, num_hidden_layers=1)).embeddings.position_embeddings,
    "torchvision": torchvision.models.VisionTransformer(224, 16, 1, 3, 192, 384).encoder.pos_embedding,
    "vit-pytorch": ViT(image_size=224, patch_size=16, num_classes=10, dim=192, depth=1, heads=3, mlp_dim=384).pos_embedding,
    "kornia": VisionTransformer(embed_dim=192, depth=1, num_heads=3).patch_embedding.positions,
}
for name, table in tables.items():
    print(f"{name:12} {table.std().item():.3f}")
    assert abs(table.std().item() - (1 if name in ("vit-pytorch", "kornia") else 0.02)) < (0.02 if table.std() > 0.5 else 0.002)

digits = load_digits()
images = torch.tensor(digits.images / 8 - 1, dtype=torch.float32)[:, None]
labels = torch.tensor(digits.target)


def grid(table):
    """Return the cosine similarities of different positions."""
    unit = normalize(table.detach().reshape(-1, 64)[-16:], dim=-1)
    return (unit @ unit.T)[~torch.eye(16, dtype=bool)]


correlations = {}
for size in (1.0, 0.02):
    torch.manual_seed(0)
    model = ViT(image_size=8, patch_size=2, num_classes=10, dim=64, depth=4, heads=4, dim_head=16, mlp_dim=128, channels=1)
    with torch.no_grad():
        model.pos_embedding.mul_(size)
    before = model.pos_embedding.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    for _ in range(300):
        chosen = torch.randint(0, 1400, (64,))
        optimizer.zero_grad()
        cross_entropy(model(images[chosen]), labels[chosen]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(images[1400:]).argmax(-1) == labels[1400:]).float().mean().item()
    moved = ((model.pos_embedding - before).norm() / before.norm()).item()
    both = torch.stack([grid(before), grid(model.pos_embedding)])
    correlations[size] = torch.corrcoef(both)[0, 1].item()
    print(f"from {size}: moved {moved:.2f} of its length, similarities correlate {correlations[size]:.2f}, accuracy {accuracy:.2f}")
    assert accuracy > 0.6 and (moved < 0.1 if size == 1 else moved > 2)
assert correlations[1.0] > 0.98 and correlations[0.02] < 0.6
EOF
