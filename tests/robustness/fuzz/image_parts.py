"""Build image files part by part: valid ones, and ones with absurdly many or large parts."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable

import numpy as np
from PIL import Image

FULL = 20 * 2**20 - 4096  # as large as an upload may be
Tag = tuple[int, int, int, bytes]  # (tag, type, count, packed values)
SHORT, LONG, RATIONAL, UNDEFINED = 3, 4, 5, 7


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def small(kind: str, **options: object) -> bytes:
    """A valid image of 64 x 64 random pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return encode(Image.fromarray(pixels), kind, **options)


def fill(part: bytes, most: int = FULL) -> bytes:
    """Repeat a part as often as an upload has room for it."""
    return part * (most // len(part))


# PNG


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    before: bytes = b"",
    after: bytes = b"",
    idat: bytes | None = None,
    depth: int = 8,
    colour: int = 0,
    side: int = 8,
) -> bytes:
    """A grey PNG of 8 x 8 pixels with extra chunks before and after its pixels."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, depth, colour, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(9 * 8))) if idat is None else idat
    return b"\x89PNG\r\n\x1a\n" + header + before + pixels + after + chunk(b"IEND")


def zipped(size: int) -> bytes:
    """Zeros as zlib packs them, made of one packed part again and again: packing 2 GB would take 20 s."""
    packer = zlib.compressobj(9, wbits=-15)
    part = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(bytes(size % 2**20)) + packer.flush()
    return b"\x78\xda" + part * (size // 2**20) + rest + struct.pack(">HH", size % 65_521, 1)


def repeated_rows(row: bytes, rows: int) -> bytes:
    packer = zlib.compressobj(6)
    return b"".join(packer.compress(row) for _ in range(rows)) + packer.flush()


def png_interlaced() -> bytes:
    """4096 x 4096, RGBA of 16 bits, in Adam7's seven passes."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 4096, 4096, 16, 6, 0, 0, 1))
    passes = ((512, 512), (512, 512), (1024, 512), (1024, 1024), (2048, 1024), (2048, 2048), (4096, 2048))
    packer = zlib.compressobj(6)
    data = b"".join(packer.compress(bytes(1 + 8 * width)) for width, rows in passes for _ in range(rows))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", data + packer.flush()) + chunk(b"IEND")


def png_noise() -> bytes:
    noise = random.Random(0).randbytes(4096)
    return png(idat=chunk(b"IDAT", repeated_rows(b"\4" + noise * 8, 4096)), depth=16, colour=6, side=4096)


def apng(frames: int, claimed: int) -> bytes:
    control = chunk(b"acTL", struct.pack(">II", claimed, 0))
    frame = struct.pack(">IIIIHHBB", 8, 8, 0, 0, 1, 1, 0, 0)
    pixels = zlib.compress(bytes(9 * 8))
    rest = b"".join(
        chunk(b"fcTL", struct.pack(">I", 2 * i + 1) + frame)
        + chunk(b"fdAT", struct.pack(">I", 2 * i + 2) + pixels)
        for i in range(frames)
    )
    return png(before=control + chunk(b"fcTL", struct.pack(">I", 0) + frame), after=rest)


# JPEG


def segment(marker: int, body: bytes = b"") -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def jpeg(extra: bytes, **options: object) -> bytes:
    """A valid JPEG with segments directly after its start."""
    data = small("JPEG", **options)
    return data[:2] + extra + data[2:]


def jpeg_of(side: int, **options: object) -> bytes:
    return encode(Image.new("RGB", (side, side), (90, 120, 30)), "JPEG", quality=30, **options)


def jpeg_passes(side: int, passes: int) -> bytes:
    data = jpeg_of(side, progressive=True)
    first, second, *_ = [place for place in range(len(data)) if data[place : place + 2] == b"\xff\xda"]
    return data[:-2] + data[first:second] * (passes - data.count(b"\xff\xda")) + data[-2:]


def jpeg_between_scans(part: bytes) -> bytes:
    data = small("JPEG", progressive=True)
    second = data.index(b"\xff\xda", data.index(b"\xff\xda") + 2)
    place = data.rindex(b"\xff\xc4", 0, second) if b"\xff\xc4" in data[second - 400 : second] else second
    return data[:place] + fill(part, FULL - len(data)) + data[place:]


def jpeg_in_scan(part: bytes) -> bytes:
    data = jpeg_of(1024)
    return data[:-2] + fill(part, FULL - len(data)) + data[-2:]


