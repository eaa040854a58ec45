"""Distillation: a student's two tokens, its agreement with its teacher, and its training."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.distillation import captions, token_agreement
from pages.lenses.distillation.captions import NamedScores
from pages.selection import selection, subject
from pages.selection.subject import CapturedSubject, Subject
from pages.stores import catalogue, runs, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.figures import draw_bars, draw_chart, draw_heat_grid
from vitviz.analysis import distillation as analysis
from vitviz.analysis.attention import shared_mass
from vitviz.config import ViTConfig
from vitviz.lessons import lesson, model_measures
from vitviz.models.abilities import as_vit
from vitviz.plots.distillation import disagreement_figure, similarity_figure
from vitviz.plots.heat_grid import pack_maps
from vitviz.text import percent, plain
from vitviz.training import lineup, presets
from vitviz.training.distillation_loss import distillation_loss
from vitviz.weight_identity import resolve_identity

RECIPE, LINEUP_TEACHER = "digits_live", "digits_cnn"
SHARES = (0.1, 0.25, 0.5, 1.0)
EPOCHS = 12  # of the full dataset; fewer images are seen more often, for the same number of updates
RESULTS = "distillation.json"
UNAVAILABLE = "Agreement over all test images is available for shipped students only."
STREAM = ("embedded", "blocks.*", "logits_cls", "logits_dist")
TOP = 2  # classes of each classifier whose probabilities are drawn
MEAN = "mean"
REPEATS = "Repeats the teacher's mistakes"
TITLES = {"both heads": "mean of logits", "both, added": "sum of softmaxes"}  # of the stored classifiers


def _draw_lineup() -> None:
    if f"checkpoint:{LINEUP_TEACHER}" not in selection.list_models():
        page.caption("The teacher, a CNN trained on digits, is missing on this server.")
        return
    entries = build_lineup(*_read_hyperparameters())
    selection.link_to(
        "live_lab",
        "Train the three models in the live lab",
        **{"live_lab.train": "several", "live_lab.lineup": lineup.encode(entries)},
    )
    page.caption(
        f"Three models from one seed on the same digits, {entries[0].train.epochs:g} epochs each: no teacher, hard"
        " distillation, soft distillation. The teacher was trained on all training digits; in the paper, teacher and"
        " student are trained on the same images."
    )


def _read_hyperparameters() -> tuple[float, float, float]:
    """Return the share of the training images, and the teacher's weight λ and temperature τ."""
    with page.row():
        with st.container(width=200):
            share = widgets.select_slider(
                "distillation.lesson_share",
                "Training images",
                SHARES,
                1.0,
                format_func=lambda part: f"{100 * part:g} %",
                help="Share of scikit-learn's training digits; the teacher was trained on all of them.",
            )
        with st.container(width=200):
            weight = widgets.slider(
                "distillation.lesson_weight",
                "Weight of the teacher, λ",
                0.05,
                0.95,
                0.5,
                0.05,
                help="Used in soft distillation; hard distillation uses 0.5.",
            )
        with st.container(width=200):
            temperature = widgets.slider(
                "distillation.lesson_temperature",
                "Temperature, τ",
                1.0,
                10.0,
                3.0,
                0.5,
                help="Higher temperatures flatten the teacher's probabilities.",
            )
    return share, weight, temperature


def build_lineup(share: float, weight: float, temperature: float) -> tuple[lineup.LineupEntry, ...]:
    """Return twin, hard and soft student with the same backbone, recipe and images.

    Args:
        share: of the training images.
        weight, temperature: λ and τ of soft distillation.
    """
    preset = presets.TRAINING_PRESETS[RECIPE]
    assert isinstance(preset.model, ViTConfig)
    train = replace(preset.train, train_fraction=share, epochs=EPOCHS / share)
    hard = replace(train, distill_from=f"checkpoints/{LINEUP_TEACHER}.safetensors")
    soft = replace(
        hard,
        distillation="soft",
        distillation_weight=weight,
        distillation_temperature=temperature,
    )
    student = replace(preset.model, distilled=True)
    return (
        lineup.LineupEntry(RECIPE, "Twin, no teacher", preset.model, train),
        lineup.LineupEntry(RECIPE, "Hard distillation", student, hard),
        lineup.LineupEntry(RECIPE, f"Soft λ {weight:g} τ {temperature:g}", student, soft),
    )


def draw_controls(student: CapturedSubject) -> tuple[int, int | None]:
    """Draw the controls; return layer and head, both from 1; no head for the mean.

    The page opens on the head of the last layer whose two tokens attend to the most different patches.
    """
    config = as_vit(student.model.config)
    first_head = 1 + int(np.argmin([shared_mass(*rows[:2]) for rows in student.attn[-1]]))
    widgets.follow_default("distillation.head", first_head)
    with page.row():
        with st.container(width=168):
            block = widgets.slider("distillation.block", "Layer", 1, config.depth, config.depth)
        heads: list[int | str] = [MEAN, *range(1, config.num_heads + 1)]
        with st.container(width="content"):
            head = widgets.segmented("distillation.head", "Head", heads, first_head)
    return block, head if isinstance(head, int) else None


