"""List images whose structure makes a decoder slow or large, and measure what each of them costs.

`python -m tests.robustness.fuzz.crafted_images [KIND…]` decodes each kind in a process of its own and prints a table.
"""

from __future__ import annotations

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable

from PIL import Image, features

from tests.robustness.fuzz.image_parts import (
    FULL,
    LONG,
    SHORT,
    UNDEFINED,
    apng,
    avif_claiming,
    bigtiff_tags,
    bmp_header,
    bmp_rle,
    box,
    chunk,
    damaged_size,
    encode,
    exif_many_tags,
    exif_pointing_to_itself,
    exif_rationals,
    exif_segments,
    fill,
    gif,
    gif_clear_codes,
    jpeg,
    jpeg_between_scans,
    jpeg_in_scan,
    jpeg_of,
    jpeg_passes,
    laughs,
    number,
    numbers,
    of_kind,
    png,
    png_interlaced,
    png_noise,
    rationals,
    riff,
    segment,
    small,
    strips,
    tiff_chain,
    tiff_jpeg_passes,
    tiff_of,
    tiff_with,
    tiff_with_exif_directory,
    tiles,
    vp8x,
    webp,
    webp_exif,
    webp_frames,
    zipped,
)

MEASURED_S = 30.0  # a kind that takes longer is killed

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument(
        "--in-process", action="store_true", help="without a worker, as before this was bounded"
    )
    options = parser.parse_args()
    print(f"{'kind':40} {'MB':>5}  seconds, memory, result", flush=True)
    for name in options.kinds:
        data = KINDS[name]()
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            command = [sys.executable, "-m", "tests.robustness.fuzz.crafted_cost", file.name]
            command += ["--in-process"] * options.in_process
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=MEASURED_S, env=os.environ
                )
                returned = (
                    done.stdout.strip() or f"ended with {done.returncode}: {done.stderr.strip()[-200:]}"
                )
            except subprocess.TimeoutExpired:
                returned = f"no end in {MEASURED_S:g} s"
        print(f"{name:40} {len(data) / 2**20:5.1f}  {returned}", flush=True)
    return 0


if __name__ == "__main__":
    assert features.check("libtiff") and features.check("webp")
    sys.exit(main())
