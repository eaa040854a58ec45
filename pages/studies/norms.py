"""Study LayerNorm, batch, instance and group norm on a model's tokens."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from pages.controls import widgets
from pages.frame import page
from pages.questions.prediction_gate import ask_options
from pages.selection import selection
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.studies.study import Choice, Line, Study, Table, View
from vitviz.analysis.norms import GROUPS, NORMS, Normed, batch_influence, normalise
from vitviz.csv_table import Columns
from vitviz.data.datasets import default_pictures, find_note, tested
from vitviz.models.abilities import abilities
from vitviz.plots.normalisation import norms_figure
from vitviz.plots.theme import Mode
from vitviz.text import join_words, plural, signed

PICTURES, TOKENS, CHANNELS = 3, 8, 16  # drawn; more would be too small to distinguish
GUESS = "experiments.norm_guess"
NONE = "none"  # an answer


def get_model() -> ModelChoice:
    """Return the model whose tokens are normalised: the selected one, or the app's default if it has no blocks."""
    selected = selection.get_model_choice()
    if abilities(selected.config).blocks:
        return selected
    return selection.list_models()[catalogue.get_default_model()]


def get_images(model: ModelChoice) -> str:
    return default_pictures(model.trained_on, model.preparation.in_chans)


def build(mode: Mode, image: int, token: int, channel: int) -> View:
    """Return the values that share a mean under each norm, and the influence of the other images."""
    tokens, others = load_tokens(), load_tokens(PICTURES)
    at = image - 1, token - 1, channel - 1
    shown = tokens[:, :TOKENS, :CHANNELS]
    groups = max(count for count in range(1, GROUPS + 1) if tokens.shape[2] % count == 0)
    outputs = {name: normalise(tokens, name, at, groups) for name in NORMS}
    members = {NORMS[name]: output.members[:, :TOKENS, :CHANNELS] for name, output in outputs.items()}
    moves = {name: round(batch_influence(tokens, name, others, groups), 4) for name in NORMS}
    return View(
        norms_figure(shown, members, at, mode),
        describe_batch_dependence(list(NORMS.values()), list(moves.values())),
        ask_options(
            GUESS,
            "norms",
            "Bright values are averaged together with the framed value. Under which norm does image 1 depend on the"
            f" other {PICTURES - 1} images of its batch?",
            {**NORMS, NONE: "None of them"},
            partial(describe_prediction, moves),
        ),
        table=_create_table(outputs, at, moves),
        conceals=False,
        conditions=_describe_conditions(tokens, at, groups),
        above=partial(page.untrained_note, None) if get_model().trained_on is None else None,
    )


def _describe_conditions(tokens: np.ndarray, at: tuple[int, int, int], groups: int) -> str:
    model = get_model()
    images = get_images(model)
    is_own = model.trained_on in (None, images, tested(images))
    return (
        f"Values: the input of block 1 of {model.shown} for the first {plural(PICTURES, 'test image')} of"
        f" {find_note(images).title}{'' if is_own else ', a dataset it was not trained on'}. The figure shows the first"
        f" {min(TOKENS, tokens.shape[1])} of {plural(tokens.shape[1], 'token')} and"
        f" {min(CHANNELS, tokens.shape[2])} of {tokens.shape[2]} channels; GroupNorm has {plural(groups, 'group')};"
        f" the framed value is {signed(float(tokens[at]), 3)}."
    )


def _create_table(
    outputs: Mapping[str, Normed], at: tuple[int, int, int], moves: Mapping[str, float]
) -> Table:
    """Return each norm's output for the value, and the influence of the other images on the first."""
    columns: Columns = {
        "Norm": list(NORMS.values()),
        "Values per mean": [int(output.members.sum()) for output in outputs.values()],
        "Number of means": [output.means for output in outputs.values()],
        "Mean": [round(output.mean, 3) for output in outputs.values()],
        "Deviation": [round(output.deviation, 3) for output in outputs.values()],
        "Output": [round(float(output.values[at]), 3) for output in outputs.values()],
        "Change of image 1 with the others": list(moves.values()),
    }
    return Table(columns, {}, "norms.csv")


def describe_prediction(moves: Mapping[str, float], guess: str) -> str:
    """Compare the predicted norm with those that mix images; `moves` is image 1's change (RMS) by norm."""
    mixing = [NORMS[name] for name, move in moves.items() if move]
    right = bool(moves[guess]) if guess in moves else not mixing
    measured = f"only {join_words(mixing)}" if mixing else "none of them"
    verdict = "right" if right else "wrong"
    return f"Your prediction: {NORMS.get(guess, 'none of them')}: {verdict}. Measured: {measured}."


def describe_batch_dependence(names: list[str], moves: list[float]) -> str:
    moved = [
        f"{name} (by {move:.2g} standard deviations)" for name, move in zip(names, moves, strict=True) if move
    ]
    rest = [name for name, move in zip(names, moves, strict=True) if not move]
    unmoved = f", but not under {join_words(rest).replace(' and ', ' or ')}" if rest else ""
    return (
        f"Other images of the batch change image 1 under {join_words(moved) if moved else 'none'}{unmoved}."
    )


def load_tokens(first: int = 0) -> np.ndarray:
    """Load the input (images, tokens, channels) of block 1 for test images from index `first` on."""
    model = get_model()
    keys = [f"{get_images(model)}:{index}" for index in range(first, first + PICTURES)]
    captures = [
        shared_cache.capture_activations(model, None, key, ("blocks.0.input",), (0.5, 0.5)) for key in keys
    ]
    return np.concatenate([capture["blocks.0.input"] for capture in captures])


def list_places(axis: int, limit: int, *_earlier: int) -> dict[int, str]:
    """Return the drawn images, tokens or channels, counted from 1."""
    return {place: str(place) for place in range(1, min(limit, load_tokens().shape[axis]) + 1)}


def sketch_members() -> list[Line]:
    """Return a plane of tokens and channels for each norm, and the values in it that share a mean."""
    tokens, lines = np.zeros((PICTURES, 4, 4)), []
    for place, name in enumerate(NORMS):
        members = np.argwhere(normalise(tokens, name, (0, 1, 1), 2).members[0])
        for (top, left), (bottom, right) in (((0, 0), (4, 4)), (members.min(0), members.max(0) + 1)):
            x = 5.0 * place + np.array([left, right, right, left, left])
            lines.append((x, -np.array([top, top, bottom, bottom, top], float)))
    return lines


STUDY = Study(
    "norms",
    "LayerNorm and other norms",
    "Which norm mixes the images of a batch?",
    minutes=3,
    experiments=(),
    build=build,
    choices=(
        Choice(
            "experiments.norm_picture", "Image", partial(list_places, 0, PICTURES), 1, widgets.select_slider
        ),
        Choice("experiments.norm_token", "Token", partial(list_places, 1, TOKENS), 3, widgets.select_slider),
        Choice(
            "experiments.norm_channel", "Channel", partial(list_places, 2, CHANNELS), 6, widgets.select_slider
        ),
    ),
    keys=(GUESS,),
    sketch=sketch_members,
    math=page.read_math(__file__),
    code=(normalise, batch_influence),
)
