"""Ask a section's question before its measurement is shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from pages.questions import prediction_gate
from vitviz.lessons.question_kinds import Choose, MeasuredAnswer
from vitviz.probe.layers import Layer

MAX_OPTIONS = 8  # in a row: a deeper model's layers are grouped


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

    layers: Sequence[Layer]

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
