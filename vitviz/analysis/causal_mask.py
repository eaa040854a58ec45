"""Recompute attention with the causal mask of a text decoder; arrays in and out."""

import numpy as np

from vitviz.analysis.attention import FloatArray
from vitviz.softmax import softmax

# The sentence of the lecture, with four hand-set features per word: being, verb, function word, quality.
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
    """Return softmax(scores + M), M = -inf where the key is after the query (Vaswani et al. 2017, section 3.2.3).

    Rows sum to 1: each is the unmasked attention to the keys so far, renormalised.

    Args:
        scores: (..., tokens, tokens), the input of the softmax.
    """
    tokens = scores.shape[-1]
    later = np.triu(np.ones((tokens, tokens), dtype=bool), k=1)
    return softmax(np.where(later, -np.inf, scores))


def sentence_attention(causal: bool) -> FloatArray:
    """Return the attention between the words of `SENTENCE`, A = softmax(X Xt / sqrt(4)), from their features.

    Returns:
        (8, 8), rows sum to 1.
    """
    scores = MEANINGS @ MEANINGS.T / np.sqrt(MEANINGS.shape[1])
    return causal_attention(scores) if causal else softmax(scores)
