"""Read an uploaded zip archive in memory within limits.

`zipfile` bounds what it unpacks for deflate alone: 1.8 kB of bz2 become 2.4 GB in one read. So stored and deflated
files only, read in one go to the size that the directory names, and all those sizes together have a limit.
"""

import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass

from vitviz.text import cut

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_NAMES = {9: "deflate64", zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA", 93: "Zstandard", 95: "xz"}
# Groups: the lengths of name, extra fields and comment.
_DIRECTORY_ENTRY = re.compile(rb"PK\x01\x02(?=.{24}(..)(..)(..))", re.DOTALL)
MAX_DIRECTORY_BYTES = 8 * 2**20  # of names, extra fields and comments
_MAX_EXTRA_SQUARES = 4 * 65536**2  # zipfile copies what follows each of a file's extra fields
_LOCAL_HEADER_BYTES = 30  # before the name; the least that lies between two files
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,  # NotImplementedError too: a split archive, a later version
    ValueError,
    OSError,
    OverflowError,
    IndexError,
)


class ZipError(ValueError):
    """An archive that cannot be read; the message is a clause about 'it', without a full stop."""


class EntryError(ZipError):
    """One file of an archive that cannot be read; the others may be."""


@dataclass(frozen=True)
class ZipLimits:
    """Limits of an archive's entries and unpacked size."""

    entries: int  # names, folders too
    unpacked_bytes: int  # all files together


class BoundedZip:
    """The files of a zip archive, read within limits.

    Args:
        limits: larger ones are refused before anything is unpacked.

    Raises:
        ZipError: if it is no zip, holds or says it holds more than the limits, or files share their bytes.
    """

    def __init__(self, zip_bytes: bytes, limits: ZipLimits) -> None:
        _check_directory(zip_bytes, limits.entries)
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(zip_bytes))
        except _DAMAGED as error:
            raise ZipError(f"it is not a zip archive that can be read ({_reason(error)})") from error
        self.files = [info for info in self._archive.infolist() if not info.filename.endswith("/")]
        stated_size = sum(info.file_size for info in self.files)
        if stated_size > limits.unpacked_bytes:
            raise ZipError(
                f"it unpacks to {stated_size / 2**20:,.0f} MB, the limit is {limits.unpacked_bytes / 2**20:,.0f} MB"
            )
        _check_apart(self.files)

    def read(self, info: zipfile.ZipInfo, most_bytes: int) -> bytes:
        """Return a file, truncated to `most_bytes`.

        Raises:
            EntryError: if it is encrypted, packed in another way than deflate, or damaged.
        """
        if info.flag_bits & 1:
            raise EntryError("it is encrypted")
        if info.compress_type not in _METHODS:
            method = _NAMES.get(info.compress_type, f"method {info.compress_type}")
            raise EntryError(f"it is compressed with {method}; only stored and deflated files are supported")
        try:
            with self._archive.open(info) as file:
                # One byte more than is said, so that a file that is longer is found out by its checksum.
                return file.read(min(most_bytes, info.file_size + 1))
        except _DAMAGED as error:
            raise EntryError(f"it cannot be read ({_reason(error)})") from error


def _check_directory(zip_bytes: bytes, most_entries: int) -> None:
    """Refuse what would make zipfile slow or large: a name takes some 700 bytes more once it is read."""
    total_bytes = extra_squares = 0
    for number, entry in enumerate(_DIRECTORY_ENTRY.finditer(zip_bytes), start=1):
        name, extra, comment = (int.from_bytes(length, "little") for length in entry.groups())
        total_bytes += name + extra + comment
        extra_squares += extra**2
        if number > most_entries:
            raise ZipError(f"it holds more than {most_entries:,} files, the limit")
        if total_bytes > MAX_DIRECTORY_BYTES or extra_squares > _MAX_EXTRA_SQUARES:
            raise ZipError("its file list is too large: names or extra fields are too long")


def _check_apart(files: list[zipfile.ZipInfo]) -> None:
    """No two files may be made of the same bytes: ten thousand names for one file are a trap."""
    end = 0
    for info in sorted(files, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ZipError(f"{cut(info.filename)!r} overlaps another file in the archive")
        end = info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size


def _reason(error: Exception) -> str:
    return cut(str(error), 120) or type(error).__name__
