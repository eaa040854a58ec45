"""Show how far each layer's weights moved, and the last layer's attention before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached, runs
from pages.train.fine_tuning import race_results, race_selection
from pages.views.maps import draw_maps
from vitviz.analysis.fine_tuning import body_of, describe_moved, judge_moved, measure_weight_changes
from vitviz.analysis.map_similarity import shared_mass
from vitviz.checkpoints import load_checkpoint, open_model
from vitviz.config import ViTConfig
from vitviz.data.dataset import DatasetError
from vitviz.data.preparation import prepare, seen_crop
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.attention import maps_view
from vitviz.plots.fine_tuning import moved_figure
from vitviz.probe.capture import capture
from vitviz.text import percent, plain, round_share
from vitviz.training.fine_tuning import SCRATCH, TITLES, TUNED
from vitviz.training.run_directory import Run

MATH = r"""
The weights of a layer, taken as one vector $w$, have moved by $\|w_{after} - w_{before}\| / \|w_{before}\|$: each model
is measured by its own beginning, and a higher learning rate alone takes it further.

The maps are the rows of the attention $A$ that the readout asks with ([CLS]; else the mean over all patches), the mean
of the heads of the last layer, the patches alone. **Shared mass** of two maps: $\sum_k \min(a_k, b_k)$, each made to
sum to 1.
"""


@dataclass(frozen=True)
class ChangeControls(widgets.ControlValues, page="fine_tuning"):
    """The seed whose models are opened, the test image that they look at, and which part is guessed to move most."""

    seed: int
    picture: int
    moved_guess: str


def draw() -> None:
    """Both images of the race on the stage, and what their numbers say."""
    gone = race_selection.adopt_linked()
    if gone:
        st.warning(gone, icon=":material/info:")
    run = race_selection.choose_race()
    if run is None or not all(len(member.snapshots()) > 1 for member in run.members()):
        st.info("Run a race first: its models are opened here once they have moved.", icon=":material/timer:")
        return
    if so_far := _describe_progress(run):
        st.info(so_far, icon=":material/timer:")
    seeds = tuple(range(len(run.members()) // 2))
    with page.row():
        seed = widgets.segmented(ChangeControls.key("seed"), "Seed", seeds) if len(seeds) > 1 else 0
        index = _choose_image(run)
    _draw_moved(run, seed)
    _draw_attention(run, seed, index)
    page.drawers("fine_tuning.changed", math=MATH, code=(measure_weight_changes, shared_mass))


def _describe_progress(run: Run) -> str:
    """Return which update the opened models stand at, where the race has not come to its end; else empty."""
    status = runs.read_status(run)
    if status.state == "done":
        return ""
    reached = sorted({member.snapshots()[-1] for member in run.members()})
    of = f" of {status.total_steps:,}" if status.total_steps else ""
    where = f"{'update' if len(reached) == 1 else 'updates'} {' or '.join(f'{step:,}' for step in reached)}"
    return f"This race has not ended: its models are opened as they were last kept, after {where}{of}."


def _draw_moved(run: Run, seed: int) -> None:
    found = {name: _measure_changes(*_load_ends(race_results.find_member(run, name, seed))) for name in TITLES}
    answered = _ask_prediction(run.id, found[TUNED])
    shown = found if answered else {SCRATCH: found[SCRATCH]}
    page.figure(moved_figure(shown, TITLES, selection.get_theme()), "fine_tuning.moved")
    alone = "This is the model from scratch; a guess shows the fine-tuned one."
    body, scratch = (
        race_results.find_member(run, name, seed).config().train.learning_rate for name in (TUNED, SCRATCH)
    )
    page.caption(describe_moved(found[TUNED], found[SCRATCH], (body, scratch)) if answered else alone)


def _ask_prediction(run_id: str, tuned: Mapping[str, float]) -> bool:
    """Asks which part of the backbone moves furthest; whether it may be shown. Of a frozen backbone there"
    " is nothing to ask."""
    body = body_of(tuned)
    if not any(body.values()):
        return True
    return prediction_gate.require_prediction(
        ChangeControls.key("moved_guess"),
        run_id,
        "Which part of the fine-tuned backbone moves furthest, measured by its own length?",
        {part: part for part in body},
        lambda guess: judge_moved(body, guess),
    )


