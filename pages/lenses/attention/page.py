"""Show attention maps, explanations and ablations of any model and image."""

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention import (
    ablation,
    explanation_methods,
    faithfulness,
    logits,
    map_explorer,
    matrix,
    side_by_side,
)
from pages.selection import selection, subject
from vitviz.models.abilities import abilities
from vitviz.pin import Pin

VIEWS = {
    "look": ("Attention maps", map_explorer.draw),
    "matrix": ("Matrix", matrix.draw),
    "compare": ("Side by side", side_by_side.draw),
    "depth": ("Over depth", logits.draw_lens),
    "methods": ("Methods", explanation_methods.draw),
    "truth": ("Faithfulness", faithfulness.draw),
    "shares": ("Logit attribution", logits.draw_attribution),
    "ablate": ("Ablation", ablation.draw),
}
GROUPS = {
    "Attention weights": ("look", "matrix", "compare", "depth"),
    "Explanations of the prediction": ("methods", "truth", "shares", "ablate"),
}


@page.view
def draw() -> None:
    able = abilities(selection.get_model_choice().config)
    if able.cls_readout:
        selection.set_default_pin(Pin(None, "cls"))
    selected = subject.capture_attention(subject.load_current())
    page.untrained_note(selected.model.trained_on)
    view = widgets.segmented_groups("attention.view", GROUPS, format_func=lambda name: VIEWS[name][0])
    widgets.place_section(view, VIEWS)(selected)


page.header("attention")
draw()
