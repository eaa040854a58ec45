"""Downloads from a server of our own, and damaged files; never the network."""

import gzip
import hashlib
import http.server
import io
import os
import pickle
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from vitviz.data import dataset_cache, dataset_download
from vitviz.data.dataset import Dataset, DatasetError
from vitviz.data.datasets import available_datasets, load_dataset
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
    dataset_cache.write_dataset(small(), data_folder / "mnist.npz")
    assert [path.name for path in data_folder.iterdir()] == ["mnist.npz"]
    loaded = load_dataset("mnist")
    assert (loaded.train_images == small().train_images).all() and loaded.classes == ("a", "b")
    assert load_dataset("mnist") is loaded and "mnist" in available_datasets()
    assert not loaded.train_images.flags.writeable and loaded.train_labels.dtype == np.int64


def test_a_replaced_file_is_read_anew(data_folder):
    dataset_cache.write_dataset(small(), data_folder / "mnist.npz")
    before = load_dataset("mnist")
    dataset_cache.write_dataset(small(count=8), data_folder / "mnist.npz")
    assert len(load_dataset("mnist").train_labels) == 8 and len(before.train_labels) == 6


def test_a_failed_write_leaves_the_old_file_and_no_other(data_folder, monkeypatch):
    dataset_cache.write_dataset(small(), data_folder / "mnist.npz")
    old = (data_folder / "mnist.npz").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        dataset_cache.write_dataset(small(count=8), data_folder / "mnist.npz")
    assert [path.name for path in data_folder.iterdir()] == ["mnist.npz"]
    assert (data_folder / "mnist.npz").read_bytes() == old


def stored(**changes: object) -> bytes:
    data = small()
    arrays = {key: getattr(data, key) for key in dataset_cache.KEYS if key != "classes"}
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
            self.wfile.write((body or b"")[: -9 if "cut off" in files else None])

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
    """A server that offers ten and four images in MNIST's format."""
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
    reported: list[tuple[float, str]] = []
    loaded = load_dataset(name, progress=lambda share, text: reported.append((share, text)))
    assert (loaded.train_images[..., 0] == arrays["train-images-idx3-ubyte.gz"]).all()
    assert loaded.test_labels.tolist() == [0, 1, 2, 3]
    assert loaded.classes[:2] == (("0", "1") if name == "mnist" else ("T-shirt/top", "Trouser"))
    shares = [share for share, _ in reported]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(reported) >= 5
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


def test_a_download_that_is_cut_off_leaves_nothing_behind_and_is_begun_again(mnist, data_folder):
    files, _ = mnist
    files["cut off"] = b""  # from now on every answer ends before it has reported all
    with pytest.raises(DatasetError, match="could not be downloaded"):
        load_dataset("mnist", progress=lambda share, text: None)
    assert list(data_folder.iterdir()) == []
    del files["cut off"]
    assert len(load_dataset("mnist", progress=lambda share, text: None).test_labels) == 4


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
    for part in ("cifar10.npz", str(data_folder), "VITVIZ_DATA", "'digits'", "'shapes'", "cannot be reached"):
        assert part in message
    assert "\n" not in message
    assert "cifar10" not in available_datasets()
    assert len(load_dataset("digits").train_labels) == 1438


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match="could not be downloaded"):
        load_dataset("cifar10", progress=lambda share, text: None)


def test_two_sessions_download_once(mnist, monkeypatch):
    calls = []
    fetch = dataset_download._fetch

    def counting(*arguments: object) -> None:
        calls.append(arguments[0])
        fetch(*arguments)

    monkeypatch.setattr(dataset_download, "_fetch", counting)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: load_dataset("mnist", lambda *_: None), range(4)))
    assert len(calls) == 8  # four files, each asked of the mirror that is gone and of the one that is there
