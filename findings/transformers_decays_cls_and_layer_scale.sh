#!/usr/bin/env bash
# transformers 5.24.0 and timm 1.0.31: weight decay pulls [CLS], the registers, the positions and LayerScale to zero in the
# first and not in the second.
#
# Trainer decays all but biases and norms: `get_decay_parameter_names` of a DINOv2 with registers lists `cls_token`,
# `mask_token`, `position_embeddings`, `register_tokens` and both `lambda1` of every block. timm's `create_optimizer_v2`
# exempts all vectors and what the model names in `no_weight_decay()`. But timm's `param_groups_weight_decay(model, wd)`,
# called directly, asks for those names only as an argument, and decays [CLS] and positions without it.
#
# Seen: as stated, for one block of each.
#
# Who meets it: whoever fine-tunes one ViT with either library and the same weight decay, and compares. The ViT papers'
# code (Touvron et al. 2021, Caron et al. 2021) exempts them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31 transformers==5.24.0 \
    accelerate==1.15.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
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
from timm.optim import create_optimizer_v2, param_groups_weight_decay
from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel, Trainer

model = Dinov2WithRegistersModel(Dinov2WithRegistersConfig(num_hidden_layers=1))
decayed = {name.split(".")[-1] for name in Trainer.get_decay_parameter_names(None, model)}
print("transformers:", sorted(decayed - {"weight"}))
assert decayed == {"weight", "cls_token", "mask_token", "position_embeddings", "register_tokens", "lambda1"}

model = timm.create_model("vit_small_patch16_224", depth=1, reg_tokens=4, init_values=1e-5)
names = {id(parameter): name for name, parameter in model.named_parameters()}


def list_decayed(groups):
    return {names[id(p)] for group in groups if group["weight_decay"] > 0 for p in group["params"]}


by_optimizer = list_decayed(create_optimizer_v2(model, opt="adamw", weight_decay=0.05).param_groups)
by_hand = list_decayed(param_groups_weight_decay(model, 0.05))
print("timm:", sorted(by_hand - by_optimizer), "are decayed only without a list of names")
assert all(name.endswith(".weight") and "norm" not in name for name in by_optimizer)
assert by_hand - by_optimizer == {"cls_token", "pos_embed", "reg_token"}
PYTHON
