"""A visitor's own folder or archive of images: damaged, hostile, too large."""

import threading
import zipfile

import numpy as np
import pytest

from tests.files import encode, zipped
from vitviz import upload_limits
from vitviz.data import dataset_zip, image_worker
from vitviz.data.dataset import DatasetError
from vitviz.data.dataset_zip import PictureBudget, load_zip
from vitviz.data.image_worker import DecodedImage, ImageWorker, ImageWorkers


def encode_image(seed: int, kind: str = "PNG", size: tuple[int, int] = (12, 9)) -> bytes:
    noise = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return encode(noise, kind)


def pets(count: int = 10, prefix: str = "") -> dict[str, bytes]:
    names = [f"{prefix}{label}/{number}.png" for label in ("cat", "dog") for number in range(count)]
    return {name: encode_image(seed) for seed, name in enumerate(names)}


@pytest.mark.parametrize("prefix", ["", "pets/", "a/b/"])
def test_folders_around_the_classes_are_passed_through(prefix):
    own, bare = (load_zip(zipped(pets(prefix=before)), image_size=16) for before in (prefix, ""))
    assert own.skipped == () and own.dataset.classes == ("cat", "dog")
    assert own.dataset.train_images.shape == (16, 16, 16, 3)
    assert np.bincount(own.dataset.train_labels).tolist() == [8, 8]
    assert np.bincount(own.dataset.test_labels).tolist() == [2, 2]
    assert (own.dataset.train_images == bare.dataset.train_images).all()


def test_bad_files_are_listed_and_left_out():
    bad = {
        "cat/empty.png": (b"", "empty"),
        "cat/note.txt": (b"hello", "not an image"),
        "cat/cut.png": (encode_image(77)[:200], "truncated or damaged"),
        "dog/more.zip": (zipped(pets()), "zip archive"),
        "dog/copy.png": (pets()["cat/3.png"], "copy of cat/3.png"),
        "readme.md": (b"hello", "not in a class folder"),
        "../../etc/dog/up.png": (encode_image(78), "points outside"),
        "/dog/root.png": (encode_image(79), "points outside"),
        "C:/dog/drive.png": (encode_image(80), "points outside"),
        "cat\\..\\..\\up.png": (encode_image(81), "points outside"),
    }
    junk = {"__MACOSX/cat/._0.png": b"x", "cat/.DS_Store": b"x", "dog/Thumbs.db": b"x", "dog/._1.png": b"x"}
    first = {"cat/cut.png": b""}  # what follows it keeps its own label
    own = load_zip(zipped(first | pets() | {name: data for name, (data, _) in bad.items()} | junk))
    reasons = {item.name: item.reason for item in own.skipped}
    assert set(reasons) == set(bad)
    for name, (_, reason) in bad.items():
        assert reason in reasons[name]
    assert len(own.dataset.train_labels) + len(own.dataset.test_labels) == 20
    assert (own.dataset.train_images == load_zip(zipped(pets())).dataset.train_images).all()


def test_encrypted_and_damaged_entries_are_left_out():
    data = bytearray(zipped(pets()))
    encrypted = data.index(b"PK\x01\x02") + 8  # the flags of the directory's first entry, cat/0.png
    data[encrypted] |= 1
    data[data.index(encode_image(5)) + 60] ^= 255  # a bit of cat/5.png: its checksum no longer fits
    own = load_zip(bytes(data))
    assert {item.name: item.reason.split(" (")[0] for item in own.skipped} == {
        "cat/0.png": "it is encrypted",
        "cat/5.png": "it cannot be read",
    }


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "no class folder"),
        ({"1.png": encode_image(1), "2.png": encode_image(2)}, "no class folder"),
        ({"cat/1.png": encode_image(1), "cat/2.png": encode_image(2)}, "one class, 'cat'"),
        ({"train/cat/1.png": encode_image(1), "test/cat/2.png": encode_image(2)}, "one class, 'cat'"),
        ({"train/1.png": encode_image(1), "test/2.png": encode_image(2)}, "splits, not classes"),
        (
            {f"{name}/cat/1.png": encode_image(i) for i, name in enumerate(("train", "val", "test"))},
            "splits, not",
        ),
        ({"cat/1.png": encode_image(1), "dog/1.png": encode_image(2)}, "two images each"),
        ({"cat/1.png": b"", "cat/2.png": b"", "dog/1.png": b"", "dog/2.png": b""}, "skipped files: 4"),
    ],
)
def test_what_is_no_data_set_says_why(files, why):
    with pytest.raises(DatasetError, match=why):
        load_zip(zipped(files))


def test_a_class_of_one_image_is_left_out():
    own = load_zip(zipped(pets() | {"emu/1.png": encode_image(99)}))
    assert own.dataset.classes == ("cat", "dog") and [item.name for item in own.skipped] == ["emu"]


@pytest.mark.parametrize("data", [b"", b"not a zip", zipped(pets())[:500]])
def test_what_is_no_zip_says_so(data):
    with pytest.raises(DatasetError, match="not a zip archive"):
        load_zip(data)


