"""Hierarchy: the grids of all stages as a pyramid, and one patch merging in numbers."""

from functools import partial

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions, swin_selection
from pages.selection import selection, subject
from pages.views.register import register
from vitviz.analysis.window_attention import Merge, merge_at
from vitviz.models.abilities import as_swin
from vitviz.models.swin import PatchMerging
from vitviz.plots import swin as plots
from vitviz.probe.swin import merging_norm

KEY = "swin.pyramid"
_view = register(__file__, "swin_pyramid")


def draw() -> None:
    swin = subject.load_current()
    config, grid = as_swin(swin.model.config), swin.layout.grid
    page.untrained_note(swin.choice.trained_on)
    merge = choose_merge(swin)
    payload = plots.pyramid(
        swin_selection.crop_image(), config, grid, selection.get_current().pin.point, merge
    )
    _view(payload, key=KEY, triggers=("pin",), on_change=partial(selection.apply_click, KEY))
    page.caption(captions.describe_hierarchy(config, grid))
    page.drawers("swin.merge", math=page.read_math(__file__), code=(PatchMerging.forward,))


def choose_merge(swin: subject.Subject) -> Merge | None:
    """Draw the control of the stage; return the merging into it at the pin, None if there is only one stage."""
    stages = tuple(range(2, len(as_swin(swin.model.config).depths) + 1))
    if not stages:
        return None
    stage = widgets.segmented("swin.merge", "Merging into stage", stages) if len(stages) > 1 else stages[0]
    stage -= 1
    names = (f"layers.{stage - 1}", f"layers.{stage}.blocks.0.input")
    activations = swin.capture(names)
    before, after = (activations[name][0] for name in names)
    position = selection.get_current().pin.row_col(after.shape[:2])
    return merge_at(before, after, stage, position, merging_norm(swin.model.swin, stage))
