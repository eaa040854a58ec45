"""Downloads from a server of our own, damaged files, and hostile folders and archives; never the network."""

import gzip
import hashlib
import http.server
import io
import os
import pickle
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vitviz.data import cache, download, folder, images
from vitviz.data.dataset import Dataset, DatasetError
from vitviz.data.datasets import available_datasets, load_dataset
from vitviz.data.folder import PictureBudget, load_folder, load_zip
from vitviz.torchvision_fix import import_torchvision


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def small(name: str = "mnist", count: int = 6) -> Dataset:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, 4, 4, 1), dtype=np.uint8)
    labels = (np.arange(count) % 2).astype(np.int64)
    return Dataset(name, images, labels, images[:2].copy(), labels[:2].copy(), ("a", "b"))


# --- the .npz files


def test_what_is_written_is_read_back_and_kept_in_memory(data_folder):
    cache.write_dataset(small(), data_folder / "mnist.npz")
    assert [path.name for path in data_folder.iterdir()] == ["mnist.npz"]
    loaded = load_dataset("mnist")
    assert (loaded.train_images == small().train_images).all() and loaded.classes == ("a", "b")
    assert load_dataset("mnist") is loaded and "mnist" in available_datasets()
    assert not loaded.train_images.flags.writeable and loaded.train_labels.dtype == np.int64


def test_a_replaced_file_is_read_anew(data_folder):
    cache.write_dataset(small(), data_folder / "mnist.npz")
    before = load_dataset("mnist")
    cache.write_dataset(small(count=8), data_folder / "mnist.npz")
    assert len(load_dataset("mnist").train_labels) == 8 and len(before.train_labels) == 6


def test_a_failed_write_leaves_the_old_file_and_no_other(data_folder, monkeypatch):
    cache.write_dataset(small(), data_folder / "mnist.npz")
    old = (data_folder / "mnist.npz").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        cache.write_dataset(small(count=8), data_folder / "mnist.npz")
    assert [path.name for path in data_folder.iterdir()] == ["mnist.npz"]
    assert (data_folder / "mnist.npz").read_bytes() == old


def stored(**changes: object) -> bytes:
    data = small()
    arrays = {key: getattr(data, key) for key in cache.KEYS if key != "classes"}
    arrays |= {"classes": np.array(data.classes)} | changes
    buffer = io.BytesIO()
    np.savez(buffer, **{key: value for key, value in arrays.items() if value is not None})
    return buffer.getvalue()


class Trap:
    def __reduce__(self):
        return os.mkdir, ("executed",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cannot be used"),
        (b"not a zip", "cannot be used"),
        (stored()[:300], "cannot be used"),
        (pickle.dumps(Trap()), "cannot be used"),
        (stored(classes=np.array([Trap(), Trap()], dtype=object)), "[Oo]bject arrays"),
        (stored(test_labels=None), "it has no test_labels"),
        (stored(train_images=np.zeros((6, 4, 4, 1), np.float32)), "uint8"),
        (stored(train_images=np.zeros((6, 4, 4), np.uint8)), r"\(N, H, W, 1 or 3\)"),
        (stored(train_images=np.zeros((5, 4, 4, 1), np.uint8)), r"int64 \(5,\)"),
        (stored(test_images=np.zeros((2, 4, 5, 1), np.uint8)), "share one shape"),
        (stored(train_labels=np.array([0, 1, 2, 0, 1, 0])), "0..1, received 0..2"),
        (stored(train_labels=np.array([0, -1, 0, 0, 1, 0])), "received -1..1"),
        (stored(train_labels=np.zeros(6)), "must be integers"),
        (stored(classes=np.array(["one"])), "at least 2 classes"),
        (stored(classes=np.array([1, 2])), "row of text"),
    ],
)
def test_damaged_files_are_named_and_never_executed(data, why, data_folder, monkeypatch):
    data_folder.mkdir()
    monkeypatch.chdir(data_folder)
    (data_folder / "mnist.npz").write_bytes(data)
    with pytest.raises(DatasetError, match=why) as caught:
        load_dataset("mnist")
    assert "mnist.npz" in str(caught.value) and "'digits'" in str(caught.value)
    assert not (data_folder / "executed").exists()


