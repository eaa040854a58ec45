"""Draw the race's controls and return its settings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import downloads, popover, query_params, widgets
from pages.frame import page
from pages.selection import selection, upload
from pages.stores import own_weights, published_weights, recorded_runs, session, shared_cache, user_datasets
from pages.stores.model_choice import ModelChoice
from vitviz.config import CNNConfig, ModelConfig, ViTConfig, name_fields
from vitviz.config_fields import join_size
from vitviz.data.dataset import DatasetError, validation_split
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.data.image_decoding import some_in_colour
from vitviz.data.letters import LETTERS, TEST, TRAIN, letters_zip
from vitviz.data.uploaded_datasets import is_uploaded
from vitviz.models.abilities import abilities
from vitviz.models.backbone_transfer import fitted
from vitviz.text import plain
from vitviz.training.batches import SPLIT_SEED
from vitviz.training.fine_tuning_race import BackboneSource, Body, TargetTask, TuningMethod, recipes
from vitviz.training.run_size import MAX_PARAMETERS, parameters
from vitviz.upload_limits import DATASET_ZIP_BYTES

FIRST = "checkpoint:mnist_vit"  # gains most on digits, the dataset that is always available
# For uploaded colour images: a grey backbone would lose their colours.
FIRST_IN_COLOUR = "checkpoint:cifar10_vit"
SIZES = (2, 5, 10, 20, 50, 100)  # images a class
ALL = 0
PHOTOS = ("cifar10", "cifar100")  # datasets of colour photos that a backbone may be trained on
A_FEW = 20
DRAWN = ("digits", "mnist")  # for these a digit backbone keeps centring its input
NONE_HERE = "No trained model is available. Train one in the live lab first."
BODIES: dict[Body, str] = {"all": "Backbone and head", "head": "Head alone"}
SMALL_RATES = (3e-4, 1e-3)  # backbone and head of a small ViT trained on few images
# For other models: after 100 updates on MNIST with 20 images per class, the digits CNN reaches 94 % and the Swin 89 %
# at these rates, but 79 and 76 % at the ViT's; on digits the CIFAR-10 CNN rises from 93 to 98 %, the Swin from 79 to
# 95 %. Validation accuracy, two seeds.
OTHER_RATES = (1e-3, 1e-2)
CNN_SCRATCH_RATE = 3e-3  # digits' on MNIST: 87 %, 69 at 1e-3; CIFAR-10's on digits: 99 at both
LESSON_RATES = (1e-5, 1e-3)  # the lecture's, for published weights
# For a head alone: after 100 updates on digits with 20 images per class, MNIST's ViT reaches 55 % at 1e-3 and 98 % at
# this rate, CIFAR-10's ViT 24 and 78 %, its CNN 64 and 92 %: means of three seeds.
ALONE_RATE = 0.03
SHIFT_PX = 2  # largest shift of augmented images
FLIPPED = ("cifar", "fashion")  # prefixes of datasets whose classes are invariant to mirroring
WIDE = (
    128  # at this width or more a ViT from scratch is better at half the rate (digits, 20 images per class)
)
UPLOAD_SIDE_PX = 32
ZIP = "A zip with one folder per class, or with folders *train* and *test* that hold one folder per class"
_REFUSED = "fine_tuning._refused"


@dataclass(frozen=True)
class TuningControls(widgets.ControlValues, page="fine_tuning"):
    """The backbone, the dataset and its images per class, and the displayed run."""

    source: str  # a model's key
    dataset: str
    a_class: int  # images; 0: all
    run: str


@dataclass(frozen=True)
class MethodControls(widgets.ControlValues, page="fine_tuning"):
    body: str
    larger: int  # factor of the resolution
    rate: float
    head_rate: float
    layer_decay: float
    scratch_rate: float
    updates: int
    batch: int
    seeds: int
    moved: bool  # augmentation: images are shifted and flipped


@dataclass(frozen=True)
class RaceSettings:
    source: ModelChoice
    step: int
    in_colour: bool  # True if the dataset's images have colour
    task: TargetTask
    held_out: int  # validation images
    method: TuningMethod


def list_backbones() -> dict[str, ModelChoice]:
    """Return the pretrained models that can get a new head and are small enough to train here, by key."""
    return {
        key: choice
        for key, choice in selection.list_models().items()
        if choice.trained_on is not None
        and not recorded_runs.is_recorded(choice)
        and abilities(choice.config).new_head
        and parameters(choice.config) <= MAX_PARAMETERS
    }


_SOURCE_PX = 190  # of the control, so that a title stands whole


def draw() -> RaceSettings | str:
    """Draw the controls; return their settings, or an error message."""
    if not list_backbones():
        return NONE_HERE
    with page.row():
        start_column = st.container(width=_SOURCE_PX)
        dataset = _choose_dataset()
        with start_column:
            source = _choose_backbone(dataset)
        try:
            counts, held_out = count_training_images(dataset)
        except DatasetError as error:
            return plain(str(error))
        a_class = _choose_class_size(counts)
        method = _choose_method(source, dataset)
        draw_upload(TuningControls.key("dataset"))
    task = _make_task(dataset, counts, a_class)
    current = selection.get_current()
    step = current.step if source.key == current.model else source.last_step
    if isinstance(method, str):
        return method
    return RaceSettings(source, step, has_colour(dataset), task, held_out, method)


def _make_task(dataset: str, counts: Sequence[int], a_class: int) -> TargetTask:
    limit = None if a_class == ALL else a_class
    total = sum(counts) if limit is None else sum(min(limit, count) for count in counts)
    return TargetTask(dataset, len(counts), total, limit, get_held_out_share(dataset), dataset in DRAWN)


def _choose_backbone(dataset: str) -> ModelChoice:
    backbones = list_backbones()
    selected = selection.get_current().model
    needs_colour = is_uploaded(dataset) and has_colour(dataset)
    preferred = (choose_default_backbone(needs_colour) if selection.is_default_model() else None) or selected
    widgets.follow_default(TuningControls.key("source"), preferred)
    key = widgets.select(
        TuningControls.key("source"),
        "Start from",
        {key: choice.title for key, choice in backbones.items()},
        preferred,
        help="Starts from a model's last step; the sidebar's model starts from the step selected there.",
    )
    return backbones[key]


def choose_default_backbone(colour: bool) -> str | None:
    """Return the key of the default backbone; for colour images one trained on photos, None if there is none."""
    backbones = list_backbones()
    first = FIRST_IN_COLOUR if colour else FIRST
    if first in backbones:
        return first
    photos = [choice for choice in backbones.values() if choice.trained_on in PHOTOS]
    best = max(photos, key=lambda choice: choice.accuracy or 0.0, default=None)
    return best.key if colour and best is not None else None


def has_colour(name: str) -> bool:
    """Return True if a dataset's images have colour; uploads always have three channels, so pixels are compared."""
    try:
        dataset = shared_cache.load_dataset(name)
    except DatasetError:
        return False  # deleted or expired: `draw` shows the error
    return some_in_colour(dataset.train_images) if is_uploaded(name) else dataset.picture_shape[2] == 3


