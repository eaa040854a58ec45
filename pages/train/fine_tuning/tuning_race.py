"""Run the race: fine-tuning against training from scratch, predicted first and then trained live."""

from functools import partial

import streamlit as st

from pages.controls import downloads, query_params
from pages.frame import page, run_panel, run_start
from pages.selection import selection
from pages.stores import catalogue, own_weights, runs, session, shared_cache
from pages.train.fine_tuning import kept_parameters, race_controls, race_results
from pages.train.fine_tuning.race_controls import RaceSettings, TuningControls
from pages.views.figures import draw_race
from vitviz.analysis import fine_tuning as analysis
from vitviz.analysis.verdict import Verdict
from vitviz.checkpoint_header import CheckpointError
from vitviz.data.uploaded_datasets import is_uploaded
from vitviz.experiments.result_file import read_result_if_any
from vitviz.models.backbone_transfer import transferred
from vitviz.models.vit import resize_positions
from vitviz.plots import fine_tuning as plots
from vitviz.text import percent, plain, plural
from vitviz.training.fine_tuning_race import TITLES, BackboneSource, race, recipes
from vitviz.training.optimizers import rate_scales
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status
from vitviz.training.start_weights import start_file

RECORDED_IMAGES = 200  # of the stored race: 20 per class
GUESSES = {"tuned": "Fine-tuned", "scratch": "From scratch", "neither": "No difference shown"}
_OUTCOMES = {"higher": "tuned", "lower": "scratch", "no difference shown": "neither"}
STORED = "Training stores your weights on this server until you delete the run in the live lab's table."
RANDOM = (
    "At this step the weights are random. Choose a later step in the sidebar to fine-tune a pretrained model."
)
_GUESS = "fine_tuning._guess"


def draw() -> None:
    run_start.adopt_linked_run(TuningControls.key("run"))
    chosen = race_controls.draw()
    run = race_results.choose_race()
    if run is not None:
        run_start.follow([run], partial(run_panel.draw, run, _draw_results))
    if isinstance(chosen, str):
        st.error(chosen, icon=":material/block:")
    else:
        _draw_setup(chosen)
    if run is None:
        _draw_recorded()
    page.findings("fine_tuning", is_open=True)
    _draw_drawers(run)


# ---------------------------------------------------------------- before the start


def _draw_recorded() -> None:
    """Draw a stored race until the first of the user's own: its range, and after a prediction its curves."""
    stored = read_result_if_any("transfer")
    if stored is None:
        st.caption("No results yet. Predict, then train both models.")
        return
    epochs = stored.settings["updates"] * stored.settings["batch_size"] / RECORDED_IMAGES
    groups = race_results.load_recorded(stored, epochs)
    guess = st.session_state.get(_GUESS)
    message = plots.learning(
        groups, 0.1, epochs, "", images=stored.settings["test_pictures"], concealed=guess is None
    )
    draw_race(message, key="fine_tuning.recorded")
    page.caption(
        f"Stored experiment with MNIST ViT, {RECORDED_IMAGES} digits and {plural(len(groups[0].tests), 'seed')}; your"
        " settings are used when you train."
    )
    if guess is not None:
        page.markdown(
            _describe_prediction(guess, analysis.compare_groups(*groups, stored.settings["test_pictures"]))
        )
        page.caption(analysis.describe_test_accuracies(*groups, stored.settings["test_pictures"]))