def test_bombs_are_refused_before_they_are_unpacked(monkeypatch):
    bomb = zipped({f"cat/{n}.bmp": bytes(3_000_000) for n in range(4)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 20_000
    monkeypatch.setattr(upload_limits, "DATASET_UNPACKED_BYTES", 10_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(DatasetError, match="unpacks to 11 MB"):
        load_zip(bomb)


def test_an_entry_that_lies_about_its_size_is_read_no_further_than_an_image_may_be():
    entry = bytes(30 * 2**20)
    data = zipped(pets() | {"cat/big.png": entry}, zipfile.ZIP_DEFLATED)
    own = load_zip(data)
    assert [item.name for item in own.skipped] == ["cat/big.png"] and "20 MB" in own.skipped[0].reason


def test_counts_are_bounded(monkeypatch):
    data = zipped(pets(20))
    monkeypatch.setattr(upload_limits, "DATASET_FILES", 39)
    with pytest.raises(DatasetError, match="more than 39 files"):
        load_zip(data)
    monkeypatch.setattr(upload_limits, "DATASET_FILES", 40)
    monkeypatch.setattr(upload_limits, "DATASET_IMAGES", 24)
    own = load_zip(data)
    assert len(own.skipped) == 16 and own.dataset.classes == ("cat", "dog")
    assert len(own.dataset.train_labels) + len(own.dataset.test_labels) == 24


def test_an_upload_of_too_many_pixels_is_refused_before_one_is_decoded(monkeypatch):
    monkeypatch.setattr(dataset_zip, "decode_in_worker", lambda _: pytest.fail("a picture was decoded"))
    with pytest.raises(DatasetError, match="20 images have 0 megapixels; .* up to 10,000 images") as caught:
        load_zip(zipped(pets()), budget=PictureBudget(pixels=20 * 12 * 9 - 1))
    assert "resized to 32 × 32 pixels" in str(caught.value)


def test_an_upload_of_as_many_pixels_as_it_may_have_is_taken():
    bad = {"cat/copy.png": pets()["cat/3.png"], "dog/cut.png": encode_image(77)[:30]}  # neither counts
    own = load_zip(zipped(pets() | bad), budget=PictureBudget(pixels=20 * 12 * 9))
    assert len(own.dataset.train_labels) + len(own.dataset.test_labels) == 20


def test_a_zip_of_the_largest_images_is_refused_in_time(monkeypatch):
    """33 kB each: 4096 x 4096 of 16 bits, of which 10,000 were decoded for two hours."""
    largest = encode(np.zeros((4096, 4096), np.uint16))
    names = [f"{label}/{number}.png" for label in "ab" for number in range(30)]
    monkeypatch.setattr(dataset_zip, "decode_in_worker", lambda _: pytest.fail("a picture was decoded"))
    with pytest.raises(DatasetError, match="60 images have 1,007 megapixels; .* 1,000 in up to 10,000"):
        load_zip(zipped({name: largest + name.encode() for name in names}))


def test_an_upload_whose_time_is_over_says_how_far_it_came():
    with pytest.raises(DatasetError, match="limit of 0 seconds .* 0 of 20"):
        load_zip(zipped(pets()), budget=PictureBudget(seconds=0))


def test_progress_is_told_and_may_end_the_work():
    reported = []
    load_zip(zipped(pets()), progress=lambda done, total: reported.append((done, total)))
    assert reported == [(0, 20)] * 20 + [(done, 20) for done in range(20)]  # headers, then pixels

    class Cancelled(Exception):
        pass

    def cancel(done: int, total: int) -> None:
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        load_zip(zipped(pets()), progress=cancel)


def test_others_images_are_decoded_between_those_of_an_upload(monkeypatch):
    """An upload that waits while an image of a zip is decoded is next, before that zip's other images."""
    order, pause, mine = [], threading.Event(), encode_image(900)
    workers = ImageWorkers(count=1)
    user = threading.Thread(target=lambda: (workers.decode(mine), order.append("mine")))
    decode = ImageWorker.decode

    def decode_and_note(worker: ImageWorker, data: bytes, most_pixels: int | None) -> DecodedImage:
        if data != mine:
            order.append("zip")
            if len(order) == 5:
                user.start()
                while not workers._turns._line:
                    pause.wait(0.001)
        return decode(worker, data, most_pixels)

    monkeypatch.setattr(ImageWorker, "decode", decode_and_note)
    monkeypatch.setattr(image_worker, "WORKERS_OF_SERVER", workers)
    load_zip(zipped(pets()))
    user.join()
    workers.close()
    assert order.index("mine") <= 6 and len(order) == 21


def test_names_of_thousands_of_folders_are_left_out():
    deep = {"a/" * 30_000 + f"{n}.png": b"" for n in range(40)}
    own = load_zip(zipped(pets() | deep))
    assert [len(item.name) for item in own.skipped] == [80] * 40
    assert own.skipped[0].reason == "its name has more than 1,000 characters"


@pytest.mark.parametrize("image_size", [0, 7, 257])
def test_an_image_size_out_of_range(image_size):
    with pytest.raises(DatasetError, match="8 to 256 pixels"):
        load_zip(zipped(pets()), image_size=image_size)


def test_a_set_that_is_split_already_is_left_as_it_is():
    files = {
        f"set/Train/{name}/{i}.png": encode_image(10 * k + i)
        for k, name in enumerate(("cat", "dog"))
        for i in range(4)
    }
    files |= {f"set/test/{name}/9.png": encode_image(90 + k) for k, name in enumerate(("cat", "dog", "emu"))}
    own = load_zip(zipped(files))
    assert own.dataset.classes == ("cat", "dog")
    assert (len(own.dataset.train_labels), len(own.dataset.test_labels)) == (8, 2)
    assert [(item.name, item.reason) for item in own.skipped] == [
        ("emu", "this class has no training image or no test image")
    ]
