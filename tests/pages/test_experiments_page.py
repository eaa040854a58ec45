"""Test the experiments page: its numbers are those of its result files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.messages import charts
from tests.pages.conftest import OpenApp, captions, ship
from tests.pages.test_page_drawers import CODE, MATH, NUMBERS, open_drawers
from vitviz.config import TrainConfig
from vitviz.experiments.bugs import BUGS
from vitviz.models.presets import VIT_DIGITS

PAGE = "pages/studies/page.py"
GUESSED = {f"experiments__{key}_guess": "shown" for key in ("knob", "slip", "gradient", "norm", "positions")}


def opened(open_app: OpenApp, study: str, **more: str) -> AppTest:
    asked = {"model": "preset:vit_digits", "image": "digits:3", **GUESSED, **more}
    app = open_app(PAGE, studies__study=study, **asked)
    assert not app.main.error
    return app


def test_a_puzzle_tells_nothing_before_a_line_is_chosen(open_app: OpenApp) -> None:
    for number, slip in list(enumerate(BUGS.values(), start=1))[::4]:
        app = opened(open_app, "spot_the_bug", experiments__puzzle=str(number))
        words = captions(app) + " ".join(part.value for part in app.main.markdown)
        assert slip.title not in words and slip.why not in words
        (code,) = app.main.code
        assert [line[3:] for line in code.value.splitlines()] == list(slip.lines)
    wrong = next(line for line in range(len(slip.lines)) if line not in slip.wrong)
    for line, verdict in ((wrong, "wrong"), (slip.wrong[0], "right")):
        app = opened(open_app, "spot_the_bug", experiments__puzzle=str(number), experiments__line=str(line))
        assert f"line {line + 1}: {verdict}" in app.main.markdown[-1].value
        assert slip.why in captions(app) and slip.right.strip() in captions(app)


def test_the_gradients_are_the_file_s_and_can_be_computed_here(open_app: OpenApp) -> None:
    app = opened(open_app, "residuals", experiments__updates="10")
    assert "10 updates" in captions(app)
    here = opened(open_app, "residuals", experiments__here="1", experiments__deep="2")
    assert re.search(r"P.*residuals: .*; seed 0, 128 digits, fp32\.", captions(here))
    assert len(charts(here)) == 2
    assert open_drawers(here) == [MATH, CODE, NUMBERS]


def test_batch_norm_alone_depends_on_the_other_images(open_app: OpenApp) -> None:
    text = captions(opened(open_app, "norms"))
    assert re.search(r"under BatchNorm \(by 0\.\d+ .* LayerNorm, InstanceNorm or GroupNorm\b", text)
    assert re.search(r"3 test \w+ of Digits\. The figure shows the first 8 of 65 tokens", text)


def test_norms_take_a_width_that_four_groups_do_not_divide_and_name_the_images(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    config = replace(VIT_DIGITS, embed_dim=30, depth=1, num_heads=3)
    thirty = ship(no_shipped_checkpoints, "thirty", config, TrainConfig(dataset="own:x"))
    text = captions(opened(open_app, "norms", model=thirty))
    assert "16 of 30 channels; GroupNorm has 3 groups" in text and "under BatchNorm (" in text
    assert re.search(r"of Digits, [^.]*\bnot\b[^.]*\. ", text), "the model was not trained on digits"