def _load_ends(member: Run) -> tuple[str, str]:
    steps = member.snapshots()
    return str(member.snapshot_path(steps[0])), str(member.snapshot_path(steps[-1]))


@cached.shared(max_entries=32)
def _measure_changes(first: str, last: str) -> dict[str, float]:
    before, after = (next(iter(load_checkpoint(path).snapshots.values())) for path in (first, last))
    return measure_weight_changes(
        *({name: tensor.numpy() for name, tensor in state.items()} for state in (before, after))
    )


# ---------------------------------------------------------------- attention


def _choose_image(run: Run) -> int:
    try:
        count = len(cached.load_dataset(run.config().train.dataset).test_images)
    except DatasetError:
        return 0
    return int(widgets.number(ChangeControls.key("picture"), "Test image", 0, count - 1, 0))


def _draw_attention(run: Run, seed: int, index: int) -> None:
    tuned, scratch = (race_results.find_member(run, name, seed) for name in (TUNED, SCRATCH))
    config = tuned.config()
    able = abilities(config.model).heads_over_all
    if not able:
        page.caption(plain(able.why_not))
        return
    vit = as_vit(config.model)
    try:
        data = cached.load_dataset(config.train.dataset)
    except DatasetError as error:
        page.caption(plain(str(error)))
        return
    image = np.broadcast_to(data.test_images[index], (*data.test_images.shape[1:3], 3))
    prepared = prepare(np.ascontiguousarray(image), config.preparation)
    (first, last), (_, twin) = _load_ends(tuned), _load_ends(scratch)
    opened = {"Before": open_model(first), "After": open_model(last), "From scratch": open_model(twin)}
    found = {title: _compute_map(model, prepared.input[None]) for title, model in opened.items()}
    answers = [
        "its new head has learned nothing yet",
        *(f"says {_predict(opened[title], prepared.input[None])}" for title in ("After", "From scratch")),
    ]
    ground = seen_crop(np.ascontiguousarray(image), config.preparation)
    drawn = np.stack(list(found.values()))
    view = maps_view(ground, drawn, list(found), vit.grid, shared_scale=True, notes=answers)
    draw_maps(view, key="fine_tuning.attention")
    page.caption(_describe_prediction(found, data.classes[int(data.labels_of("test")[index])], vit))
    for name, member in (("Fine-tuned", tuned), ("From scratch", scratch)):
        selection.link_to(
            "attention",
            f"{name}, in the attention explorer",
            model=f"run:{member.id}",
            step=member.snapshots()[-1],
        )


def _compute_map(model: LoadedModel, inputs: np.ndarray) -> np.ndarray:
    """Return what the readout's rows of the last layer attend to, mean of the heads, the patches alone."""
    attention = capture(model.model, inputs, record=("blocks.*.attn",)).attention()[-1, 0].mean(axis=0)
    prefix = len(model.vit.config.prefix_tokens)
    rows = attention[:1] if model.vit.config.readout == "cls" else attention[prefix:]
    found: np.ndarray = rows[:, prefix:].mean(axis=0)
    return found


def _predict(model: LoadedModel, inputs: np.ndarray) -> str:
    logits = capture(model.model, inputs, record=("logits",)).logits[0]
    best = int(logits.argmax())
    return f"{model.classes[best]}, {percent(float(model.probabilities(logits)[best]), 0)}"


def _describe_prediction(found: dict[str, np.ndarray], label: str, vit: ViTConfig) -> str:
    before, after, twin = found.values()
    tokens = before.size + len(vit.prefix_tokens)
    kept, shared = (round_share(float(shared_mass(after, other)), 0) for other in (before, twin))
    return (
        f"The image is of class {plain(label)}. In layer {vit.depth} the fine-tuned model shares"
        f" {kept} of its attention to the patches with what it attended to before,"
        f" and {shared} with the model from scratch. One scale for all three: the"
        f" strongest weight is {percent(float(max(one.max() for one in found.values())))}, even attention would give"
        f" each of {tokens} tokens {percent(1 / tokens)}."
    )
