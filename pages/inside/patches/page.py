"""Lens: how a picture becomes a sequence of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from streamlit.delta_generator import DeltaGenerator

from pages.inside.patches import cut as cutting
from pages.inside.patches import puzzle, sequence, sizes, stage, ways
from pages.inside.patches.cut import Cut
from pages.shell import controls, nouns, page, registry, stand_in
from vitviz.models.abilities import abilities, as_cut

VIEWS = {
    "stage": "From patch to token",
    "sequence": "The sequence",
    "puzzle": "The scrambled puzzle",
    "ways": "Two ways and a slip",
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="patches"):
    """Which of `VIEWS` is shown."""

    view: str


def draw() -> None:
    """Reads the controls, runs the model, and draws the chosen section."""
    choice = nouns.choice()
    able = abilities(choice.config).embedding
    if not able:
        stand_in.offer(able.why_not, "patches.instead", icon=":material/grid_off:")
        return
    config = as_cut(choice.config)
    options = sizes.options(config)
    if not options:
        side = config.image_size // config.patch_size
        reason = f"This model cuts the picture into {side} × {side} patches, too many to show one by one."
        stand_in.offer(reason, "patches.instead", icon=":material/grid_off:")
        return
    controls.hold(stage.Choice, puzzle.Choice)
    view = read().view
    chosen, room = sizes.read(choice, options, config.patch_size)
    cut = cutting.current(chosen)
    stage.say_what_stands_in(cut)
    draw_view(view, cut, room)


def read() -> Choice:
    """Draws the choice of a section."""
    return Choice(
        controls.segmented(
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
            stage.draw(cut, room)
        case "sequence":
            sequence.draw(cut)
        case "puzzle":
            puzzle.draw(cut)
        case _:
            ways.draw(cut)


entry = registry.BY_SLUG["patches"]
page.header(entry.title, entry.question)
draw()
