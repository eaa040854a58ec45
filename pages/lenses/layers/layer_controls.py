"""Select the second model and the enlarged layer, and ask a section's question before its measurement is shown."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.questions import prediction_gate
from pages.selection import selection, subject, substitutes
from pages.stores import shared_cache
from pages.views.register import RegisteredView
from vitviz.config import ModelConfig
from vitviz.lessons.question_kinds import Choose, MeasuredAnswer
from vitviz.models.abilities import abilities
from vitviz.plots.layers import Rows
from vitviz.probe.capture import limit_pools
from vitviz.probe.layers import LayerOutput, RecordedLayer, read_layer_outputs

SMALL_PX = 64
MAX_OPTIONS = 8  # in a row: a deeper model's layers are grouped


@shared_cache.per_image(shared=24, upload=6)
def read_layers(compared: subject.Subject) -> list[LayerOutput]:
    """Return every layer's output for the selected image."""
    height, width = compared.prepared.input.shape[-2:]
    # On busy cores, the waiting threads of a small model take forty times as long.
    with limit_pools(1 if max(compared.model.preparation.image_shape) <= SMALL_PX else None):
        captured = compared.capture(tuple(layer.record for layer in compared.layers))
    return read_layer_outputs(compared.model, captured.arrays, (height, width))


def choose_other(current: subject.Subject) -> subject.Subject:
    """Draw the control of the second model; return it on the same image."""
    models = selection.list_models()
    titles = {
        key: choice.title
        for key, choice in models.items()
        if key != current.choice.key and abilities(choice.config).layers
    }
    default = find_default_other(current, titles)
    widgets.follow_default("layers.other", default)
    with st.container(width=230):
        key = widgets.select(
            "layers.other",
            "Compare with",
            titles,
            default,
            help="By default a CNN if the sidebar's model is a transformer, and a ViT if it is a CNN.",
        )
    return subject.load_subject(models[key], None, current.image)


def find_default_other(current: subject.Subject, keys: Collection[str]) -> str:
    """Return the CNN nearest to a transformer, or the ViT nearest to a CNN, by channels, data, classes and size."""

    def fits(config: ModelConfig) -> bool:
        able = abilities(config)
        return bool(able.layers and (able.blocks if current.able.receptive_field else able.receptive_field))

    nearest = substitutes.find_nearest_model(fits).key
    return nearest if nearest in keys else next(iter(keys))


def draw_layers(
    view: RegisteredView, key: str, build_message: Callable[[int], bytes], counts: Sequence[int]
) -> int:
    """Mount a view of layers with the selected one enlarged; return its index.

    Args:
        build_message: packs the view's message for a selected layer.
        counts: the number of layers of each model; by default the first model's last layer is selected.
    """
    control = "layers.layer"
    widgets.follow_default(control, counts[0] - 1)
    widgets.resolve_option(control, range(sum(counts)), counts[0] - 1)
    selected = int(st.session_state[control])
    widgets.store_value(control, selected)
    view(
        build_message(selected),
        key=key,
        triggers=("pin", "layer"),
        on_change=partial(selection.apply_click, key, layer="layers.layer"),
    )
    return selected


def build_rows(
    models: Sequence[subject.Subject], selected: int, *, veil: float = 1.0, prefix: tuple[str, ...] = ()
) -> Rows:
    """Return the titles, photos and pin drawn with the layers of both models."""
    photos = [model.ground() for model in models]
    return Rows(
        [model.title for model in models], photos, selected, str(selection.get_current().pin), prefix, veil
    )


def ask_before_reveal(key: str, prompt: str, options: Sequence[str], answer: MeasuredAnswer) -> bool:
    """Ask a question; return True if the measurement may be shown. Another prompt is another question.

    Args:
        key: of the prediction: an option's index, 'shown' for none, '' while the question is open.
        answer: the right option and the sentence with its numbers.
    """
    return prediction_gate.create_choice(key, prompt, Choose(tuple(options)), lambda: answer).is_answered()


@dataclass(frozen=True)
class LayerOptions:
    """A model's layers as the options of a question; neighbours share an option if there are many."""

    layers: Sequence[RecordedLayer]

    @property
    def layers_per_option(self) -> int:
        """The number of layers in one option; the last option may hold fewer."""
        return -(-len(self.layers) // MAX_OPTIONS)

    @property
    def options(self) -> list[str]:
        """'layer 3', or 'layer 3 to layer 4'."""
        count = self.layers_per_option
        groups = [self.layers[i : i + count] for i in range(0, len(self.layers), count)]
        return [" to ".join(dict.fromkeys((group[0].title, group[-1].title))) for group in groups]

    def find_option(self, layers: Sequence[int], explanation: str) -> MeasuredAnswer:
        """Return the option of the first layer as the answer; options of the other layers are equally right."""
        first, *level = dict.fromkeys(layer // self.layers_per_option for layer in layers)
        return MeasuredAnswer(first, explanation, level=tuple(level))
