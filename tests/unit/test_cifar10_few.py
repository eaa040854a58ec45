"""`cifar10-few`: 200 shipped test images, chosen by a rule, never trained on; and which set a model opens on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vitviz import evaluate
from vitviz.config import Preparation, TrainConfig
from vitviz.data import cifar10_few, datasets
from vitviz.data.dataset import Dataset, DatasetError
from vitviz.data.dataset_cache import data_file, write_dataset
from vitviz.data.datasets import (
    DATASETS,
    default_picture,
    default_pictures,
    find_note,
    first_number,
    load_dataset,
    picture_sets,
)
from vitviz.training.batches import prepare_test_images as prepared_tests
from vitviz.training.batches import prepare_training_data


def a_set(per_class: int) -> Dataset:
    """Three classes of random images, in a random order."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(3), per_class)).astype(np.int64)
    images = rng.integers(256, size=(len(labels), 32, 32, 3), dtype=np.uint8)
    return Dataset("cifar10", images, labels, images.copy(), labels.copy(), ("a", "b", "c"))


def test_twenty_of_each_class_are_shipped_in_less_than_600_kb() -> None:
    shipped = load_dataset("cifar10-few")
    assert shipped.test_images.shape == (200, 32, 32, 3) and shipped.train_images.shape == (0, 32, 32, 3)
    assert np.bincount(shipped.labels_of("test")).tolist() == [20] * 10
    assert shipped.test_labels[:10].tolist() == list(range(10)) and shipped.test_name(3) == "cat"
    assert len({image.tobytes() for image in shipped.test_images}) == 200
    assert (
        sum((cifar10_few.FOLDER / name).stat().st_size for name in (cifar10_few.PICTURES, cifar10_few.WORDS))
        < 600_000
    )


def test_the_file_says_where_from_how_chosen_and_what_was_done_to_it() -> None:
    words = json.loads((cifar10_few.FOLDER / cifar10_few.WORDS).read_text("utf-8"))
    assert "Krizhevsky" in words["citation"] and "2009" in words["citation"]
    assert "toronto.edu" in words["source"] and "without a licence" in words["licence"]
    assert "first 20 test pictures" in words["rule"] and "JPEG re-encoding" in words["file"]
    assert all(indices == sorted(indices) and len(indices) == 20 for indices in words["indices"])
    assert "first 20 of each class" in find_note("cifar10-few").summary


def test_the_first_of_each_class_come_back_as_they_were(tmp_path: Path) -> None:
    whole = a_set(30)
    cifar10_few.write_few(whole, tmp_path)
    found = cifar10_few.few_dataset(tmp_path)
    assert found.classes == whole.classes
    for label in range(3):
        theirs = whole.test_images[whole.labels_of("test") == label][:20]
        np.testing.assert_array_equal(found.test_images[found.labels_of("test") == label], theirs)
    with pytest.raises(ValueError, match=r"every class needs 20 test images, received \[19, 19, 19\]"):
        cifar10_few.write_few(a_set(19), tmp_path)


def test_nothing_is_trained_on_it_but_accuracy_is_measured_with_it() -> None:
    shipped, rgb = load_dataset("cifar10-few"), Preparation(image_size=32)
    with pytest.raises(
        DatasetError, match="'cifar10-few' has test images only, so no model can be trained on it"
    ):
        prepare_training_data(shipped, rgb, TrainConfig(dataset="cifar10-few"))
    assert len(prepared_tests(shipped, rgb)) == 200
    assert "cifar10-few" in picture_sets() and "cifar10-few" not in DATASETS


@pytest.mark.parametrize("harm", ["absent", "cut", "another", "words", "list"])
def test_a_damaged_file_is_reported(tmp_path: Path, harm: str) -> None:
    cifar10_few.write_few(a_set(20), tmp_path)
    png, words = tmp_path / cifar10_few.PICTURES, tmp_path / cifar10_few.WORDS
    if harm == "absent":
        png.unlink()
    elif harm in ("cut", "another"):
        png.write_bytes(png.read_bytes()[:-9] if harm == "cut" else b"GIF89a")
    else:
        words.write_text("{" if harm == "words" else "[]")
    with pytest.raises(
        DatasetError, match="'cifar10-few' cannot be read from .*: take the project's files again"
    ):
        cifar10_few.few_dataset(tmp_path)


@pytest.mark.parametrize(
    ("trained_on", "in_chans", "shown"),
    [
        ("digits", 1, "digits"),
        ("shapes", 3, "shapes"),
        ("mnist", 1, "digits"),
        ("fashion-mnist", 1, "digits"),
        ("cifar10", 3, "cifar10-few"),
        ("cifar100", 3, "cifar10-few"),
        ("ImageNet-1k", 3, "photos"),
        (None, 3, "photos"),
        (None, 1, "digits"),
    ],
)
def test_a_model_opens_on_images_like_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained_on: str | None, in_chans: int, shown: str
) -> None:
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path))
    assert default_pictures(trained_on, in_chans) == shown
    assert load_dataset(shown).picture_shape[2] in (in_chans, 3)


@pytest.mark.slow
def test_a_model_of_colour_opens_on_what_every_shipped_one_is_sure_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path))
    number = first_number("cifar10-few")
    assert default_picture("cifar10", 3) == f"cifar10-few:{number}"
    right = evaluate.measure_confidences(cifar10_few.FOLDER)
    assert len(right) >= 6 and number == evaluate.find_clearest(right)
    assert (
        right[:, number].min() > 0.85 > right[:, 0].min()
    )  # one that learned from mixed images is less sure


def test_the_full_set_opens_on_the_same_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path))
    few_ones = load_dataset("cifar10-few")
    number = first_number("cifar10-few")
    words = json.loads((cifar10_few.FOLDER / cifar10_few.WORDS).read_text("utf-8"))
    indices = words["indices"][int(few_ones.test_labels[number])]
    assert first_number("cifar10") == indices[number // len(words["classes"])]
    assert [first_number(name) for name in ("digits", "mnist", "photos")] == [0, 0, 0]
    assert default_picture(None, 3) == "sample:cat" and default_picture("digits", 1) == "digits:0"


def test_where_no_image_is_reported_to_be_clear_it_is_the_first(tmp_path: Path) -> None:
    assert cifar10_few.clearest(tmp_path) == {}
    (tmp_path / cifar10_few.WORDS).write_text('{"clearest": 900, "classes": ["a"], "indices": [[1, 2]]}')
    assert cifar10_few.clearest.__wrapped__(tmp_path) == {}


def test_the_full_set_is_taken_where_it_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path))
    write_dataset(a_set(2), data_file("cifar10"))
    assert default_pictures("cifar10", 3) == "cifar10"
    assert datasets.picture_sets() == ("digits", "shapes", "cifar10", "photos", "cifar10-few")