def exif_segments(exif: bytes) -> bytes:
    """EXIF data in as many segments as it takes; Pillow joins them."""
    pieces = [exif[start : start + 65_000] for start in range(0, len(exif), 65_000)]
    return b"".join(segment(0xE1, b"Exif\0\0" + piece) for piece in pieces)


def damaged_size(
    data: bytes, width: int, height: int, markers: tuple[bytes, ...] = (b"\xff\xc0", b"\xff\xc2")
) -> bytes:
    place = next(data.index(marker) for marker in markers if marker in data)
    return data[: place + 5] + struct.pack(">HH", height, width) + data[place + 9 :]


# TIFF


def tiff(tags: list[Tag], tail: bytes = b"", following: int = 0) -> bytes:
    """One image directory; values of more than four bytes lie behind it, `tail` from byte 8 on."""
    place = 8 + len(tail)
    head, values = b"", b""
    after = place + 2 + 12 * len(tags) + 4
    for tag, kind, count, packed in sorted(tags):
        if len(packed) > 4:
            head += struct.pack("<HHII", tag, kind, count, after + len(values))
            values += packed
        else:
            head += struct.pack("<HHI", tag, kind, count) + packed.ljust(4, b"\0")
    directory = struct.pack("<H", len(tags)) + head + struct.pack("<I", following)
    return b"II*\0" + struct.pack("<I", place) + tail + directory + values


def number(tag: int, value: int) -> Tag:
    return (tag, LONG, 1, struct.pack("<I", value))


def numbers(tag: int, kind: int, count: int, packed: bytes) -> Tag:
    return (tag, kind, count, packed)


def grey(width: int, height: int, compression: int = 1) -> list[Tag]:
    return [number(256, width), number(257, height), number(258, 8), number(259, compression), number(262, 1)]


def strips(width: int, height: int, count: int, compression: int = 1) -> bytes:
    offsets = numbers(273, LONG, count, struct.pack("<I", 8) * count)
    sizes = numbers(279, LONG, count, struct.pack("<I", 8) * count)
    tags = [*grey(width, height, compression), offsets, sizes, number(277, 1), number(278, 1)]
    return tiff(tags, bytes(64))


def tiles(side: int, tile: int, compression: int = 1) -> bytes:
    count = (side // tile) ** 2
    offsets = numbers(324, LONG, count, struct.pack("<I", 8) * count)
    sizes = numbers(325, LONG, count, struct.pack("<I", 8) * count)
    tags = [
        *grey(side, side, compression),
        offsets,
        sizes,
        number(322, tile),
        number(323, tile),
        number(277, 1),
    ]
    return tiff(tags, bytes(64))


def tiff_with(*extra: Tag, tail: bytes = b"") -> bytes:
    tags = [*grey(8, 8), number(273, 8), number(277, 1), number(278, 8), number(279, 64)]
    replaced = {tag[0] for tag in extra}
    return tiff([tag for tag in tags if tag[0] not in replaced] + list(extra), bytes(64) + tail)


def rationals(tag: int, count: int) -> Tag:
    return (tag, RATIONAL, count, struct.pack("<II", 72, 1) * count)


def directory(entries: list[bytes]) -> bytes:
    return struct.pack("<H", len(entries)) + b"".join(entries) + bytes(4)


def exif_rationals(count: int) -> bytes:
    return tiff([rationals(0x011A, count), rationals(0x011B, 1), (0x0128, SHORT, 1, b"\2\0")])


def exif_pointing_to_itself() -> bytes:
    return tiff([number(0x8769, 8), number(0x8825, 8), number(0xA005, 8)], following=8)


def exif_many_tags() -> bytes:
    entries = [struct.pack("<HHII", tag, LONG, 1, 1) for tag in range(1, 65_535)]
    return b"II*\0\x08\0\0\0" + directory(entries)


def bigtiff_tags() -> bytes:
    entries = fill(struct.pack("<HHQQ", 60_000, 99, 1, 1), FULL - 64)
    return b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, 2**40) + entries


def tiff_with_exif_directory(tag: int) -> bytes:
    """A directory of EXIF within a TIFF that holds two million fractions."""
    count = 2_000_000
    fractions = struct.pack("<II", 1, 3) * count
    inner = directory([struct.pack("<HHII", 0x829A, RATIONAL, count, 8 + 64)])
    return tiff_with(number(tag, 8 + 64 + len(fractions)), tail=fractions + inner)


