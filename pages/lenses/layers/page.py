"""Compare the layers of a ViT and of a CNN, on one image and over many."""

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import channels, cka, colours, linear_probes, sinks, token_similarity
from pages.selection import subject

VIEWS = {
    "colours": ("Layer by layer", colours.draw),
    "channels": ("Channels", channels.draw),
    "token": ("One token", token_similarity.draw),
    "alike": ("Similarity (CKA)", cka.draw),
    "probe": ("Linear probes", linear_probes.draw),
    "sinks": ("Token norms", sinks.draw),
}


@page.view
def draw() -> None:
    current = subject.load_current()
    page.untrained_note(current.model.trained_on)
    widgets.choose_section("layers.view", VIEWS)(current)


page.header("layers")
draw()
