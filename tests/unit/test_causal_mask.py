"""Attention with a causal mask, against what it must be."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import unpack
from vitviz.analysis.attention import (
    MEANINGS,
    SENTENCE,
    causal_attention,
    restore_rows,
    sentence_attention,
    softmax,
)
from vitviz.plots.attention_message import encode_words_matrix, scale_end


def test_it_is_the_attention_so_far_renormalised() -> None:
    scores = np.random.default_rng(1).normal(size=(2, 3, 7, 7))
    kept = np.tril(softmax(scores))
    np.testing.assert_allclose(causal_attention(scores), kept / kept.sum(axis=-1, keepdims=True), atol=1e-12)
    # Masking after the softmax, a common slip, leaves rows that sum to less than 1.
    assert (kept.sum(axis=-1)[..., :-1] < 1).all()


def test_the_sentence_s_he_looks_most_at_the_dog() -> None:
    assert " ".join(SENTENCE) == "Bark is a dog and he is cute" and len(MEANINGS) == len(SENTENCE)
    for causal in (False, True):
        seen = sentence_attention(causal)
        np.testing.assert_allclose(seen.sum(axis=1), 1)
        assert SENTENCE[int(seen[SENTENCE.index("he")].argmax())] == "dog"
    assert sentence_attention(True)[0].tolist() == [1, *[0] * 7]


def test_the_message_holds_the_weights() -> None:
    attn = sentence_attention(True)
    header, arrays = unpack(encode_words_matrix(attn, SENTENCE, causal=True))
    assert header["words"] == list(SENTENCE) and header["causal"]
    restored = restore_rows(arrays["codes"], arrays["max"])
    np.testing.assert_allclose(restored, attn, atol=1 / 65000)
    assert scale_end(attn) == pytest.approx(1, abs=0.2) and scale_end(np.zeros((2, 2))) == 1
