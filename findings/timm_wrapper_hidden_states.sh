#!/usr/bin/env bash
# transformers 5.24.0 with timm 1.0.31: `hidden_states` of a wrapped timm ViT do not follow transformers' own
# convention.
#
# For a ViT of transformers `hidden_states` are the embeddings and every block's tokens, (B, 1 + N, D), [CLS]
# included. For a timm ViT behind `TimmWrapperModel` they are feature maps (B, D, H, W), without [CLS], without
# the embeddings (one fewer), and not normalised, while `last_hidden_state` of the same output is (B, 1 + N, D)
# and normalised.
#
# Seen, depth 3: four tensors of (1, 197, 192) for ViTModel; three of (1, 192, 14, 14) for the wrapper.
#
# Who meets it: whoever probes layers through `AutoModel` for any hub id: `hidden_states[0]` is the embedding in
# one model and the first block in the other, `hidden_states[-1][:, 0]` is [CLS] in one and a channel in the
# other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31 transformers==5.24.0
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

from transformers import TimmWrapperConfig, TimmWrapperModel, ViTConfig, ViTModel

torch.manual_seed(0)
wrapped = TimmWrapperModel(TimmWrapperConfig(architecture="vit_tiny_patch16_224", model_args={"depth": 3})).eval()
plain = ViTModel(ViTConfig(hidden_size=192, num_hidden_layers=3, num_attention_heads=3, intermediate_size=768)).eval()
image = torch.randn(1, 3, 224, 224)
with torch.no_grad():
    outputs = {name: model(image, output_hidden_states=True) for name, model in (("ViTModel", plain), ("wrapper", wrapped))}
shapes = {name: [tuple(state.shape) for state in output.hidden_states] for name, output in outputs.items()}
print(shapes)
print({name: tuple(output.last_hidden_state.shape) for name, output in outputs.items()})
assert shapes["ViTModel"] == [(1, 197, 192)] * 4
assert shapes["wrapper"] == [(1, 192, 14, 14)] * 3
assert outputs["wrapper"].last_hidden_state.shape == (1, 197, 192)
last = outputs["wrapper"].hidden_states[-1].flatten(2).mT
normalised = outputs["wrapper"].last_hidden_state[:, 1:]
assert (last - normalised).abs().max() > 0.1
assert torch.allclose(wrapped.timm_model.norm(last), normalised, atol=1e-4)
EOF
