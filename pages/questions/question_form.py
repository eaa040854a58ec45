"""Edit a question: its measured answer, or a kind with the author's own answer, and their parameters."""

import inspect
from dataclasses import MISSING, Field, fields
from typing import Any

import streamlit as st

from vitviz.lessons.lesson import MAX_PROMPT_LENGTH, Question
from vitviz.lessons.measures import MEASURE_NAMES, MEASURES
from vitviz.lessons.typed_tables import build_dataclass

NONE = ""  # no question
LABELS = {
    NONE: "no question",
    "choice": "own: multiple choice",
    "number": "own: number with tolerance",
    "place": "own: point at the image",
    "order": "own: put in order",
    "text": "own: short text",
    "patch_count": "number of patches",
    "answer": "predicted class",
    "looks_at": "patch that a token attends to most",
    "longer_branch": "larger update of [CLS]: attention or MLP",
    "settling_layer": "layer after which the prediction no longer changes",
    "shuffled": "effect of shuffled patches on the prediction",
    "truest_map": "most faithful attention map",
    "nearest_layer": "layer with the shortest attention distance",
    "mass_on_self": "attention weight of [CLS] on itself",
    "tokens_share": "attention shared by [CLS] and [DIST]",
    "variance_held": "variance explained by components of E",
    "share_of_e": "share of parameters in E",
    "neighbours_alike": "similarity of neighbouring position embeddings",
    "sinusoid_similarity": "similarity of two sinusoidal encodings",
    "accuracy": "test accuracy of the model",
    "race_accuracy": "test accuracy with a positional encoding",
    "masked_pairs": "share of pairs that a shifted block masks",
    "readable_in_corner": "patches that a corner patch may attend to",
    "blocks_to_reach": "blocks until a patch reaches the whole image",
    "patches_reached": "patches reached after some blocks",
    "window_cost": "cost of global relative to window attention",
    "more_multiply_adds": "model with more multiply-adds",
    "slower_here": "slower model on this server",
    "data_leader": "best model with the fewest images",
    "transfer_leader": "best way of fine-tuning",
    "knob_best": "best value of a hyperparameter",
    "slip_cost": "cost of a bug",
    "weakest_gradient": "variant with the weakest gradient",
    "ablated": "class probability with ablated patches or heads",
    "changed_images": "accuracy on changed test images",
    "attention_over_convolutions": "most accurate variant of attention over convolutions",
}
EXAMPLES: dict[str, object] = {  # of parameters without a default
    "options": ("attention", "the MLP"),
    "items": ("patches", "embedding", "blocks", "classifier head"),
    "value": 64.0,
    "image_px": 32,
    "patch_px": 8,
    "grid": 8,
    "window": 4,
    "shift": 2,
    "side": 56,
    "knob": "optimizer",
    "slip": "softmax",
    "dataset": "digits",
    "positions": "learned",
    "source": "mnist_vit",
}
MEASURE_EXAMPLES: dict[tuple[str, str], object] = {
    ("changed_images", "model"): "cifar10_vit",
    ("changed_images", "change"): "rotate",
    ("changed_images", "at"): 90.0,
    ("sinusoid_similarity", "first"): 0,
    ("sinusoid_similarity", "second"): 1,
    ("more_multiply_adds", "first"): "vit_small_16",
    ("more_multiply_adds", "second"): "swin_tiny",
    ("slower_here", "first"): "vit_small_16",
    ("slower_here", "second"): "swin_tiny",
}
PARAMETER_LABELS = {
    "right": "Right option (0: none)",
    "patch": "Patch number (0: none)",
    "row": "Row, instead of the number (0: none)",
    "col": "Column (0: none)",
    "layer": "Layer (0: last)",
    "head": "Head (0: mean)",
    "items": "Items in the right order, one per line",
    "options": "Options, one per line",
    "digits": "Decimals",
    "knob": "Hyperparameter",
    "slip": "Bug",
}


def draw_form(key: str, question: Question | None, *, optional: bool = False) -> None:
    """Draw the fields of a question.

    Args:
        key: prefix of the widgets' keys.
        question: what the fields show first.
        optional: True if there may be no question.
    """
    selected = MEASURE_NAMES[type(question.measure)] if question else NONE if optional else "choice"
    names = [name for name in LABELS if name or optional]
    left, right = st.columns([2, 3])
    name = left.selectbox(
        "Answer", names, index=names.index(selected), key=f"{key}.measure", format_func=LABELS.__getitem__
    )
    if name == NONE:
        return
    right.text_input(
        "Question", question.prompt if question else "", max_chars=MAX_PROMPT_LENGTH, key=f"{key}.prompt"
    )
    with st.container(horizontal=True):
        for parameter in sorted(fields(MEASURES[name]), key=lambda field: field.name == "explanation"):
            example = get_example(name, parameter)
            current = getattr(question.measure, parameter.name) if question and name == selected else example
            _draw_parameter(parameter, current, f"{key}.{name}.{parameter.name}")
    st.caption(inspect.cleandoc(MEASURES[name].__doc__ or "").partition("\n")[0])


def get_example(name: str, parameter: Field[Any]) -> object:
    """Return a valid value of a measure's parameter: its default, or an example."""
    example = EXAMPLES.get(parameter.name, MEASURE_EXAMPLES.get((name, parameter.name)))
    return example if parameter.default is MISSING else parameter.default


def _draw_parameter(parameter: Field[Any], current: object, key: str) -> None:
    label = PARAMETER_LABELS.get(parameter.name, parameter.name.replace("_", " ").capitalize())
    if isinstance(current, tuple):
        st.text_area(label, "\n".join(current), key=key)
    elif isinstance(current, bool):
        st.checkbox(label, current, key=key)
    elif isinstance(current, int | float):
        st.number_input(
            label, value=current, key=key, format="%g" if isinstance(current, float) else "%d", width=140
        )
    else:
        st.text_input(label, str(current), key=key)


def read_form(key: str, question: Question | None) -> Question | None:
    """Return the question in the fields; None for no question.

    Args:
        question: the one that the fields showed first; its proof stays with its measure.

    Raises:
        ValueError: if a field has a wrong value.
    """
    name: str = st.session_state[f"{key}.measure"]
    if name == NONE:
        return None
    values = {
        parameter.name: _read_value(st.session_state[f"{key}.{name}.{parameter.name}"], parameter)
        for parameter in fields(MEASURES[name])
    }
    measure = build_dataclass(MEASURES[name], values, "the question")
    is_same = question is not None and type(question.measure) is type(measure)
    prompt = " ".join(st.session_state[f"{key}.prompt"].split())
    return Question(prompt, measure, question.proof if question is not None and is_same else ())


def _read_value(entry: object, parameter: Field[Any]) -> object:
    if isinstance(entry, str) and "tuple" in str(parameter.type):
        return tuple(line.strip() for line in entry.splitlines() if line.strip())
    return entry
