"""Cards of one token's steps in the browser."""

from collections.abc import Callable

from pages.selection.subject import Subject
from pages.views.register import register
from vitviz.analysis.block import BlockOperation
from vitviz.plots.blob import pack

_block_view = register(__file__, "block_view")


def draw_steps(
    steps: list[BlockOperation],
    subject: Subject,
    *,
    token: int,
    head: int,
    heads: int,
    key: str,
    on_change: Callable[[], None] | None = None,
) -> None:
    """Draw the steps; clicks trigger 'pin' (a key) and 'channel' (of the stream, from 1)."""
    header = {
        "prefix": list(subject.layout.prefix),
        "grid": list(subject.layout.grid),
        "token": token,
        "head": head,
        "heads": heads,
        "steps": [
            {
                "title": step.title,
                "meaning": step.meaning,
                "names": list(step.names),
                "formula": step.formula,
                "numbers": step.numbers.replace("-", "−"),
                "shape": list(step.shape),
                "labels": list(step.labels),
                "kind": step.kind,
                "stream": step.stream,
                "array": f"s{i}",
            }
            for i, step in enumerate(steps)
        ],
    }
    arrays = {f"s{i}": step.values for i, step in enumerate(steps)}
    message = pack(header, picture=subject.prepared.shown, **arrays)
    _block_view(message, key=key, triggers=("pin", "channel"), on_change=on_change)
