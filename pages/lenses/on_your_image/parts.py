"""Cut a face into parts, move them, and draw every model's prediction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import downloads, query_params, view_state, widgets
from pages.frame import page
from pages.lenses.on_your_image import compared_models
from pages.lenses.on_your_image.perturbation import GUESS
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.analysis.image_parts import (
    ImagePart,
    PlacedParts,
    assemble,
    decode_parts,
    encode_parts,
    fill_holes,
    misplace_parts,
)
from vitviz.data.faces import FACES, from_the_middle, parts_of
from vitviz.lessons.question_kinds import Choose
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import image_changes as plots
from vitviz.plots.image_changes import Answered
from vitviz.probe.robustness import Sweep, sweep
from vitviz.text import percent, percent_difference, plain, plural

_parts_view = register(__file__, "parts_view", "sweep_view")
VIEW = "on_picture.parts"
FACE = "sample:cat"  # a sample whose parts are annotated


@dataclass(frozen=True, eq=False)
class PartPredictions:
    """One model's predictions for the whole image, for the current parts, and for wrongly placed parts."""

    name: str
    family: str
    whole: Sweep
    current: Sweep
    wrong: Sweep

    def measure_loss(self, swept: Sweep, watched: int) -> float:
        """Return by how many points, as rounded in captions, the watched class is less probable than in the whole."""
        return percent_difference(read_probability(self.whole, watched), read_probability(swept, watched))

    @property
    def keeps_prediction(self) -> bool:
        """Return True if wrongly placed parts do not change the predicted class."""
        return bool(self.whole.answers[0] == self.wrong.answers[0])


@dataclass(frozen=True)
class PartControls(widgets.ControlValues, page="on_picture"):
    """The parts as `vitviz.analysis.image_parts.encode_parts` writes them, and whether the model input is drawn."""

    apart: str
    apart_seen: bool


def read_probability(swept: Sweep, watched: int) -> float:
    """Return the probability of the watched class."""
    return float(swept.probabilities[0, watched])


def draw() -> None:
    with page.row():
        compared = compared_models.choose_models()
        if compared is None:
            return
        offer_face(compared)
    named = find_named_parts(compared)
    parts, state = read_parts(
        (compared.image, compared.offset, compared.input_px),
        compared.input_px,
        VIEW,
        lambda: tuple(named.values()) or from_the_middle(compared.input_px),
    )
    predictions = [predict_parts(compared, i, parts) for i in range(len(compared.choices))]
    # The watched class is the image's, or the models' mean prediction if that is unknown.
    mean = np.mean([model.whole.probabilities[0] for model in predictions], axis=0)
    watched = compared.truth if compared.truth >= 0 else int(mean.argmax())
    keys = [choice.key for choice in compared.choices]
    kind = Choose(compared.names, tuple(keys))
    guess = prediction_gate.read_prediction(GUESS, ("apart", compared.image, *keys), kind)
    start = plots.AssemblyHeader(watched, compared.truth, state.mark, state.values.apart_seen)
    draw_view(compared, parts, named, predictions, start)
    page.caption(describe_parts(predictions, parts, watched, compared.classes), compared.class_note)
    class_name = plain(compared.classes[watched])
    prompt = f"Parts in wrong places: which model loses most confidence in {class_name} on this image?"
    if not guess:
        prediction_gate.draw_question(GUESS, prompt, kind)
    else:
        guessed = keys.index(guess) if guess in keys else -1
        outcome = describe_outcome(compared, predictions, guessed, watched)
        prediction_gate.draw_verdict(GUESS, prompt, kind, guess, outcome)
        prediction_gate.draw_retry_button(GUESS)
        selection.link_to(
            "studies", "The same test on models trained only on faces", **{"studies.study": "faces"}
        )
    page.findings("on_your_picture.parts")
    page.drawers(
        "on_picture.parts",
        math=page.read_math(__file__),
        code=(assemble, fill_holes, misplace_parts),
        numbers=partial(draw_numbers, predictions, compared.classes),
    )


def offer_face(compared: compared_models.Comparison) -> None:
    """Offer the face whose parts are annotated, in place of another image."""
    if compared.image != FACE and compared.preparation.in_chans == 3:
        label = f"Use {plain(shared_cache.get_image_title(FACE))}, with annotated parts"
        if st.button(label, key="on_picture.cat", type="tertiary", icon=":material/pets:"):
            selection.set_image(FACE)
            st.rerun()  # not only the fragment


