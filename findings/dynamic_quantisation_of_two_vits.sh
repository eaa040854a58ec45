#!/usr/bin/env bash
# torch 2.13.0, torchvision 0.28.0, timm 1.0.31: `quantize_dynamic` leaves the queries, keys and values of
# torchvision's ViT in fp32.
#
# torchvision builds attention on `nn.MultiheadAttention`, whose three input matrices are one parameter, not a
# Linear, and whose output matrix is a class that is never quantised. timm uses four Linear layers. The same
# call on the same network therefore quantises 12 D^2 values of a block in timm and 8 D^2 in torchvision,
# without a word.
#
# Seen, ViT-B/16 cut to two blocks, state dict in MB: 62.8 to 18.0 in timm, 62.8 to 32.2 in torchvision.
#
# Who meets it: whoever shrinks a ViT for a CPU and compares libraries by size, speed or accuracy at 'int8':
# torchvision's attention weights have not been quantised at all.
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

import io

import timm


def megabytes(model):
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return file.tell() / 1e6


models = {
    "torchvision": torchvision.models.VisionTransformer(224, 16, 2, 12, 768, 3072).eval(),
    "timm": timm.create_model("vit_base_patch16_224", depth=2).eval(),
}
sizes, layers = {}, {}
for name, model in models.items():
    quantised = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    sizes[name] = (round(megabytes(model), 1), round(megabytes(quantised), 1))
    layers[name] = [key for key, part in quantised.named_modules() if ".dynamic." in type(part).__module__ + "."]
print(sizes)
print(layers)
assert sizes["torchvision"][0] == sizes["timm"][0]
assert sizes["torchvision"][1] > 1.5 * sizes["timm"][1]
assert not any("attention" in key for key in layers["torchvision"])
assert "blocks.0.attn.qkv" in layers["timm"]
EOF
