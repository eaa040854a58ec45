"""Show how much fine-tuning changed each layer's weights, and the last layer's attention."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page, run_start
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import runs, shared_cache
from pages.train.fine_tuning import race_results
from pages.train.fine_tuning.race_controls import TuningControls
from pages.views.figures import draw_chart, draw_heat_grid
from vitviz.analysis.attention import shared_mass
from vitviz.analysis.fine_tuning import (
    describe_weight_changes,
    format_share,
    measure_weight_changes,
    select_backbone,
)
from vitviz.checkpoints import load_checkpoint, open_model
from vitviz.config import ViTConfig
from vitviz.data.dataset import DatasetError
from vitviz.data.image_preprocessing import prepare, seen_crop
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.fine_tuning import weight_changes_figure
from vitviz.plots.heat_grid import pack_maps
from vitviz.probe.capture import capture
from vitviz.text import percent, plain, round_share
from vitviz.training.fine_tuning_race import SCRATCH, TITLES, TUNED
from vitviz.training.run_directory import Run


@dataclass(frozen=True)
class ChangeControls(widgets.ControlValues, page="fine_tuning"):
    """The seed of the displayed models, the test image, and the part that is predicted to change most."""

    seed: int
    picture: int
    moved_guess: str


def draw() -> None:
    run_start.adopt_linked_run(TuningControls.key("run"))
    run = race_results.choose_race()
    if run is None or not all(len(member.snapshots()) > 1 for member in run.members()):
        st.info("No trained models yet.", icon=":material/timer:")
        st.button(
            "Open 'Fine-tune'",
            key="fine_tuning._open",
            type="primary",
            on_click=widgets.set_control,
            args=("fine_tuning.view", "race"),
        )
        return
    if progress := _describe_progress(run):
        st.info(progress, icon=":material/timer:")
    seeds = tuple(range(len(run.members()) // 2))
    with page.row():
        seed = widgets.segmented(ChangeControls.key("seed"), "Seed", seeds) if len(seeds) > 1 else 0
        index = _choose_image(run)
    _draw_moved(run, seed)
    _draw_attention(run, seed, index)
    page.drawers(
        "fine_tuning.changed", math=page.read_math(__file__), code=(measure_weight_changes, shared_mass)
    )


def _describe_progress(run: Run) -> str:
    """Return the updates of the displayed models if the race has not ended, else ''."""
    status = runs.read_status(run)
    if status.state == "done":
        return ""
    reached = sorted({member.snapshots()[-1] for member in run.members()})
    total = f" of {status.total_steps:,}" if status.total_steps else ""
    steps = f"{'update' if len(reached) == 1 else 'updates'} {' or '.join(f'{step:,}' for step in reached)}"
    return f"Training has not ended. The models are shown at their last snapshot, {steps}{total}."


def _draw_moved(run: Run, seed: int) -> None:
    changes = {
        name: _measure_changes(*_find_ends(race_results.find_member(run, name, seed))) for name in TITLES
    }
    answered = _ask_prediction(run.id, changes[TUNED])
    shown = changes if answered else {SCRATCH: changes[SCRATCH]}
    draw_chart(weight_changes_figure(shown, TITLES, selection.get_theme()), "fine_tuning.moved")
    rates = tuple(
        race_results.find_member(run, name, seed).config().train.learning_rate for name in (TUNED, SCRATCH)
    )
    page.caption(
        describe_weight_changes(changes[TUNED], changes[SCRATCH], (rates[0], rates[1]))
        if answered
        else "Predict to see the fine-tuned model; this is the one from scratch."
    )


def _ask_prediction(run_id: str, tuned: Mapping[str, float]) -> bool:
    """Ask which part of the backbone changes most; return True once answered or skipped, or if it was frozen."""
    body = select_backbone(tuned)
    question = prediction_gate.ask_highest(
        ChangeControls.key("moved_guess"),
        run_id,
        "Which part of the fine-tuned backbone changes most, relative to its norm?",
        body,
        lambda share: f"{format_share(share)} of its norm",
    )
    return question is None or not any(body.values()) or question.is_answered()


def _find_ends(member: Run) -> tuple[str, str]:
    steps = member.snapshots()
    return str(member.snapshot_path(steps[0])), str(member.snapshot_path(steps[-1]))


@shared_cache.shared(max_entries=32)
def _measure_changes(first: str, last: str) -> dict[str, float]:
    before, after = (next(iter(load_checkpoint(path).snapshots.values())) for path in (first, last))
    return measure_weight_changes(
        *({name: tensor.numpy() for name, tensor in state.items()} for state in (before, after))
    )


# ---------------------------------------------------------------- attention


def _choose_image(run: Run) -> int:
    try:
        count = len(shared_cache.load_dataset(run.config().train.dataset).test_images)
    except DatasetError:
        return 0
    return int(widgets.number(ChangeControls.key("picture"), "Test image no.", 0, count - 1, 0))


def _draw_attention(run: Run, seed: int, index: int) -> None:
    tuned, scratch = (race_results.find_member(run, name, seed) for name in (TUNED, SCRATCH))
    config = tuned.config()
    able = abilities(config.model).heads_over_all
    if not able:
        page.caption(plain(able.why_not))
        return
    vit = as_vit(config.model)
    try:
        dataset = shared_cache.load_dataset(config.train.dataset)
    except DatasetError as error:
        page.caption(plain(str(error)))
        return
    image = np.broadcast_to(dataset.test_images[index], (*dataset.test_images.shape[1:3], 3))
    prepared = prepare(np.ascontiguousarray(image), config.preparation)
    (first, last), (_, scratch_last) = _find_ends(tuned), _find_ends(scratch)
    models = {
        "Before": open_model(first),
        "After": open_model(last),
        "From scratch": open_model(scratch_last),
    }
    maps = {title: _compute_map(model, prepared.input[None]) for title, model in models.items()}
    notes = [
        "its new head is untrained",
        *(
            f"prediction: {_predict(models[title], prepared.input[None])}"
            for title in ("After", "From scratch")
        ),
    ]
    ground = seen_crop(np.ascontiguousarray(image), config.preparation)
    view = pack_maps(
        ground, np.stack(list(maps.values())), list(maps), vit.grid, sharing=len(maps), notes=notes
    )
    draw_heat_grid(view, key="fine_tuning.attention")
    page.caption(_describe_attention(maps, dataset.classes[int(dataset.labels_of("test")[index])], vit))
    for name, member in (("Fine-tuned", tuned), ("From scratch", scratch)):
        selection.link_to(
            "attention",
            f"Open page: Attention ({name.lower()})",
            model=f"run:{member.id}",
            step=member.snapshots()[-1],
        )


def _compute_map(model: LoadedModel, inputs: np.ndarray) -> np.ndarray:
    """Return the last layer's attention (patches,) from the readout's query to the patches, averaged over heads."""
    attention = capture(model.model, inputs, record=("blocks.*.attn",)).attention()[-1, 0].mean(axis=0)
    prefix = len(model.vit.config.prefix_tokens)
    rows = attention[:1] if model.vit.config.readout == "cls" else attention[prefix:]
    attention_map: np.ndarray = rows[:, prefix:].mean(axis=0)
    return attention_map


def _predict(model: LoadedModel, inputs: np.ndarray) -> str:
    logits = capture(model.model, inputs, record=("logits",)).logits[0]
    best = int(logits.argmax())
    return f"{model.classes[best]}, {percent(float(model.probabilities(logits)[best]), 0)}"


def _describe_attention(maps: dict[str, np.ndarray], label: str, vit: ViTConfig) -> str:
    before, after, scratch = maps.values()
    tokens = before.size + len(vit.prefix_tokens)
    with_before, with_scratch = (
        round_share(float(shared_mass(after, other)), 0) for other in (before, scratch)
    )
    highest = percent(float(max(attention.max() for attention in maps.values())))
    return (
        f"Class {plain(label)}. In layer {vit.depth} the fine-tuned model shares {with_before} of its attention mass"
        f" with the model before fine-tuning and {with_scratch} with the model from scratch. Highest weight: {highest};"
        f" uniform attention over {tokens} tokens: {percent(1 / tokens)}."
    )
