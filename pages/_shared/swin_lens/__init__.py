"""The Swin page's parts: each reads its controls, computes and draws one question."""
