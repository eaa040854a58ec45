"""`shapes`: what each image holds, and that without places its class cannot be known."""

import numpy as np
import pytest

from vitviz.data import shapes
from vitviz.data.datasets import load_dataset


@pytest.fixture(scope="module")
def data():
    return load_dataset("shapes")


def patches(images: np.ndarray, patch_px: int) -> np.ndarray:
    """(N, H, W, C) to (N, patches, P * P * C)."""
    count, height, width, channels = images.shape
    rows, cols = height // patch_px, width // patch_px
    cut = images.reshape(count, rows, patch_px, cols, patch_px, channels)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows * cols, -1)


def masks(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where an image is plainly warm (red over blue) and plainly cool, (N, H, W) each."""
    difference = images[..., 0].astype(int) - images[..., 2]
    return difference > 40, difference < -40


def extent(mask: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last index along `axis` (0 rows, 1 columns) that the mask holds, (N,) each."""
    line = mask.any(axis=2 - axis)
    return line.argmax(axis=1), 31 - line[:, ::-1].argmax(axis=1)


def test_size_balance_and_kind(data):
    assert data.train_images.shape == (12_000, 32, 32, 3) and data.test_images.shape == (2_000, 32, 32, 3)
    assert data.classes == ("left", "right", "above", "below")
    assert np.bincount(data.train_labels).tolist() == [3_000] * 4
    assert np.bincount(data.test_labels).tolist() == [500] * 4


def test_the_same_seed_draws_the_same_images():
    first, again, other = (shapes.shapes_dataset(40, 8, seed) for seed in (1, 1, 2))
    assert (first.train_images == again.train_images).all() and (first.test_labels == again.test_labels).all()
    assert not (first.train_images == other.train_images).all()


def test_splits_are_disjoint(data):
    train = {image.tobytes() for image in data.train_images}
    assert len(train) == 12_000 and not any(image.tobytes() in train for image in data.test_images)


def test_the_class_is_where_the_warm_object_lies(data):
    warm, cool = masks(data.test_images)
    assert warm.any((1, 2)).all() and cool.any((1, 2)).all()
    for label, (axis, first, second) in enumerate(
        ((1, warm, cool), (1, cool, warm), (0, warm, cool), (0, cool, warm))
    ):
        chosen = data.test_labels == label
        _, end = extent(first[chosen], axis)
        start, _ = extent(second[chosen], axis)
        assert (start - end > 8).all(), data.classes[label]  # 8 px or more are free between them
        other = [sum(extent(mask[chosen], 1 - axis)) / 2 for mask in (first, second)]
        along = [sum(extent(mask[chosen], axis)) / 2 for mask in (first, second)]
        assert (np.abs(other[0] - other[1]) < np.abs(along[0] - along[1]) + 3).all()


def test_each_object_lies_in_one_patch_and_never_in_the_same(data):
    warm, cool = (patches(mask[..., None], 8).any(axis=2) for mask in masks(data.test_images))
    assert (warm.sum(1) == 1).all() and (cool.sum(1) == 1).all() and not (warm & cool).any()


@pytest.mark.parametrize("patch_px", [1, 2, 4, 8])
def test_the_unordered_patches_do_not_depend_on_the_class(patch_px, monkeypatch):
    """Drawn twice with all but the class alike: the same patches, in other places."""
    monkeypatch.setattr(shapes, "NOISE_LEVELS", 0)
    drawn = []
    for label in range(4):

        class Fixed(np.random.Generator):
            def permutation(self, values, label=label):  # every image of this one class
                super().permutation(values)
                return np.full_like(values, label)

        images, labels = shapes.draw_shapes(200, Fixed(np.random.PCG64(5)))
        assert (labels == label).all()
        drawn.append([sorted(patch.tobytes() for patch in image) for image in patches(images, patch_px)])
    assert drawn[0] == drawn[1] == drawn[2] == drawn[3]


def linear_accuracy(
    train: np.ndarray, train_labels: np.ndarray, test: np.ndarray, test_labels: np.ndarray
) -> float:
    """Test accuracy of ridge regression onto the four classes."""
    mean, scale = train.mean(0), train.std(0) + 1e-6
    train, test = (np.c_[(part - mean) / scale, np.ones(len(part))] for part in (train, test))
    gram = train.T @ train + 10 * np.eye(train.shape[1])
    weights = np.linalg.solve(gram, train.T @ np.eye(4)[train_labels])
    return float(((test @ weights).argmax(1) == test_labels).mean())


@pytest.mark.parametrize("patch_px", [4, 8])
def test_a_bag_of_patches_is_near_chance(data, patch_px):
    """Mean, spread and extremes of the patches, and the two most coloured ones whole: all that a bag has to offer."""

    def bag(images: np.ndarray) -> np.ndarray:
        cut = patches(images, patch_px).astype(np.float32) / 255
        blue = cut[..., 2::3].mean(2) - cut[..., 0::3].mean(2)
        index = np.arange(len(cut))
        warmest, coolest = cut[index, blue.argmin(1)], cut[index, blue.argmax(1)]
        return np.concatenate([cut.mean(1), cut.std(1), cut.max(1), cut.min(1), warmest, coolest], axis=1)

    accuracy = linear_accuracy(
        bag(data.train_images[:6000]), data.train_labels[:6000], bag(data.test_images), data.test_labels
    )
    assert 0.21 < accuracy < 0.29  # chance is 0.25 with a standard error of 0.0097


def test_places_alone_tell_the_class(data):
    def places(images: np.ndarray) -> np.ndarray:
        return np.stack([patches(mask[..., None], 8).any(axis=2).argmax(1) for mask in masks(images)], axis=1)

    seen = places(data.train_images)
    table = np.zeros((16, 16, 4))
    np.add.at(table, (seen[:, 0], seen[:, 1], data.train_labels), 1)
    warm, cool = places(data.test_images).T
    assert (table[warm, cool].argmax(1) == data.test_labels).all()
    # summed positions know each place only as the pair {row, column}: left is then above, right is below
    folded = np.minimum(seen // 4, seen % 4) * 4 + np.maximum(seen // 4, seen % 4)
    table = np.zeros((16, 16, 4))
    np.add.at(table, (folded[:, 0], folded[:, 1], data.train_labels), 1)
    row, col = np.divmod(np.stack([warm, cool]), 4)
    warm, cool = np.minimum(row, col) * 4 + np.maximum(row, col)
    guess = table[warm, cool].argmax(1)
    assert 0.46 < (guess == data.test_labels).mean() < 0.54
    assert (guess % 2 == data.test_labels % 2).all()  # {left, above} against {right, below} is always known


def test_left_pairs_are_closed_under_turning_upside_down():
    pairs = {tuple(map(tuple, pair)) for pair in shapes.left_pairs().tolist()}
    flipped = {((3 - wr, wc), (3 - cr, cc)) for (wr, wc), (cr, cc) in pairs}
    mirrored = {((cr, 3 - cc), (wr, 3 - wc)) for (wr, wc), (cr, cc) in pairs}
    assert pairs == flipped == mirrored and len(pairs) == 34


def test_colours_are_warm_or_cool():
    rng = np.random.default_rng(0)
    warm = shapes.draw_colours(1000, shapes.WARM_DEGREES, rng)
    cool = shapes.draw_colours(1000, shapes.COOL_DEGREES, rng)
    assert (warm[:, 0] == warm.max(1)).all() and (cool[:, 2] > cool[:, 0]).all()
    assert warm.min() >= 0 and max(warm.max(), cool.max()) <= 1


# Of each form in a box of half-side 1.
AREAS = {
    "disc": np.pi,
    "ring": np.pi * (1 - 0.44**2),
    "square": 1.84**2,
    "diamond": 2.0,
    "cross": 4 * 0.72 - 0.72**2,
    "triangle": 2.0,
}


def test_forms_differ_and_fit_their_cell():
    masks_ = shapes.draw_masks(4000, np.random.default_rng(0))
    assert masks_.shape == (4000, 8, 8) and masks_.min() == 0 and masks_.max() == 1
    ink = masks_.sum((1, 2))
    assert ink.min() > 6 and ink.max() <= 64
    assert len(np.unique(masks_, axis=0)) == 4000
    radius, centres = 3.0, np.arange(8) + 0.5 - 4
    for number, (name, area) in enumerate(AREAS.items()):
        assert shapes.FORMS[number] == name
        form = np.full((1, 1, 1), number)
        outline = shapes._signed_distance(form, centres[:, None], centres[None], np.full((1, 1, 1), radius))[
            0
        ]
        drawn = np.clip(0.5 - outline, 0, 1)
        assert drawn.sum() == pytest.approx(area * radius**2, rel=0.04), name
        assert drawn[[0, -1]].max() == drawn[:, [0, -1]].max() == 0, f"the {name} leaves its box"
        assert (outline[2] == outline[5]).all() == (name != "triangle")  # rows as far from the middle
