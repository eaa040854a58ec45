"""What a config trains, in a line or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.stores import runs
from pages.train.lab import fields, numbers, run_view, settings
from pages.train.lab.model_form import FAMILIES
from vitviz.config import ViTConfig
from vitviz.models.abilities import abilities, as_cnn, as_swin, as_vit
from vitviz.text import percent, plain, plural
from vitviz.training import lineup

if TYPE_CHECKING:
    from vitviz.config import ModelConfig, TrainConfig
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run


def beside(config: RunConfig, focus: Run | None) -> str:
    """What sets the controls apart from a run that is under way: they never change it, they start another."""
    if focus is None or not runs.status(focus).active:
        return ""
    now = focus.config()
    # One that asks for the free threads differs by none from one that got them.
    names = [fields.label(name) for name in settings.unlike(now, config.on_threads(now.train.threads))]
    if not names:
        return " These are the settings of the run on the stage."
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f" The run on the stage goes on as it is; the new one differs in {', '.join(names[:4])}{more}."


def describe(config: RunConfig) -> str:
    """One line about what a config trains."""
    train, models = config.train, config.members
    sizes = [numbers.parameters(member.model) for member in models] or [numbers.parameters(config.model)]
    count = " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))
    optimizer = fields.OPTIMIZERS[train.optimizer]
    words = model_words(config.model)
    if models:
        alike = len({model_words(member.model) for member in models}) == 1
        each = f", each a {words}" if alike else ""
        titles = [member.title for member in models]
        named = plain if lineup.is_lineup(config) else str  # a visitor's words, or a stranger's of a link
        words = f"{len(models)} models in turn ({', '.join(map(named, titles))}){each}"
    if len({config.recipe(member) for member in models}) > 1:
        recipes = map(config.recipe, models)
        lengths = dict.fromkeys(f"{_length(recipe)}{_until(recipe)}" for recipe in recipes)
        return f"{words}; {count} parameters; each by its own recipe: {'; '.join(lengths)}"
    how = f"{optimizer} at {train.learning_rate:g}, batch {train.batch_size}, {_length(train)}{_until(train)}"
    return f"{words}; {count} parameters; {how}"


def _length(train: TrainConfig) -> str:
    """How long a run lasts: '1 epoch', '6.7 % of an epoch', '20 s'."""
    if train.epochs is None:
        return f"{train.seconds:g}{run_view.NBSP}s"
    if train.epochs < 1:
        return f"{percent(train.epochs)} of an epoch"
    return f"{train.epochs:.4g} {'epoch' if train.epochs == 1 else 'epochs'}"


def _until(train: TrainConfig) -> str:
    """What ends it before its time."""
    said = []
    if train.stop_accuracy is not None:
        said.append(f"{percent(train.stop_accuracy)} of the held-out pictures are right")
    if train.patience is not None:
        said.append(
            f"{train.patience:g} {'epoch brings' if train.patience == 1 else 'epochs bring'} nothing better"
        )
    return f", or until {' or '.join(said)}" if said else ""


def model_words(config: ModelConfig) -> str:
    """A model in a few words."""
    able = abilities(config)
    if able.receptive_field:
        cnn = as_cnn(config)
        kind = "plain" if cnn.pooled else "residual"
        return f"CNN: {_listed(cnn.blocks)} {kind} blocks of {_listed(cnn.widths)} channels"
    if able.heads_over_all:
        return _vit_words(as_vit(config))
    if able.windows:
        swin = as_swin(config)
        windows = f"windows of {swin.window_size} × {swin.window_size} tokens"
        return f"Swin: {windows}, {_listed(swin.depths)} layers, width {swin.embed_dim}"
    return FAMILIES[config.family]


def _vit_words(config: ViTConfig) -> str:
    rows, cols = config.grid
    patches = f"{rows} × {cols} {'patch' if rows * cols == 1 else 'patches'} of {config.patch_size} px"
    layers = f"{plural(config.depth, 'layer')} of {plural(config.num_heads, 'head')}"
    name = {"vit": "ViT", "deit": "DeiT", "hybrid": "Hybrid"}[config.family]
    return f"{name}: {patches}, width {config.embed_dim}, {layers}"


def _listed(values: tuple[int, ...]) -> str:
    return "–".join(map(str, values))
