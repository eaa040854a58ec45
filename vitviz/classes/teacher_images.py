"""Store the teacher's images that are shared with a class, until the class is closed.

Every function that uses the database raises ClassError if it cannot be read or written.
"""

import base64
import hashlib
import io
import re
import secrets
import time

import numpy as np
from numpy.typing import NDArray

from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import ClassError, check_open
from vitviz.upload_limits import CLASS_IMAGE_BYTES, CLASS_IMAGES, CLASS_IMAGES_BYTES

_ID = re.compile(r"[A-Za-z0-9_-]{22}")


def derive_key(code: str, upload: str) -> str:
    """Return the id of a class's copy of an upload; only who knows the upload's id can compute it."""
    digest = hashlib.sha256(f"copy:{code}:{upload}".encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def store_image(classes: ClassStore, code: str, image: NDArray[np.uint8], upload: str = "") -> str:
    """Store an image (H, W, 3) for a class as PNG and return an unguessable id.

    Args:
        upload: the unguessable id of the teacher's upload, from which the copy is found again after a restart.

    Raises:
        ClassError: if the class is closed, the image or the total is too large, or the database cannot be written.
    """
    from PIL import Image

    png = io.BytesIO()
    Image.fromarray(image).save(png, "PNG", compress_level=3)
    if png.tell() > CLASS_IMAGE_BYTES:
        raise ClassError(
            f"expected an image of at most {CLASS_IMAGE_BYTES >> 20} MB, received {png.tell() >> 20} MB"
        )
    key = derive_key(code, upload or secrets.token_urlsafe(16))
    with classes.database.writing() as file:
        check_open(file, code)
        file.execute(
            "INSERT OR REPLACE INTO picture VALUES (?, ?, ?, ?)", (key, code, time.time(), png.getvalue())
        )
        file.execute(
            "DELETE FROM picture WHERE code = ? AND id NOT IN"
            " (SELECT id FROM picture WHERE code = ? ORDER BY rowid DESC LIMIT ?)",
            (code, code, CLASS_IMAGES),
        )
        (stored,) = file.execute("SELECT SUM(LENGTH(png)) FROM picture").fetchone()
        if stored > CLASS_IMAGES_BYTES:
            raise ClassError("the storage for shared images is full on this server; try a smaller image")
    return key


def load_image(classes: ClassStore, code: str, key: str) -> NDArray[np.uint8] | None:
    """Return a class's image (H, W, 3); None if it has none of this id."""
    from PIL import Image, UnidentifiedImageError

    if not _ID.fullmatch(key):
        return None
    rows = classes.database.fetch("SELECT png FROM picture WHERE id = ? AND code = ?", key, code)
    if not rows:
        return None
    try:
        with Image.open(io.BytesIO(rows[0][0])) as image:
            return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError):  # damaged on disk
        return None


def delete_images(classes: ClassStore, code: str) -> None:
    """Delete all shared images of a class."""
    classes.database.execute("DELETE FROM picture WHERE code = ?", code)
