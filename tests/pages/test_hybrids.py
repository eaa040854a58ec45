"""The page 'Hybrids' and its studies: the stem, learning curves, attention over convolutions, one token."""

from __future__ import annotations

import re
from pathlib import Path

from pages.studies import hybrid_training
from tests.messages import message
from tests.pages.conftest import OpenApp, captions, put_shipped

PAGE = "pages/lenses/hybrids/page.py"
GUESSED = {f"hybrids__{key}": "shown" for key in ("reads", "sooner", "weight", "question")}
HYBRID = {"model": "preset:hybrid_cifar10", "image": "sample:cat", **GUESSED}


def test_the_caption_states_the_field_and_the_message_hides_it_until_then(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID)
    assert "of this hybrid sees 9 × 9 px, that of a plain ViT only the 4 × 4 px of its patch" in captions(app)
    assert "both are 64 tokens of 128" in captions(app)
    header, arrays = message(app, "hybrids.pipeline")
    assert header["strides"] == [1, 2, 2] and arrays["maps2"].shape == (128, 8, 8)
    assert arrays["tokens"].shape == (64, 128) and arrays["patches"].shape == (64, 48)
    app = open_app(PAGE, model="preset:hybrid_cifar10", image="sample:cat")
    assert message(app, "hybrids.pipeline")[0]["strides"] == [] and "9 × 9 px" not in captions(app)
    assert not app.exception


def test_training_is_drawn_from_the_files_own_records(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    assert [info.value for info in app.main.info if "CIFAR" in info.value]
    put_shipped(no_shipped_checkpoints, *hybrid_training.CHECKPOINTS.values())
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    assert "after 656,000 images" in captions(app)


def test_a_link_to_the_results_of_an_earlier_version_shows_them(open_app: OpenApp) -> None:
    view = {"hybrids.view": "asked", "hybrids.results": "1"}
    app = open_app(PAGE, model="preset:hybrid_cifar10", image="sample:cat", **view)
    assert re.search(r"'Both corrected' .* points", captions(app))
