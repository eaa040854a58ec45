"""Open the server's classes and keep their images in memory."""

from __future__ import annotations

import hmac
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from pages.stores import runs, uploads
from pages.stores.session import get_network
from vitviz.classes import teacher_images
from vitviz.classes.class_store import ClassStore
from vitviz.classes.codes import CodeAttempts, DelayedAttempts
from vitviz.classes.database import NAME, ClassError

if TYPE_CHECKING:
    from pages.stores.session import UserSession

T = TypeVar("T")
_lock = threading.Lock()
_open: dict[str, ClassStore] = {}
# Wrong codes of operators and of classes. An address may be shared by a school, or be the proxy's own, and a proxy that
# passes `X-Forwarded-For` on lets users invent addresses.
_attempts = CodeAttempts(10, 300.0)  # by user
_network_attempts = DelayedAttempts(burst=30, spacing_s=2.0)
_all_attempts = DelayedAttempts(burst=200, spacing_s=0.1)


class TooManyCodes(ClassError):
    """Too many wrong codes were sent."""


def get_classes() -> ClassStore:
    path = runs.get_folder() / NAME
    with _lock:
        if str(path) not in _open:
            _open[str(path)] = ClassStore(path)
        return _open[str(path)]


def has_classes() -> bool:
    return (runs.get_folder() / NAME).is_file()


# ---------------------------------------------------------------- access


def needs_code() -> bool:
    """Return True if $VITVIZ_CLASS_CODE restricts who may open a class."""
    return bool(_get_operator_code())


def check_operator_code(user: UserSession, address: str, code: str) -> bool:
    """Return True if this code may open a class.

    Raises:
        ClassError: as `try_code`.
    """

    def compare() -> bool | None:
        return hmac.compare_digest(code.strip().encode(), _get_operator_code().encode()) or None

    return not needs_code() or try_code(user, address, compare) is not None


def try_code(user: UserSession, address: str, look_up: Callable[[], T | None]) -> T | None:
    """Return what a code stands for, None for a wrong one.

    After many wrong codes a user is refused; others of the same network, and then everybody, wait a little.

    Raises:
        ClassError: if this user, or others of the same network, sent too many wrong codes.
    """
    if not _attempts.is_allowed(user.token):
        raise TooManyCodes("too many wrong codes; try again in five minutes")
    network = get_network(address)
    delay_s = _network_attempts.reserve(network)
    total_delay_s = None if delay_s is None else _all_attempts.reserve("")
    if delay_s is None or total_delay_s is None:
        raise TooManyCodes("too many wrong codes from your network; try again in a minute")
    time.sleep(max(delay_s, total_delay_s))
    is_wrong = False
    try:
        looked_up = look_up()
        is_wrong = looked_up is None
        return looked_up
    finally:
        if is_wrong:
            _attempts.record_failure(user.token)
        else:
            _network_attempts.refund(network)
            _all_attempts.refund("")


def _get_operator_code() -> str:
    return os.environ.get("VITVIZ_CLASS_CODE", "").strip()


# ---------------------------------------------------------------- images of a class


def load_image(code: str, image: str, name: str = "") -> bool:
    """Load a class's image into memory as an upload that is removed with the class.

    Args:
        name: the upload's name, by default the image's.

    Returns:
        False if the class has no such image, or if it was in memory under its own name.
    """
    key, name = image.removeprefix("upload:"), (name or image).removeprefix("upload:")
    is_copy = key != name
    if key == image or (not is_copy and uploads.STORE.get(key) is not None):
        return False
    pixels = teacher_images.load_image(get_classes(), code, key)
    if pixels is not None and uploads.STORE.get(name) is None:
        with suppress(uploads.StoreFull):  # the page then says that the image is missing
            uploads.STORE.lend(name, pixels, _get_lender(code))
        keep_images(code)
    return pixels is not None


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
    if has_classes():
        with suppress(ClassError):
            get_classes().sweep()
