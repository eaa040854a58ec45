"""Mount a race of models: accuracy over epochs, and accuracy on original and shuffled images."""

from pages.views.register import register

_race = register(__file__, "race")


def draw_race(payload: bytes, *, key: str) -> None:
    _race(payload, key=key)
