"""Draw the feature maps of a CNN's channels and the image patches with each channel's strongest response."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.layers import dataset_task, layer_controls
from pages.lenses.layers.dataset_task import ImageSubset
from pages.selection import selection, subject, substitutes
from pages.selection.subject import Subject
from pages.stores import shared_cache
from pages.views.event_values import read_events, read_index
from pages.views.register import register
from vitviz.analysis import channels as analysis
from vitviz.analysis.channels import Peaks
from vitviz.analysis.receptive_fields import Field, block_fields
from vitviz.csv_table import columns_of_rows
from vitviz.data.image_preprocessing import prepare
from vitviz.lessons.question_kinds import MeasuredAnswer
from vitviz.models.abilities import abilities, as_cnn
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import layers as plots

_view = register(__file__, "channels")
VIEW = "layers.channels"
MOST, USUAL = 1000, 256
SHOWN = 4  # channels of a stage
TOPS = 9  # patches of a channel
BANDS = (3, 5, 7)  # bounds of the options: how many top images share a class


@dataclass(frozen=True, eq=False)
class Responses:
    """The strongest responses of a CNN's channels over a dataset.

    Attributes:
        peaks: one per layer.
        alike: top images of a channel that share a class, one array of channels per layer; None without labels.
        chance: the same count for randomly drawn images.
    """

    peaks: list[Peaks]
    alike: list[analysis.Indices] | None
    chance: float


@dataclass(frozen=True)
class StageEnd:
    """The last layer of one stage: its index, its title, and its receptive field."""

    index: int
    title: str
    field: Field


def draw(compared: Subject) -> None:
    with page.row():
        with st.container(width=230):
            cnn = choose_cnn(compared)
        with st.container(width="content"), page.options("layers.channels"):
            subset = dataset_task.choose_images((cnn,), MOST, USUAL)
    responses = dataset_task.measure_models(
        "responses", (cnn,), subset, compute_responses, "Finding the strongest responses"
    )
    if responses is None:
        return
    (response,) = responses
    stages = list_stage_ends(cnn)
    stage = st.container()  # the picture stands above its question
    revealed = response.alike is None or _ask_class_count(cnn, response.alike, response.chance, subset)
    message = build_message(cnn, subset, response.peaks)
    with stage:
        _view(message, key=VIEW, triggers=("open",), on_change=partial(_select_image, subset.source))
    page.caption(describe_channels(cnn, stages, response, subset, revealed))
    page.findings("layers.channels")
    page.drawers(
        "layers.channels",
        math=page.read_math(__file__),
        code=(Peaks.of, analysis.response_shares, Field.apply_layer),
        numbers=partial(draw_numbers, stages, response.peaks, subset),
    )


def choose_cnn(compared: Subject) -> Subject:
    """Draw the control of the CNN; its default is the current model if that is a CNN, else the nearest CNN."""
    models = selection.list_models()
    titles = {key: choice.title for key, choice in models.items() if abilities(choice.config).receptive_field}
    default = current_key = compared.choice.key
    if current_key not in titles:
        default = substitutes.find_nearest_model(lambda config: bool(abilities(config).receptive_field)).key
    widgets.follow_default("layers.cnn", default)
    key = widgets.select("layers.cnn", "CNN", titles, default)
    if key == current_key:
        return compared
    return subject.load_subject(models[key], None, compared.image)


def list_stage_ends(cnn: Subject) -> list[StageEnd]:
    """Return the stem and the last block of every stage that has blocks."""
    config = as_cnn(cnn.model.config)
    fields = list(block_fields(config).values())
    stages, index = [StageEnd(0, "Stem", fields[0])], 0
    for stage, count in enumerate(config.blocks):
        index += count
        if count:
            stages.append(StageEnd(index, f"Stage {stage + 1}", fields[index]))
    return stages


def compute_responses(model: LoadedModel, subset: ImageSubset) -> Generator[float, None, Responses]:
    """Compute every channel's strongest response to every image, yielding the completed share."""
    layers = yield from dataset_task.collect_layers(model, subset, lambda layer: Peaks.of(layer.places), 0.95)
    peaks, labels = [Peaks.joined(batches) for batches in layers], subset.dataset.test_labels
    if labels is None:
        return Responses(peaks, None, 0.0)
    first, count = labels[: subset.count], count_top_images(subset)
    alike = [analysis.class_purities(layer, first, count) for layer in peaks]
    return Responses(peaks, alike, analysis.chance_purity(first, count))


def count_top_images(subset: ImageSubset) -> int:
    """Return the number of patches shown per channel."""
    return min(TOPS, subset.count)


