"""Hierarchy: the grids of all stages as a pyramid, and one patch merging in numbers."""

from dataclasses import dataclass
from functools import partial

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions, swin_selection
from pages.selection import selection, subject
from pages.selection.subject import Subject
from pages.views.register import register
from vitviz.analysis.window_attention import Merge, merge_at
from vitviz.config import SwinConfig
from vitviz.models.abilities import as_swin
from vitviz.models.swin import PatchMerging
from vitviz.plots import swin as plots
from vitviz.probe.swin_parts import merging_norm

KEY = "swin.pyramid"
_view = register(__file__, "swin_pyramid")


@dataclass(frozen=True)
class MergeControls(widgets.ControlValues, page="swin"):
    """The stage, from 2, whose patch merging is shown."""

    merge: int


def draw() -> None:
    swin = subject.load_current()
    config, grid = as_swin(swin.model.config), swin.layout.grid
    page.untrained_note(swin.choice.trained_on)
    merge = _compute_merge(swin, choose_merge(config))
    payload = plots.pyramid(
        swin_selection.crop_image(), config, grid, selection.get_current().pin.point, merge
    )
    _view(payload, key=KEY, triggers=("pin",), on_change=partial(swin_selection.store_pin, KEY))
    page.caption(captions.describe_hierarchy(config, grid))
    page.drawers("swin.merge", math=page.read_math(__file__), code=(PatchMerging.forward,))


def choose_merge(config: SwinConfig) -> MergeControls | None:
    stages = tuple(range(2, len(config.depths) + 1))
    if len(stages) < 2:
        return MergeControls(stages[0]) if stages else None
    return MergeControls(widgets.segmented(MergeControls.key("merge"), "Merging into stage", stages))


def _compute_merge(swin: Subject, controls: MergeControls | None) -> Merge | None:
    if controls is None:
        return None
    stage = controls.merge - 1
    names = (f"layers.{stage - 1}", f"layers.{stage}.blocks.0.input")
    activations = swin.capture(names)
    before, after = (activations[name][0] for name in names)
    position = selection.get_current().pin.row_col(after.shape[:2])
    return merge_at(before, after, stage, position, merging_norm(swin.model.swin, stage))
