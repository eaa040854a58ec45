"""Compare how much an image must change before several models change their prediction."""

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.lenses.on_your_image import comparison, kernels, parts, perturbation, translation, user_prediction
from pages.lenses.on_your_image.part_state import PartControls
from pages.lenses.on_your_image.perturbation_state import PerturbationView

VIEWS = {
    "change": ("Change the image", perturbation.draw),
    "parts": ("Move parts of a face", parts.draw),
    "shift": ("Shift equivariance", translation.draw),
    "kernels": ("Kernel or head", kernels.draw),
}


@dataclass(frozen=True)
class ViewControls(widgets.ControlValues, page="on_picture"):
    """The selected section, a key of `VIEWS`."""

    view: str


page.header("on_your_picture")
widgets.keep_pending(
    comparison.ModelControls,
    perturbation.PerturbationControls,
    user_prediction.ModelPrediction,
    PerturbationView,
    PartControls,
    translation.ShiftControls,
    kernels.KernelControls,
    kernels.WeightPrediction,
)
widgets.choose_section(ViewControls.key("view"), VIEWS)()