@shared_cache.per_image(shared=16, upload=2)
def build_message(cnn: Subject, subset: ImageSubset, _peaks: Sequence[Peaks]) -> bytes:
    """Pack the strongest channels of every stage for the browser; cached, because it cuts hundreds of patches."""
    layers = layer_controls.read_layers(cnn)
    stages = []
    for stage in list_stage_ends(cnn):
        maps, peaks = layers[stage.index].places[0], _peaks[stage.index]
        shares = analysis.response_shares(maps, peaks, TOPS)
        channels = [
            plots.Channel(
                channel,
                np.ascontiguousarray(maps[..., channel]),
                float(shares[channel]),
                [build_patch(cnn, stage, peaks, channel, int(i), subset) for i in peaks.top(channel, TOPS)],
            )
            for channel in analysis.rank_channels(shares, SHOWN)
        ]
        side_px, image_px = stage.field.side_px, max(cnn.model.preparation.image_shape)
        field = f"{side_px} × {side_px} px" if side_px < image_px else "the whole image"
        note = f"{maps.shape[2]} channels; receptive field: {field}"
        stages.append(plots.StageChannels(stage.title, note, channels))
    return plots.channels_view(cnn.ground(), stages)


def build_patch(
    cnn: Subject, stage: StageEnd, peaks: Peaks, channel: int, image_index: int, subset: ImageSubset
) -> plots.Top:
    """Cut the receptive field at a channel's strongest response to one image of the subset."""
    preparation = cnn.model.preparation
    dataset = subset.dataset
    pixels = dataset.test_images[image_index]
    shown = prepare(np.broadcast_to(pixels, (*pixels.shape[:2], 3)), preparation).shown
    cols = layer_controls.read_layers(cnn)[stage.index].grid[1]
    row, col = divmod(int(peaks.places[image_index, channel]), cols)
    y, x, side_px = stage.field.box(row, col, max(preparation.image_shape))
    response = float(peaks.values[image_index, channel])
    return plots.Top(
        shown[y : y + side_px, x : x + side_px], dataset.test_name(image_index), response, image_index
    )


def _select_image(source: str) -> None:
    """Select the image of a clicked patch; ignore events that hold no image number."""
    number = read_index(read_events(VIEW).get("open"))
    if number is not None and number < shared_cache.count_test_images(source):
        selection.set_image(f"{source}:{number}")
        st.rerun()  # not only the fragment


def describe_channels(
    cnn: Subject, stages: Sequence[StageEnd], responses: Responses, subset: ImageSubset, revealed: bool
) -> str:
    """Return a caption with the number of top images that share a class, by stage, once it may be revealed."""
    shown = (
        "These channels respond most strongly to this image; 100 % is the mean of a channel's"
        f" {count_top_images(subset)} strongest responses in {subset.title}."
    )
    if responses.alike is None:
        return f"{shown} These images have no labels, so their classes cannot be compared."
    if not revealed:
        return shown
    counts = ", ".join(
        f"{format_spread(responses.alike[stage.index])} ({stage.title.lower()})" for stage in stages
    )
    return (
        f"In {cnn.safe_title}, on average {counts} of the {count_top_images(subset)} images with a channel's strongest"
        f" responses share a class, ± one standard deviation over the channels; chance: {responses.chance:.1f}. {shown}"
    )


def format_spread(counts: analysis.Indices) -> str:
    """Return the mean over channels with its standard deviation."""
    return f"{counts.mean():.1f} ± {counts.std():.1f}"


def _ask_class_count(
    cnn: Subject, alike: Sequence[analysis.Indices], chance: float, subset: ImageSubset
) -> bool:
    """Ask how many of a channel's top images share a class; return True if the count may be shown."""
    count = count_top_images(subset)
    ends = [*(bound for bound in BANDS if bound < count), count]
    options = [f"fewer than {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends))]

    band = int(np.searchsorted(ends[:-1], alike[-1].mean(), side="right"))
    stem, last = format_spread(alike[0]), format_spread(alike[-1])
    answer = MeasuredAnswer(band, f"Last stage: {last} on average; stem: {stem}; chance: {chance:.1f}.")
    prompt = (
        f"In the last stage of {cnn.title}, how many of the {count} images with a channel's strongest responses share a"
        " class on average?"
    )
    return layer_controls.ask_before_reveal("layers.channels_guess", prompt, options, answer)


def draw_numbers(stages: Sequence[StageEnd], peaks: Sequence[Peaks], subset: ImageSubset) -> None:
    rows = [
        (stage.title, channel + 1, f"{subset.source}:{number}", float(layer.values[number, channel]))
        for stage, layer in ((stage, peaks[stage.index]) for stage in stages)
        for channel in range(layer.values.shape[1])
        for number in layer.top(channel, TOPS)
    ]
    columns = columns_of_rows(("stage", "channel", "image", "response"), rows)
    downloads.csv("Top images of every channel (CSV)", columns, "layers_channels.csv", "layers.csv.channels")