# --- downloads


def idx(array: np.ndarray) -> bytes:
    """MNIST's own file format."""
    shape = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + shape + array.tobytes())


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@pytest.fixture
def server():
    """(address, files): a server on this machine that answers with what is put into `files`."""
    files: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path.lstrip("/"))
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/", files
    httpd.shutdown()
    thread.join()
    httpd.server_close()


RNG = np.random.default_rng(0)


@pytest.fixture
def mnist(server, monkeypatch):
    """A server that offers ten and four pictures in MNIST's format."""
    import_torchvision()
    from torchvision import datasets

    address, files = server
    arrays = {
        "train-images-idx3-ubyte.gz": RNG.integers(0, 256, (10, 28, 28), dtype=np.uint8),
        "train-labels-idx1-ubyte.gz": np.arange(10, dtype=np.uint8),
        "t10k-images-idx3-ubyte.gz": RNG.integers(0, 256, (4, 28, 28), dtype=np.uint8),
        "t10k-labels-idx1-ubyte.gz": np.arange(4, dtype=np.uint8),
    }
    files.update({name: idx(array) for name, array in arrays.items()})
    for source in (datasets.MNIST, datasets.FashionMNIST):
        monkeypatch.setattr(source, "mirrors", [address + "gone/", address])
        monkeypatch.setattr(source, "resources", [(name, md5(files[name])) for name in arrays])
    return files, arrays


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_mnist_is_downloaded_checked_and_kept(name, mnist, data_folder):
    _, arrays = mnist
    told: list[tuple[float, str]] = []
    loaded = load_dataset(name, progress=lambda share, text: told.append((share, text)))
    assert (loaded.train_images[..., 0] == arrays["train-images-idx3-ubyte.gz"]).all()
    assert loaded.test_labels.tolist() == [0, 1, 2, 3]
    assert loaded.classes[:2] == (("0", "1") if name == "mnist" else ("T-shirt/top", "Trouser"))
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(told) >= 5
    assert [path.name for path in data_folder.iterdir()] == [f"{name}.npz"]
    mnist[0].clear()  # from now on the server has nothing
    assert load_dataset(name) is loaded


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_cifar_is_downloaded_checked_and_kept(name, server, monkeypatch, data_folder):
    import_torchvision()
    from torchvision import datasets

    address, files = server
    source = {"cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100}[name]
    key, meta_key = {"cifar10": ("labels", "label_names"), "cifar100": ("fine_labels", "fine_label_names")}[
        name
    ]
    rows = RNG.integers(0, 256, (6, 3072), dtype=np.uint8)
    batch = pickle.dumps({"data": rows, key: [0, 1, 2, 0, 1, 2]})
    meta = pickle.dumps({meta_key: ["aquarium_fish", "bear", "cloud"]})
    inside = {"train.bin": batch, "test.bin": batch, "meta.bin": meta}
    archive = tar({f"{source.base_folder}/{file}": data for file, data in inside.items()})
    files["archive.tar.gz"] = archive
    monkeypatch.setattr(source, "url", address + "archive.tar.gz")
    monkeypatch.setattr(source, "tgz_md5", md5(archive))
    monkeypatch.setattr(source, "train_list", [["train.bin", md5(batch)]])
    monkeypatch.setattr(source, "test_list", [["test.bin", md5(batch)]])
    monkeypatch.setattr(source, "meta", {"filename": "meta.bin", "key": meta_key, "md5": md5(meta)})
    loaded = load_dataset(name, progress=lambda share, text: None)
    assert loaded.train_images.shape == (6, 32, 32, 3)
    assert loaded.train_images[3, 5, 7].tolist() == rows[3].reshape(3, 32, 32)[:, 5, 7].tolist()
    assert loaded.classes == ("aquarium fish", "bear", "cloud")
    assert [path.name for path in data_folder.iterdir()] == [f"{name}.npz"]


def test_a_damaged_download_leaves_nothing_behind(mnist, data_folder):
    files, _ = mnist
    files["train-labels-idx1-ubyte.gz"] += b"!"
    with pytest.raises(DatasetError, match="train-labels-idx1-ubyte.gz"):
        load_dataset("mnist", progress=lambda share, text: None)
    assert list(data_folder.iterdir()) == []


def test_a_cancelled_download_leaves_nothing_behind(mnist, data_folder):
    class Cancelled(Exception):
        pass

    def cancel(share: float, text: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        load_dataset("mnist", progress=cancel)
    assert list(data_folder.iterdir()) == []


def test_without_progress_nothing_is_printed_off_a_terminal(mnist, capsys):
    load_dataset("mnist")
    assert capsys.readouterr() == ("", "")


def test_offline_one_sentence_says_what_to_do(monkeypatch, data_folder):
    import_torchvision()
    from torchvision import datasets

    monkeypatch.setattr(datasets.CIFAR10, "url", "http://127.0.0.1:9/cifar.tar.gz")  # port 9: nobody answers
    with pytest.raises(DatasetError) as caught:
        load_dataset("cifar10", progress=lambda share, text: None)
    message = str(caught.value)
    for part in ("cifar10.npz", str(data_folder), "VITVIZ_DATA", "'digits'", "'shapes'", "no connection"):
        assert part in message
    assert "\n" not in message
    assert "cifar10" not in available_datasets()
    assert len(load_dataset("digits").train_labels) == 1438


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match="could not be downloaded"):
        load_dataset("cifar10", progress=lambda share, text: None)


def test_two_visits_download_once(mnist, monkeypatch):
    calls = []
    fetch = download._fetch

    def counting(*arguments: object) -> None:
        calls.append(arguments[0])
        fetch(*arguments)

    monkeypatch.setattr(download, "_fetch", counting)
    threads = [threading.Thread(target=load_dataset, args=("mnist", lambda *_: None)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 8  # four files, each asked of the mirror that is gone and of the one that is there


# --- a visitor's own folder or archive


def picture(seed: int, kind: str = "PNG", size: tuple[int, int] = (12, 9)) -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(buffer, kind)
    return buffer.getvalue()


def pets(count: int = 10, prefix: str = "") -> dict[str, bytes]:
    names = [f"{prefix}{label}/{number}.png" for label in ("cat", "dog") for number in range(count)]
    return {name: picture(seed) for seed, name in enumerate(names)}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def spread(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.mark.parametrize("prefix", ["", "pets/", "a/b/"])
def test_a_zip_and_a_folder_give_the_same_set(prefix, tmp_path):
    files = pets(prefix=prefix)
    from_zip = load_zip(zipped(files), image_size=16, seed=3)
    from_folder = load_folder(spread(tmp_path / "own", files), image_size=16, seed=3)
    for own in (from_zip, from_folder):
        assert own.skipped == () and own.dataset.classes == ("cat", "dog")
        assert own.dataset.train_images.shape == (16, 16, 16, 3)
        assert np.bincount(own.dataset.train_labels).tolist() == [8, 8]
        assert np.bincount(own.dataset.test_labels).tolist() == [2, 2]
    assert (from_zip.dataset.train_images == from_folder.dataset.train_images).all()
    assert from_folder.dataset.name == "own"


def test_bad_files_are_listed_and_left_out():
    bad = {
        "cat/empty.png": (b"", "empty"),
        "cat/note.txt": (b"hello", "not a picture"),
        "cat/cut.png": (picture(77)[:200], "cut off or damaged"),
        "dog/more.zip": (zipped(pets()), "zip archive"),
        "dog/copy.png": (pets()["cat/3.png"], "copy of cat/3.png"),
        "readme.md": (b"hello", "no class folder"),
        "../../etc/dog/up.png": (picture(78), "points outside"),
        "/dog/root.png": (picture(79), "points outside"),
        "C:/dog/drive.png": (picture(80), "points outside"),
        "cat\\..\\..\\up.png": (picture(81), "points outside"),
    }
    junk = {"__MACOSX/cat/._0.png": b"x", "cat/.DS_Store": b"x", "dog/Thumbs.db": b"x", "dog/._1.png": b"x"}
    own = load_zip(zipped(pets() | {name: data for name, (data, _) in bad.items()} | junk))
    reasons = {item.name: item.reason for item in own.skipped}
    assert set(reasons) == set(bad)
    for name, (_, reason) in bad.items():
        assert reason in reasons[name]
    assert len(own.dataset.train_labels) + len(own.dataset.test_labels) == 20


def test_encrypted_and_damaged_entries_are_left_out():
    data = bytearray(zipped(pets()))
    encrypted = data.index(b"PK\x01\x02") + 8  # the flags of the directory's first entry, cat/0.png
    data[encrypted] |= 1
    data[data.index(picture(5)) + 60] ^= 255  # a bit of cat/5.png: its checksum no longer fits
    own = load_zip(bytes(data))
    assert {item.name: item.reason.split(" (")[0] for item in own.skipped} == {
        "cat/0.png": "it is encrypted",
        "cat/5.png": "it cannot be read",
    }


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "no class folder"),
        ({"1.png": picture(1), "2.png": picture(2)}, "no class folder"),
        ({"cat/1.png": picture(1), "cat/2.png": picture(2)}, "one class, 'cat'"),
        ({"train/cat/1.png": picture(1), "test/cat/2.png": picture(2)}, "splits and not classes"),
        ({"cat/1.png": picture(1), "dog/1.png": picture(2)}, "two pictures or more"),
        ({"cat/1.png": b"", "cat/2.png": b"", "dog/1.png": b"", "dog/2.png": b""}, "4 files were left out"),
    ],
)
def test_what_is_no_data_set_says_why(files, why):
    with pytest.raises(DatasetError, match=why):
        load_zip(zipped(files))


def test_a_class_of_one_picture_is_left_out():
    own = load_zip(zipped(pets() | {"emu/1.png": picture(99)}))
    assert own.dataset.classes == ("cat", "dog") and [item.name for item in own.skipped] == ["emu"]


@pytest.mark.parametrize("data", [b"", b"not a zip", zipped(pets())[:500]])
def test_what_is_no_zip_says_so(data):
    with pytest.raises(DatasetError, match="not a zip archive"):
        load_zip(data)


def test_bombs_are_refused_before_they_are_unpacked(monkeypatch):
    bomb = zipped({f"cat/{n}.bmp": bytes(3_000_000) for n in range(4)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 20_000
    monkeypatch.setattr(folder, "MAX_UNPACKED_BYTES", 10_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(DatasetError, match="would unpack to 11 MB"):
        load_zip(bomb)


def test_an_entry_that_lies_about_its_size_is_read_no_further_than_a_picture_may_be():
    entry = bytes(30 * 2**20)
    data = zipped(pets() | {"cat/big.png": entry}, zipfile.ZIP_DEFLATED)
    own = load_zip(data)
    assert [item.name for item in own.skipped] == ["cat/big.png"] and "20 MB" in own.skipped[0].reason


def test_counts_are_bounded(monkeypatch):
    data = zipped(pets(20))
    monkeypatch.setattr(folder, "MAX_ENTRIES", 39)
    with pytest.raises(DatasetError, match="more than 39 files"):
        load_zip(data)
    monkeypatch.setattr(folder, "MAX_ENTRIES", 40)
    monkeypatch.setattr(folder, "MAX_PICTURES", 24)
    own = load_zip(data)
    assert len(own.skipped) == 16 and own.dataset.classes == ("cat", "dog")
    assert len(own.dataset.train_labels) + len(own.dataset.test_labels) == 24


def test_an_upload_of_too_many_pixels_is_refused_before_one_is_decoded(monkeypatch):
    monkeypatch.setattr(folder, "decode_image", lambda _: pytest.fail("a picture was decoded"))
    with pytest.raises(
        DatasetError, match="20 pictures have 0 megapixels; .* up to 10,000 pictures"
    ) as caught:
        load_zip(zipped(pets()), budget=PictureBudget(pixels=20 * 12 * 9 - 1))
    assert "brought to 32 × 32 pixels" in str(caught.value)


def test_an_upload_of_as_many_pixels_as_it_may_have_is_taken():
    bad = {"cat/copy.png": pets()["cat/3.png"], "dog/cut.png": picture(77)[:30]}  # neither counts
    own = load_zip(zipped(pets() | bad), budget=PictureBudget(pixels=20 * 12 * 9))
    assert len(own.dataset.train_labels) + len(own.dataset.test_labels) == 20


def test_a_zip_of_the_largest_pictures_is_refused_in_time(monkeypatch):
    """33 kB each: 4096 x 4096 of 16 bits, of which 10,000 were decoded for two hours."""
    largest = io.BytesIO()
    Image.fromarray(np.zeros((4096, 4096), np.uint16)).save(largest, "PNG")
    names = [f"{label}/{number}.png" for label in "ab" for number in range(30)]
    monkeypatch.setattr(folder, "decode_image", lambda _: pytest.fail("a picture was decoded"))
    with pytest.raises(
        DatasetError, match="60 pictures have 1,007 megapixels; .* up to 1,000 in up to 10,000"
    ):
        load_zip(zipped({name: largest.getvalue() + name.encode() for name in names}))


def test_an_upload_whose_time_is_over_says_how_far_it_came():
    with pytest.raises(DatasetError, match="longer than the 0 seconds .* 0 of 20 were read"):
        load_zip(zipped(pets()), budget=PictureBudget(seconds=0))


def test_progress_is_told_and_may_end_the_work():
    told = []
    load_zip(zipped(pets()), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 20)] * 20 + [(done, 20) for done in range(20)]  # headers, then pixels

    class Cancelled(Exception):
        pass

    def cancel(done: int, total: int) -> None:
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        load_zip(zipped(pets()), progress=cancel)


def test_others_pictures_are_decoded_between_those_of_an_upload(monkeypatch):
    """Who asks while a picture of a zip is decoded is next, before that zip's other pictures."""
    order, asked, mine = [], threading.Event(), picture(900)
    visitor = threading.Thread(target=lambda: (images.decode_image(mine), order.append("mine")))
    turns, decoding = images._decoding, images._opened

    @contextmanager
    def opened(data: bytes) -> Iterator[object]:
        with decoding(data) as found:
            if data != mine:
                order.append("zip")
                if len(order) == 25:  # 20 headers, then pixels
                    visitor.start()
                    while not turns._line:
                        asked.wait(0.001)
            yield found

    monkeypatch.setattr(images, "_opened", opened)
    load_zip(zipped(pets()))
    visitor.join()
    assert order.index("mine") <= 26 and len(order) == 41


def test_names_of_thousands_of_folders_are_left_out():
    deep = {"a/" * 30_000 + f"{n}.png": b"" for n in range(40)}
    own = load_zip(zipped(pets() | deep))
    assert [len(item.name) for item in own.skipped] == [80] * 40
    assert own.skipped[0].reason == "its name has more than 1,000 characters"


@pytest.mark.parametrize("image_size", [0, 7, 257])
def test_an_image_size_out_of_range(image_size):
    with pytest.raises(DatasetError, match="8 to 256 pixels"):
        load_zip(zipped(pets()), image_size=image_size)


def test_links_out_of_a_folder_are_not_followed(tmp_path):
    root = spread(tmp_path / "own", pets())
    secret = spread(tmp_path / "secret", {"0.png": picture(500), "1.png": picture(501)})
    (root / "fox").symlink_to(secret)
    (root / "cat" / "linked.png").symlink_to(secret / "0.png")
    own = load_folder(root)
    assert own.dataset.classes == ("cat", "dog") and len(own.dataset.train_labels) == 16


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DatasetError, match="There is no folder"):
        load_folder(tmp_path / "none")
