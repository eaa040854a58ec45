"""Store users' datasets, visible to their session and to holders of their link."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pages.stores import runs
from vitviz.data import uploaded_datasets
from vitviz.data.dataset import DatasetError
from vitviz.text import plural
from vitviz.upload_limits import DATASET_TITLE_LENGTH, DATASET_ZIP_BYTES, DATASETS_PER_USER

if TYPE_CHECKING:
    from pages.stores.session import UserSession

PRIVACY = (
    "The images stay on this server until six hours after their last use. Anyone with the link can view them; only you"
    " can delete them, at any time."
)
_TOUCH_S = 60.0
_removing: list[Callable[[], None]] = []


def list_datasets(user: UserSession) -> dict[str, uploaded_datasets.UploadedNote]:
    """Return datasets that the user uploaded or trained on, by name, newest first."""
    trained_on = (run.config().train.dataset for run in runs.list_runs(user))
    names = dict.fromkeys((*user.datasets, *filter(uploaded_datasets.is_uploaded, trained_on)))
    notes = {name: uploaded_datasets.read_note(name, runs.get_folder()) for name in names}
    return {name: note for name, note in notes.items() if note is not None}


def is_available(name: str) -> bool:
    """Return True unless a run's dataset is a user's that was removed or has expired."""
    return (
        not uploaded_datasets.is_uploaded(name)
        or uploaded_datasets.read_note(name, runs.get_folder()) is not None
    )


def adopt_dataset(user: UserSession, name: str) -> bool:
    """Add a dataset to the user's session by its unguessable name; return False if it is missing."""
    if uploaded_datasets.read_note(name, runs.get_folder()) is None:
        return False
    if name not in user.datasets:
        user.update("datasets", [name])
    return True


def store_dataset(
    user: UserSession,
    zip_bytes: bytes,
    title: str,
    image_size: int,
    progress: Callable[[int, int], None] | None = None,
    address: str = "",
) -> uploaded_datasets.UploadedNote:
    """Read a zip and store its images.

    Args:
        progress: as in `vitviz.data.dataset_zip.load_zip`.
        address: the client's IP address; empty if it is unknown.

    Raises:
        vitviz.data.dataset.DatasetError: if the zip is too large or not a valid dataset.
    """
    from vitviz.data.dataset_zip import load_zip
    from vitviz.data.image_worker import decode_for
    from vitviz.training.run_directory import RunError

    if len(zip_bytes) > DATASET_ZIP_BYTES:  # the browser's own limit can be bypassed
        size, limit = len(zip_bytes) / 2**20, DATASET_ZIP_BYTES >> 20
        raise DatasetError(f"The zip has {size:.1f} MB; at most {limit} MB are accepted.")
    _check_count(user)
    try:
        runs.admit_upload(user, address, "set")
    except RunError as error:
        raise DatasetError(f"{error}.") from error
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())[:DATASET_TITLE_LENGTH]
    with decode_for(user.token):
        images = load_zip(zip_bytes, image_size=image_size, progress=progress)
    with user.lock:  # another tab may have stored one during the decoding
        _check_count(user)
        note = uploaded_datasets.store_images(images, title or "your images", runs.get_folder(), user.owner)
        user.update("datasets", [note.name])
    return note


def _check_count(user: UserSession) -> None:
    """Forget expired datasets, and raise DatasetError if the user may not store another."""
    expired = [name for name in user.datasets if not uploaded_datasets.read_note(name, runs.get_folder())]
    user.update("datasets", remove=expired)
    if len(user.datasets) >= DATASETS_PER_USER:
        raise DatasetError(f"You have {plural(len(user.datasets), 'dataset')} already: delete one first.")


def on_removal(callback: Callable[[], None]) -> None:
    """Register a function that is called when a user removes a dataset, to free its memory."""
    _removing.append(callback)


def may_remove(user: UserSession, note: uploaded_datasets.UploadedNote) -> bool:
    return note.owner == user.owner


def remove_dataset(user: UserSession, name: str) -> None:
    note = uploaded_datasets.read_note(name, runs.get_folder())
    if note is not None and may_remove(user, note):
        uploaded_datasets.remove(name, runs.get_folder())
        for callback in _removing:
            callback()
    user.update("datasets", remove=[name])


def mark_active(user: UserSession) -> None:
    """Renew the expiry of the user's datasets; cheap enough for every poll."""
    time_s = time.monotonic()
    if user.datasets and time_s - user.datasets_marked_at >= _TOUCH_S:
        user.datasets_marked_at = time_s
        for name in user.datasets:
            uploaded_datasets.touch(name, runs.get_folder())
