"""What a page shows at this moment, as one small value: what a lesson's check is decided on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vitviz.pin import Pin

Facts = Mapping[str, float]
FACTS = {  # what pages hand over beside what a link holds
    "run": "how far the run on the stage has come, 0 to 1",
    "patches_left_out": "patches that are painted out in 'Leave out'",
    "heads_left_out": "heads that are silenced in 'Leave out'",
}


@dataclass(frozen=True)
class Shown:
    """A page's slug, the nouns and the controls as its link writes them, and facts that no link holds.

    Raises:
        ValueError: if a fact is none of `FACTS`.
    """

    page: str
    link: Mapping[
        str, str
    ]  # the nouns 'model', 'step', 'image', 'pin', 'crop' and the controls 'page.control'
    grid: tuple[int, int] | None = None  # (rows, cols) of the model's patches; None where it cuts none
    facts: Facts = field(default_factory=dict)
    guessed: bool = False  # whether this stop's question has been answered

    def __post_init__(self) -> None:
        for name in self.facts.keys() - FACTS.keys():
            raise ValueError(f"a fact is one of {', '.join(FACTS)}, received {name!r}")

    @property
    def pin(self) -> Pin | None:
        """The pinned token; None where the link names none."""
        return Pin.parse(self.link.get("pin", ""))
