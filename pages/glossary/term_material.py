"""Load the model and the image that draw a term: the user's, or shipped ones where they lack what the term needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.selection import selection
from pages.selection.subject import Subject, load_subject
from pages.stores import catalogue
from vitviz.models.abilities import abilities, as_vit

Array = NDArray[Any]
SUBSTITUTES = {
    "class_head": "cifar10_vit",
    "distillation": "cifar10_deit_soft",
    "windows": "cifar10_swin",
    "stem": "cifar10_hybrid",
}
PHOTO = "sample:cat"
NEEDS = {"relative_position_bias": "windows", "hybrid": "stem"} | dict.fromkeys(
    ("dist", "student", "distillation"), "distillation"
)


@dataclass(frozen=True, eq=False)
class Material:
    """The model and the image that the pictures show, and their intermediates by name."""

    subject: Subject

    @property
    def last(self) -> str:
        return f"blocks.{as_vit(self.subject.model.config).depth - 1}"

    @property
    def prefix(self) -> int:
        return self.subject.layout.num_prefix_tokens

    def get(self, name: str) -> Array:
        """Return an intermediate of the image without the batch; '@' stands for the last block."""
        name = name.replace("@", self.last) if "@" in name else name
        array = self.subject.capture((name,))[name]
        return array[0] if len(array) == 1 else array

    def weight(self, name: str) -> Array:
        return np.asarray(
            self.subject.model.model.get_parameter(name.replace("@", self.last)).detach().float()
        )

    def attention(self) -> Array:
        """Return the last block's attention weights, (heads, T, T)."""
        return self.get("@.attn")


def load_shipped(name: str) -> Material | None:
    """Return a shipped model on the photo; None on a server that lacks it."""
    choices = {choice.key: choice for choice in catalogue.list_checkpoints()}
    choice = choices.get(f"checkpoint:{name}")
    return None if choice is None else Material(load_subject(choice, None, PHOTO, (0.5, 0.5)))


def load_material(slug: str) -> Material | None:
    """Return the user's ViT and image, or shipped ones where they cannot show the term; None without either."""
    need = NEEDS.get(slug, "class_head")
    choice, current = selection.get_model_choice(), selection.get_current()
    able = abilities(choice.config)
    fits = (
        bool(able.whole_record)
        and bool(able.heads_over_all)
        and need == "class_head"
        and bool(able.class_head)
    )
    if fits and not selection.is_default_model():
        return Material(load_subject(choice, current.step, current.image))
    return load_shipped(SUBSTITUTES[need])
