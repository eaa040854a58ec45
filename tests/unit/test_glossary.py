"""Check the glossary: shapes match the models, pages exist, sources are on arXiv."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from torch import nn

from pages.stores import registry
from vitviz import glossary
from vitviz.config import ViTConfig
from vitviz.glossary import SIZES, TERMS, Term, compute_shape, find_terms
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.papers import list_links

RECORDED = [term for term in TERMS if term.record]
MODELS = ("vit_digits", "deit_digits", "vit_cifar10")


@functools.cache
def open_preset(name: str) -> nn.Module:
    return create_model(PRESETS[name].config, seed=0).eval()


def shape_in(term: Term, name: str) -> tuple[int, ...] | None:
    """The shape of what a term names, as the model has it; None where this model has no such part."""
    config = PRESETS[name].config
    model = open_preset(name)
    if term.record.startswith("weight:"):
        weight = dict(model.named_parameters()).get(term.record.removeprefix("weight:"))
        if weight is None:
            return None
        if term.word == "E":  # a convolution's weight (D, C, P, P) is E, turned and folded
            return tuple(weight.flatten(1).T.shape)
        return tuple(size for size in weight.shape if size != 1)
    image = torch.zeros(1, config.in_chans, config.image_size, config.image_size)
    with torch.no_grad():
        _, records = model(image, record=(term.record,))
    return tuple(records[term.record].shape[1:])


@pytest.mark.parametrize("term", RECORDED, ids=lambda term: term.slug)
def test_the_shape_is_the_model_s(term: Term) -> None:
    seen = 0
    for name in MODELS:
        config = PRESETS[name].config
        assert isinstance(config, ViTConfig)
        shape = shape_in(term, name)
        if shape is not None:
            assert compute_shape(term, config) == shape, name
            seen += 1
    assert seen, "no model shows it"


def test_every_page_source_group_and_size_exists() -> None:
    assert 45 <= len(TERMS) <= 70
    for term in TERMS:
        assert term.page in registry.BY_SLUG, term.word
        assert term.source in list_links(), term.word
        assert term.group in glossary.GROUPS, term.word
        assert set(term.shape) <= {*SIZES, *glossary.OTHER_SIZES}, term.word
        assert term.sentence.endswith((".", "?")) and len(term.sentence) <= 125, term.word
    assert len({form.lower() for term in TERMS for form in term.spellings}) == sum(
        len(t.spellings) for t in TERMS
    )


def test_the_formulas_are_those_of_the_facts() -> None:
    by = glossary.BY_SLUG
    assert "2i/D" in by["sinusoidal_positions"].symbol  # and not k/D, the common mistake
    assert by["score"].symbol == r"QK^\top / \sqrt d"
    config = PRESETS["vit_digits"].config
    assert isinstance(config, ViTConfig)
    large = ViTConfig(image_size=224, patch_size=16, embed_dim=1024, depth=1, num_heads=16)
    assert compute_shape(by["e"], large) == (768, 1024) and compute_shape(by["patch"], large) == (196, 768)
    assert compute_shape(by["relative_position_bias"], large) is None


def test_a_word_is_found_once_and_the_longer_one_first() -> None:
    seen: set[str] = set()
    text = "Every patch attends to all patches; the causal mask hides keys. E is a matrix, he is not."
    words = [(text[a:b], term.word) for a, b, term in find_terms(text, seen)]
    assert words == [
        ("patch", "patch"), ("attends", "attention"), ("causal mask", "causal mask"), ("keys", "key"), ("E", "E"),
    ]  # fmt: skip
    assert find_terms("Another patch.", seen) == []
    assert find_terms("Only recipe E and Lecture E, Noisy Student and cross-validation", set()) == []
    assert [term.word for _, _, term in find_terms("[CLS] and the head", set())] == ["[CLS]", "head"]


def test_numbers_of_a_shape_are_whole() -> None:
    config = PRESETS["vit_digits"].config
    assert isinstance(config, ViTConfig)
    assert all(isinstance(size(config), (int, np.integer)) for size in SIZES.values())
