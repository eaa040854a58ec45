"""The filters of a model's first layer at every snapshot: E of a ViT or Swin, the first convolution of others."""

from dataclasses import dataclass, replace

import numpy as np

from pages.selection import selection
from pages.stores import catalogue, parameter_history, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.stores.parameter_history import ParameterHistory
from vitviz.analysis import filters
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.data.datasets import data_title, default_pictures
from vitviz.models.abilities import abilities, as_cut
from vitviz.models.zoo import create_model
from vitviz.probe.capture import as_array

SEED, IMAGES = 0, 200
MAX_DRAWS, DRAWN_WEIGHTS = 100, 100_000  # of random filters; large ones vary so little that few draws suffice

measure_smoothness = shared_cache.shared(max_entries=64)(filters.measure_filters)


@dataclass(frozen=True, eq=False)
class FilterHistory:
    """A model's filters (D, C, P, P) at every snapshot."""

    title: str
    note: str
    history: ParameterHistory
    trained: bool


def cuts_patches(config: ModelConfig) -> bool:
    """Return True if a model's first layer is one projection of patches."""
    return isinstance(config, ViTConfig | SwinConfig) and not abilities(config).stem


def get_parameter_name(config: ModelConfig) -> str:
    """Return the name of the filters' parameter in a model that has `abilities.filters`."""
    if cuts_patches(config):
        return "patch_embed.proj.weight"
    return "patch_embed.stem.0.weight" if abilities(config).stem else "stem.0.weight"


def load_filters(choice: ModelChoice, step: int | None) -> FilterHistory:
    """Load a model's filters at all snapshots; `step` (None: the last) is selected."""
    name = get_parameter_name(choice.config)
    history = parameter_history.read_history(choice, name, choice.last_step if step is None else step)
    trained = choice.trained_on is not None
    dataset = catalogue.get_dataset_title(choice.trained_on) if choice.trained_on else ""
    note = f"trained on {dataset}" if dataset else "random weights"
    if dataset and choice.title.startswith(dataset):  # stands above the note
        note = ""
    if history is None:
        nouns = selection.get_current()
        loaded = shared_cache.load_model(choice, nouns.step if choice.key == nouns.model else None)
        history = ParameterHistory([as_array(loaded.model.get_parameter(name))])
    return FilterHistory(choice.title, note, history, trained)


@shared_cache.shared(max_entries=16)
def load_patches(choice: ModelChoice) -> tuple[str, filters.FloatArray] | None:
    """Return a title and the patches (N, C, P, P) of test images like those that a model learned from; None without."""
    cut = as_cut(choice.config)
    name = default_pictures(choice.trained_on, cut.in_chans)
    images = shared_cache.load_dataset(name).test_images[:IMAGES]
    if images.shape[1:] != (*cut.image_shape, cut.in_chans):
        return None
    pixels = (images.reshape(*images.shape[:3], -1) / 255).transpose(0, 3, 1, 2).astype(np.float32)
    patches = np.concatenate([filters.cut_patches(image, cut.patch_size) for image in pixels])
    return f"{len(pixels)} images of {data_title(name)}", patches


def subtract_first_snapshot(model: FilterHistory) -> FilterHistory:
    """Return the change of the filters since the first snapshot; needs two snapshots or more."""
    return replace(
        model, note=f"{model.note}, minus its first snapshot", history=model.history.subtract_first()
    )


@shared_cache.shared(max_entries=16)
def create_random_filters(config: ModelConfig) -> FilterHistory:
    """Initialize filters of the same shape with a fixed seed."""
    # One block suffices for E, and initializing a large ViT takes seconds.
    small = replace(config, depth=1) if isinstance(config, ViTConfig) else config
    weights = as_array(create_model(small, seed=SEED).get_parameter(get_parameter_name(config)))
    history = ParameterHistory([weights])
    return FilterHistory("Random weights", f"before any training · seed {SEED}", history, trained=False)


def measure_first_share(weights: filters.FloatArray) -> float:
    """Measure the share of the variance of filters (D, C, P, P) that their first component explains."""
    flat = weights.reshape(len(weights), -1)
    centred = flat - flat.mean(axis=0)
    return float((np.linalg.norm(centred, 2) / np.linalg.norm(centred)) ** 2)


@shared_cache.shared(max_entries=64)
def measure_random_share(shape: tuple[int, int, int, int]) -> float:
    """Measure the largest share of the first component among random Gaussian filters (D, C, P, P).

    Few small filters have a strong first component by chance, so a share means little without this bound.
    """
    generator = np.random.default_rng(SEED)
    draws = max(3, min(MAX_DRAWS, DRAWN_WEIGHTS // int(np.prod(shape))))
    return max(measure_first_share(generator.standard_normal(shape)) for _ in range(draws))