def tiff_chain(pages: int) -> bytes:
    """Directories of which each names the next, and the last the first."""
    size = 2 + 12 * 2 + 4
    chain = b"".join(
        struct.pack("<H", 2)
        + struct.pack("<HHII", 256, LONG, 1, 8)
        + struct.pack("<HHII", 257, LONG, 1, 8)
        + struct.pack("<I", 8 + size * ((i + 1) % pages))
        for i in range(pages)
    )
    return b"II*\0\x08\0\0\0" + chain


def tiff_of(mode: str, compression: str, side: int = 4096, **options: object) -> bytes:
    return encode(Image.new(mode, (side, side)), "TIFF", compression=compression, **options)


def tiff_jpeg_passes() -> bytes:
    """A JPEG of 90 passes over 4096 x 4096 pixels inside a TIFF."""
    data = jpeg_passes(4096, 90)
    tags = [
        number(256, 4096),
        number(257, 4096),
        number(259, 7),
        number(262, 6),
        number(277, 3),
        number(278, 4096),
    ]
    tags += [(258, SHORT, 3, struct.pack("<HHH", 8, 8, 8)), number(273, 8), number(279, len(data))]
    tags += [(530, SHORT, 2, struct.pack("<HH", 2, 2))]
    return tiff(tags, data)


# GIF, BMP, WebP


def gif(
    before: bytes = b"", data: bytes | None = None, canvas: tuple[int, int] = (8, 8), after: bytes = b""
) -> bytes:
    pixels = (
        b"\x02\x16\x8c\x2d\x99\x87\x2a\x1c\xdc\x33\xa0\x02\x75\xec\x95\xfa\xa8\xde\x60\x8c\x04\x91\x4c\x01\0"
    )
    frame = b"," + struct.pack("<HHHHB", 0, 0, *canvas, 0)
    screen = b"GIF89a" + struct.pack("<HHBBB", *canvas, 0x80, 0, 0) + bytes(3) + b"\xff" * 3
    return screen + before + frame + (pixels if data is None else data) + after + b";"


def gif_clear_codes() -> bytes:
    """Twelve-bit codes that reset the table again and again, over 4096 x 4096 pixels."""
    return gif(data=b"\x0b" + fill(b"\xff" + b"\x00\x08\x80" * 85, FULL - 64) + b"\0", canvas=(4096, 4096))


def bmp_rle(width: int, height: int, data: bytes, four_bits: bool = False) -> bytes:
    colours, bits = (16, 4) if four_bits else (256, 8)
    start = 54 + 4 * colours
    info = struct.pack(
        "<IiiHHIIiiII", 40, width, height, 1, bits, 2 if four_bits else 1, len(data), 0, 0, colours, 0
    )
    palette = b"".join(struct.pack("<BBBB", i, 255 - i, i, 0) for i in range(colours))
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + info + palette + data


def bmp_header(size: int, colours: int = 0, bits: int = 8) -> bytes:
    info = struct.pack("<IiiHHIIiiII", size, 64, 64, 1, bits, 0, 0, 0, 0, colours, 0)
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, 54) + info + bytes(FULL // 2)


def riff(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def webp(chunks: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WEBP" + chunks


def vp8x(width: int, height: int, flags: int = 0) -> bytes:
    sides = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    return riff(b"VP8X", bytes([flags, 0, 0, 0]) + sides)


def webp_frames(canvas: int, frames: int) -> bytes:
    still = small("WEBP", lossless=True)[12:]
    place = struct.pack("<I", 0)[:3] * 2 + struct.pack("<I", 63)[:3] * 2 + struct.pack("<I", 1)[:3] + b"\0"
    return webp(vp8x(canvas, canvas, 2) + riff(b"ANIM", bytes(6)) + riff(b"ANMF", place + still) * frames)


def webp_exif(exif: bytes) -> bytes:
    return webp(vp8x(64, 64, 8) + small("WEBP", lossless=True)[12:] + riff(b"EXIF", exif))


# Kinds that are not accepted at all


def box(kind: bytes, brand: bytes) -> bytes:
    return (
        struct.pack(">I", 24) + b"ftyp" + brand + bytes(4) + b"mif1miaf" + fill(struct.pack(">I", 8) + kind)
    )


def avif_claiming(side: int) -> bytes:
    """A small AVIF whose properties state another size."""
    honest = struct.pack(">II", 64, 64)
    return small("AVIF").replace(
        b"ispe" + bytes(4) + honest, b"ispe" + bytes(4) + struct.pack(">II", side, side)
    )


def laughs() -> bytes:
    lines = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "ha">{lines}]><svg>&l11;</svg>'.encode()


def of_kind(kind: str, side: int = 2048) -> Callable[[], bytes]:
    return lambda: encode(Image.new("RGB", (side, side)), kind)
