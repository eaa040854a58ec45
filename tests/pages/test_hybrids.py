"""The page 'Hybrids' and its studies: the stem, learning curves, attention over convolutions, one token."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.studies import hybrid_training
from tests.pages.conftest import OpenApp

PAGE = "pages/lenses/hybrids/page.py"
SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
GUESSED = {f"hybrids__{key}": "shown" for key in ("reads", "sooner", "weight", "question")}
HYBRID = {"model": "preset:hybrid_cifar10", "image": "sample:cat", **GUESSED}


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.main.caption)


def text(app: AppTest) -> str:
    return "\n".join(part.value for part in app.main.markdown)


def test_the_stem_caption_states_the_shapes(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__step="1")
    assert "Convolution 1 outputs 32 feature maps of 32 × 32" in captions(app) and "of 3 × 3 px" in captions(
        app
    )
    app = open_app(PAGE, **HYBRID, hybrids__step="3")
    assert "Convolution 3 outputs 128 feature maps of 8 × 8" in captions(app) and "of 9 × 9 px" in captions(
        app
    )
    app = open_app(PAGE, **HYBRID, hybrids__step="tokens")
    assert "8 × 8 positions to a token: 64 tokens of 128" in captions(app)
    assert "not the 4 × 4 px of a patch" in captions(app)
    assert not app.exception


def test_training_is_drawn_from_the_files_own_records(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    assert [info.value for info in app.main.info if "CIFAR" in info.value]
    for name in hybrid_training.CHECKPOINTS.values():
        shutil.copy(SHIPPED / f"{name}.safetensors", no_shipped_checkpoints / f"{name}.safetensors")
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    assert "after 656,000 images" in captions(app)


def test_a_link_to_the_results_of_an_earlier_version_shows_them(open_app: OpenApp) -> None:
    view = {"hybrids.view": "asked", "hybrids.results": "1"}
    app = open_app(PAGE, model="preset:hybrid_cifar10", image="sample:cat", **view)
    assert re.search(r"'Both corrected' compared with .* points", captions(app))
