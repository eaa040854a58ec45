"""Collect, compare and format the settings of runs, and summarize them in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages.frame import run_panel
from pages.selection import selection
from pages.stores import catalogue, runs
from pages.train.lab import model_form, run_statistics
from pages.train.lab.model_form import FAMILIES
from vitviz.analysis.run_comparison import find_varying_names
from vitviz.config import SETTINGS, ViTConfig, to_dict
from vitviz.data.uploaded_datasets import hide_secret_name, is_uploaded
from vitviz.models.abilities import abilities, as_cnn, as_swin, as_vit
from vitviz.text import percent, plain, plural
from vitviz.training import lineup

if TYPE_CHECKING:
    from vitviz.config import ModelConfig, TrainConfig
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

NO_VALUE = "–"


def describe_differences(config: RunConfig, focus: Run | None) -> str:
    """Return a sentence about how the form differs from an active run, which it does not change."""
    if focus is None or not runs.read_status(focus).active:
        return ""
    running = focus.config()
    # 'threads=0' takes the free threads at the start, so it does not differ from a run that got them.
    names = [get_title(name) for name in find_differences(running, config.on_threads(running.train.threads))]
    if not names:
        return " The run shown uses these settings."
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f" It differs from the run shown in {', '.join(names[:4])}{more}."


def describe_config(config: RunConfig) -> str:
    train, models = config.train, config.members
    sizes = [run_statistics.count_parameters(member.model) for member in models] or [
        run_statistics.count_parameters(config.model)
    ]
    count = " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))
    optimizer = SETTINGS["optimizer"].format(train.optimizer)
    model_text = describe_model(config.model)
    if models:
        alike = len({describe_model(member.model) for member in models}) == 1
        each = f", each: {model_text}" if alike else ""
        titles = [member.title for member in models]
        escape = plain if lineup.is_lineup(config) else str  # titles may come from another user's link
        model_text = f"{len(models)} models ({', '.join(map(escape, titles))}){each}"
    if len({config.recipe(member) for member in models}) > 1:
        recipes = map(config.recipe, models)
        lengths = dict.fromkeys(f"{_describe_length(recipe)}{_describe_stops(recipe)}" for recipe in recipes)
        return f"{model_text}; {count} parameters; one recipe each: {'; '.join(lengths)}"
    length = f"{_describe_length(train)}{_describe_stops(train)}"
    recipe = f"{optimizer}, learning rate {train.learning_rate:g}, batch size {train.batch_size}, {length}"
    return f"{model_text}; {count} parameters; {recipe}"


def _describe_length(train: TrainConfig) -> str:
    """Return the length of a run: '1 epoch', '6.7 % of an epoch', '20 s'."""
    if train.epochs is None:
        return f"{train.seconds:g}{run_panel.NBSP}s"
    if train.epochs < 1:
        return f"{percent(train.epochs)} of an epoch"
    return f"{train.epochs:.4g} {'epoch' if train.epochs == 1 else 'epochs'}"


def _describe_stops(train: TrainConfig) -> str:
    """Return the early-stopping conditions as a clause, or ''."""
    conditions = []
    if train.stop_accuracy is not None:
        conditions.append(f"the validation accuracy reaches {percent(train.stop_accuracy)}")
    if train.patience is not None:
        conditions.append(
            f"{train.patience:g} {'epoch' if train.patience == 1 else 'epochs'} without improvement"
        )
    return f", or until {' or '.join(conditions)}" if conditions else ""


def describe_model(config: ModelConfig) -> str:
    model_abilities = abilities(config)
    if model_abilities.receptive_field:
        cnn = as_cnn(config)
        kind = "plain" if cnn.pooled else "residual"
        return f"CNN, {_join_numbers(cnn.blocks)} {kind} blocks of {_join_numbers(cnn.widths)} channels"
    if model_abilities.heads_over_all:
        return _describe_vit(as_vit(config))
    if model_abilities.windows:
        swin = as_swin(config)
        windows = f"windows of {swin.window_size} × {swin.window_size} tokens"
        return f"Swin, {windows}, {_join_numbers(swin.depths)} layers, width {swin.embed_dim}"
    return FAMILIES[config.family]


def _describe_vit(config: ViTConfig) -> str:
    rows, cols = config.grid
    patches = f"{rows} × {cols} {'patch' if rows * cols == 1 else 'patches'} of {config.patch_size} px"
    layers = f"{plural(config.depth, 'layer')} of {plural(config.num_heads, 'head')}"
    name = {"vit": "ViT", "deit": "DeiT", "hybrid": "Hybrid"}[config.family]
    return f"{name}, {patches}, width {config.embed_dim}, {layers}"


def _join_numbers(values: tuple[int, ...]) -> str:
    return "–".join(map(str, values))


def collect_settings(config: RunConfig) -> dict[str, Any]:
    """Return all settings of a run by their names in the config; 'model' is the family."""
    model, train = to_dict(config.model), to_dict(config.train)
    return {"model": model.pop("kind")} | model | {k: v for k, v in train.items() if k != "kind"}


def find_differences(*configs: RunConfig) -> list[str]:
    """Return the names of the settings in which configs differ."""
    return [
        name
        for name in find_varying_names([collect_settings(config) for config in configs])
        if name != "kind"
    ]


def get_title(name: str) -> str:
    """Return a setting's column title: 'MLP ratio'."""
    return SETTINGS[name].label if name in SETTINGS else name.capitalize()


def format_setting(name: str, setting: Any) -> str:
    """Format a setting's value as in the form: 'Digits', 'AdamW', 'on'; '–' if there is none."""
    if setting is None or setting == () or setting == []:
        return NO_VALUE
    if name == "dataset":
        return hide_secret_name(setting) if is_uploaded(setting) else catalogue.get_dataset_title(setting)
    if name == "model":
        return model_form.KINDS.get(setting, str(setting))
    if name == "distill_from":
        return _format_teacher(str(setting))
    if name == "frozen" and len(setting) > 1:
        return "backbone"
    return f"{setting:.4g}" if isinstance(setting, float) else SETTINGS[name].format(setting)


def _format_teacher(path: str) -> str:
    """Return a teacher's title; users should not see its path."""
    key = model_form.find_teacher_key(path)
    return "deleted model" if key is None else selection.list_models()[key].title
