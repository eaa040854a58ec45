"""Lens: how a picture becomes a sequence of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from streamlit.delta_generator import DeltaGenerator

from pages.controls import widgets
from pages.frame import page, registry
from pages.lenses.patches import embedded_image as cutting
from pages.lenses.patches import embedding_ways, patch_view, puzzle, sequence, sizes
from pages.lenses.patches.embedded_image import Cut
from pages.selection import selection, substitute
from vitviz.models.abilities import abilities, as_cut

VIEWS = {
    "stage": "From patch to token",
    "sequence": "The sequence",
    "puzzle": "The scrambled puzzle",
    "ways": "Two ways and a slip",
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="patches"):
    """Which of `VIEWS` is shown."""

    view: str


def draw() -> None:
    """Reads the controls, runs the model, and draws the chosen section."""
    choice = selection.choice()
    able = abilities(choice.config).embedding
    if not able:
        substitute.offer(able.why_not, "patches.instead", icon=":material/grid_off:")
        return
    config = as_cut(choice.config)
    options = sizes.options(config)
    if not options:
        side = config.image_size // config.patch_size
        reason = f"This model cuts the picture into {side} × {side} patches, too many to show one by one."
        substitute.offer(reason, "patches.instead", icon=":material/grid_off:")
        return
    widgets.hold(patch_view.Choice, puzzle.Choice)
    view = read().view
    chosen, room = sizes.read(choice, options, config.patch_size)
    cut = cutting.current(chosen)
    patch_view.say_what_stands_in(cut)
    draw_view(view, cut, room)


def read() -> Choice:
    """Draws the choice of a section."""
    return Choice(
        widgets.segmented(
            Choice.key("view"),
            "What to look at",
            tuple(VIEWS),
            format_func=VIEWS.__getitem__,
            label_visibility="collapsed",
        )
    )


def draw_view(view: str, cut: Cut, room: DeltaGenerator) -> None:
    """One section; the room is at the end of the row of controls."""
    match view:
        case "stage":
            patch_view.draw(cut, room)
        case "sequence":
            sequence.draw(cut)
        case "puzzle":
            puzzle.draw(cut)
        case _:
            embedding_ways.draw(cut)


entry = registry.BY_SLUG["patches"]
page.header(entry.title, entry.question)
draw()
