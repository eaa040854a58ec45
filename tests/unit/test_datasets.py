"""Data sets by name, their fixed splits, and the sample images."""

import numpy as np
import pytest

from vitviz.data.dataset import Dataset, DatasetError, stratified_split, validation_split
from vitviz.data.datasets import DATASETS, DISPLAY_ONLY, available_datasets, load_dataset, picture_sets
from vitviz.data.image_decoding import ImageError
from vitviz.data.samples import load_sample, sample, sample_names, samples


def test_digits_are_scikit_learns():
    from sklearn.datasets import load_digits

    digits = load_dataset("digits")
    assert digits.train_images.shape == (1438, 32, 32, 1) and digits.test_images.shape == (359, 32, 32, 1)
    assert digits.classes == tuple("0123456789") and digits.picture_shape == (32, 32, 1)
    images = np.concatenate([digits.train_images, digits.test_images])[..., 0]
    labels = np.concatenate([digits.train_labels, digits.test_labels])
    theirs = load_digits()
    assert sorted(labels) == sorted(theirs.target)
    # averaged over 4 x 4 pixels, and rounded, every enlarged digit is one of theirs and carries its label
    small = images.reshape(-1, 8, 4, 8, 4).mean((2, 4)) * (16 / 255)
    distance = ((small[:50, None] - theirs.images[None]) ** 2).mean((2, 3))
    nearest = distance.argmin(1)
    assert distance.min(1).max() < 2.0 and (theirs.target[nearest] == labels[:50]).all()


def test_digits_are_split_by_class_disjoint_and_always_alike():
    digits = load_dataset("digits")
    assert load_dataset("digits") is digits
    shares = np.bincount(digits.test_labels) / (
        np.bincount(digits.train_labels) + np.bincount(digits.test_labels)
    )
    assert np.abs(shares - 0.2).max() < 0.003
    train = {image.tobytes() for image in digits.train_images}
    assert not any(image.tobytes() in train for image in digits.test_images)


def test_arrays_are_read_only():
    for name in ("digits", "shapes"):
        with pytest.raises(ValueError, match="read-only"):
            load_dataset(name).train_images[0, 0, 0, 0] = 1


def test_names(tmp_path, monkeypatch):
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path))
    assert available_datasets() == ("digits", "shapes")
    assert list(DATASETS) == ["digits", "shapes", "mnist", "fashion-mnist", "cifar10", "cifar100"]
    assert picture_sets() == ("digits", "shapes", *DISPLAY_ONLY)
    with pytest.raises(DatasetError, match="no dataset 'imagenet': choose one of digits, shapes"):
        load_dataset("imagenet")


def test_the_default_folder_is_the_platforms_cache(monkeypatch):
    from platformdirs import user_cache_path

    from vitviz.data.dataset_cache import data_file

    monkeypatch.delenv("VITVIZ_DATA", raising=False)
    assert data_file("mnist") == user_cache_path("vitviz") / "data" / "mnist.npz"


def test_a_split_keeps_every_class_share():
    labels = np.repeat([0, 1, 2, 3], [100, 50, 2, 1]).astype(np.int64)
    first, second = stratified_split(labels, 0.1, seed=0)
    assert sorted([*first, *second]) == list(range(153))
    assert np.bincount(labels[second], minlength=4).tolist() == [10, 5, 1, 0]
    again = stratified_split(labels, 0.1, seed=0)
    assert (again[0] == first).all() and (again[1] == second).all()
    assert not np.array_equal(stratified_split(labels, 0.1, seed=1)[1], second)
    assert first.dtype == second.dtype == np.int64


@pytest.mark.parametrize("fraction", [0, 1, -0.1, float("nan")])
def test_a_split_needs_a_fraction(fraction):
    with pytest.raises(ValueError, match="fraction must lie in"):
        stratified_split(np.zeros(4, np.int64), fraction, 0)


def test_validation_comes_from_the_training_set():
    digits = load_dataset("digits")
    train, validation = validation_split(digits, 0.1, seed=0)
    assert len(train) + len(validation) == 1438 and not set(train) & set(validation)
    assert np.bincount(digits.train_labels[validation]).min() >= 13


def test_labels_and_classes_go_together():
    images, labels = np.zeros((2, 4, 4, 1), np.uint8), np.array([0, 1])
    unlabelled = Dataset("seen", images, None, images, None, (), ("a cat", "a dog"))
    assert unlabelled.test_name(1) == "a dog"
    assert Dataset("seen", images, None, images, None, ()).test_name(1) == ""
    assert Dataset("named", images, labels, images, labels, ("a", "b")).test_name(1) == "b"
    for wrong in (
        (None, labels, ("a", "b")),
        (labels, None, ("a", "b")),
        (labels, labels, ()),
        (None, None, ("a", "b")),
    ):
        with pytest.raises(ValueError, match="_labels and classes go together, received (no|some) labels"):
            Dataset("bad", images, wrong[0], images, wrong[1], wrong[2])
    with pytest.raises(ValueError, match="at least 2 classes or none"):
        Dataset("bad", images, labels, images, labels, ("a",))
    with pytest.raises(ValueError, match="test_names must name 2 images, received 1"):
        Dataset("bad", images, None, images, None, (), ("a cat",))


def test_a_set_may_have_test_images_only_but_never_none():
    images, labels = np.zeros((2, 4, 4, 1), np.uint8), np.array([0, 1])
    few = Dataset("few", images[:0], labels[:0], images, labels, ("a", "b"))
    assert few.picture_shape == (4, 4, 1)
    with pytest.raises(DatasetError, match="'few' has test images only, so no model can be trained on it"):
        validation_split(few, 0.1, 0)
    with pytest.raises(ValueError, match="test_images must hold at least 1 image, received none"):
        Dataset("bad", images, labels, images[:0], labels[:0], ("a", "b"))


def test_samples_are_here_and_open():
    assert {"cat", "astronaut", "coffee", "rocket"} <= set(sample_names())
    assert sample_names()[0] == "cat" and len(sample_names()) == len(set(sample_names())) >= 15
    for entry in samples():
        image = load_sample(entry.name)
        assert image.dtype == np.uint8 and image.shape[2] == 3 and min(image.shape[:2]) >= 100
        assert entry.title and entry.source and sample(entry.name) is entry


def test_a_sample_that_is_not_there():
    with pytest.raises(ImageError, match="no sample image '../../etc/passwd': choose one of cat"):
        load_sample("../../etc/passwd")
