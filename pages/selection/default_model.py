"""Choose the model with which a page opens where the user has chosen none."""

from pages.stores import catalogue
from vitviz.models.abilities import abilities


def get_default_model(page: str = "") -> str:
    """Return the key of a digit ViT checkpoint, else of any checkpoint, else of a random preset.

    The start page begins with the one of MNIST, which reads drawings.
    """
    vits = [c for c in catalogue.list_checkpoints() if abilities(c.config).heads_over_all]
    first = [
        c
        for name in (("mnist", "digits") if page == "home" else ("digits",))
        for c in vits
        if c.trained_on == name
    ]
    return (first or catalogue.list_checkpoints() or catalogue.list_published() or catalogue.list_presets())[
        0
    ].key
