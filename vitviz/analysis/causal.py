"""Recompute attention with the causal mask of a text decoder; arrays in and out."""

from __future__ import annotations

import numpy as np

from vitviz.analysis.attention import FloatArray
from vitviz.analysis.logit_lens import softmax

# The sentence of the lecture. Four numbers a word, set by hand: being, verb, glue, quality. No model has made them.
SENTENCE = ("Bark", "is", "a", "dog", "and", "he", "is", "cute")
MEANINGS = np.array(
    [
        [2.0, 0.0, 0.0, 0.4],
        [0.3, 1.6, 0.3, 0.0],
        [0.4, 0.0, 1.4, 0.0],
        [2.2, 0.0, 0.0, 0.6],
        [0.0, 0.3, 1.4, 0.0],
        [1.9, 0.0, 0.2, 0.3],
        [0.3, 1.6, 0.3, 0.0],
        [1.2, 0.0, 0.0, 2.2],
    ]
)


def causal_attention(scores: FloatArray) -> FloatArray:
    """softmax(scores + M) with M = -inf where the key comes after the query (Vaswani et al. 2017, section 3.2.3).

    Rows sum to 1, the first is 1 on itself. It is the unmasked attention of the keys so far, re-normalised.

    Args:
        scores: (..., tokens, tokens), what the softmax reads.

    Raises:
        ValueError: if the last two axes differ.
    """
    tokens = scores.shape[-1]
    if scores.ndim < 2 or scores.shape[-2] != tokens:
        raise ValueError(f"scores must be (..., tokens, tokens), received {scores.shape}")
    later = np.triu(np.ones((tokens, tokens), dtype=bool), k=1)
    return softmax(np.where(later, -np.inf, scores))


def sentence_attention(causal: bool) -> FloatArray:
    """Attention between the words of `SENTENCE`, A = softmax(X Xt / sqrt(4)): similarity of hand-made meanings.

    Returns:
        (8, 8), rows sum to 1.
    """
    scores = MEANINGS @ MEANINGS.T / np.sqrt(MEANINGS.shape[1])
    return causal_attention(scores) if causal else softmax(scores)
