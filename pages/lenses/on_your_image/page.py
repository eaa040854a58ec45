"""Compare how much an image must change before several models change their prediction."""

from pages.controls import widgets
from pages.frame import page
from pages.lenses.on_your_image import kernels, parts, perturbation, shift_equivariance

VIEWS = {
    "change": ("Change the image", perturbation.draw),
    "parts": ("Move parts of a face", parts.draw),
    "shift": ("Shift equivariance", shift_equivariance.draw),
    "kernels": ("Kernel or head", kernels.draw),
}


@page.view
def draw() -> None:
    widgets.choose_section("on_picture.view", VIEWS)()


page.header("on_your_picture")
draw()