def find_named_parts(compared: compared_models.Comparison) -> dict[str, ImagePart]:
    """Return the annotated parts of a sample's face, by name; empty for other images."""
    kind, _, name = compared.image.partition(":")
    if kind != "sample" or name not in FACES:
        return {}
    box = shared_cache.prepare_image(compared.image, compared.preparation, compared.offset).box
    return parts_of(name, box, compared.input_px)


def predict_parts(compared: compared_models.Comparison, index: int, parts: PlacedParts) -> PartPredictions:
    """Return the predictions of one of the compared models."""
    choice = compared.choices[index]
    model = shared_cache.load_model(choice, compared.steps[index])
    whole, current, wrong = (
        _run_model(model, compared.crop, text)
        for text in ("", encode_parts(parts), encode_parts(misplace_parts(parts, compared.input_px)))
    )
    return PartPredictions(
        compared.names[index], compared_models.find_family(choice.config), whole, current, wrong
    )


@shared_cache.per_image(shared=240, upload=120)
def _run_model(model: LoadedModel, crop: compared_models.ImageCrop, apart: str) -> Sweep:
    """Run the model on the image with the parts encoded in `apart`; '' for the whole image."""
    model_input = crop.model_input
    return sweep(model, assemble(model_input, decode_parts(apart, len(model_input)) or ())[None])


def draw_view(
    compared: compared_models.Comparison,
    parts: PlacedParts,
    named: dict[str, ImagePart],
    predictions: Sequence[PartPredictions],
    start: plots.AssemblyHeader,
) -> None:
    """Draw the image with its parts and every model's prediction; the view's state is 'moved'."""
    model_input = compared.crop.model_input
    frames = np.stack([model_input, assemble(model_input, parts), fill_holes(model_input, parts)])
    apart = plots.ImageParts(frames, parts, named, start)
    answered = [
        Answered(
            model.name,
            model.family.lower(),
            model.current.by,
            np.concatenate([model.whole.probabilities, model.current.probabilities]),
            np.concatenate([model.whole.views, model.current.views]),
        )
        for model in predictions
    ]
    ground = compared_models.crop_photo(compared.crop)
    message = plots.pack_parts(apart, answered, ground, compared.classes)
    _parts_view(message, key=VIEW, states=("moved",))


def describe_parts(
    predictions: Sequence[PartPredictions], parts: PlacedParts, watched: int, classes: Sequence[str]
) -> str:
    """Return a caption on the models that keep their prediction of this image, and on their confidence."""
    if all(part.at_home for part in parts):
        return "All parts are in place. Drag a part, or move all of them with 'Misplace parts'."
    kept_count = sum(int(model.whole.answers[0] == model.current.answers[0]) for model in predictions)
    keep = "keeps its" if kept_count == 1 else "keep their"
    counted = f"{kept_count} of {plural(len(predictions), 'model')} {keep} prediction for the whole image"
    changes = list_changes(predictions, [model.current for model in predictions], watched)
    return f"On this image, {counted}. Probability of {plain(classes[watched])}: {changes}."


def list_changes(predictions: Sequence[PartPredictions], moved: Sequence[Sweep], watched: int) -> str:
    """Return each model's probability of the watched class, with the whole image and with moved parts."""
    return "; ".join(
        f"{plain(model.name)} {percent(read_probability(model.whole, watched))} →"
        f" {percent(read_probability(swept, watched))}"
        for model, swept in zip(predictions, moved, strict=True)
    )


def describe_outcome(
    compared: compared_models.Comparison, predictions: Sequence[PartPredictions], guessed: int, watched: int
) -> str:
    """Return the verdict on the user's prediction, each model's loss, and the check of the lecture's claim."""
    losses = [model.measure_loss(model.wrong, watched) for model in predictions]
    best = [i for i, loss in enumerate(losses) if loss == max(losses) and loss > 0]
    verdict = ""
    if guessed >= 0:
        name = plain(predictions[guessed].name)
        verdict = f"Your prediction, {name}, is {'correct' if guessed in best else 'wrong'}. "
    by_model = list_changes(predictions, [model.wrong for model in predictions], watched)
    class_name = plain(compared.classes[watched])
    finding = f"no model loses confidence in {class_name}"
    if best:
        winners = " and ".join(plain(predictions[i].name) for i in best)
        lose = "loses" if len(best) == 1 else "lose"
        finding = f"**{winners}** {lose} most confidence in {class_name}, {max(losses):.1f} points"
    claim = check_claim(predictions, compared.truth, compared.classes)
    return f"{verdict}On this image with misplaced parts, {finding}. {by_model}. {claim}".strip()


