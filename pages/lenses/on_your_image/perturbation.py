"""Change one image with a slider and draw the predictions of several models."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import downloads, query_params, view_state, widgets
from pages.frame import page
from pages.lenses.on_your_image import compared_models, robustness_results
from pages.lenses.on_your_image.compared_models import Comparison, ImageCrop
from pages.questions import prediction_gate
from pages.selection import model_weights, selection
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.analysis import image_changes
from vitviz.analysis.image_changes import CHANGES, WHOLE, ChangeSetting, find_unchanged_range
from vitviz.csv_table import columns_of_rows
from vitviz.lessons.question_kinds import Choose
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import image_changes as plots
from vitviz.probe.robustness import Sweep, sweep
from vitviz.text import join_words, parse_float, parse_int, percent, plain

_sweep_view = register(__file__, "sweep_view")
VIEW = "on_picture.sweep"
FOLLOWING = ("occlude", "pieces", "rotate", "blur")  # changes that the browser makes on the models' input
LECTURE = ("rotate", "blur", "occlude", "zoom", "brightness")  # the lecture's list, first
ORDER = (*LECTURE, *(name for name in CHANGES if name not in LECTURE))
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True)
class PerturbationView(widgets.ControlValues, page="on_picture"):
    """The values that are set in the view itself.

    Attributes:
        at: the slider's position, from 0.
        place: the centre of the occluding square, in [0, 1].
        pieces: the piece at every position.
        seen: True if the model input is drawn instead of the photo.
    """

    at: int
    place: tuple[float, float] = (0.5, 0.5)
    pieces: tuple[int, ...] = WHOLE
    seen: bool = False

    def build_setting(self, seed: int, change: str) -> ChangeSetting:
        """Return the parameters that a change depends on besides its strength; unused ones have their default."""
        return ChangeSetting(
            place=self.place if change == "occlude" else (0.5, 0.5),
            seed=seed if change in ("noise", "shuffle") else 0,
            pieces=self.pieces if change == "pieces" else WHOLE,
        )

    def encode_fields(self) -> dict[str, str]:
        """Return the texts of a link, by field."""
        return {
            "at": str(self.at),
            "place": widgets.encode_value(self.place),
            "pieces": "".join(_DIGITS[piece] for piece in self.pieces),
            "seen": widgets.encode_value(self.seen),
        }


GUESS = "on_picture.guess"  # the key of the predicted model; 'shown' for none, '' while the question is open


@dataclass(frozen=True)
class StableRange:
    """The strengths at which a model keeps its prediction for the unchanged image.

    Attributes:
        predicted: the index of that class.
        first: the lowest strength, by its position on the slider.
        last: the highest strength, likewise.
        wrong: True if the image is known to be of another class.
    """

    predicted: int
    first: int
    last: int
    wrong: bool = False

    @property
    def steps(self) -> int:
        """The number of strengths besides the neutral one."""
        return self.last - self.first


def draw_controls() -> tuple[str, int]:
    """Draw the change and the seed of its random numbers in the open row; return both."""
    with st.container(width=200):
        kind = widgets.select("on_picture.kind", "Change", {name: CHANGES[name].title for name in ORDER})
    if kind not in ("noise", "shuffle"):
        return kind, 0
    with st.container(width=140):
        return kind, widgets.number("on_picture.seed", "Seed", 0, 999, 0)


def draw() -> None:
    with page.row():
        change, seed = draw_controls()
        compared = compared_models.choose_models()
    if compared is None:
        return
    state = read_view(change, compared.image, VIEW)
    current = state.values
    setting = current.build_setting(seed, change)
    sweeps = [
        _run_sweep(shared_cache.load_model(choice, step), compared.crop, change, setting)
        for choice, step in zip(compared.choices, compared.steps, strict=True)
    ]
    keys = [choice.key for choice in compared.choices]
    kind = Choose(compared.names, tuple(keys))
    guess = prediction_gate.read_prediction(GUESS, (change, compared.image, *keys), kind)
    start = plots.Start(current.__dict__, state.mark, compared.truth, bool(guess), setting.place)
    draw_view(compared, build_perturbation(compared, change, setting), sweeps, start)
    page.caption(
        describe_perturbation(compared, change, current, sweeps) if guess else "", compared.class_note
    )
    if not guess:
        prediction_gate.draw_question(GUESS, write_prompt(change), kind)
    else:
        draw_outcome(compared, change, sweeps, kind, guess)
        selection.link_to(
            "studies",
            "Compare the models over many test images",
            **{"studies.study": "robustness", "studies.robust_change": change},
        )
    page.findings("on_your_picture.change")
    page.drawers(
        "on_picture.change",
        math=page.read_math(__file__),
        code=(image_changes.apply_change, sweep, CHANGES[change].apply),
        numbers=partial(draw_numbers, compared, change, sweeps) if guess else None,
    )


def draw_view(
    compared: Comparison, perturbed: plots.Changed, sweeps: Sequence[Sweep], start: plots.Start
) -> None:
    """Draw the image with its slider and every model's predictions; the view's state is 'moved'."""
    answered = [
        plots.Answered(
            name,
            choice.config.family,
            swept.by,
            swept.probabilities,
            swept.views,
            # A hidden prediction could be computed from the weights.
            model_weights.publish(choice, step) if start.revealed and perturbed.name in FOLLOWING else "",
        )
        for choice, step, name, swept in zip(
            compared.choices, compared.steps, compared.names, sweeps, strict=True
        )
    ]
    ground = compared_models.crop_photo(compared.crop)
    curve = robustness_results.build_curve(compared, perturbed.name)
    message = plots.payload(perturbed, answered, ground, compared.classes, start, curve)
    _sweep_view(message, key=VIEW, states=("moved",))


@shared_cache.per_image(shared=120, upload=60)
def _run_sweep(model: LoadedModel, crop: ImageCrop, change: str, setting: ChangeSetting) -> Sweep:
    """Run the model at all strengths."""
    return sweep(model, _perturb_image(crop, change, setting))


@shared_cache.per_image(shared=32, upload=12)
def _perturb_image(crop: ImageCrop, change: str, setting: ChangeSetting) -> NDArray[np.uint8]:
    return image_changes.apply_all_strengths(crop.model_input, change, setting)


def build_perturbation(compared: Comparison, change: str, setting: ChangeSetting) -> plots.Changed:
    """Return the image at every strength, as the view needs it."""
    frames = _perturb_image(compared.crop, change, setting)
    chosen, size = CHANGES[change], compared.input_px
    return plots.Changed(
        name=change,
        title=chosen.title,
        values=chosen.values,
        start=chosen.start,
        frames=frames,
        border=tuple(round(float(grey)) for grey in image_changes.border_colour(compared.crop.model_input)),
        orders=np.stack(
            [image_changes.create_patch_order(size, strength, setting.seed) for strength in chosen.values]
        )
        if change == "shuffle"
        else None,
        noise=image_changes.sample_noise(size, setting.seed) if change == "noise" else None,
    )


def draw_outcome(
    compared: Comparison, change: str, sweeps: Sequence[Sweep], kind: Choose, guess: str
) -> None:
    """Draw the verdict on the user's prediction, and store it among the session's answers if a model was predicted."""
    start, names, prompt = CHANGES[change].start, compared.names, write_prompt(change)
    ranges = [find_stable_range(swept.answers, start, compared.truth) for swept in sweeps]
    best = _find_longest(ranges)[1]
    outcome = describe_outcome(guess, kind.names, names, ranges, change, compared.input_px)
    prediction_gate.draw_verdict(GUESS, prompt, kind, guess, outcome, best)
    if guess in kind.names:
        winners = join_words([names[i] for i in best] or ["none of them"])
        place = kind.names.index(guess)
        prediction_gate.store_answer(change, prompt, names[place], winners, place, best)
    prediction_gate.draw_retry_button(GUESS)


def describe_perturbation(
    compared: Comparison, change: str, current: PerturbationView, sweeps: Sequence[Sweep]
) -> str:
    """Return a caption on the models that keep their prediction and on their confidence in it, for this image."""
    start, classes, at = CHANGES[change].start, compared.classes, current.at
    if at == start:
        return "The image is unchanged. Move the slider to change it."
    firsts = [int(swept.answers[start]) for swept in sweeps]
    kept_count = sum(int(swept.answers[at]) == first for swept, first in zip(sweeps, firsts, strict=True))
    confidences = "; ".join(
        f"{plain(name)} ({plain(classes[first])}) {percent(swept.probabilities[start, first])} →"
        f" {percent(swept.probabilities[at, first])}"
        for name, swept, first in zip(compared.names, sweeps, firsts, strict=True)
    )
    strength = plots.strength_words(change, CHANGES[change].values[at], compared.input_px)
    condition = "With rearranged pieces" if change == "pieces" else f"At {strength}"
    return (
        f"{condition}, {kept_count} of {len(sweeps)} models keep their prediction for the unchanged image."
        f" Confidence in it: {confidences}."
    )


def draw_numbers(compared: Comparison, change: str, sweeps: Sequence[Sweep]) -> None:
    rows = [
        (name, plots.strength_words(change, level, compared.input_px), level, class_name, float(probability))
        for name, swept in zip(compared.names, sweeps, strict=True)
        for level, row in zip(CHANGES[change].values, swept.probabilities, strict=True)
        for class_name, probability in zip(compared.classes, row, strict=True)
    ]
    columns = columns_of_rows(("model", "strength", "value", "class", "probability"), rows)
    st.dataframe(columns, hide_index=True, height=240)
    downloads.csv("Probabilities (CSV)", columns, "on_your_picture.csv", "on_picture.csv")


def read_view(change: str, image: str, view: str) -> view_state.ViewState[PerturbationView]:
    """Return the state of the view, whose event is 'moved'; write its values into the link."""
    link = {
        field: text
        for field in PerturbationView(0).encode_fields()
        if (text := query_params.take_value(PerturbationView.key(field))) is not None
    }

    def begin(before: view_state.ViewState[PerturbationView] | None) -> PerturbationView:
        values = PerturbationView(-1) if before is None else before.values
        # The slider stays when only the image changes, and after a reload.
        if before is None or before.subject[0] != change:
            values = replace(values, at=CHANGES[change].start)
        return parse_link(link, values, change)

    state = view_state.read_state(
        "on_picture._begun",
        (view, "moved"),
        (change, image),
        begin,
        lambda event, before: parse_event(event, before, change),
        linked=bool(link),
    )
    for field, text in state.values.encode_fields().items():
        query_params.set_value(PerturbationView.key(field), text)
    return state


def parse_link(link: dict[str, str], default: PerturbationView, change: str) -> PerturbationView:
    """Return the fields of a link; invalid ones from `default`."""
    fields: dict[str, Any] = {}
    if "at" in link:
        fields["at"] = parse_int(link["at"])
    if "place" in link:
        fields["place"] = [parse_float(part) for part in link["place"].split(",")]
    if "pieces" in link and {*link["pieces"]} <= {*_DIGITS}:
        fields["pieces"] = [_DIGITS.index(digit) for digit in link["pieces"]]
    if link.get("seen") in ("0", "1"):
        fields["seen"] = link["seen"] == "1"
    return parse_event(fields, default, change)


def parse_event(fields: dict[str, Any], default: PerturbationView, change: str) -> PerturbationView:
    """Return the fields of a browser event, checked one by one; invalid ones from `default`."""
    at, place, pieces, seen = (fields.get(field) for field in asdict(default))
    last = len(CHANGES[change].values) - 1
    default_at = default.at if 0 <= default.at <= last else CHANGES[change].start
    return PerturbationView(
        at if type(at) is int and 0 <= at <= last else default_at,
        (float(place[0]), float(place[1])) if _is_place(place) else default.place,
        tuple(pieces) if _is_order(pieces) else default.pieces,
        seen if isinstance(seen, bool) else default.seen,
    )


def _is_place(place: Any) -> TypeGuard[list[float]]:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(at) in (int, float) and 0 <= at <= 1 for at in place)
    )


def _is_order(pieces: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(pieces, list)
        and len(pieces) == len(WHOLE)
        and all(type(piece) is int for piece in pieces)
        and sorted(pieces) == list(WHOLE)
    )


def find_stable_range(predictions: NDArray[np.int64], start: int, truth: int = -1) -> StableRange:
    """Return the range around the neutral strength `start`; predictions: (strengths,) of one model.

    Args:
        truth: the image's class; -1 if it is unknown.
    """
    predicted = int(predictions[start])
    return StableRange(predicted, *find_unchanged_range(predictions, start), truth not in (-1, predicted))


def describe_outcome(
    guess: str,
    keys: Sequence[str],
    names: Sequence[str],
    ranges: Sequence[StableRange],
    change: str,
    input_px: int,
) -> str:
    """Return the verdict on the prediction, the most stable models, and the range of each."""
    most, best = _find_longest(ranges)
    total = len(CHANGES[change].values) - 1
    by_model = "; ".join(
        f"{plain(name)}: {_format_range(stable, change, input_px)}{', but it is wrong' if stable.wrong else ''}"
        for name, stable in zip(names, ranges, strict=True)
    )
    verdict = ""
    if guess in keys:
        guessed = keys.index(guess)
        verdict = (
            f"Your prediction, {plain(names[guessed])}, is {'correct' if guessed in best else 'wrong'}. "
        )
    if not best:
        prediction_text = "a correct" if any(stable.wrong for stable in ranges) else "its"
        return f"{verdict}On this image **no model** keeps {prediction_text} prediction. {by_model}."
    winners = join_words([plain(names[i]) for i in best])
    return (
        f"{verdict}On this image **{winners}** {'keeps its' if len(best) == 1 else 'keep their'}"
        f"{' correct' if any(stable.wrong for stable in ranges) else ''} prediction"
        f"{f' longest, over {most} of {total} steps' if total > 1 else ''}. {by_model}."
    )


def write_prompt(change: str) -> str:
    """Return the question about a change."""
    return f"{CHANGES[change].title}: which model keeps its prediction for this image longest?"


def _find_longest(ranges: Sequence[StableRange]) -> tuple[int, list[int]]:
    """Return the most steps and the models that reach them, wrong predictions aside; no model for none."""
    steps = [0 if stable.wrong else stable.steps for stable in ranges]
    most = max(steps)
    return most, [i for i, count in enumerate(steps) if count == most > 0]


def _format_range(stable: StableRange, change: str, input_px: int) -> str:
    strengths = CHANGES[change].values
    if len(strengths) == 2:
        return "keeps it" if stable.steps else "changes it"
    if stable.steps == len(strengths) - 1:
        return "at all strengths"
    if not stable.steps:
        return "only without a change"
    ends = [plots.strength_words(change, strengths[at], input_px) for at in (stable.first, stable.last)]
    start = CHANGES[change].start
    if stable.first == start or stable.last == start:
        return f"up to {ends[1] if stable.first == start else ends[0]}"
    return f"from {ends[0]} to {ends[1]}"
