#!/usr/bin/env bash
# timm 1.0.31: `reset_classifier(n, "avg")` and `create_model(..., global_pool="avg")` give two different
# networks.
#
# A ViT that was created with averaging normalises after the mean (`fc_norm`), one that was switched to
# averaging with `reset_classifier` normalises every token before it (`norm`). Both report `global_pool ==
# "avg"`. Nothing is raised or warned.
#
# Seen: with the same weights in every matrix and the same LayerNorm parameters the logits differ by more than
# half of their largest value (random weights, seed 0, depth 4).
#
# Who meets it: whoever fine-tunes with `reset_classifier` and later opens the state dict in a model that is
# created with `global_pool="avg"`: the names `norm.*` and `fc_norm.*` tell the two apart, and `strict=False` or
# a renaming script hides it.
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

torch.manual_seed(0)
switched = timm.create_model("vit_tiny_patch16_224", depth=4, num_classes=10).eval()
torch.nn.init.uniform_(switched.norm.weight, 0.0, 2.0)
torch.nn.init.normal_(switched.norm.bias)
torch.nn.init.normal_(switched.head.weight, std=0.1)
head = {name: value.clone() for name, value in switched.head.state_dict().items()}
switched.reset_classifier(10, "avg")
switched.head.load_state_dict(head)
created = timm.create_model("vit_tiny_patch16_224", depth=4, num_classes=10, global_pool="avg").eval()
renamed = {("fc_" + name if name.startswith("norm.") else name): value for name, value in switched.state_dict().items()}
created.load_state_dict(renamed, strict=True)
images = torch.randn(2, 3, 224, 224)
with torch.no_grad():
    one, other = switched(images), created(images)
difference = ((one - other).abs().max() / other.abs().max()).item()
print(f"global_pool: {switched.global_pool} and {created.global_pool}; logits differ by {difference:.2f} of their largest value")
assert switched.global_pool == created.global_pool == "avg"
assert type(switched.norm).__name__ == "LayerNorm" and type(created.norm).__name__ == "Identity"
assert difference > 0.3
EOF
