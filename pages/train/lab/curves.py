"""Training curves of one or several runs, drawn in place in the browser."""

from __future__ import annotations

from typing import Any

from pages.views.event_values import fields, whole
from pages.views.register import register

_curves = register(__file__, "curves")


def curves(payload: bytes, *, key: str) -> tuple[dict[str, Any] | None, int | None]:
    """Mounts the curves that `vitviz.plots.curves.payload` packed.

    Returns the toolbar's state once it was touched, and the step that was marked in this run of the script.
    """
    result = _curves(payload, key=key, states=("view",), triggers=("moment",))
    return (fields(result.view) or None), whole(result.moment)
