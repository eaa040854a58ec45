"""The sets of pictures that a visitor trains on: known to this visit alone, unless their link is passed on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pages.stores import runs
from vitviz.data import own_datasets

if TYPE_CHECKING:
    from pages.stores.session import Visit

PRIVACY = (
    "The pictures are kept on this server, under a name that nobody can guess, until six hours after their last use;"
    " whoever has the link sees them too. You can remove them at once, and nobody else can."
)
MOST_OF_A_VISIT = 3
TITLE_LENGTH = 40
_TOUCH_S = 60.0
_removing: list[Callable[[], None]] = []


def mine(visit: Visit) -> dict[str, own_datasets.OwnNote]:
    """The sets that a visit uploaded, or that a run of it was trained on, by name; newest first."""
    trained_on = (run.config().train.dataset for run in runs.mine(visit))
    names = dict.fromkeys((*visit.sets, *filter(own_datasets.is_own, trained_on)))
    found = {name: own_datasets.own_note(name, runs.folder()) for name in names}
    return {name: note for name, note in found.items() if note is not None}


def here(name: str) -> bool:
    """Whether a run's data set is not a visitor's that has been removed, or that nobody used for long."""
    return not own_datasets.is_own(name) or own_datasets.own_note(name, runs.folder()) is not None


def adopt(visit: Visit, name: str) -> bool:
    """Adds a set to a visit, whose unguessable name its link holds; False where it is gone."""
    if own_datasets.own_note(name, runs.folder()) is None:
        return False
    if name not in visit.sets:
        visit.sets = (name, *visit.sets)
    return True


def keep(
    visit: Visit,
    data: bytes,
    title: str,
    image_size: int,
    progress: Callable[[int, int], None] | None = None,
    address: str = "",
) -> own_datasets.OwnNote:
    """Reads a zip and stores its pictures.

    Args:
        progress: as in `vitviz.data.folder.load_zip`.
        address: from where the visit comes; empty where it is not known.

    Raises:
        vitviz.data.dataset.DatasetError: if no set can be made of it; one sentence says why.
    """
    from vitviz.data.dataset import DatasetError
    from vitviz.data.folder import load_zip
    from vitviz.training.run_directory import RunError

    known = [name for name in visit.sets if own_datasets.own_note(name, runs.folder())]
    if len(known) >= MOST_OF_A_VISIT:
        raise DatasetError(f"You have {len(known)} sets of pictures here already: remove one first.")
    try:
        runs.admit_upload(visit, address, "set")
    except RunError as error:
        raise DatasetError(f"{error}.") from error
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())[:TITLE_LENGTH]
    pictures = load_zip(data, image_size=image_size, progress=progress)
    note = own_datasets.keep_pictures(pictures, title or "your pictures", runs.folder(), visit.owner)
    visit.sets = (note.name, *known)
    return note


def on_removal(callback: Callable[[], None]) -> None:
    """Has a function called when a visitor removes a set: what holds pictures of sets in memory lets them go."""
    _removing.append(callback)


def may_remove(visit: Visit, note: own_datasets.OwnNote) -> bool:
    """Whether this visit brought the set: whoever else has its link looks on."""
    return note.owner == visit.owner


def remove(visit: Visit, name: str) -> None:
    """Forgets a set: on the server, where the visit brought it, else in this visit alone."""
    note = own_datasets.own_note(name, runs.folder())
    if note is not None and may_remove(visit, note):
        own_datasets.remove(name, runs.folder())
        for callback in _removing:
            callback()
    visit.sets = tuple(other for other in visit.sets if other != name)


def stay(visit: Visit) -> None:
    """Says that a visit is here, so that its sets are kept; cheap to call at every poll."""
    now = time.monotonic()
    if visit.sets and now - visit.sets_seen >= _TOUCH_S:
        visit.sets_seen = now
        for name in visit.sets:
            own_datasets.touch(name, runs.folder())