def _choose_dataset() -> str:
    uploads = user_datasets.list_datasets(session.get_current())

    def format_title(name: str) -> str:
        return f"Yours: {uploads[name].title}" if name in uploads else DATASETS[name].title

    names = [*uploads, *(name for name in available_datasets() if name != "cifar100")]
    first = names[0] if uploads else "digits"
    widgets.follow_default(TuningControls.key("dataset"), first)
    return widgets.select(
        TuningControls.key("dataset"), "Target dataset", names, first, format_func=format_title
    )


def _choose_class_size(counts: Sequence[int]) -> int:
    sizes = [size for size in SIZES if size < max(counts)]
    default = A_FEW if A_FEW in sizes else ALL
    return widgets.select_slider(
        TuningControls.key("a_class"),
        "Images per class",
        (*sizes, ALL),
        default,
        format_func=lambda size: "all" if size == ALL else f"{size}",
        help="The first images of the shuffled training set; a class with fewer images uses all.",
    )


def get_held_out_share(dataset: str) -> float:
    """Return the validation share of a training set: more of a small one, for a curve with less noise."""
    return 0.2 if is_uploaded(dataset) else 0.1 if not DATASETS[dataset].needs_file else 0.04


def count_training_images(dataset_name: str) -> tuple[tuple[int, ...], int]:
    """Return the number of training images of each class, and the number of validation images.

    Raises:
        DatasetError: if the dataset was deleted or has expired.
    """
    dataset = shared_cache.load_dataset(dataset_name)
    train_indices, held_out = validation_split(dataset, get_held_out_share(dataset_name), SPLIT_SEED)
    counts = np.bincount(dataset.labels_of("train")[train_indices], minlength=len(dataset.classes))
    return tuple(counts.tolist()), len(held_out)


def _choose_method(source: ModelChoice, dataset: str) -> TuningMethod | str:
    is_published = source.key.startswith((published_weights.KEY, own_weights.KEY))
    with page.options("fine_tuning"):
        body, larger = _choose_trained_part(source)
        small = SMALL_RATES if isinstance(source.config, ViTConfig) else OTHER_RATES
        rates = _choose_rates(source, LESSON_RATES if is_published else small, body)
        updates = widgets.number(MethodControls.key("updates"), "Updates of each model", 10, 1000, 100)
        batch = widgets.number(MethodControls.key("batch"), "Batch size", 4, 128, 16)
        seeds = widgets.segmented(
            MethodControls.key("seeds"),
            "Seeds",
            (1, 2, 3),
            3,
            help="Seeds set the initial weights and the order of images; the images stay the same.",
        )
        moved = widgets.toggle(
            MethodControls.key("moved"),
            "Augment images",
            help=f"Shifts images by up to {SHIFT_PX} px; also flips CIFAR and Fashion-MNIST images.",
        )
    try:
        return TuningMethod(
            body,
            join_size([larger * side for side in source.config.image_shape]),
            *rates,
            updates,
            batch,
            seeds,
            flip=moved and dataset.startswith(FLIPPED),
            shift_px=SHIFT_PX if moved else 0,
        )
    except ValueError as error:
        return f"This cannot be trained: {plain(str(error))}."


