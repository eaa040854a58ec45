"""Draw each exercise's operation as it moves, and its correct output, computed for the selected image."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.frame import page
from pages.selection import selection, substitutes
from pages.selection.subject import CapturedSubject, capture_attention, load_current, load_subject
from pages.views.register import register
from vitviz import sinusoids
from vitviz.analysis import position_similarity, readout
from vitviz.analysis.attention import softmax
from vitviz.analysis.patches import patchify
from vitviz.config import ModelConfig
from vitviz.exercises import BY_SLUG
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.blob import pack
from vitviz.probe.logits import readout_weights
from vitviz.text import percent, plain, signed

SHOWN_TOKENS, SHOWN_CHANNELS, SHOWN_FILTERS = 50, 64, 8
KEY = "exercises.right"

_operation = register(__file__, "operation")


def _load_subject() -> CapturedSubject:
    """Load the selected model if it is a plain ViT with classes, else a similar one with an image of its dataset."""
    if _is_example(selection.get_model_choice().config):
        return capture_attention(load_current())
    choice = substitutes.find_nearest_model(_is_example)
    return capture_attention(load_subject(choice, None, substitutes.choose_image(choice)[0]))


def _is_example(config: ModelConfig) -> bool:
    """Return True if a model has every part that an exercise builds."""
    return substitutes.is_plain_vit(config) and bool(abilities(config).class_head)


def _draw_operation(
    source: NDArray[Any],
    target: NDArray[Any],
    titles: tuple[str, str],
    unit: str,
    *,
    slug: str,
    ramps: tuple[str, str] = ("", ""),
    patch: int = 0,
    wrong: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> None:
    """Draw how each unit of the source becomes its row of the target, and what the common mistakes yield instead.

    Args:
        source: (rows, cols); a unit is a row, or a square of `patch` pixels.
        wrong: the result of mistakes, by the exercise's name for them; the others are named without a picture.
        rows, columns: names of the result's rows, instead of a unit and its number, and of its columns.
    """
    mistakes = BY_SLUG[slug].mistakes
    header = {"titles": titles, "unit": unit, "ramps": ramps, "patch": patch, "mistakes": mistakes}
    header |= {"rows": list(rows), "columns": list(columns)}
    arrays = {"source": source, "target": target}
    arrays |= {f"mistake{mistakes.index(name)}": values for name, values in wrong.items()}
    _operation(pack(header, **{name: values.astype(np.float32) for name, values in arrays.items()}), key=KEY)


def _draw_patches() -> str:
    subject = _load_subject()
    patch_px = as_vit(subject.model.config).patch_size
    shown = subject.prepared.shown / 255
    grey = shown.mean(axis=2)
    patches = patchify(grey[None], patch_px)
    rows, cols = subject.layout.grid
    by_columns = patches.reshape(rows, cols, -1).swapaxes(0, 1).reshape(patches.shape)
    colours = patchify(shown.transpose(2, 0, 1), patch_px).reshape(len(patches), 3, -1)
    wrong = {
        "reshape instead of patchify": grey.reshape(patches.shape),
        "columns before rows": by_columns,
    }
    if np.ptp(shown, axis=2).any():  # the channels of a grey image are equal: their order changes nothing
        wrong["channels last"] = colours.swapaxes(1, 2).reshape(len(patches), -1)
    titles = ("Image in grey", f"{patches.shape[0]} patches × {patches.shape[1]} values")
    _draw_operation(
        grey, patches, titles, "patch", slug="patchify", ramps=("grey", "grey"), patch=patch_px, wrong=wrong
    )
    numbers = np.broadcast_to(np.arange(len(patches))[:, None], patches.shape).reshape(
        rows, cols, patch_px, patch_px
    )
    reshaped = numbers.swapaxes(1, 2).reshape(patches.shape)
    mixed = max(len(np.unique(row)) for row in reshaped)
    return (
        f"A plain reshape mixes pixels of up to {mixed} patches in one row; patchify gives each of"
        f" {patches.shape[0]} patches its own row of {patches.shape[1]} values."
    )


def _draw_positions() -> str:
    table = sinusoids.sincos_1d(SHOWN_TOKENS, SHOWN_CHANNELS)
    places, channels = np.arange(SHOWN_TOKENS)[:, None], np.arange(SHOWN_CHANNELS)
    by_channel = places / 10000 ** (channels / SHOWN_CHANNELS)
    by_pair = places / 10000 ** (channels // 2 / SHOWN_CHANNELS)
    angles = places / 10000 ** (channels[::2] / SHOWN_CHANNELS)
    wrong = {
        "exponent k/D": np.where(channels % 2, np.cos(by_channel), np.sin(by_channel)),
        "sine and cosine swapped": table.reshape(SHOWN_TOKENS, -1, 2)[..., ::-1].reshape(table.shape),
        "positions from 1": sinusoids.sincos_1d(SHOWN_TOKENS + 1, SHOWN_CHANNELS)[1:],
        "exponent i/D": np.where(channels % 2, np.cos(by_pair), np.sin(by_pair)),
    }
    titles = ("Angles, modulo 2π", "Their sines and cosines")
    _draw_operation(
        angles % (2 * np.pi), table, titles, "position", slug="positions", ramps=("", "signed"), wrong=wrong
    )
    cosines = position_similarity.cosine_similarity(table)
    return (
        f"Neighbouring positions have cosine similarity {cosines[5, 6]:.4f} everywhere ({SHOWN_TOKENS} positions,"
        f" {SHOWN_CHANNELS} channels)."
    )


def _capture_scores(subject: CapturedSubject) -> NDArray[Any]:
    """Return the scores of layer 1, (heads, T, T)."""
    scores: NDArray[Any] = subject.capture(("blocks.0.scores",))["blocks.0.scores"][0]
    return scores


def _draw_one_head() -> str:
    subject = _load_subject()
    scores, weights = _capture_scores(subject)[0], subject.attn[0][0]
    width = as_vit(subject.model.config).embed_dim // len(subject.attn[0])
    wrong = {
        "softmax over the wrong axis": softmax(scores.T).T,
        "missing scale": softmax(scores * np.sqrt(width)),
        "scale by d": softmax(scores / np.sqrt(width)),
    }
    titles = ("Scores of each query", "Weights: rows sum to 1")
    _draw_operation(scores, weights, titles, "query", slug="one_head", ramps=("signed", ""), wrong=wrong)
    return f"Head 1 of layer 1 of {subject.choice.shown}: every row sums to {weights.sum(axis=1).mean():.2f}."


def _draw_heads() -> str:
    subject = _load_subject()
    heads, scores = subject.attn[0], _capture_scores(subject)
    width = as_vit(subject.model.config).embed_dim // len(heads)
    wrong = {
        "shared heads": np.concatenate([heads[0]] * len(heads), axis=1),
        "missing scale": np.concatenate(list(softmax(scores * np.sqrt(width))), axis=1),
        "scale by the width d": np.concatenate(list(softmax(scores / np.sqrt(len(heads)))), axis=1),
        "softmax over the wrong axis": np.concatenate(
            list(softmax(scores.swapaxes(1, 2)).swapaxes(1, 2)), axis=1
        ),
    }
    titles = (f"Scores of {len(heads)} heads, side by side", "Their weights")
    flat = np.concatenate(list(scores), axis=1), np.concatenate(list(heads), axis=1)
    _draw_operation(*flat, titles, "query", slug="multi_head", ramps=("signed", ""), wrong=wrong)
    difference = np.abs(heads[0] - heads[-1]).sum(axis=1).mean() / 2
    return (
        f"The first and last of {len(heads)} heads of layer 1 differ in {percent(float(difference), 0)} of their"
        " weights; shared heads would be identical."
    )


def _draw_block() -> str:
    subject = _load_subject()
    names = ("input", "attn_out", "mid", "mlp_out")
    records = subject.capture(tuple(f"blocks.0.{name}" for name in names) + ("blocks.0",))
    before, added, _, by_mlp = (records[f"blocks.0.{name}"][0] for name in names)
    titles = ("Tokens into the block", "Tokens out of it")
    wrong = {"no residual": by_mlp}
    _draw_operation(
        before, records["blocks.0"][0], titles, "token", slug="block", ramps=("signed", "signed"), wrong=wrong
    )
    lengths = [np.linalg.norm(part, axis=-1).mean() for part in (before, added, by_mlp)]
    return (
        f"One block of {subject.choice.shown}: to tokens of mean length {lengths[0]:.1f}, attention adds"
        f" {lengths[1]:.1f} and the MLP {lengths[2]:.1f}."
    )


def _draw_prediction() -> str:
    subject = _load_subject()
    config, probabilities = as_vit(subject.model.config), subject.probabilities
    streams = ["embedded", *(f"blocks.{layer}" for layer in range(config.depth))]
    weights, records = readout_weights(subject.model.vit), subject.capture(tuple(streams))

    def read_layers(kind: str) -> list[readout.ReadoutPrediction]:
        prefix = subject.layout.prefix
        return [readout.predict_from_stream(records[name][0], weights, kind, prefix) for name in streams]

    right, wrong = read_layers(config.readout), {}
    if config.readout == "cls":
        patch = np.stack([reading.probabilities for reading in read_layers("first_patch")])
        wrong = {"logits not read from [CLS]": patch}
    features = np.stack([reading.features for reading in right])
    titles = (f"Read by the head: {readout.READS[config.readout][0]}", "Class probabilities, if read there")
    names = ["embedding", *(f"block {layer + 1}" for layer in range(config.depth))]
    shares = np.stack([reading.probabilities for reading in right])
    _draw_operation(
        features,
        shares,
        titles,
        "layer",
        slug="vit",
        ramps=("signed", ""),
        wrong=wrong,
        rows=names,
        columns=subject.classes,
    )
    page.caption("", subject.class_note)
    winner = int(probabilities.argmax())
    return (
        f"{subject.choice.shown} predicts {plain(subject.classes[winner])} with"
        f" {percent(float(probabilities[winner]))}: the head is applied after the last block alone."
    )


def _draw_learned_positions() -> str:
    subject = _load_subject()
    table = subject.capture(("pos_embed",))["pos_embed"].reshape(-1, as_vit(subject.model.config).embed_dim)
    cosines = position_similarity.cosine_similarity(table)
    titles = ("A row per position", "Their cosine similarities")
    _draw_operation(
        table, cosines, titles, "position", slug="trainable_positions", ramps=("signed", "signed")
    )
    cells = subject.layout.grid[0] * subject.layout.grid[1]
    row, col = np.divmod(np.arange(cells), subject.layout.grid[1])
    patch_cosines, others = cosines[-cells:, -cells:], ~np.eye(cells, dtype=bool)
    aligned = ((row[:, None] == row) | (col[:, None] == col)) & others
    training = "" if subject.choice.trained_on else " (untrained)"
    return (
        f"Position embeddings of {subject.choice.shown}{training}: mean cosine similarity"
        f" {signed(patch_cosines[aligned].mean())} in the same row or column,"
        f" {signed(patch_cosines[others & ~aligned].mean())} elsewhere."
    )


def _draw_patch_logits() -> str:
    subject = _load_subject()
    config = as_vit(subject.model.config)
    last = subject.capture((f"blocks.{config.depth - 1}",))[f"blocks.{config.depth - 1}"][0]
    weights = readout_weights(subject.model.vit)
    reading = readout.predict_from_stream(last, weights, "mean", subject.layout.prefix)
    winner = int(reading.order[0])
    logits = reading.normed[subject.layout.num_prefix_tokens :] @ weights.weight[winner]
    tokens = reading.normed[subject.layout.num_prefix_tokens :]
    titles = ("Patch tokens, after LayerNorm", f"Share of each in the logit of {subject.classes[winner]}")
    _draw_operation(tokens, logits[:, None], titles, "patch", slug="without_cls", ramps=("signed", "signed"))
    return (
        f"Each patch's token times the weights of {plain(subject.classes[winner])} in {subject.choice.shown}: with a"
        f" mean readout, the logit is their mean, {logits.mean():.2f}, plus a bias. This model was trained with a [CLS]"
        " readout."
    )


def _draw_training() -> str:
    """Draw some filters of E and the prediction at each snapshot of a model trained on digits, or of the user's."""
    trained = [choice for choice in selection.list_models().values() if choice.trained_on == "digits"]
    current = _load_subject()
    choice = next((choice for choice in trained if _is_example(choice.config)), current.choice)
    image = current.image if choice is current.choice else substitutes.choose_image(choice)[0]
    moments = [capture_attention(load_subject(choice, step, image)) for step in choice.steps]
    filters = [
        subject.model.model.get_parameter("patch_embed.proj.weight").detach().numpy()[:SHOWN_FILTERS].ravel()
        for subject in moments
    ]
    titles = (f"{SHOWN_FILTERS} filters of E at each snapshot", "Class probabilities of an image")
    _draw_operation(
        np.stack(filters),
        np.stack([subject.probabilities for subject in moments]),
        titles,
        "snapshot",
        slug="accuracy",
        ramps=("signed", ""),
        rows=[f"step {step:,}" for step in choice.steps],
        columns=moments[-1].classes,
    )
    shares = [share for choice in trained for _, share in choice.curve]
    if not shares:
        return "No model trained on digits is available on this server, so no accuracy is shown."
    first, last = (
        f"{plain(subject.classes[int(subject.probabilities.argmax())])} at step {subject.step:,}"
        for subject in (moments[0], moments[-1])
    )
    return (
        f"Training changes the prediction for this image from {first} to {last}."
        f" {len(trained)} trained models reach up to {percent(max(shares))} validation accuracy, on enlarged digits and"
        " without a budget of images."
    )


# By slug: draws the figure and returns its caption.
FIGURES: dict[str, Callable[[], str]] = {
    "patchify": _draw_patches,
    "positions": _draw_positions,
    "one_head": _draw_one_head,
    "multi_head": _draw_heads,
    "block": _draw_block,
    "vit": _draw_prediction,
    "trainable_positions": _draw_learned_positions,
    "without_cls": _draw_patch_logits,
    "accuracy": _draw_training,
}
