"""A batch gives what its images give one by one, and writes it as it comes."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vitviz
from vitviz.batch import AT_ONCE, Batch, StoredAttention
from vitviz.cli import main
from vitviz.data.image_decoding import ImageError
from vitviz.view import View

COUNT = AT_ONCE + 3  # two forward passes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(COUNT):
        pixels = np.random.default_rng(number).integers(0, 256, (20 + number, 30, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:02d}.png")
    (folder / "notes.txt").write_text("no image")
    return folder


@pytest.fixture
def batch(folder: Path) -> Batch:
    batch = vitviz.inspect("digits_vit", folder)
    assert isinstance(batch, Batch)
    return batch


def test_what_makes_a_batch(batch: Batch, folder: Path) -> None:
    files = sorted(folder.glob("*.png"))
    grey = np.zeros((8, 8), np.uint8)
    assert batch.names == [file.name for file in files]
    assert len(vitviz.inspect("digits_vit", files[:2])) == 2
    assert len(vitviz.inspect("digits_vit", [grey, Image.fromarray(grey)])) == 2
    assert len(vitviz.inspect("digits_vit", np.zeros((3, 8, 8, 3), np.uint8))) == 3
    assert isinstance(vitviz.inspect("digits_vit", (grey / 255).tolist()), View)  # an image as nested lists
    assert isinstance(vitviz.inspect("digits_vit", files[0]), View)
    assert len(batch[2:5]) == 3 and batch[2:5].names == batch.names[2:5]
    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="has no images"):
        vitviz.inspect("digits_vit", empty)
    with pytest.raises(ValueError, match="at least one image"):
        vitviz.inspect("digits_vit", [])
    with pytest.raises(IndexError, match="11 images, received the index -12"):
        _ = batch[-12]
    with pytest.raises(TypeError, match="whole_image"):
        vitviz.inspect("digits_vit", folder, whole_image=True)


def test_a_batch_equals_its_images(batch: Batch, tmp_path: Path) -> None:
    views = list(batch)
    np.testing.assert_allclose(batch.distances(), [view.distances() for view in views], atol=1e-5)
    stored = batch.attention(tmp_path / "maps")
    assert stored.shape == (COUNT, 4, 4, 65, 65) and stored.images == batch.names
    again = StoredAttention(tmp_path / "maps")
    for number, view in enumerate(views):
        weights = again[number]
        assert weights.shape == view.attention().shape
        np.testing.assert_allclose(weights, view.attention(), atol=0.01 * weights.max())
        for layer, head in ((0, 0), (3, 2)):
            row = view.attention(layer, head, query=(2, 3)).ravel()
            np.testing.assert_allclose(
                weights[layer, head, 1 + 2 * 8 + 3, 1:], row, atol=0.01 * weights.max()
            )
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=0.03)
    with pytest.raises(ValueError, match="new folder"):
        batch.attention(tmp_path / "maps")


def test_hostile_files_of_a_folder_are_skipped_or_refused_by_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "aa_text.png").write_text("no image")
    (folder / "damaged.png").write_bytes((folder / "01.png").read_bytes()[:200])
    (folder / "empty.jpg").write_bytes(b"")
    with (folder / "large.jpg").open("wb") as file:
        file.truncate(200 * 2**30)  # as its file system states; it is not read
    image = (folder / "00.png").read_bytes()
    header = b"IHDR" + struct.pack(">II", 60_000, 60_000) + image[24:29]
    bomb = image[:12] + header + struct.pack(">I", zlib.crc32(header)) + image[33:]
    (folder / "bomb.png").write_bytes(bomb)
    (folder / "folder.png").mkdir()
    (folder / "link.png").symlink_to(folder / "00.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    (folder / "broken.png").symlink_to(folder / "nothing.png")
    (folder / "zeros.png").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.png")
    batch = vitviz.inspect("digits_vit", folder)
    refused = ["aa_text.png", "bomb.png", "damaged.png", "empty.jpg", "large.jpg"]
    assert len(batch) == COUNT + 1 + len(refused)  # folders, pipes, devices and broken links are no images
    with pytest.raises(ImageError, match=r"^aa_text\.png: This file is not an image"):
        batch.distances()
    with pytest.raises(ImageError, match=r"^damaged\.png: "):
        _ = batch[batch.names.index("damaged.png")]
    readable, reasons = batch.readable()
    assert list(reasons) == refused
    assert all(reasons[name].startswith(f"{name}: This ") for name in refused)
    assert "204800.0 MB; the limit is 20 MB" in reasons["large.jpg"]
    assert readable.names == [*(f"{number:02d}.png" for number in range(COUNT)), "link.png"]
    out = tmp_path / "tokens.npz"
    assert main(["tokens", str(folder), "--model", "digits_vit", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("vitviz: skipped ") == len(refused) and f"{COUNT + 1} images" in printed.out
    with np.load(out, allow_pickle=False) as file:
        assert file["images"].tolist() == readable.names and file["tokens"].shape == (COUNT + 1, 65, 64)
    with pytest.raises(ImageError, match="empty"):
        vitviz.inspect("digits_vit", [folder / "empty.jpg"]).readable()


def test_a_batch_writes_one_image_of_heads_per_photo(batch: Batch, tmp_path: Path) -> None:
    files = batch[:2].save(tmp_path / "heads", layers=[0], query=(1, 2))
    assert [file.name for file in files] == ["00.png", "01.png"]
    assert files[1].read_bytes() == batch[1].save(tmp_path / "one.png", [0], (1, 2)).read_bytes()
    with pytest.raises(ValueError, match="go to a folder"):
        batch.save(tmp_path / "heads.png")


def test_tokens_go_to_one_file(batch: Batch, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    expected = np.stack([view.tokens(layer=1) for view in batch])
    with np.load(batch.tokens(1, out=tmp_path / "tokens.npz"), allow_pickle=False) as file:
        np.testing.assert_allclose(file["tokens"], expected, atol=1e-5)
        assert file["images"].tolist() == batch.names
    table = pq.read_table(batch.tokens(1, out=tmp_path / "tokens.parquet"))
    assert table.column("image").to_pylist()[64:66] == batch.names[:2]
    assert table.column("token").to_pylist()[:3] == [0, 1, 2]
    np.testing.assert_allclose(table.column("vector").to_pylist()[65], expected[1, 0], atol=1e-5)
    with pytest.raises(ValueError, match=r"\.npz or \.parquet"):
        batch.tokens(out=tmp_path / "tokens.csv")
    with pytest.raises(ValueError, match="layer must lie"):
        batch.tokens(9, out=tmp_path / "other.npz")


def test_a_model_without_global_attention_says_so(folder: Path, tmp_path: Path) -> None:
    swin = vitviz.inspect("digits_swin", folder)
    assert isinstance(swin, Batch)
    with pytest.raises(ValueError):
        swin.attention(tmp_path / "maps")
    np.testing.assert_allclose(swin.distances()[1], swin[1].distances(), atol=1e-5)
