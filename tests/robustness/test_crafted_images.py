"""Crafted images cost the server little, and others are decoded meanwhile; test_fuzz.py runs the whole list."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image

from tests.robustness.fuzz.crafted_images import KINDS, chunk, encode, gif, jpeg, png, segment, small
from tests.robustness.fuzz.watch import Entry, held
from vitviz import upload_limits
from vitviz.data import image_worker
from vitviz.data.image_decoding import ImageError, decode_image, picture_size, shrink_image
from vitviz.data.image_worker import ImageWorkers, decode_in_worker

SLOW_IN_A_WORKER = "bmp RLE8 of line ends"  # 16 kB that Pillow fills with 16 million zeros, one by one


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("jpeg fill bytes", "65,536 fill bytes"),
        ("jpeg junk before a marker", "65,536 fill bytes"),
        ("jpeg empty APP1", "4,096 segments"),
        ("jpeg bare markers that hide segments", "4,096 segments"),
        ("jpeg EXIF in 300 segments", "bytes of EXIF data"),
        ("jpeg Photoshop blocks", "Photoshop blocks"),
        ("jpeg long quantization tables", "quantization tables and frame headers"),
        ("jpeg frame headers of 21,000 layers", "quantization tables and frame headers"),
        ("png empty chunks", "65,536 chunks"),
        ("png empty chunks after its pixels", "65,536 chunks"),
        ("png empty IDATs", "65,536 chunks"),
        ("png ICC profiles", "32 compressed texts"),
        ("gif comment of bytes", "65,536 blocks"),
        ("gif empty comments", "65,536 blocks"),
        ("gif junk before its image", "65,536 blocks"),
        ("gif empty extensions that hide blocks", "65,536 blocks"),
        ("bmp RLE8 of single pixels", "bytes of run-length pixels"),
        ("tiff 1 x 1 tiles", "values of its tag 324"),
        ("tiff 5 M strip offsets", "values of its tag 273"),
        ("tiff offsets of single bytes", "values of its tag 273"),
        ("tiff 2.4 M fractions", "values of its tag 282"),
        ("tiff GPS directory of fractions", "values of its tag 33434"),
        ("tiff of 10 ** 12 tags", "65,535 tags"),
        ("webp canvas of 170 megapixels", "13000 × 13000 pixels"),
    ],
)
def test_too_many_parts_are_refused_before_pillow_reads_the_file(kind, reason, monkeypatch):
    data = KINDS[kind]()
    for name in ("Png", "Jpeg", "Gif", "Bmp", "Tiff", "WebP", "Avif"):
        monkeypatch.setattr(f"PIL.{name}ImagePlugin.{name}ImageFile._open", lambda _: pytest.fail("opened"))
    with pytest.raises(ImageError, match=reason):
        decode_image(data)
    assert held(Entry(kind, [], decode_in_worker, (ImageError,)), data) is None


@pytest.mark.parametrize(
    "kind",
    [
        "png EXIF of 2.4 M fractions",
        "webp extended of 2.6 M chunks",
        "webp EXIF of 2.4 M fractions",
        "avif boxes",
        "avif image of 2 ** 32 pixels",
        "avif EXIF of 2.4 M fractions",
    ],
)
def test_many_parts_that_cost_little_need_no_check_beyond_the_workers_limits(kind):
    assert held(Entry(kind, [], decode_in_worker, (ImageError,)), KINDS[kind]()) is None


def test_files_of_cameras_and_editors_are_within_the_limits():
    profile = {"icc_profile": bytes(4 * 2**20)}
    noise = np.random.default_rng(0).integers(0, 256, (1100, 1100, 3), dtype=np.uint8)
    accepted = [
        encode(Image.new("RGB", (64, 64)), "JPEG", **profile),  # 65 segments
        encode(Image.new("RGB", (64, 64)), "TIFF", **profile),
        encode(Image.fromarray(noise), "PNG"),  # many IDATs
        encode(Image.fromarray(noise[:, :, 0]), "BMP"),
        encode(Image.new("L", (8, 32_768)), "TIFF", strip_size=8),  # a strip for each row
        png(before=chunk(b"tEXt", b"key\0value") * 1000 + chunk(b"zTXt", b"key\0\0x\x9c\3\0\0\0\0\1") * 20),
        png(after=chunk(b"teSt") * 60_000),
        jpeg(segment(0xE1, b"xmp") * 400 + b"\xff" * 60_000),
        gif(b"!\xfe" + b"\1a" * 60_000 + b"\0"),
        encode(Image.new("RGB", (8, 8)), "GIF", comment="a" * 200_000),
        encode(Image.new("RGB", (8, 8)), "TIFF", big_tiff=True),
        encode(Image.fromarray(noise), "AVIF", speed=10, **profile),
    ]
    assert [decode_image(data).ndim for data in accepted] == [3] * len(accepted)


@pytest.mark.parametrize(
    "kind",
    [
        "jpeg EXIF loop",
        "jpeg EXIF of 65,534 tags",
        "png EXIF loop",
        "tiff EXIF pointers to itself",
        "avif EXIF loop",
    ],
)
def test_broken_pointers_cost_no_image(kind):
    assert decode_image(KINDS[kind]()).ndim == 3


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "AVIF"])
def test_a_worker_returns_the_same_bytes(kind):
    data = small(kind)
    whole, shrunk = decode_in_worker(data), decode_in_worker(data, most_pixels=1000)
    assert np.array_equal(whole.pixels, decode_image(data)) and whole.pixels.flags.writeable
    assert np.array_equal(shrunk.pixels, shrink_image(decode_image(data), 1000))
    assert whole.file_size == shrunk.file_size == picture_size(data) == (64, 64)


def test_a_worker_refuses_in_the_same_words():
    for data in (b"", b"hello", b"II*\0junk", small("PNG")[:-40], bytes(upload_limits.IMAGE_BYTES + 1)):
        with pytest.raises(ImageError) as direct:
            decode_image(data)
        with pytest.raises(ImageError) as by_worker:
            decode_in_worker(data)
        assert str(direct.value) == str(by_worker.value)


@pytest.fixture
def workers():
    workers = ImageWorkers()
    yield workers
    workers.close()


@pytest.fixture
def slow_image(workers, monkeypatch):
    """(an image that holds its worker, how often it has taken one, what lets it go)."""
    image, taken, go_on = small("PNG"), threading.Semaphore(0), threading.Event()
    decode = image_worker.ImageWorker.decode

    def decode_slowly(worker, encoded, most_pixels):
        if encoded == image:
            taken.release()
            assert go_on.wait(60)
        return decode(worker, encoded, most_pixels)

    monkeypatch.setattr(image_worker.ImageWorker, "decode", decode_slowly)
    yield image, taken, go_on
    go_on.set()


def test_other_images_are_decoded_while_one_holds_a_worker(workers, slow_image):
    image, taken, go_on = slow_image
    thread = threading.Thread(target=workers.decode, args=(image,))
    thread.start()
    assert taken.acquire(timeout=60)
    for _ in range(2):
        assert workers.decode(small("JPEG")).pixels.shape == (64, 64, 3)
    assert not go_on.is_set() and thread.is_alive()
    go_on.set()
    thread.join()


def test_one_user_holds_one_worker_at_a_time(workers, slow_image, monkeypatch):
    """Two slow images of one session held both workers for 4 s, again and again."""
    monkeypatch.setattr(image_worker, "WORKERS_OF_SERVER", workers)
    image, taken, go_on = slow_image

    def upload_slow_image() -> None:
        with image_worker.decode_for("attacker"):
            image_worker.decode_in_worker(image)

    threads = [threading.Thread(target=upload_slow_image) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert taken.acquire(timeout=60)
    while not workers._turns_of_user["attacker"]._line:  # the second image waits for the first
        assert not taken.acquire(timeout=0.001), "it has the second worker"
    with image_worker.decode_for("another"):
        image_worker.decode_in_worker(small("JPEG"))
    assert workers._turns._free == 1
    go_on.set()
    for thread in threads:
        thread.join()
    assert not workers._turns_of_user


def test_an_image_that_takes_too_long_is_refused_and_its_worker_replaced(workers, monkeypatch):
    first = workers.decode(small("PNG"))
    monkeypatch.setattr(image_worker, "WALL_LIMIT_S", 0.3)
    with pytest.raises(ImageError, match="takes more than 4 seconds or 1,024 MB to decode"):
        workers.decode(KINDS[SLOW_IN_A_WORKER]())
    assert not workers._idle
    monkeypatch.undo()
    assert np.array_equal(workers.decode(small("PNG")).pixels, first.pixels)


@pytest.mark.slow
def test_an_image_whose_worker_is_killed_from_outside_is_decoded_by_another(workers):
    """Twenty times idle, without a moment to notice it, and twenty times over an image."""
    image, large = small("PNG"), encode(Image.effect_noise((1500, 1500), 99).convert("RGB"), "PNG")
    size = workers.decode(large).pixels.shape
    for _ in range(20):
        workers._idle[-1]._process.kill()
        workers.decode(image)
    for number in range(20):
        killing = threading.Timer(0.002 * number, workers._idle[-1]._process.kill)
        killing.start()
        assert workers.decode(large).pixels.shape == size
        killing.join()
        workers.decode(image)


def test_an_image_whose_workers_are_all_killed_is_refused_by_the_cause(workers, monkeypatch):
    exchange = image_worker.ImageWorker._exchange

    def killed(worker, *request):
        worker._process.kill()
        return exchange(worker, *request)

    monkeypatch.setattr(image_worker.ImageWorker, "_exchange", killed)
    with pytest.raises(ImageError, match="ended the process that decodes this image, twice"):
        workers.decode(small("PNG"))
    assert not workers._idle


def test_a_worker_that_died_while_idle_is_replaced(workers):
    workers.decode(small("PNG"))
    process = workers._idle[0]._process
    process.kill()
    process.wait()
    assert workers.decode(small("PNG")).pixels.shape == (64, 64, 3)


def test_a_worker_ends_with_its_parent(workers):
    workers.warm()
    process = workers._idle[0]._process
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def run_limited(code: str) -> subprocess.CompletedProcess[str]:
    code = f"from vitviz.data import image_worker as w\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_a_worker_s_processor_time_memory_and_core_dumps_are_limited():
    ended = run_limited("w.CPU_LIMIT_S = 0\nw._limit_time()\nwhile True: pass")
    assert ended.returncode == -signal.SIGXCPU
    assert "MemoryError" in run_limited("w._limit_memory()\nbytearray(2**30)").stderr
    returned = run_limited("w._limit_memory()\nprint(w.resource.getrlimit(w.resource.RLIMIT_CORE))")
    assert returned.stdout == "(0, 0)\n"


def test_a_lack_of_memory_is_reported(monkeypatch):
    def lack(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", lack)
    with pytest.raises(ImageError, match="needs too much memory"):
        decode_image(small("PNG"))


def test_a_server_that_may_start_no_process_says_so(workers, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(ImageError, match="cannot start a process"):
        workers.decode(small("PNG"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["RGBA", "F", "I;16"])
def test_the_largest_accepted_images_fit_a_worker(workers, mode):
    data = encode(Image.new(mode, (4096, 4096)), "TIFF", compression="tiff_adobe_deflate")
    assert workers.decode(data, 2048 * 2048).pixels.shape == (2048, 2048, 3)


def test_a_24_megapixel_photo_fits_a_worker(workers):
    noise = np.random.default_rng(0).integers(0, 256, (500, 750, 3), dtype=np.uint8)
    photo = Image.fromarray(noise).resize((6000, 4000), Image.Resampling.BILINEAR)
    image = workers.decode(encode(photo, "JPEG", quality=90), 2048 * 2048)
    assert image.file_size == (4000, 6000) and image.pixels.shape == (1672, 2508, 3)
