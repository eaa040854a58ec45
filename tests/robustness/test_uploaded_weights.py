"""Zips of a model's folder, as users upload them: what is written, what is refused, and that the weights are mapped."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from tests.files import zipped
from vitviz.config import ViTConfig
from vitviz.models.formats import open_model
from vitviz.models.formats.uploaded_weights import is_folder_zip, move_to_disk, write_upload
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.zoo import create_model

CONFIG = ViTConfig(image_size=16, patch_size=4, num_classes=3, embed_dim=16, depth=1, num_heads=2)
STATE = create_model(CONFIG, seed=0).state_dict()
LIMIT = 2**24


def test_a_zipped_folder_opens_with_its_labels_from_the_disk(tmp_path: Path) -> None:
    config = {"num_heads": 2, "label_names": ["ant", "bee", "cat"], "mean": [0.1] * 3, "std": [0.2] * 3}
    files = {"mine/model.safetensors": save(STATE), "mine/config.json": json.dumps(config).encode()}
    data = zipped(
        files | {"mine/README.md": b"#", "mine/training_args.bin": b"\x80", "__MACOSX/mine/a.json": b"{"}
    )
    assert is_folder_zip("mine.ZIP", data) and not is_folder_zip("mine.pth", data)
    folder = write_upload(data, tmp_path, LIMIT, is_zip=True)
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    opened = open_model(folder)
    assert opened.classes == ("ant", "bee", "cat") and opened.config == CONFIG
    assert opened.preparation.mean == (0.1, 0.1, 0.1) and not opened.notes
    x = torch.randn(1, 3, 16, 16)
    before = opened.model(x)
    assert move_to_disk(opened, folder) == sum(file.stat().st_size for file in folder.iterdir())
    torch.testing.assert_close(opened.model(x), before)
    # Mapped pages belong to a file: their storage knows its name or is not torch's own allocation.
    mapped = Path("/proc/self/maps")
    assert not mapped.exists() or str(folder) in mapped.read_text()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (zipped({"a.txt": b"x"}), "the zip holds no safetensors file"),
        (zipped({"pytorch_model.bin": b"x"}), "can run code when it is opened"),
        (b"PK\x03\x04broken", "the zip cannot be opened: it is not a zip archive that can be read"),
        (zipped({f"{i}.json": b"{}" for i in range(201)}), "it holds more than 200 files, the limit"),
        (
            zipped({"model.safetensors": bytes(2**25)}, zipfile.ZIP_DEFLATED),
            "it unpacks to 32 MB, the limit is 16 MB",
        ),
        (
            zipped({"model.safetensors": b"x" * 99}, zipfile.ZIP_LZMA),
            "only stored and deflated files are supported",
        ),
    ],
    ids=["no weights", "pickle", "broken", "many", "large", "lzma"],
)
def test_a_zip_that_does_not_fit_is_refused_in_a_sentence(data: bytes, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(PretrainedError) as caught:
        write_upload(data, tmp_path, LIMIT, is_zip=True)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_names_never_leave_the_folder(tmp_path: Path) -> None:
    target = tmp_path / "in"
    target.mkdir()
    names = ("../model.safetensors", "/model.safetensors", "..\\model.safetensors", "a/../../x.safetensors")
    for name in names:
        write_upload(zipped({name: b"12345678"}), target, LIMIT, is_zip=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert {path.name for path in target.iterdir()} <= {"model.safetensors", "x.safetensors"}