def check_claim(predictions: Sequence[PartPredictions], truth: int, classes: Sequence[str]) -> str:
    """Compare the lecture's claim with the CNN and the ViT; return '' if one of them is missing.

    A model that misclassifies the whole image cannot test the claim.
    """
    first = {model.family: model for model in reversed(predictions)}
    if not {"CNN", "ViT"} <= first.keys():
        return ""
    claim = "The lecture claims that a CNN still recognises a scrambled face and a ViT does not."
    both = {family: first[family] for family in ("CNN", "ViT")}
    wrong = [family for family, model in both.items() if truth >= 0 and int(model.whole.answers[0]) != truth]
    if wrong:
        mistakes = " and ".join(
            f"the {family} predicts {plain(classes[int(both[family].whole.answers[0])])}" for family in wrong
        )
        return f"{claim} This image cannot test it: for the whole image, {mistakes}."
    outcomes = {True: "keeps its prediction", False: "changes its prediction"}
    return (
        f"{claim} On this image the CNN {outcomes[both['CNN'].keeps_prediction]} and the ViT"
        f" {outcomes[both['ViT'].keeps_prediction]}; one image cannot test a claim about architectures."
    )


def draw_numbers(predictions: Sequence[PartPredictions], classes: Sequence[str]) -> None:
    columns: dict[str, list[object]] = {name: [] for name in ("model", "image", "class", "probability")}
    for model in predictions:
        sweeps = {"whole": model.whole, "current parts": model.current, "misplaced parts": model.wrong}
        for image, swept in sweeps.items():
            columns["model"] += [model.name] * len(classes)
            columns["image"] += [image] * len(classes)
            columns["class"] += list(classes)
            columns["probability"] += [float(probability) for probability in swept.probabilities[0]]
    st.dataframe(columns, hide_index=True, height=240)
    downloads.csv("Probabilities (CSV)", columns, "in_parts.csv", "on_picture.parts.csv")


def read_parts(
    subject: tuple[Any, ...], size: int, view: str, make_default: Callable[[], PlacedParts]
) -> tuple[PlacedParts, view_state.ViewState[PartControls]]:
    """Return the current parts, and the state of the view.

    Args:
        subject: image, crop and size; another subject resets the parts.
        size: the side of the models' input, in px.
        view: key of the view, whose state is 'moved'.
        make_default: makes the parts if neither link nor session has any.
    """
    link = {field: query_params.take_value(PartControls.key(field)) for field in ("apart", "apart_seen")}

    def begin(before: view_state.ViewState[PartControls] | None) -> PartControls:
        if before is not None and before.subject == subject:
            return parse_state(link, before.values, size)
        return parse_state(link, PartControls(encode_parts(make_default()), False), size)

    state = view_state.read_state(
        "on_picture._apart",
        (view, "moved"),
        subject,
        begin,
        lambda event, before: parse_state(event, before, size),
        linked=any(text is not None for text in link.values()),
    )
    query_params.set_value(PartControls.key("apart"), state.values.apart)
    query_params.set_value(PartControls.key("apart_seen"), widgets.encode_value(state.values.apart_seen))
    parts = decode_parts(state.values.apart, size)
    assert parts is not None  # `parse_state` returns only decodable parts
    return parts, state


def parse_state(fields: dict[str, Any], default: PartControls, size: int) -> PartControls:
    """Return the fields of a browser event or a link, checked one by one; invalid ones from `default`."""
    apart, seen = fields.get("apart"), fields.get("apart_seen")
    if isinstance(seen, str):
        seen = {"1": True, "0": False}.get(seen)
    return PartControls(
        apart if isinstance(apart, str) and decode_parts(apart, size) is not None else default.apart,
        seen if isinstance(seen, bool) else default.apart_seen,
    )