def _draw_setup(chosen: RaceSettings) -> None:
    """Draw the model's parts, and below them the question and the start."""
    if refusal := race_controls.explain_refusal(chosen):
        st.error(f"This cannot be trained: {plain(refusal)}.", icon=":material/block:")
        return
    _offer_colour(chosen)
    if catalogue.is_random(chosen.source, chosen.step):
        st.warning(RANDOM, icon=":material/casino:")
    if chosen.source.key.startswith(own_weights.KEY):
        page.caption(STORED)
    kept_parameters.draw(chosen)
    images = plural(chosen.task.images, "training image")
    st.markdown(f"**Predict, then train: which model has the higher test accuracy with {images}?**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _draw_question(chosen)


def _draw_question(chosen: RaceSettings) -> None:
    guess = st.segmented_control(
        "Which model has the higher test accuracy?",
        tuple(GUESSES),
        format_func=GUESSES.__getitem__,
        key=_GUESS,
        width="content",
        label_visibility="collapsed",
    )
    why_not = "predict first" if guess is None else ""
    run_start.draw_start_button("Train both models", chosen, _start_race, guess, why_not=why_not)


def _offer_colour(chosen: RaceSettings) -> None:
    """Offer a colour backbone if the user's images have colour and the selected one reads grey images."""
    key = race_controls.choose_default_backbone(colour=True)
    grey = chosen.source.preparation.in_chans == 1
    if key is None or not (grey and chosen.in_colour and is_uploaded(chosen.task.dataset)):
        return
    st.info(f"These images have colour; {chosen.source.shown} takes grey images.", icon=":material/palette:")
    label = f"Use {race_controls.list_backbones()[key].shown} instead"
    st.button(label, key="fine_tuning._colour", on_click=TuningControls.change, kwargs={"source": key})


def _start_race(chosen: RaceSettings, guess: str) -> None:
    """Start the race with a copy of the initial weights and display it (a callback)."""
    try:
        model = shared_cache.load_model(chosen.source, chosen.step)
        source = BackboneSource(chosen.source.title, model.digest, model.config, model.preparation)
        config, weights = race(source, chosen.task, chosen.method), start_file(model)
    except (CheckpointError, OSError, ValueError) as error:
        run_start.set_notice(f"The run could not start: {error}.")
    except KeyError:
        run_start.set_notice(
            "The run could not start: these weights were deleted or have expired on this server."
        )
    else:
        run_start.start_and_show(config, partial(_show_started, guess), start=weights)


def _show_started(guess: str, run: Run) -> None:
    session.get_current().notes[_get_prediction_key(run)] = guess
    st.session_state[_GUESS] = None
    query_params.request_value(TuningControls.key("run"), run.id)


def _get_prediction_key(run: Run) -> str:
    return f"fine_tuning.guess.{run.id}"


# ---------------------------------------------------------------- the displayed race


def _draw_results(run: Run, status: Status) -> None:
    config = run.config()
    tuned, scratch = race_results.load_groups(run)
    frozen = race_results.fit_probe(run) if status.state == "done" else None
    chance, waiting = 1 / config.model.num_classes, runs.describe_missing_curve(status)
    groups, images = [tuned, scratch], race_results.count_test_images(run)
    groups += [frozen.group] if frozen else []
    message = plots.learning(groups, chance, config.train.epochs or 1.0, waiting, images=images)
    draw_race(message, key="fine_tuning.learning")
    accuracies = analysis.describe_test_accuracies(tuned, scratch, images)
    if accuracies:
        missing = race_results.TOO_MANY_IMAGES if status.state == "done" else ""
        probe = frozen.describe() if frozen else missing
        guess = session.get_current().notes.get(_get_prediction_key(run))
        if verdict := _describe_prediction(guess, analysis.compare_groups(tuned, scratch, images)):
            page.markdown(verdict)
        page.caption(f"{accuracies} {probe}")
    else:
        page.caption(_describe_setup(config))
    if not status.active:
        selection.link_to("live_lab", "Open its models in the live lab", **{"live_lab.run": run.id})


def _describe_setup(config: RunConfig) -> str:
    """Describe the settings that both models share, and their learning rates."""
    tuned, scratch = (config.recipe(race_results.find_first_seed(config, name)) for name in TITLES)
    seeds = plural(len(config.members) // 2, "seed")
    batch = plural(tuned.batch_size, "image")
    head = tuned.head_learning_rate or tuned.learning_rate
    decay = f", times {tuned.layer_decay:g} per layer below the head," if tuned.layer_decay != 1 else ""
    backbone = "frozen backbone" if tuned.frozen else f"{tuned.learning_rate:g} for the backbone{decay}"
    return (
        f"{seeds} each; both models train on the same images in the same order, in batches of {batch}. Learning rates:"
        f" fine-tuned {backbone} and {head:g} for the head, from scratch {scratch.learning_rate:g}."
    )


def _describe_prediction(guess: object, verdict: Verdict | None) -> str:
    if not isinstance(guess, str) or guess not in GUESSES or verdict is None:
        return ""
    measured = (
        f"no verdict ({verdict.reason})" if verdict.outcome is None else GUESSES[_OUTCOMES[verdict.outcome]]
    )
    return f"Your prediction: {GUESSES[guess].lower()}. Measured: {measured.lower()}."


def _draw_drawers(run: Run | None) -> None:
    page.drawers(
        "fine_tuning",
        math=page.read_math(__file__),
        code=(transferred, resize_positions, rate_scales, recipes),
        numbers=None if run is None else partial(_draw_table, run),
    )


def _draw_table(run: Run) -> None:
    from vitviz.data.uploaded_datasets import hide_secret_name

    columns: dict[str, list[object]] = {"model": [], "seed": [], "initial weights": [], "test accuracy": []}
    curves: dict[str, list[object]] = {"model": [], "seed": [], "epoch": [], "validation accuracy": []}
    for group in race_results.load_groups(run):
        for seed, points in enumerate(group.curves):
            config = race_results.find_member(run, group.name, seed).config()
            columns["model"].append(group.title)
            columns["seed"].append(seed)
            columns["initial weights"].append(config.train.start_from or "random weights")
            columns["test accuracy"].append(group.tests[seed] if group.tests else None)
            for epoch, accuracy in points.T:
                row = (group.title, seed, float(epoch), float(accuracy))
                for name, cell in zip(curves, row, strict=True):
                    curves[name].append(cell)
    styled = page.style_table(columns, {"test accuracy": percent})
    st.dataframe(styled, hide_index=True, placeholder=page.MISSING)
    train = run.config().train
    page.caption(
        f"Dataset: {hide_secret_name(train.dataset)}. Digest of the backbone: {train.start_digest or 'none'}."
    )
    downloads.csv("Test accuracies (CSV)", columns, "fine_tuning_test.csv", "fine_tuning.csv_test")
    downloads.csv("Curves (CSV)", curves, "fine_tuning_curves.csv", "fine_tuning.csv_curves")
