"""Refuse image files with absurdly many parts before Pillow, which reads them one by one in Python.

Each scanner follows one format as Pillow does: chunks, segments, sub-blocks or directories are counted and skipped, and
none is decoded. A scanner stops at its limit, so that 20 MB take a few hundredths of a second. WebP and AVIF have no
scanner, and PNG none of its EXIF data: crafted ones cost a worker at most 0.3 s.
"""

import re
import struct
from collections.abc import Iterator

MAX_PARTS = 65_536  # chunks or sub-blocks: 20 MB of a PNG in the usual 8 kB each are 2,560
MAX_SEGMENTS = 4096  # of a JPEG before its pixels; a photo has about ten, a large colour profile adds 50
MAX_PADDING_BYTES = 65_536  # between a JPEG's segments
MAX_TABLE_BYTES = 16_384  # of a JPEG's quantization tables and frame headers: four tables take 516
MAX_PHOTOSHOP_BLOCKS = 4096
MAX_EXIF_BYTES = 2**20
USUAL_EXIF_BYTES = 2**16  # the standard's limit: cheap to read, and broken EXIF costs no image
MAX_COMPRESSED_TEXTS = 32  # of a PNG, with its colour profile; each is unpacked to at most 1 MB
MAX_TAGS = 65_535  # of one directory of a TIFF, which only a BigTIFF can exceed
MAX_TAG_VALUES = 65_536  # strips or tiles, each read by itself: 256 rows of 256 tiles
MAX_RLE_BYTES = 4 * 2**20  # of a run-length BMP, which Pillow decodes run by run in Python

_NOT_FILL = re.compile(rb"[^\xff]")
_BARE_MARKERS = frozenset([0x00, 0x01, 0xC8, *range(0xD0, 0xDA), *range(0xF0, 0xFE)])  # without a length
_START_OF_SCAN, _EXIF_MARKER = 0xDA, 0xE1
_TABLE_MARKERS = frozenset([0xDB, 0xDE, *range(0xC0, 0xD0)]) - {0xC4, 0xC8, 0xCC}
_DIRECTORY_POINTERS = frozenset([0x8769, 0x8825, 0xA005])  # EXIF, GPS, interoperability
_COUNTED_TAGS = frozenset([258, 273, 279, 320, 324, 325, 338, 339])  # which Pillow walks whatever their type
_BYTE_TYPES = frozenset([1, 2, 7])  # kept as they are: colour profiles, XMP, previews
# Bytes of a value by its type; Pillow skips tags of other types, and those that are larger than the file.
_VALUE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}


class ImageStructureError(ValueError):
    """A file has too many parts; the message names them in a noun phrase."""


def check_structure(kind: str, encoded: bytes) -> None:
    """Raise ImageStructureError if a file has more parts than cameras and editors write.

    A damaged file passes, because its decoder reports the damage.
    """
    try:
        if kind in _SCANNERS:
            _SCANNERS[kind](encoded)
    except struct.error:  # cut off
        return


