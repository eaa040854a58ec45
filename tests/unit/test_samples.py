"""`photos`: crops of installed photographs, without labels; what needs labels says so in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vitviz.config import Preparation, TrainConfig
from vitviz.data import samples
from vitviz.data.dataset import Dataset, DatasetError
from vitviz.data.dataset_cache import write_dataset
from vitviz.data.datasets import DATASETS, DISPLAY_ONLY, find_note, load_dataset
from vitviz.data.samples import load_sample, sample
from vitviz.training.batches import prepare_test_images as prepared_tests
from vitviz.training.batches import prepare_training_data

RGB = Preparation(image_size=32)


@pytest.fixture(scope="module")
def crops() -> Dataset:
    return load_dataset("photos")


def test_the_note_counts_its_sources_and_crops(crops: Dataset) -> None:
    assert crops.test_images.shape == (240, 224, 224, 3) and len(samples.SOURCES) == 8
    assert find_note("photos").summary.startswith("240 overlapping crops of 8 free photographs, 224 × 224")
    assert crops.classes == () and crops.train_labels is None and crops.test_labels is None
    assert "photos" in DISPLAY_ONLY and "photos" not in DATASETS
    assert load_dataset("photos") is crops


def test_every_source_is_in_colour_and_free() -> None:
    for name in samples.SOURCES:
        image = load_sample(name).astype(int)
        assert np.abs(image[..., 0] - image[..., 2]).mean() > 5
        assert any(word in sample(name).source for word in ("CC0", "public domain", "no known restrictions"))


def test_the_first_crops_show_every_photograph_and_none_is_there_twice(crops: Dataset) -> None:
    titles = [sample(name).title for name in samples.SOURCES]
    assert [crops.test_name(index) for index in range(16)] == titles * 2
    assert len({image.tobytes() for image in crops.test_images}) == len(crops.test_images)


def test_crops_are_always_the_same(crops: Dataset) -> None:
    again = samples.photos_dataset()
    np.testing.assert_array_equal(again.test_images, crops.test_images)
    cat = (
        Image.fromarray(load_sample("cat"))
        .crop((75, 0, 375, 300))
        .resize((224, 224), Image.Resampling.BICUBIC)
    )
    np.testing.assert_array_equal(crops.test_images[0], np.array(cat))


@pytest.mark.parametrize(
    ("share", "per_side", "boxes"),
    [
        (1.0, 1, [(50, 0, 100)]),
        (0.5, 2, [(0, 0, 50), (150, 0, 50), (0, 50, 50), (150, 50, 50)]),
        (0.4, 3, [(0, 0, 40), (80, 0, 40), (160, 0, 40)]),
    ],
)
def test_windows_go_from_edge_to_edge(share: float, per_side: int, boxes: list[samples.SquareBox]) -> None:
    found = [samples.window(100, 200, share, per_side, place) for place in range(per_side**2)]
    assert found[: len(boxes)] == boxes
    assert all(left + side <= 200 and top + side <= 100 for left, top, side in found)


def test_what_needs_labels_says_so(crops: Dataset, tmp_path: Path) -> None:
    learning = pytest.raises(DatasetError, match="'photos' has no labels, so no model can be trained on it")
    knowing = pytest.raises(DatasetError, match="'photos' has no labels, so accuracy is undefined")
    with learning:
        prepare_training_data(crops, RGB, TrainConfig(dataset="photos"))
    with knowing:
        prepared_tests(crops, RGB)
    with knowing:
        write_dataset(crops, tmp_path / "photos.npz")
    assert not list(tmp_path.iterdir())


def test_without_scikit_image_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "samples", tuple)
    with pytest.raises(DatasetError, match="'photos' needs scikit-image's photographs: There is no sample"):
        samples.photos_dataset()
