"""Open the server's classes and keep their images in memory."""

from __future__ import annotations

import hmac
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pages.stores import runs, uploads
from vitviz.classes import teacher_images
from vitviz.classes.class_store import ClassStore
from vitviz.classes.codes import CodeAttempts
from vitviz.classes.database import NAME, ClassError

if TYPE_CHECKING:
    from pages.stores.session import UserSession

_lock = threading.Lock()
_open: dict[str, ClassStore] = {}
_tries = CodeAttempts(10, 300.0)  # of operator's codes and class codes, by user and by address


def get_classes() -> ClassStore:
    path = runs.get_folder() / NAME
    with _lock:
        if str(path) not in _open:
            _open[str(path)] = ClassStore(path)
        return _open[str(path)]


# ---------------------------------------------------------------- access


def needs_code() -> bool:
    """Return True if $VITVIZ_CLASS_CODE restricts who may open a class."""
    return bool(_get_operator_code())


def check_operator_code(code: str, address: str) -> bool:
    """Return True if this code may open a class.

    Raises:
        ClassError: if this address sent too many wrong codes.
    """
    if not needs_code():
        return True
    name = f"open:{address}"
    if not _tries.is_allowed(name):
        raise ClassError("too many wrong codes; try again in five minutes")
    if hmac.compare_digest(code.strip().encode(), _get_operator_code().encode()):
        return True
    _tries.record_failure(name)
    return False


def may_try_code(user: UserSession) -> bool:
    """Return True if the user may try another class code."""
    return _tries.is_allowed(user.token)


def count_wrong_code(user: UserSession) -> None:
    _tries.record_failure(user.token)


def _get_operator_code() -> str:
    return os.environ.get("VITVIZ_CLASS_CODE", "").strip()


# ---------------------------------------------------------------- images of a class


def load_image(code: str, image: str) -> None:
    """Load a class's image into memory as an upload that is removed with the class."""
    key = image.removeprefix("upload:")
    if key == image or uploads.STORE.get(key) is not None:
        return
    pixels = teacher_images.load_image(get_classes(), code, key)
    if pixels is not None:
        uploads.STORE.lend(key, pixels, _get_lender(code))
        keep_images(code)


def keep_images(code: str) -> None:
    """Keep a class's images in memory while somebody of the class is active."""
    uploads.STORE.release(_get_lender(code))


def forget_images(code: str) -> None:
    """Remove a class's images from memory once it has ended."""
    uploads.STORE.forget(_get_lender(code))


def _get_lender(code: str) -> str:
    """Return the owner of a class's images in the upload store; no session token has this form."""
    return f"class {code}"


def sweep() -> None:
    """Remove ended classes; what fails now is tried again at the next sweep."""
    if (runs.get_folder() / NAME).is_file():
        with suppress(ClassError):
            get_classes().sweep()
