"""Study if attention over convolutions helps: the lecture's open question, over several seeds."""

from statistics import mean, stdev

import streamlit as st

from pages.frame import page
from pages.questions.prediction_gate import create_choice
from pages.studies.study import Evidence, Study, Table, View
from vitviz.analysis.verdict import Verdict, compare, compare_family
from vitviz.experiments.conv_attention import MODELS, NAME, TITLES
from vitviz.experiments.result_file import TEST_IMAGES, Result
from vitviz.lessons.experiment_measures import (
    KIND,
    AttentionOverConvolutions,
    find_most_accurate,
    list_accuracies,
    load_stored_result,
)
from vitviz.lessons.lesson import Question
from vitviz.plots.hybrids import seeds_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent

QUESTION = Question(
    "The lecture's network computes queries, keys and values with 3 × 3 convolutions. Which is most accurate on MNIST:"
    " this network, the same one without attention, or a CNN of the same size?",
    AttentionOverConvolutions(),
)
GUESS = "hybrids.question"
ATTENTION = ("written", "scaled", "upright", "corrected")
_FORMATS = {
    "Parameters": st.column_config.NumberColumn(format="localized"),
    "Multiply-adds": st.column_config.NumberColumn(format="localized"),
    "Training, s on one core": st.column_config.NumberColumn(format="%.1f"),
    "± (seeds), points": st.column_config.NumberColumn(format="%.2f"),
}


def build(mode: Mode) -> View | None:
    """Return the test accuracy of every seed of every model."""
    stored = load_stored_result()
    if stored is None:
        return None
    names = [name for name in MODELS if list_accuracies(stored, name)]
    tests = [list_accuracies(stored, name) for name in names]
    marked = names.index("control") if "control" in names else -1
    answer = find_most_accurate(stored)
    return View(
        seeds_figure([TITLES[name] for name in names], tests, marked, mode),
        describe_results(stored),
        None
        if answer is None
        else create_choice(GUESS, QUESTION.prompt, KIND, lambda: answer, question=QUESTION),
        (create_evidence(stored),),
        describe_bugs(stored),
        Table(build_columns(stored, names), {"Mean accuracy": percent}, "conv_attention.csv", _FORMATS),
    )


def create_evidence(stored: Result) -> Evidence:
    settings = stored.settings
    return Evidence(
        stored,
        stored.rows,
        f"{settings['epochs']:g} epoch on {percent(settings['train_fraction'], 0)} of MNIST's training images at"
        f" {settings['side_px']} px, batch size {settings['batch_size']}, the same hyperparameters for all models",
    )


def compare_models(stored: Result, first: str, second: str) -> Verdict | None:
    """Compare two of the networks over the seeds that both have; None if there is none."""
    first_tests, second_tests = (
        {int(row["seed"]): float(row["test"]) for row in stored.where(model=name) if "test" in row}
        for name in (first, second)
    )
    if not first_tests.keys() & second_tests.keys():
        return None
    return compare(first_tests, second_tests, images=TEST_IMAGES["mnist"], chance=0.1)


def describe_results(stored: Result) -> str:
    """Describe every network with attention against the same one without it; the four comparisons are one family."""
    tests = {name: list_accuracies(stored, name) for name in MODELS if list_accuracies(stored, name)}
    if not {"written", "control"} <= tests.keys():
        return "The experiment is incomplete: the lecture's network or its control is missing."
    found = {name: compare_models(stored, name, "control") for name in ATTENTION if name in tests}
    names = [name for name, verdict in found.items() if verdict]
    family = compare_family([verdict for verdict in found.values() if verdict])
    verdicts = "; ".join(
        f"{TITLES[name]}: {verdict.describe()}" for name, verdict in zip(names, family, strict=True)
    )
    cost = stored.settings["multiply_adds"]
    return (
        f"Test accuracy with attention over convolutions, compared with the same network without attention"
        f" ({percent(mean(tests['control']))}): {verdicts}. The network as written needs"
        f" {cost['written'] / cost['control']:.0f} times the multiply-adds; the lecture's formula omits 1/√d and has"
        " Aᵀ V in place of A V."
    )


def describe_bugs(stored: Result) -> str:
    """Return the effect of the lecture's two bugs; '' if it was not measured."""
    written, corrected = (list_accuracies(stored, name) for name in ("written", "corrected"))
    verdict = compare_models(stored, "written", "corrected")
    if verdict is None:
        return ""
    return (
        f"As written it reaches {percent(mean(written))}, with both bugs fixed {percent(mean(corrected))}: as written,"
        f" {verdict.describe()}."
    )


def build_columns(stored: Result, names: list[str]) -> dict[str, list[object]]:
    tests = [list_accuracies(stored, name) for name in names]
    seconds = [[float(row["training_core_s"]) for row in stored.where(model=name)] for name in names]
    return {
        "Model": [TITLES[name] for name in names],
        "Mean accuracy": [mean(seeds) for seeds in tests],
        "± (seeds), points": [100 * stdev(seeds) if len(seeds) > 1 else None for seeds in tests],
        "Seeds": [len(seeds) for seeds in tests],
        "Parameters": [stored.settings["parameters"][name] for name in names],
        "Multiply-adds": [stored.settings["multiply_adds"][name] for name in names],
        "Training, s on one core": [mean(seeds) for seeds in seconds],
    }


STUDY = Study(
    "attention_over_convolutions",
    "Attention over convolutions",
    "Does attention help if convolutions compute its queries, keys and values?",
    4,
    (NAME,),
    build,
    keys=(GUESS,),
    math=page.read_math(__file__),
    code=("vitviz.models.lecture_nets:ConvAttention",),
)
