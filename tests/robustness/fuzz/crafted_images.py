"""Build image files part by part, and list those whose structure makes a decoder slow or large."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable

import numpy as np
from PIL import Image

from tests.files import encode

FULL = 20 * 2**20 - 4096  # as large as an upload may be
Tag = tuple[int, int, int, bytes]  # (tag, type, count, packed values)
SHORT, LONG, RATIONAL, UNDEFINED = 3, 4, 5, 7


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


KINDS: dict[str, Callable[[], bytes]] = {
    "jpeg fill bytes": lambda: b"\xff\xd8" + fill(b"\xff"),
    "jpeg junk before a marker": lambda: jpeg(segment(0xE0) + fill(b"\0", FULL - 8192)),
    "jpeg escaped junk": lambda: jpeg(segment(0xE0) + fill(b"\xff\0", FULL - 8192)),
    "jpeg markers without a length": lambda: jpeg(fill(b"\xff\xd0", FULL - 8192)),
    "jpeg empty APP1": lambda: jpeg(fill(segment(0xE1), FULL - 8192)),
    "jpeg empty comments": lambda: jpeg(fill(segment(0xFE), FULL - 8192)),
    "jpeg EXIF in 300 segments": lambda: jpeg(exif_segments(bytes(FULL - 65_536))),
    "jpeg EXIF segments of a byte": lambda: jpeg(fill(segment(0xE1, b"Exif\0\0x"), FULL - 8192)),
    "jpeg EXIF of fractions": lambda: jpeg(exif_segments(exif_rationals(8000))),
    "jpeg EXIF of 2.4 M fractions": lambda: jpeg(exif_segments(exif_rationals(2_400_000))),
    "jpeg EXIF loop": lambda: jpeg(exif_segments(exif_pointing_to_itself())),
    "jpeg EXIF of 65,534 tags": lambda: jpeg(exif_segments(exif_many_tags())),
    "jpeg ICC segments": lambda: jpeg(fill(segment(0xE2, b"ICC_PROFILE\0\1\1"), FULL - 8192)),
    "jpeg Photoshop blocks": lambda: jpeg(
        fill(segment(0xED, b"Photoshop 3.0\0" + b"8BIM\0\1\0\0\0\0\0\0" * 5400), FULL - 8192)
    ),
    "jpeg quantization tables": lambda: jpeg(fill(segment(0xDB, bytes(1) + b"\1" * 64), FULL - 8192)),
    "jpeg long quantization tables": lambda: jpeg(fill(segment(0xDB, (bytes(1) + b"\1" * 64) * 1000), FULL - 8192)),
    "jpeg Huffman tables": lambda: jpeg(fill(segment(0xC4, bytes(17)), FULL - 8192)),
    "jpeg frame headers": lambda: jpeg(fill(segment(0xC0, b"\x08\0\x08\0\x08\1\1\x11\0"), FULL - 8192)),
    "jpeg frame headers of 21,000 layers": lambda: jpeg(
        fill(segment(0xC0, b"\x08\0\x08\0\x08\1" + b"\1\x11\0" * 21_000), FULL - 8192)
    ),
    "jpeg 16 passes over 16 megapixels": lambda: jpeg_passes(4096, 16),
    "jpeg 5,000 passes": lambda: jpeg_passes(512, 5000),
    "jpeg restart intervals": lambda: jpeg_of(4096, restart_marker_blocks=1),
    "jpeg fill bytes in its scan": lambda: jpeg_in_scan(b"\xff"),
    "jpeg restart markers in its scan": lambda: jpeg_in_scan(b"\xff\xd0"),
    "jpeg comments between passes": lambda: jpeg_between_scans(segment(0xFE)),
    "jpeg 64 megapixels": lambda: jpeg_of(8192),
    "jpeg 64 megapixels of 64 pixels": lambda: damaged_size(small("JPEG"), 8192, 8192),
    "jpeg 32768 wide progressive": lambda: damaged_size(small("JPEG", progressive=True), 32_768, 512),
    "jpeg CMYK 64 megapixels": lambda: encode(Image.new("CMYK", (8000, 8000)), "JPEG"),
    "jpeg MPO of 500 images": lambda: encode(
        Image.new("RGB", (8, 8)), "MPO", save_all=True, append_images=[Image.new("RGB", (8, 8))] * 500
    ),
    "png empty chunks": lambda: png(before=fill(chunk(b"teSt"), FULL - 4096)),
    "png empty chunks after its pixels": lambda: png(after=fill(chunk(b"teSt"), FULL - 4096)),
    "png empty IDATs": lambda: png(idat=fill(chunk(b"IDAT"), FULL - 4096)),
    "png IDATs of a byte": lambda: png(
        idat=b"".join(chunk(b"IDAT", bytes([byte])) for byte in zlib.compress(random.Random(0).randbytes(1025 * 1024))),
        side=1024,
    ),
    "png zTXt of 1 GB": lambda: png(before=chunk(b"zTXt", b"a\0\0" + zipped(2**30))),
    "png zTXt of 64 x 1 MB": lambda: png(before=chunk(b"zTXt", b"a\0\0" + zipped(2**20 - 1)) * 63),
    "png iTXt of 4 bytes a letter": lambda: png(
        before=chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress("\U0001f600".encode() + b"a" * (2**20 - 64))) * 63
    ),
    "png iTXt of many keys": lambda: png(
        before=b"".join(chunk(b"iTXt", b"%d\0\0\0\0\0x" % i) for i in range(FULL // 28))
    ),
    "png tEXt": lambda: png(before=fill(chunk(b"tEXt", b"a\0b"), FULL - 4096)),
    "png ICC profile of 1 GB": lambda: png(before=chunk(b"iCCP", b"a\0\0" + zipped(2**30))),
    "png ICC profiles": lambda: png(before=fill(chunk(b"iCCP", b"a\0\0" + zipped(2**20 - 1)), FULL - 4096)),
    "png EXIF of 2.4 M fractions": lambda: png(before=chunk(b"eXIf", exif_rationals(2_400_000))),
    "png EXIF loop": lambda: png(before=chunk(b"eXIf", exif_pointing_to_itself())),
    "png palette of 20 MB": lambda: png(before=chunk(b"PLTE", bytes(FULL - 4096)), colour=3),
    "png 100,000 animation frames": lambda: apng(100_000, 100_001),
    "png 2 ** 31 claimed frames": lambda: apng(1, 2**31 - 1),
    "png interlaced 4096 x 4096 of 64 bits": png_interlaced,
    "png 4096 x 4096 of 64 bits": png_noise,
    "png pixels of 2 GB": lambda: png(idat=chunk(b"IDAT", zipped(2**31))),
    "png chunk of 4 GB": lambda: png(before=struct.pack(">I", 2**32 - 1) + b"teSt"),
    "gif comment of bytes": lambda: gif(b"!\xfe" + fill(b"\1a", FULL - 4096) + b"\0"),
    "gif empty comments": lambda: gif(fill(b"!\xfe\0", FULL - 4096)),
    "gif application blocks": lambda: gif(b"!\xff\x0bXMP DataXMP" + fill(b"\1a", FULL - 4096) + b"\0"),
    "gif graphic controls": lambda: gif(fill(b"!\xf9\4\0\0\0\0\0", FULL - 4096)),
    "gif junk before its image": lambda: gif(fill(b"\0", FULL - 4096)),
    "gif pixels in blocks of a byte": lambda: gif(
        data=b"\2" + fill(b"\1\x8c", FULL - 4096) + b"\0", canvas=(4096, 4096)
    ),
    "gif empty extensions that hide blocks": lambda: gif(
        b"!\xf9\0," + bytes([43]) * 43 + fill(b"\1a", FULL - 4096) + b"\0"
    ),
    "jpeg bare markers that hide segments": lambda: jpeg(
        fill(b"\xff\xf0\xff\xfe" + segment(0xE1) * 16_000, FULL - 65_536)
    ),
    "tiff offsets of single bytes": lambda: tiff_with((273, UNDEFINED, 10_000_000, b"\x08" * 10_000_000)),
    "gif clear codes": gif_clear_codes,
    "gif 300,000 frames": lambda: gif(after=fill(gif()[19:-1], FULL - 4096)),
    "gif frame beyond its canvas": lambda: gif(canvas=(8, 8)).replace(b",\0\0\0\0\x08\0", b",\0\0\0\0\xff\xff"),
    "bmp RLE8 of single pixels": lambda: bmp_rle(4096, 4096, fill(b"\1\7", FULL - 4096)),
    "bmp RLE8 of line ends": lambda: bmp_rle(4096, 4096, b"\1\7\0\0" * 4096),
    "bmp RLE8 of empty runs": lambda: bmp_rle(4, 4096, fill(b"\7\7", FULL - 4096)),
    "bmp RLE8 of absolute runs": lambda: bmp_rle(4096, 4096, fill(b"\0\3abc\0", FULL - 4096)),
    "bmp RLE8 of jumps": lambda: bmp_rle(4096, 4096, fill(b"\0\2\0\0", FULL - 4096)),
    "bmp RLE4 of long runs": lambda: bmp_rle(4096, 4096, b"\xff\x12" * 70_000, four_bits=True),
    "bmp header of 4 GB": lambda: bmp_header(2**32 - 1),
    "bmp palette of 4 billion": lambda: bmp_header(40, 2**32 - 1),
    "bmp palette of 65,536": lambda: bmp_header(40, 65_536),
    "tiff 1 x 1 tiles": lambda: tiles(1024, 1),
    "tiff 1.6 M 1 x 1 tiles": lambda: tiles(1600, 1),
    "tiff 1 x 1 tiles LZW": lambda: tiles(1024, 1, 5),
    "tiff 16 x 16 tiles deflate": lambda: tiles(4096, 16, 8),
    "tiff 2.5 M strips": lambda: strips(1, 2_500_000, 2_500_000),
    "tiff 2.5 M strips of 32,768 rows": lambda: strips(512, 32_768, 2_500_000),
    "tiff 2.5 M strips LZW": lambda: strips(512, 32_768, 2_500_000, 5),
    "tiff 5 M strip offsets": lambda: tiff_with(numbers(273, LONG, 5_000_000, struct.pack("<I", 8) * 5_000_000)),
    "tiff 5 M strip offsets LZW": lambda: tiff_with(
        number(259, 5), numbers(273, LONG, 5_000_000, struct.pack("<I", 8) * 5_000_000)
    ),
    "tiff 10 M bits per sample": lambda: tiff_with(numbers(258, SHORT, 10_000_000, b"\x08\0" * 10_000_000)),
    "tiff 10 M sample formats": lambda: tiff_with(numbers(339, SHORT, 10_000_000, b"\x01\0" * 10_000_000)),
    "tiff 10 M colours": lambda: tiff_with(
        number(262, 3), numbers(320, SHORT, 10_000_000, b"\x01\0" * 10_000_000)
    ),
    "tiff 2.4 M fractions": lambda: tiff_with(rationals(282, 2_400_000), rationals(283, 1)),
    "tiff EXIF directory of fractions": lambda: tiff_with_exif_directory(0x8769),
    "tiff GPS directory of fractions": lambda: tiff_with_exif_directory(0x8825),
    "tiff XMP of 19 MB, turned": lambda: tiff_with(
        number(274, 6), (700, UNDEFINED, FULL - 4096, fill(b'tiff:Orientation="', FULL - 4096).ljust(FULL - 4096))
    ),
    "tiff EXIF pointers to itself": lambda: tiff_with(number(0x8769, 72), tail=exif_pointing_to_itself()),
    "tiff 700,000 directories in a ring": lambda: tiff_chain(690_000),
    "tiff of 10 ** 12 tags": bigtiff_tags,
    "tiff 65,534 tags": exif_many_tags,
    "tiff deflate 4096 x 4096": lambda: tiff_of("RGBA", "tiff_adobe_deflate"),
    "tiff LZW 4096 x 4096 floats": lambda: tiff_of("F", "tiff_lzw"),
    "tiff LZMA 4096 x 4096": lambda: tiff_of("RGBA", "lzma"),
    "tiff Zstandard 4096 x 4096": lambda: tiff_of("RGBA", "zstd"),
    "tiff fax 4096 x 4096": lambda: tiff_of("1", "group4"),
    "tiff JPEG of 90 passes": tiff_jpeg_passes,
    "webp 2.6 M chunks": lambda: webp(small("WEBP", lossless=True)[12:] + fill(riff(b"teSt"), FULL - 65_536)),
    "webp extended of 2.6 M chunks": lambda: webp(
        vp8x(64, 64) + small("WEBP", lossless=True)[12:] + fill(riff(b"teSt"), FULL - 65_536)
    ),
    "webp canvas of 12 megapixels": lambda: webp_frames(3464, 1),
    "webp canvas of 170 megapixels": lambda: webp_frames(13_000, 1),
    "webp canvas of 16383 x 16383": lambda: webp_frames(16_383, 1),
    "webp 1,000 frames": lambda: webp_frames(64, 1000),
    "webp EXIF of 2.4 M fractions": lambda: webp_exif(exif_rationals(2_400_000)),
    "webp EXIF loop": lambda: webp_exif(exif_pointing_to_itself()),
    "webp lossless 12 megapixels": lambda: encode(Image.new("RGB", (4096, 3072)), "WEBP", lossless=True),
    "avif boxes": lambda: box(b"free", b"avif"),
    "avif image of 2 ** 32 pixels": lambda: avif_claiming(2**16),
    "avif EXIF of 2.4 M fractions": lambda: encode(
        Image.new("RGB", (64, 64)), "AVIF", exif=exif_rationals(2_400_000)
    ),
    "avif EXIF loop": lambda: encode(Image.new("RGB", (64, 64)), "AVIF", exif=exif_pointing_to_itself()),
    "avif 16 megapixels": of_kind("AVIF", 4096),
    "heic boxes": lambda: box(b"free", b"heic"),
    "svg of entities": laughs,
    "psd layers": lambda: b"8BPS\0\1" + bytes(6) + b"\0\3\0\0\x7f\xff\0\0\x7f\xff\0\x08\0\3" + fill(b"8BIM", FULL - 64),
    "eps endless loop": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n{} loop\n",
    "ico of 65,535 images": lambda: b"\0\0\1\0\xff\xff" + fill(bytes(16), FULL - 64),
    "icns": lambda: b"icns" + fill(b"ic10\0\0\0\x08", FULL - 64),
    "jpeg 2000": of_kind("JPEG2000"),
    "pcx": of_kind("PCX"),
    "ppm of a long comment": lambda: b"P6\n#" + fill(b"a", FULL - 64) + b"\n9 9 255\n",
    "tga": of_kind("TGA"),
    "sgi": of_kind("SGI"),
    "qoi": of_kind("QOI"),
    "dds": of_kind("DDS"),
    "xbm": lambda: b"#define a_width 9\n#define a_height 9\n" + fill(b"0x00,", FULL - 64),
    "fli": lambda: struct.pack("<IHHHHH", 128, 0xAF12, 65_535, 320, 200, 8) + fill(bytes(2), FULL - 64),
}  # fmt: skip