def compute_class_scores(student: CapturedSubject, teacher: ModelChoice | None) -> dict[str, NamedScores]:
    activations = student.capture(STREAM)
    scores: dict[str, NamedScores] = {
        f"{name} head": (student.classes, student.model.probabilities(activations[logits][0]))
        for name, logits in (("[CLS]", "logits_cls"), ("[DIST]", "logits_dist"))
    }
    if teacher is None:
        return scores
    logits = shared_cache.capture_activations(
        teacher, None, student.image, ("logits",), student.offset
    ).logits[0]
    model = shared_cache.load_model(teacher)
    return {f"Teacher {teacher.title}": (model.classes, model.probabilities(logits)), **scores}


def draw_attention(
    student: CapturedSubject, layer: int, head: int | None, teacher: ModelChoice | None
) -> None:
    """Draw what each token attends to, and below it the prediction of its head; at the end the teacher's."""
    heads = student.attn[layer - 1]
    rows = (heads.mean(axis=0) if head is None else heads[head - 1])[:2]
    on_patches = rows[:, student.layout.num_prefix_tokens :]
    difference = on_patches[1] - on_patches[0]
    scores = compute_class_scores(student, teacher)
    draw_heat_grid(
        pack_maps(
            student.ground(),
            np.stack([*on_patches, difference]),
            ["[CLS], trained on labels", "[DIST], distilled from the teacher", "[DIST] \N{MINUS SIGN} [CLS]"],
            student.layout.grid,
            sharing=2,
            notes=[
                *(f"attends at most {percent(patches.max())} to a patch" for patches in on_patches),
                f"orange: more by [DIST], blue: more by [CLS], at most {100 * np.abs(difference).max():.1f} points",
            ],
        ),
        key="distillation.maps",
    )
    _draw_scores(scores)
    attention = captions.describe_attention(rows[0], rows[1], float(shared_mass(*rows)), layer, head)
    heads_words = captions.describe_heads(list(scores.values()))
    page.caption(f"{heads_words} {attention} {describe_combinations(student)}", student.class_note)


def _draw_scores(scores: dict[str, NamedScores]) -> None:
    """Draw each classifier's probabilities of the same classes, in one order: each head below its token's map."""
    rows = list(dict.fromkeys(classes[i] for classes, p in scores.values() for i in np.argsort(-p)[:TOP]))
    heads = sorted(scores.items(), key=lambda entry: entry[0].startswith("Teacher"))
    for index, (column, (name, (classes, probabilities))) in enumerate(
        zip(st.columns(3, vertical_alignment="bottom"), heads, strict=False)
    ):
        values = np.array([probabilities[classes.index(row)] if row in classes else 0.0 for row in rows])
        with column:
            st.markdown(f"**{name} predicts {plain(rows[best := int(values.argmax())])}**")
            draw_bars(rows, values, strong=best, key=f"distillation.voice{index}")


def describe_combinations(student: CapturedSubject) -> str:
    activations = student.capture(STREAM)
    both = analysis.combine_heads(activations["logits_cls"][0], activations["logits_dist"][0])
    mean, total = (
        f"{plain(student.classes[int(probabilities.argmax())])} at {percent(float(probabilities.max()))}"
        for probabilities in both.values()
    )
    return (
        f"Together, the two heads predict {mean} with the mean of their logits (used here and in timm) and {total}"
        " with the paper's sum of the softmaxes."
    )


def draw_similarity(student: CapturedSubject, choice: ModelChoice, layer: int) -> None:
    st.markdown("**How far apart are the two tokens?**")
    similarity = _compute_similarity(student)
    first = choice.steps[0]
    before = (
        None
        if student.step == first
        else _compute_similarity(subject.load_subject(choice, first, student.image))
    )
    draw_chart(similarity_figure(similarity, before, layer, selection.get_theme()), "distillation.similarity")
    page.caption(captions.describe_similarity(similarity, before))


def _compute_similarity(student: Subject) -> NDArray[np.float64]:
    activations = student.capture(STREAM)
    depth = len([name for name in activations.arrays if name.removeprefix("blocks.").isdigit()])
    stream = [activations["embedded"][0], *(activations[f"blocks.{layer}"][0] for layer in range(depth))]
    return analysis.token_similarity(np.stack(stream))


