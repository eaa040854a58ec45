"""Hybrids: a convolutional stem computes the tokens of a ViT."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pages.controls import query_params
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.selection import subject as subjects
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.register import register
from vitviz.analysis.forward_pass import EmbeddedPatches, FeatureMaps, Journey
from vitviz.analysis.patches import patchify
from vitviz.analysis.receptive_fields import enlarging, stem_fields_px, stem_strides
from vitviz.config import ViTConfig
from vitviz.models import abilities, layers, model_cost
from vitviz.plots import hybrids as plots
from vitviz.text import join_words, percent, plural

_view = register(__file__, "pipeline_view")
VIEW = "hybrids.pipeline"


def draw() -> None:
    choice, step = selection.get_model_choice(), selection.get_current().step
    page.untrained_note(choice.trained_on)
    _draw_pipeline(choice, step, selection.get_current().image)


@page.view
def _draw_pipeline(choice: ModelChoice, step: int | None, image: str) -> None:
    config = abilities.as_vit(choice.config)
    current = selection.get_current()
    journey = shared_cache.record_journey(choice, step, image, current.offset)
    predicted = _ask_receptive_field(config, choice.key)
    subject = subjects.load_subject(choice, step, image)
    maps, tokens = get_feature_maps(journey), get_tokens(journey)
    pixels = subject.prepared.shown.astype(np.float32) / 255
    patches = patchify(pixels.reshape(*config.image_shape, -1).transpose(2, 0, 1), config.patch_size)
    row, col = divmod(current.pin.cell(config.grid), config.grid[1])
    pin = (col + 0.5) / config.grid[1], (row + 0.5) / config.grid[0]
    strides = stem_strides(config) if predicted else ()
    message = plots.pack_pipeline(
        subject.ground(True),
        maps,
        tokens=tokens,
        patches=patches,
        config=config,
        pin=pin,
        strides=strides,
        plain=_embed_with_plain_vit(choice, image),
    )
    _view(message, key=VIEW, triggers=("pin",), on_change=partial(selection.apply_click, VIEW))
    if predicted:
        page.caption(describe_tokens(config, maps, tokens))
    else:
        page.caption(describe_stem(config))
    page.findings("hyperparameter.stem", is_open=True)
    page.drawers("hybrids.stem", math=page.read_math(__file__), code=(layers.ConvStem,))


def _embed_with_plain_vit(choice: ModelChoice, image: str) -> tuple[str, NDArray[np.floating]] | None:
    """Return title and tokens of the plain ViT of the same size and training images; None if none is stored."""
    config = abilities.as_vit(choice.config)
    for other in catalogue.list_checkpoints():
        plain = other.config
        if (
            isinstance(plain, ViTConfig)
            and not plain.stem
            and other.trained_on == choice.trained_on
            and "dist" not in plain.prefix_tokens
            and (plain.grid, plain.embed_dim, plain.image_shape)
            == (config.grid, config.embed_dim, config.image_shape)
        ):
            offset = selection.get_current().offset
            journey = shared_cache.record_journey(other, other.last_step, image, offset)
            return other.title, get_tokens(journey)
    return None


def _ask_receptive_field(config: ViTConfig, key: str) -> bool:
    """Ask for the receptive field after all convolutions; return True if it may be shown."""
    patch_px, field_px, image_px = (
        config.patch_size,
        round(stem_fields_px(config)[-1]),
        min(config.image_shape),
    )
    sides = sorted({patch_px, field_px, min(4 * patch_px, image_px), image_px})
    options = {f"{px}": f"{px} × {px} px" for px in sides}
    options[f"{patch_px}"] += ", its patch"
    shorter = isinstance(config.image_size, tuple)
    options[f"{image_px}"] += ", as wide as the image's shorter side" if shorter else ", the whole image"

    def judge(prediction: str) -> str:
        computed = format_field(config, field_px)
        if prediction == f"{field_px}":
            return f"Your prediction is correct: {computed}."
        return f"Your prediction: {prediction} × {prediction} px. Computed: {computed}."

    return prediction_gate.ask_options(
        "hybrids.reads",
        key,
        f"After {plural(len(config.stem), 'convolution')} of 3 × 3, neighbouring positions of a feature map are"
        f" {patch_px} px apart. How large is the receptive field of one position?",
        options,
        judge,
    ).is_answered()


def get_feature_maps(journey: Journey) -> list[np.ndarray]:
    """Return (channels, rows, cols) after each convolution."""
    (content,) = (part.content for part in journey.parts if part.id == "stem")
    assert isinstance(content, FeatureMaps)
    return [level.maps for level in content.levels]


def get_tokens(journey: Journey) -> np.ndarray:
    """Return the stem's output (N, D)."""
    (content,) = (part.content for part in journey.parts if part.id == "embed")
    assert isinstance(content, EmbeddedPatches)
    return content.vectors


def format_field(config: ViTConfig, field_px: float) -> str:
    """Return a receptive field in image pixels: '9 × 9 px'; 'about …' if the stem enlarges the image first."""
    side = round(field_px)
    return f"{'' if enlarging(config) == 1 else 'about '}{side} × {side} px"


def describe_stem(config: ViTConfig) -> str:
    """Return what the convolutions replace, and their share of the model's parameters and multiply-adds."""
    weights, adds = measure_stem(config)
    tokens = config.grid[0] * config.grid[1]
    return (
        f"{plural(len(config.stem), 'convolution')} replace the matrix of a plain ViT: they output as many tokens"
        f" ({tokens} of {config.embed_dim} values), with {percent(weights)} of the model's parameters"
        f" and {percent(adds)} of its multiply-adds. Outlined: one position of the token grid in every stage."
    )


def measure_stem(config: ViTConfig) -> tuple[float, float]:
    """Return the stem's share of the parameters and of the multiply-adds."""
    counts = (
        model_cost.parameters(config),
        model_cost.multiply_adds(config, config.image_size),
    )
    weights, adds = (count[model_cost.EMBEDDING] / sum(count.values()) for count in counts)
    return weights, adds


def describe_tokens(
    config: ViTConfig, maps: Sequence[NDArray[np.floating]], tokens: NDArray[np.floating]
) -> str:
    """Return the receptive field of a token, the shapes of all stages and the cost of the stem."""
    share, cost = measure_stem(config)
    factor, zeros = enlarging(config), [float((level == 0).mean()) for level in maps]
    height, width = (round(side * factor) for side in config.image_shape)
    enlarged = "" if factor == 1 else f" The image is enlarged to {height} × {width} px first."
    shapes = join_words([f"{len(level)} × {level.shape[1]} × {level.shape[2]}" for level in maps])
    return (
        f"A token of this hybrid sees {format_field(config, stem_fields_px(config)[-1])}, that of a plain ViT only the"
        f" {config.patch_size} × {config.patch_size} px of its patch; both are {plural(len(tokens), 'token')} of"
        f" {tokens.shape[1]}.{enlarged} The convolutions output {shapes} values; ReLU sets"
        f" {percent(min(zeros))} to {percent(max(zeros))} of them to 0. A {len(maps[-1])} × {config.embed_dim} matrix"
        f" maps each position to its token. The stem holds {percent(share)} of the parameters and {percent(cost)} of"
        " the multiply-adds."
    )


page.header("hybrids")
query_params.keep_page_pending("hybrids")
draw()
with page.row():
    selection.link_to("studies", "Hybrids over training", **{"studies.study": "hybrid_training"})
    selection.link_to(
        "studies", "Attention over convolutions", **{"studies.study": "attention_over_convolutions"}
    )
    selection.link_to("studies", "One token", **{"studies.study": "one_token"})