def webp_size(encoded: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a WebP's canvas, which its decoder allocates on opening; None where there is none."""
    kind = encoded[12:16]
    if len(encoded) < 30:
        return None
    if kind == b"VP8X":
        return 1 + int.from_bytes(encoded[24:27], "little"), 1 + int.from_bytes(encoded[27:30], "little")
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", encoded, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(encoded[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return None


def _limit(count: int, most: int, parts: str) -> None:
    if count > most:
        raise ImageStructureError(f"more than {most:,} {parts}")


def _check_jpeg(encoded: bytes) -> None:
    at, segments, padding, tables = 2, 0, 0, 0
    exif = []
    while (marker := encoded.find(b"\xff", at)) >= 0:
        code = _NOT_FILL.search(encoded, marker)
        end = len(encoded) if code is None else code.start()
        padding += end - at - 1
        segments += 1
        _limit(padding, MAX_PADDING_BYTES, "fill bytes between its segments")
        _limit(segments, MAX_SEGMENTS, "segments before its pixels")
        if code is None or encoded[end] == _START_OF_SCAN:
            at = end
            break
        at = end + 1
        if encoded[end] in _BARE_MARKERS:
            continue
        length = max(2, int.from_bytes(encoded[at : at + 2]))
        if encoded[end] in _TABLE_MARKERS:
            tables += length
            _limit(tables, MAX_TABLE_BYTES, "bytes of quantization tables and frame headers")
        if encoded[end] == _EXIF_MARKER and encoded.startswith(b"Exif\0\0", at + 2):
            exif.append(encoded[at + 8 : at + length])
        at += length
    _limit(encoded.count(b"8BIM", 0, at), MAX_PHOTOSHOP_BLOCKS, "Photoshop blocks")
    _check_exif(b"".join(exif))


def _check_png(encoded: bytes) -> None:
    at, chunks, texts = 8, 0, 0
    while at + 8 <= len(encoded):
        length, kind = struct.unpack_from(">I4s", encoded, at)
        chunks += 1
        texts += kind in (b"zTXt", b"iTXt", b"iCCP")
        _limit(chunks, MAX_PARTS, "chunks")
        _limit(texts, MAX_COMPRESSED_TEXTS, "compressed texts and profiles")
        if kind == b"IEND":
            return
        at += 12 + length


def _check_gif(encoded: bytes) -> None:
    """Check the parts up to the first frame, the only one that Pillow reads."""
    flags = encoded[10] if len(encoded) > 10 else 0
    at, blocks = 13 + (flags >> 7) * (6 << (flags & 7)), 0
    while at < len(encoded) and encoded[at] not in b",;":
        blocks += 1
        _limit(blocks, MAX_PARTS, "blocks before its first frame")
        if encoded[at] != 0x21:  # no extension
            at += 1
            continue
        code, start = encoded[at + 1 : at + 2], at + 2
        at, count = _skip_blocks(encoded, start)
        blocks += count
        # Pillow looks for one more chain of sub-blocks where what it reads first is already the end of one.
        looped = count == 1 and encoded.startswith(b"NETSCAPE2.0", start + 1)
        if code != b"\xfe" and (count == 0 or looped):
            at, count = _skip_blocks(encoded, at)
            blocks += count


def _skip_blocks(encoded: bytes, at: int) -> tuple[int, int]:
    """Return (the place after a chain of sub-blocks, how many it has)."""
    count = 0
    while at < len(encoded) and encoded[at]:
        at += 1 + encoded[at]
        count += 1
        _limit(count, MAX_PARTS, "blocks before its first frame")
    return at + 1, count


def _check_bmp(encoded: bytes) -> None:
    start, header_size = struct.unpack_from("<II", encoded, 10)
    if header_size >= 40 and struct.unpack_from("<I", encoded, 30)[0] in (1, 2):
        _limit(len(encoded) - start, MAX_RLE_BYTES, "bytes of run-length pixels")


def is_avif(encoded: bytes) -> bool:
    """Return True if a file's first box names AVIF, as its brand or among the compatible ones."""
    if encoded[4:8] != b"ftyp":
        return False
    brands = encoded[8 : min(int.from_bytes(encoded[:4]), 4096)]
    return any(brands[at : at + 4] in (b"avif", b"avis") for at in range(0, len(brands), 4))


def _check_exif(exif: bytes) -> None:
    """Check EXIF data, an embedded TIFF file; unreadable data is ignored."""
    _limit(len(exif), MAX_EXIF_BYTES, "bytes of EXIF data")
    if len(exif) <= USUAL_EXIF_BYTES:
        return
    try:
        _check_tiff(exif.removeprefix(b"Exif\0\0"))
    except struct.error:
        return


def _check_tiff(encoded: bytes) -> None:
    if encoded[:2] not in (b"II", b"MM"):
        return
    # Pillow takes a big-endian BigTIFF for a classic one, libtiff does not: both directories have to be in bounds.
    for wide in {encoded[2:3] == b"+", encoded[:4] in (b"II+\0", b"MM\0+")}:
        first = struct.unpack_from(_order(encoded) + ("8xQ" if wide else "4xI"), encoded)[0]
        waiting: list[int] = [first]
        seen: set[int] = set()
        while waiting:
            offset = waiting.pop()
            if offset not in seen and offset < len(encoded) and len(seen) < 8:
                seen.add(offset)
                waiting.extend(_directories_within(encoded, offset, wide))


def _directories_within(encoded: bytes, offset: int, wide: bool) -> Iterator[int]:
    """Yield the offsets of the directories that a TIFF directory points to; check its own tags."""
    order = _order(encoded)
    try:
        count = struct.unpack_from(order + ("Q" if wide else "H"), encoded, offset)[0]
    except struct.error:
        return
    _limit(count, MAX_TAGS, "tags")
    entry = struct.Struct(order + ("HHQQ" if wide else "HHII"))
    start = offset + (8 if wide else 2)
    whole = encoded[start : start + count * entry.size]
    for tag, kind, values, target in entry.iter_unpack(whole[: len(whole) // entry.size * entry.size]):
        read = kind in _VALUE_BYTES and values * _VALUE_BYTES[kind] <= len(encoded)
        if read and (kind not in _BYTE_TYPES or tag in _COUNTED_TAGS):
            _limit(values, MAX_TAG_VALUES, f"values of its tag {tag}")
        if tag in _DIRECTORY_POINTERS:
            yield target


def _order(encoded: bytes) -> str:
    return "<" if encoded[:2] == b"II" else ">"


_SCANNERS = {
    "PNG": _check_png,
    "JPEG": _check_jpeg,
    "GIF": _check_gif,
    "BMP": _check_bmp,
    "TIFF": _check_tiff,
}
