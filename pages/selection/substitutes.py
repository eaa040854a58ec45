"""Choose a substitute where a page cannot use the selected model or image, and say so."""

from collections.abc import Callable, Mapping
from operator import attrgetter

import streamlit as st

from pages.controls import session_keys
from pages.selection import selection
from pages.stores import shared_cache
from pages.stores.catalogue import get_dataset_title
from pages.stores.model_choice import ModelChoice
from vitviz.config import ModelConfig
from vitviz.data.datasets import default_pictures, find_note, first_number, tested
from vitviz.models.abilities import abilities
from vitviz.text import plain, plural

RANDOM = ":violet-badge[:material/casino: random weights] Not trained."
_read_input = attrgetter(
    "trained_on", "config.num_classes", "config.image_size", "preparation.in_chans", "preparation.digit"
)
FEW_CLASSES = 100
_DRAWN = ("shapes", "digits", "mnist")  # datasets that are no photos
LARGEST_PX = 64  # side of an automatically chosen model's images, to stay fast


def is_plain_vit(config: ModelConfig) -> bool:
    """Return True for a patch ViT with learned positions, a [CLS] readout and a single head."""
    able = abilities(config)
    return bool(able.embedding and able.learned_positions and able.cls_readout and not able.distillation)


def is_comparable(model: ModelChoice, other: ModelChoice) -> bool:
    """Return True if another model classifies the same images of the same dataset; a model is comparable to itself."""
    return _read_input(model) == _read_input(other) and bool(abilities(other.config).class_head)


def find_nearest_model(
    fits: Callable[[ModelConfig], bool],
    selected: ModelChoice | None = None,
    choices: Mapping[str, ModelChoice] | None = None,
) -> ModelChoice:
    """Return the small model of a kind that is nearest to the selected one: trained, same channels, dataset,
    photos or drawn images, classes, size and family.
    """
    selected = selection.get_model_choice() if selected is None else selected
    choices = selection.list_models() if choices is None else choices

    def distance(choice: ModelChoice) -> tuple[bool, bool, bool, bool, bool, bool, bool, float]:
        return (
            choice.trained_on is None,
            choice.preparation.in_chans != selected.preparation.in_chans,
            choice.trained_on != selected.trained_on,
            (choice.trained_on in _DRAWN) != (selected.trained_on in _DRAWN),
            choice.config.num_classes != selected.config.num_classes,
            choice.config.image_size != selected.config.image_size,
            choice.config.family != selected.config.family,
            -choice.curve[-1][1] if choice.curve else 0.0,  # the best of several equals
        )

    candidates = (c for c in choices.values() if fits(c.config) and max(c.config.image_shape) <= LARGEST_PX)
    return min(candidates, key=distance)


def draw_refusal(why_not: str, *needs: str) -> None:
    """Draw why the selected model cannot do something, and the nearest model that has these abilities."""
    st.info(why_not, icon=":material/block:")
    nearest = find_nearest_model(lambda config: all(getattr(abilities(config), need) for need in needs))
    if st.button(f"Show {nearest.shown} instead", key="nouns.able"):
        select_substitute(nearest)
        st.rerun()  # not only the fragment


def select_substitute(choice: ModelChoice) -> None:
    """Select a substitute and a matching image; call it in a callback."""
    selection.set_model(choice.key)
    image = session_keys.get_control_values().get("image")  # missing if the image follows the model
    if isinstance(image, str) and (matching := find_matching_image(choice, image)) != image:
        selection.set_image(matching)


def choose_image(choice: ModelChoice) -> tuple[str, str]:
    """Return the key of the image to show with a model, and a note if it is not the selected one.

    The selected image is shown if the user uploaded it, selected it for this very model, or it belongs to the
    model's training dataset; else an image of that dataset, or of the nearest available one.
    """
    image = selection.get_current().image
    expects_colour = choice.preparation.in_chans == 3
    if choice.key == selection.get_current().model and (
        image.startswith(shared_cache.UPLOAD) or shared_cache.is_coloured(image) == expects_colour
    ):
        return image, ""
    matching = find_matching_image(choice, image)
    if matching == image:
        return image, ""
    name, _, index = matching.partition(":")
    dataset = shared_cache.load_dataset(name)
    labels = dataset.test_labels
    label = "" if labels is None else f" ({dataset.classes[int(labels[int(index)])]})"
    return matching, (
        f"{describe_training(choice)}, so **{find_note(name).title} test image no. {int(index):,}{label}** is"
        " shown instead."
    )


def describe_training(choice: ModelChoice) -> str:
    """Describe which images a model was trained on, as the start of a sentence."""
    if choice.trained_on is None:
        return "This model was made for other images"
    return f"This model was trained on {plain(get_dataset_title(choice.trained_on))}"


def describe_classes(choice: ModelChoice, image: str) -> str:
    """Say for a photo that a model knows only the classes of its dataset; '' for images of a dataset."""
    count = choice.config.num_classes
    if (
        choice.trained_on is None
        or not 0 < count <= FEW_CLASSES
        or not image.startswith(("upload:", "sample:"))
    ):
        return ""
    title = plain(get_dataset_title(choice.trained_on))
    if getattr(choice.config, "class_output", "softmax") == "sigmoid":
        return f"A model trained on {title} gives its {plural(count, 'label')} a probability for any image."
    return f"A model trained on {title} predicts one of its {count} classes for any image."


def find_matching_image(choice: ModelChoice, image: str) -> str:
    """Return the image if it suits the model, else the image of the same number in the model's dataset."""
    kind, _, number = image.partition(":")
    name = default_pictures(choice.trained_on, choice.preparation.in_chans)
    if (
        kind == "upload"
        or (kind == "drawing" and choice.preparation.digit)
        or {kind, tested(kind)} & {choice.trained_on, name}
    ):
        return image
    if kind == "sample" and choice.preparation.in_chans == 3:
        return image
    is_first = not number.isdecimal() or int(number) == first_number(kind)
    wanted = first_number(name) if is_first else int(number)
    return f"{name}:{wanted % shared_cache.count_test_images(name)}"
