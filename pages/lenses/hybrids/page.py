"""Hybrids: convolutional stems, their training curves, and two attention networks of the lecture."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import conv_attention, one_token_net, stem, training_curves

VIEWS = {
    "stem": ("Convolutional stem", stem.draw),
    "training": ("Training curves", training_curves.draw),
    "asked": ("Attention over convolutions", conv_attention.draw),
    "flat": ("One token", one_token_net.draw),
}


@dataclass(frozen=True)
class PageControls(widgets.ControlValues, page="hybrids"):
    """The section that is shown, a key of `VIEWS`."""

    view: str


page.header("hybrids")
widgets.keep_pending(
    stem.StemControls,
    training_curves.CurveControls,
    conv_attention.ResultControls,
    one_token_net.WeightPrediction,
)
widgets.choose_section(PageControls.key("view"), VIEWS)()
