#!/usr/bin/env bash
# torch 2.13.0: whether `nn.MultiheadAttention` returns its weights decides what a sequence without valid keys becomes.
#
# Since 2.5 `scaled_dot_product_attention` gives zeros to a query all of whose keys are masked, with every backend. The
# module takes that path with `need_weights=False` only. With the default `need_weights=True` it takes the softmax of a row
# of minus infinity, which is NaN; the mode (training, evaluation) makes no difference. A mask that adds the smallest
# float32 in place of minus infinity gives a third answer, the mean of all values, padding included.
#
# Seen: NaN with weights, the output projection's bias (zeros before it) without, `v.mean()` with the smallest float32.
#
# Who meets it: whoever batches images of different numbers of patches and asks for the attention maps of a batch that
# trained without fault: one image without patches gives NaN maps, and NaN gradients for the whole batch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

torch.manual_seed(0)
x, padded = torch.randn(2, 4, 8), torch.tensor([[False] * 4, [True] * 4])
attention = torch.nn.MultiheadAttention(8, 1, batch_first=True)
torch.nn.init.normal_(attention.out_proj.bias)
for training in (True, False):
    attention.train(training)
    for need_weights in (True, False):
        output, _ = attention(x, x, x, key_padding_mask=padded, need_weights=need_weights)
        print(f"training {training}, need_weights {need_weights}: {output[1, 0, :3].tolist()}")
        assert output[0].isfinite().all()
        if need_weights:
            assert output[1].isnan().all()
        else:
            assert torch.equal(output[1], attention.out_proj.bias.expand(4, 8))

attention.zero_grad()
attention(x, x, x, key_padding_mask=padded)[0][0].sum().backward()  # the first image alone, which has all its keys
assert attention.in_proj_weight.grad.isnan().any()

valid = ~padded[:, None, :].expand(2, 4, 4)
for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
    with sdpa_kernel(backend):
        output = scaled_dot_product_attention(*(x[:, None],) * 3, attn_mask=valid[:, None])
    assert (output[1] == 0).all(), backend
added = torch.zeros(valid.shape).masked_fill(~valid, torch.finfo(torch.float32).min)
output = scaled_dot_product_attention(*(x[:, None],) * 3, attn_mask=added[:, None])
assert torch.allclose(output[1, 0], x[1].mean(dim=0).expand(4, 8), atol=1e-6)
PYTHON
