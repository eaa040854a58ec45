"""Name the state of a run: its word, colour and icon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vitviz.training.run_directory import Status


@dataclass(frozen=True)
class StateLabel:
    """The display of a run's state: a word, a badge and, if needed, a sentence."""

    word: str
    colour: str = "gray"
    icon: str = "help"
    sentence: str = ""

    @property
    def badge(self) -> str:
        return f":{self.colour}-badge[:material/{self.icon}: {self.word}]"


STATES = {
    "new": StateLabel("new", "gray", "hourglass_empty"),
    "queued": StateLabel("waiting", "gray", "hourglass"),
    "starting": StateLabel("starting", "blue", "sync", "The images are being prepared."),
    "running": StateLabel("training", "green", "play_arrow"),
    "paused": StateLabel("paused", "gray", "pause"),
    "done": StateLabel("done", "green", "check"),
    "stopped": StateLabel("stopped", "gray", "stop"),
    "diverged": StateLabel("diverged", "red", "error"),
    "failed": StateLabel("failed", "red", "error"),
    "interrupted": StateLabel("interrupted", "red", "power_off"),
}


def get_state_label(status: Status) -> StateLabel:
    return STATES.get(status.state, StateLabel("unknown"))