def _choose_trained_part(source: ModelChoice) -> tuple[Body, int]:
    body = widgets.segmented(
        MethodControls.key("body"),
        "Trained part",
        BODIES,
        help="Head alone: logistic regression on the frozen backbone's features.",
    )
    refusal = abilities(source.config).larger_images.why_not or None
    larger = widgets.segmented(
        MethodControls.key("larger"),
        "Resolution",
        (1, 2),
        format_func=lambda times: f"× {times}",
        why_not=refusal,
    )
    return body, 1 if refusal else larger


def _choose_rates(
    source: ModelChoice, start: tuple[float, float], body: Body
) -> tuple[float, float, float, float]:
    """Return the learning rates of backbone and head, the layer-wise decay, and the rate from scratch."""
    frozen = "Disabled: the backbone is frozen." if body == "head" else None
    head_rate = ALONE_RATE if body == "head" else start[1]
    scratch = _get_scratch_rate(source.config)
    rates = []
    for name, label, default, step, why_not in (
        ("rate", "Learning rate of the backbone", start[0], 1e-5, frozen),
        ("head_rate", "Learning rate of the head", head_rate, 1e-4, None),
        ("layer_decay", "Layer-wise decay", 1.0, 0.05, frozen),
        ("scratch_rate", "Learning rate from scratch", scratch, 1e-4, None),
    ):
        widgets.follow_default(MethodControls.key(name), default)
        rates.append(widgets.real(MethodControls.key(name), label, default, step, why_not=why_not))
    return rates[0], rates[1], rates[2], rates[3]


def _get_scratch_rate(config: ModelConfig) -> float:
    if isinstance(config, CNNConfig):
        return CNN_SCRATCH_RATE
    return 5e-4 if getattr(config, "embed_dim", 0) >= WIDE else 1e-3


def explain_refusal(chosen: RaceSettings) -> str:
    """Return why these settings cannot be trained, or '' if they can."""
    source = chosen.source
    try:
        model = fitted(source.config, chosen.task.classes, chosen.method.image_size)
        named = BackboneSource(source.title, "unread", source.config, source.preparation)
        recipes(named, model, chosen.task, chosen.method, seed=0)
    except ValueError as error:
        return name_fields(str(error))
    if chosen.task.images < 2 * chosen.task.classes:
        return "expected at least two training images per class"
    return ""


def draw_upload(control: str) -> None:
    """Draw the popover that uploads a dataset; `control` is the key of the widget that then selects it."""
    with popover.draw_popover("Your images", "upload", "fine_tuning.pictures"):
        if popover.is_closed():
            return
        _add_letters(control)
        st.divider()
        file = upload.receive_zip("fine_tuning._zip", ZIP, DATASET_ZIP_BYTES)
        if refused := st.session_state.get(_REFUSED):
            st.error(plain(refused), icon=":material/block:")
        if file is not None:
            _store_dataset(file.data, file.name.removesuffix(".zip"), control)
            st.rerun()
        st.caption(user_datasets.PRIVACY)
        _draw_removal()


def _add_letters(control: str) -> None:
    names = ", ".join(LETTERS)
    counts = f"{TRAIN} training and {TEST} test images of each letter: {names}."
    if st.button(
        "Generate images of three letters",
        key="fine_tuning._draw",
        icon=":material/draw:",
        help=counts,
        width="stretch",
    ):
        _store_dataset(letters_zip(), f"letters {names}", control)
        st.rerun()
    downloads.download("Download as a zip", letters_zip, "letters.zip", "fine_tuning._letters")


def _store_dataset(zip_bytes: bytes, title: str, control: str) -> None:
    st.session_state.pop(_REFUSED, None)
    try:
        with st.spinner("Reading the images …"):
            note = user_datasets.store_dataset(
                session.get_current(), zip_bytes, title, UPLOAD_SIDE_PX, address=session.get_address()
            )
    except DatasetError as error:
        st.session_state[_REFUSED] = str(error)
        return
    query_params.request_value(control, note.name)


def _draw_removal() -> None:
    datasets = user_datasets.list_datasets(session.get_current())
    if not datasets:
        return
    name = st.selectbox(
        "Your dataset", list(datasets), format_func=lambda key: datasets[key].title, key="fine_tuning._set"
    )
    st.button(
        "Delete images",
        key="fine_tuning._remove",
        icon=":material/delete:",
        on_click=upload.remove_dataset,
        args=(name, _REFUSED),
    )
