"""Compute and draw LayerNorm, batch, instance and group norm on a model's tokens."""

import numpy as np

from pages.frame import page
from pages.selection import default_model, selection
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from pages.studies.study import CurvePoints, Values
from vitviz.analysis.norms import GROUPS, NORMS, batch_influence, normalise
from vitviz.analysis.study_numbers import Numbers
from vitviz.csv_table import Columns
from vitviz.data.datasets import default_pictures, find_note, tested
from vitviz.models.abilities import abilities
from vitviz.plots.chart import Chart
from vitviz.plots.normalisation import norms_figure
from vitviz.plots.theme import Mode
from vitviz.text import signed

PICTURES, TOKENS, CHANNELS = 3, 8, 16  # drawn; more would be too small to distinguish


def get_model() -> ModelChoice:
    """Return the model whose tokens are normalised: the selected one, or the app's default if it has no blocks."""
    selected = selection.get_model_choice()
    if abilities(selected.config).blocks:
        return selected
    return selection.list_models()[default_model.get_default_model()]


def load_tokens(first: int = 0) -> np.ndarray:
    """Load the input (images, tokens, channels) of block 1 for test images from index `first` on."""
    model = get_model()
    images = default_pictures(model.trained_on, model.preparation.in_chans)
    captures = [
        shared_cache.capture_activations(model, None, f"{images}:{index}", ("blocks.0.input",), (0.5, 0.5))
        for index in range(first, first + PICTURES)
    ]
    return np.concatenate([capture["blocks.0.input"] for capture in captures])


def list_tokens(values: Values) -> list[int]:
    return [*range(1, min(TOKENS, load_tokens().shape[1]) + 1)]


def list_channels(values: Values) -> list[int]:
    return [*range(1, min(CHANNELS, load_tokens().shape[2]) + 1)]


def find_place(values: Values) -> tuple[int, int, int]:
    return values["image"] - 1, values["token"] - 1, values["channel"] - 1


def count_groups(channels: int) -> int:
    return max(count for count in range(1, GROUPS + 1) if channels % count == 0)


def read(values: Values, numbers: None) -> Numbers:
    """Return the words of the sentences: the influence of the other images on image 1, and what is shown."""
    tokens, model = load_tokens(), get_model()
    images = default_pictures(model.trained_on, model.preparation.in_chans)
    is_own = model.trained_on in (None, images, tested(images))
    groups = count_groups(tokens.shape[2])
    influence = batch_influence(tokens, "batch", load_tokens(PICTURES), groups)
    extra = {
        "batch influence": f"{influence:.2g}",
        "model": model.shown,
        "images": f"{find_note(images).title}{'' if is_own else ', a dataset it was not trained on'}",
        "tokens": tokens.shape[1],
        "channels": tokens.shape[2],
        "tokens shown": min(TOKENS, tokens.shape[1]),
        "channels shown": min(CHANNELS, tokens.shape[2]),
        "groups": groups,
        "framed": signed(float(tokens[find_place(values)]), 3),
    }
    return Numbers({}, {}, extra=extra)


def columns(values: Values, numbers: Numbers) -> Columns:
    """Return the table of the norms of the framed value."""
    tokens, others, place = load_tokens(), load_tokens(PICTURES), find_place(values)
    groups = count_groups(tokens.shape[2])
    outputs = [normalise(tokens, name, place, groups) for name in NORMS]
    return {
        "Norm": list(NORMS.values()),
        "Values per mean": [int(output.members.sum()) for output in outputs],
        "Number of means": [output.means for output in outputs],
        "Mean of the values": [output.mean for output in outputs],
        "Deviation": [output.deviation for output in outputs],
        "Output": [float(output.values[place]) for output in outputs],
        "Change of image 1 with the others": [
            batch_influence(tokens, name, others, groups) for name in NORMS
        ],
    }


def chart(values: Values, numbers: Numbers, mode: Mode) -> Chart:
    """Draw the tokens once per norm; bright values share a mean with the framed one."""
    tokens, place = load_tokens(), find_place(values)
    members = {
        title: normalise(tokens, name, place, count_groups(tokens.shape[2])).members[:, :TOKENS, :CHANNELS]
        for name, title in NORMS.items()
    }
    return norms_figure(tokens[:, :TOKENS, :CHANNELS], members, place, mode)


def draw_above(values: Values, numbers: Numbers) -> None:
    page.untrained_note(get_model().trained_on)


def sketch() -> list[CurvePoints]:
    """Return a plane of tokens and channels for each norm, and the values in it that share a mean."""
    tokens, lines = np.zeros((PICTURES, 4, 4)), []
    for place, name in enumerate(NORMS):
        members = np.argwhere(normalise(tokens, name, (0, 1, 1), 2).members[0])
        for (top, left), (bottom, right) in (((0, 0), (4, 4)), (members.min(0), members.max(0) + 1)):
            x = 5.0 * place + np.array([left, right, right, left, left])
            lines.append((x, -np.array([top, top, bottom, bottom, top], float)))
    return lines
