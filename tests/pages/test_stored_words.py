"""The shares of predictions that a shift changes are those of the stored experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.conftest import OpenApp, put_shipped
from tests.pages.stated_numbers import shares, words, written
from vitviz.experiments.result_file import read_result

PICTURE = "pages/lenses/on_your_image/page.py"


@pytest.mark.parametrize(("px", "counted"), [(6, True), (5, False)])
def test_how_many_answers_a_shift_changes(
    open_app: OpenApp, no_shipped_checkpoints: Path, px: int, counted: bool
) -> None:
    names = ("cifar10_cnn_wide", "cifar10_swin")
    put_shipped(no_shipped_checkpoints, *names)
    view = {"model": "checkpoint:cifar10_cnn_wide", "image": "cifar10-few:65", "on_picture.view": "shift"}
    view["on_picture.shift_px"] = str(px)
    app = open_app(PICTURE, **view)
    asked = words(app)
    assert ("Test images shift 6 px" in asked, "The image shifts 5 px" in asked) == (counted, not counted)
    app.main.button_group(key="on_picture.moves.row").set_value("checkpoint:cifar10_cnn_wide").run()
    text = words(app)
    found = read_result("robustness")
    changed = [1 - row["same"] for n in names for row in found.where(change="shift", value=px, model=n)]
    assert bool(changed) == ("test images shifted by" in text) == counted
    if counted:
        reported = text.partition("Of 1,000 test images shifted by 6 px")[2].partition("95 % intervals")
        assert shares(reported[0]) == written(100 * share for share in changed)
        widest = 196 * max((share * (1 - share) / 1000) ** 0.5 for share in changed)
        assert (
            f"at most ± {widest:.1f} points" in reported[2]
            and "python -m vitviz.experiment robustness" in text
        )
        verdict = ": right" if changed[0] >= changed[1] else ". Measured:"
        predicted = f"Your prediction: CNN, wide, {100 * changed[0]:.1f} % of its predictions change"
        assert predicted + verdict in text
