"""Channels: the maps of a CNN's stages, and the patches of a set to which each channel responds most."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import image_set, papers, prediction, set_computation
from pages.lenses.layers.image_set import Seen
from pages.lenses.layers.model_pair import Side
from pages.selection import selection, subject, substitute
from pages.stores import cached
from pages.views.event_values import events_of, whole
from pages.views.register import register
from vitviz.analysis import channels as analysis
from vitviz.analysis import kernel_fields as reach
from vitviz.analysis.channels import Peaks
from vitviz.data.preparation import prepare
from vitviz.lessons.question_kinds import Measured
from vitviz.models.abilities import abilities, as_cnn
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import channels as plots
from vitviz.probe.layers import stream

_view = register(__file__, "channels")
VIEW = "layers.channels"
MOST, USUAL = 1000, 256
SHOWN = 4  # channels of a stage
TOPS = 9  # patches of a channel
BANDS = (3, 5, 7)  # of how many of them are of one class: what is guessed lies between two


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="layers"):
    """Which CNN is shown, by its key."""

    cnn: str


@dataclass(frozen=True, eq=False)
class Responses:
    """What a CNN's channels respond to over a set.

    peaks: a layer each. alike: how many of a channel's top pictures are of one class, the mean over a layer's channels.
    """

    peaks: list[Peaks]
    alike: list[float] | None  # None without labels
    chance: float


@dataclass(frozen=True)
class Place:
    """The end of one stage: its index among the layers, its title, and the field of one of its places."""

    index: int
    title: str
    field: reach.Field


def draw(one: Side) -> None:
    """The section."""
    papers.ask(
        "Every channel of a CNN is one filter, slid over the picture. What must a patch show to make it strong?"
    )
    with page.row():
        with st.container(width=230):
            cnn = choose(one)
        with st.container(width="content"), page.options("layers.channels"):
            seen = image_set.choose((cnn,), MOST, USUAL)
    found = set_computation.results(
        [set_computation.task(("responses", cnn.known, seen), partial(responses, cnn.now.model, seen))],
        f"Looking for the strongest patches of {seen.title}",
    )
    if found is None:
        return
    (over,) = found
    places = ends(cnn)
    answered = over.alike is None or _guessed(cnn, over.alike, over.chance, seen)
    data = message(cnn.known, cnn, cnn.now.image, cnn.now.offset, seen, over.peaks)
    _view(data, key=VIEW, triggers=("open",), on_change=partial(_open, seen.source))
    page.caption(describe(cnn, places, over, seen, answered))
    papers.say("channels")
    page.drawers(
        "layers.channels",
        math=MATHEMATICS,
        code=(Peaks.of, analysis.of_the_top, reach.Field.through),
        numbers=partial(numbers, places, over.peaks, seen),
    )


def choose(one: Side) -> Side:
    """The sidebar's model where it is a CNN, else the CNN nearest to it, until somebody chooses another."""
    models = {
        k: choice for k, choice in selection.models().items() if abilities(choice.config).receptive_field
    }
    own = one.now.choice.key
    default = own if own in models else substitute.nearest(lambda c: bool(abilities(c).receptive_field)).key
    widgets.follow_default(Choice.key("cnn"), default)
    key = widgets.select(
        Choice.key("cnn"), "CNN", list(models), default, format_func=lambda name: models[name].title
    )
    return one if key == own else Side(subject.of(models[key], None, one.now.image))


def ends(cnn: Side) -> list[Place]:
    """The stem and the last block of every stage that has one."""
    config = as_cnn(cnn.now.model.config)
    fields, places, index = reach.fields(config), [Place(0, "Stem", reach.fields(config)[0])], 0
    for stage, count in enumerate(config.blocks):
        index += count
        if count:
            places.append(Place(index, f"Stage {stage + 1}", fields[index]))
    return places


def responses(model: LoadedModel, seen: Seen) -> Generator[float, None, Responses]:
    """Every channel's strongest response to every picture, layer by layer, and how its top pictures are alike."""
    images, labels = seen.images(model), seen.data.test_labels
    parts: list[list[Peaks]] = []
    for said in stream(model, images, image_set.BATCH):
        parts.append([Peaks.of(layer.places) for layer in said])
        yield 0.95 * sum(len(part[0].values) for part in parts) / len(images)
    peaks = [Peaks.joined(layer) for layer in zip(*parts, strict=True)]
    if labels is None:
        return Responses(peaks, None, 0.0)
    first, count = labels[: seen.count], tops_of(seen)
    alike = [analysis.mean_of_one_class(layer, first, count) for layer in peaks]
    return Responses(peaks, alike, analysis.by_chance(first, count))


def tops_of(seen: Seen) -> int:
    """How many patches of a channel there are."""
    return min(TOPS, seen.count)