def find_teacher(choice: ModelChoice) -> ModelChoice | None:
    """Return the shipped teacher of a student, from its header; None if it is missing or was replaced."""
    if choice.path is None:
        return None
    header = catalogue.read_header(choice.path)
    if header.train is None or header.train.distill_from is None:
        return None
    teacher = selection.list_models().get(f"checkpoint:{Path(header.train.distill_from).stem}")
    if teacher is None or teacher.path is None:
        return None
    taught_by = resolve_identity(header.card.get("teacher") or "")
    return teacher if taught_by in ("", catalogue.read_header(teacher.path).identity) else None


def load_agreement(choice: ModelChoice) -> dict[str, Any] | str:
    """Return the stored agreement for exactly these files, or a sentence why there is none."""
    file = catalogue.CHECKPOINTS / RESULTS
    if not file.is_file() or choice.path is None or not choice.key.startswith("checkpoint:"):
        return UNAVAILABLE
    stored = json.loads(file.read_text("utf-8"))
    entry: dict[str, Any] | None = stored["students"].get(choice.path.stem)
    if entry is None:
        return UNAVAILABLE
    for name, identity in entry["digests"].items():
        path = catalogue.CHECKPOINTS / f"{name}.safetensors"
        if not path.is_file() or catalogue.read_header(path).identity != resolve_identity(identity):
            return (
                f"A checkpoint has changed since {stored['measured']}. To update, run `{stored['command']}`."
            )
    return entry | {"date": stored["measured"], "command": stored["command"]}


def find_twin(choice: ModelChoice, entry: dict[str, Any] | str) -> ModelChoice | None:
    """Return the model without a teacher to which a student is compared."""
    if isinstance(entry, str):
        run = runs.find_run(choice.key.removeprefix("run:")) if choice.key.startswith("run:") else None
        twin = None if run is None else token_agreement.find_twin(run)
        return None if twin is None else selection.list_models().get(f"run:{twin.id}")
    return None if entry["twin"] is None else selection.list_models().get(f"checkpoint:{entry['twin']}")


def draw_differences(entry: dict[str, Any] | str) -> None:
    if isinstance(entry, str):
        st.markdown(f":gray[{entry}]")
        return
    names = [TITLES.get(name, name) for name in entry["names"]]
    differs, accuracy = np.array(entry["differs"]), entry["accuracy"]
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with left:
        st.markdown("**Images classified differently, %**")
        figure = disagreement_figure(names, differs, entry["pictures"], selection.get_theme())
        draw_chart(figure, "distillation.differs")
    with right:
        repeats = st.column_config.NumberColumn(
            help="Share of the teacher's misclassified images with the same wrong class."
        )
        page.table(
            {"Classifier": names, "Accuracy": accuracy, REPEATS: [None, *entry["repeats"][1:]]},
            dict.fromkeys(("Accuracy", REPEATS), percent),
            {REPEATS: repeats},
            "distillation.voices",
        )
    page.caption(captions.describe_differences(entry))
    page.provenance(f"Models at their last step, {entry['date']}. `{entry['command']}`")


def draw_tokens() -> None:
    choice = selection.get_model_choice()
    page.untrained_note(choice.trained_on)
    student = subject.capture_attention(subject.load_current())
    layer, head = draw_controls(student)
    left, right = st.columns([7, 4], gap="medium")
    with left:
        draw_attention(student, layer, head, find_teacher(choice))
    with right:
        draw_similarity(student, choice, layer)
    page.findings("teacher", is_open=True)
    page.drawers(
        "distillation",
        math=page.read_math(__file__),
        code=(distillation_loss, analysis.combine_heads, analysis.token_similarity, shared_mass),
        ask=lesson.Question(
            "What share of their attention do [CLS] and [DIST] have in common in the last layer?",
            model_measures.SharedAttention(),
        ),
        at=student,
    )


def draw_agreement() -> None:
    choice, step = selection.get_model_choice(), selection.get_current().step
    entry = load_agreement(choice)
    draw_differences(entry)
    token_agreement.draw(choice, step, find_teacher(choice), find_twin(choice, entry))
    page.drawers("distillation.voices", code=(analysis.disagreement, analysis.combine_heads))


def draw_training() -> None:
    _draw_lineup()
    selection.link_to("live_lab", "Train a student on CIFAR-10", **{"live_lab.recipe": "cifar10_deit_soft"})
    page.drawers("distillation.lesson", code=(build_lineup, distillation_loss))


VIEWS = {
    "tokens": ("Two tokens", draw_tokens),
    "voices": ("Agreement", draw_agreement),
    "lesson": ("Train a student", draw_training),
}


@page.view
def draw() -> None:
    widgets.choose_section("distillation.view", VIEWS)()
    selection.link_to("studies", "Does a teacher help?", **{"studies.study": "teacher"})


page.header("distillation")
draw()