@cached.per_picture(shared=16, upload=2)
def message(
    known: str, _cnn: Side, image: str, offset: cached.Offset, seen: Seen, _peaks: Sequence[Peaks]
) -> bytes:
    """The strongest channels of every stage, for the browser; kept, as hundreds of patches are cut for it."""
    said = _cnn.said()
    stages = []
    for place in ends(_cnn):
        maps, of_set = said[place.index].places[0], _peaks[place.index]
        share = analysis.of_the_top(maps, of_set, TOPS)
        shown = [
            plots.Channel(
                channel,
                np.ascontiguousarray(maps[..., channel]),
                float(share[channel]),
                [top(_cnn, place, of_set, channel, int(i), seen) for i in of_set.top(channel, TOPS)],
            )
            for channel in analysis.strongest(share, SHOWN)
        ]
        note = f"{maps.shape[2]} channels; a place sees {_square(place, _cnn)}"
        stages.append(plots.Stage(place.title, note, shown))
    return plots.channels_view(_cnn.now.ground(seen=False), stages)


def _square(place: Place, cnn: Side) -> str:
    side, whole = place.field.side_px, cnn.now.model.preparation.image_size
    return f"{side} × {side} px" if side < whole else "the whole picture"


def top(cnn: Side, place: Place, peaks: Peaks, channel: int, picture: int, seen: Seen) -> plots.Top:
    """What a channel saw where it responded to a picture of the set most, as the model sees it."""
    preparation = cnn.now.model.preparation
    data = seen.data
    raw = data.test_images[picture]
    shown = prepare(np.broadcast_to(raw, (*raw.shape[:2], 3)), preparation).shown
    cols = cnn.said()[place.index].grid[1]
    row, col = divmod(int(peaks.places[picture, channel]), cols)
    y, x, side = place.field.box(row, col, preparation.image_size)
    value = float(peaks.values[picture, channel])
    return plots.Top(shown[y : y + side, x : x + side], data.test_name(picture), value, picture)


def _open(source: str) -> None:
    """A click on a patch chooses its picture; what a browser says that is no picture's number is left alone."""
    place = whole(events_of(VIEW).get("open"))
    if place is not None and place < image_set.count_of(source):
        selection.set_image(f"{source}:{place}")


def describe(cnn: Side, places: Sequence[Place], over: Responses, seen: Seen, answered: bool) -> str:
    """How much one channel's top pictures are of one class, stage by stage, and by chance, once that was guessed."""
    shown = f"Over {seen.title}; shown are the channels that the chosen picture brings nearest to their strongest."
    if over.alike is None:
        return (
            f"{shown} They have no labels: nobody can say whether a channel's top pictures are of one class."
        )
    if not answered:
        return shown
    steps = ", ".join(f"{over.alike[place.index]:.1f} ({place.title.lower()})" for place in places)
    return (
        f"Of the {tops_of(seen)} pictures that one channel of {cnn.shown} responds to most, so many are of one class,"
        f" in the mean over all channels: {steps}; {over.chance:.1f} by chance. {shown}"
    )


def _guessed(cnn: Side, alike: Sequence[float], chance: float, seen: Seen) -> bool:
    """Asks how many of a channel's top pictures are of one class; whether it may be said."""
    ends = [*(bound for bound in BANDS if bound < tops_of(seen)), tops_of(seen)]
    options = [f"fewer than {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends))]

    def answer() -> Measured:
        band = int(np.searchsorted(ends[:-1], alike[-1], side="right"))
        return Measured(
            band, f"It is {alike[-1]:.1f}; in the stem it is {alike[0]:.1f}, and {chance:.1f} by chance."
        )

    prompt = (
        f"Of the {tops_of(seen)} pictures to which one channel of the last stage of {cnn.title} responds most, how many"
        " are of one class, in the mean over its channels?"
    )
    return prediction.first("channels_guess", prompt, options, answer)


def numbers(places: Sequence[Place], peaks: Sequence[Peaks], seen: Seen) -> None:
    """Every channel of every stage: the pictures that it responds to most."""
    columns: dict[str, list[object]] = {"stage": [], "channel": [], "picture": [], "response": []}
    for place in places:
        of_set = peaks[place.index]
        for channel in range(of_set.values.shape[1]):
            for picture in of_set.top(channel, TOPS):
                columns["stage"].append(place.title)
                columns["channel"].append(channel + 1)
                columns["picture"].append(f"{seen.source}:{picture}")
                columns["response"].append(float(of_set.values[picture, channel]))
    page.csv("Top pictures of every channel (CSV)", columns, "layers_channels.csv", "layers.csv.channels")


MATHEMATICS = r"""
$$
r_l = r_{l-1} + (k_l - 1)\,j_{l-1},\qquad j_l = j_{l-1}\,s_l,\qquad
\text{share}_c = \frac{\max_p m_c(p)}{\frac19\sum_{i \in \text{top 9}} \max_p m_c^{(i)}(p)}
$$

A place of a map can depend on a square of $r$ px, its **receptive field**; from place to place the field moves by $j$
px ($k$ a layer's kernel, $s$ its stride; Araujo, Norris and Sim 2019). Each small picture is the field at the place
where the channel responds most to that picture of the set; a field that reaches over the edge is moved inside. One
patch a picture, the strongest first.
"""
