"""`shapes`: where is the warm-coloured object relative to the cool-coloured one? A bag of patches cannot tell.

The 32 x 32 image is a 4 x 4 board of cells of 8 px. Each object is drawn inside one cell; its form, size,
colour and place within the cell are chosen without regard to the class. The class decides which two cells
they are, and nothing else. So, for patches of 8, 4, 2 or 1 px, the unordered patches of an image say
nothing at all about its class: a model without positions is left with chance, 25 %. 'above' and 'below' use
the transposed cells of 'left' and 'right': a position code that confuses (row, column) with (column, row)
is left, at 8 px, with 50 %.
"""

import numpy as np
from numpy.typing import NDArray

from vitviz.data.dataset import Dataset, Images, Labels

CLASSES = ("left", "right", "above", "below")
FORMS = ("disc", "ring", "square", "diamond", "cross", "triangle")
IMAGE_PX = 32
CELL_PX = 8
CELLS = IMAGE_PX // CELL_PX
OBJECT_PX = (5.0, 8.0)  # smallest and largest extent: below 5 px the forms cannot be told apart
TRAIN_COUNT = 12_000
TEST_COUNT = 2_000
WARM_DEGREES = (-15.0, 50.0)  # red to yellow
COOL_DEGREES = (175.0, 250.0)  # cyan to blue
GROUND_LEVELS = (20, 77)  # dark greys of 0..255
NOISE_LEVELS = 5  # uniform noise of -5..5 levels: a patch of ground is never quite another's copy

Floats = NDArray[np.float32]


def shapes_dataset(train_count: int = TRAIN_COUNT, test_count: int = TEST_COUNT, seed: int = 0) -> Dataset:
    """Return the `shapes` dataset, classes balanced in both splits; the same seed draws the same images.

    Args:
        train_count, test_count: images per split.
    """
    rng = np.random.default_rng(seed)
    train_images, train_labels = draw_shapes(train_count, rng)
    test_images, test_labels = draw_shapes(test_count, rng)
    return Dataset("shapes", train_images, train_labels, test_images, test_labels, CLASSES)


def draw_shapes(count: int, rng: np.random.Generator) -> tuple[Images, Labels]:
    """Images (count, 32, 32, 3) uint8 and labels (count,) int64, classes equal up to one image."""
    labels = rng.permutation(np.arange(count) % len(CLASSES)).astype(np.int64)
    warm, cool = choose_cells(labels, rng)
    ground = rng.integers(*GROUND_LEVELS, size=(count, 1, 1, 1), dtype=np.uint8)
    images = rng.integers(2 * NOISE_LEVELS + 1, size=(count, IMAGE_PX, IMAGE_PX, 3), dtype=np.uint8)
    images += ground - NOISE_LEVELS
    # a view whose axes are image, cell row, cell column, row and column inside the cell, channel
    board = images.reshape(count, CELLS, CELL_PX, CELLS, CELL_PX, 3).transpose(0, 1, 3, 2, 4, 5)
    index = np.arange(count)
    for cells, degrees in ((warm, WARM_DEGREES), (cool, COOL_DEGREES)):
        mask = draw_masks(count, rng)[..., None]
        colour = draw_colours(count, degrees, rng)[:, None, None, :]
        rows, cols = cells[:, 0], cells[:, 1]
        painted = board[index, rows, cols] + mask * (colour * 255 - ground)  # the ground's noise stays on top
        board[index, rows, cols] = np.clip(np.rint(painted), 0, 255).astype(np.uint8)
    return images, labels


def choose_cells(labels: Labels, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the (row, column) cells of the warm and the cool object, each (N, 2), uniform over a class."""
    pairs = left_pairs()
    chosen = pairs[rng.integers(len(pairs), size=len(labels))]  # (N, warm or cool, row or column)
    name = np.array(CLASSES)[labels]
    swapped = np.isin(name, ("right", "below"))[:, None, None]
    chosen = np.where(swapped, chosen[:, ::-1], chosen)
    transposed = np.isin(name, ("above", "below"))[:, None, None]
    chosen = np.where(transposed, chosen[:, :, ::-1], chosen)
    return chosen[:, 0], chosen[:, 1]


def left_pairs() -> NDArray[np.int64]:
    """Return all (warm, cool) pairs of (row, column) cells that mean 'left', (pairs, 2, 2).

    The cool one lies at least two columns to the right, so that 8 px or more are free between them, and fewer
    rows away than columns, so that the word is right and no other is.
    """
    cells = [(row, col) for row in range(CELLS) for col in range(CELLS)]
    pairs = [
        (warm, cool)
        for warm in cells
        for cool in cells
        if cool[1] - warm[1] >= 2 and abs(cool[0] - warm[0]) < cool[1] - warm[1]
    ]
    return np.array(pairs, dtype=np.int64)


def draw_colours(count: int, degrees: tuple[float, float], rng: np.random.Generator) -> Floats:
    """Strong colours whose hue lies between two angles of the colour circle, (count, 3) in [0, 1]."""
    hue = rng.uniform(*degrees, size=(count, 1)) / 60
    saturation = rng.uniform(0.65, 1.0, size=(count, 1))
    value = rng.uniform(0.75, 1.0, size=(count, 1))
    # HSV to RGB in closed form: each channel is a clipped triangle wave of the hue
    k = (np.array([[5.0, 3.0, 1.0]]) + hue) % 6
    rgb: Floats = (value - value * saturation * np.clip(np.minimum(k, 4 - k), 0, 1)).astype(np.float32)
    return rgb


def draw_masks(count: int, rng: np.random.Generator) -> Floats:
    """Return the share of each pixel that an object of random form, size and place covers, (count, 8, 8)."""
    extent = rng.uniform(*OBJECT_PX, size=(count, 1, 1))
    corner = rng.uniform(0, 1, size=(2, count, 1, 1)) * (CELL_PX - extent)
    form = rng.integers(len(FORMS), size=(count, 1, 1))
    turns = rng.integers(4, size=(count, 1, 1))
    radius = extent / 2
    centres = np.arange(CELL_PX) + 0.5
    y = centres[None, :, None] - corner[0] - radius
    x = centres[None, None, :] - corner[1] - radius
    for _ in range(3):  # quarter turns matter to the triangle alone
        quarter = turns > 0
        y, x = np.where(quarter, x, y), np.where(quarter, -y, x)
        turns = turns - 1
    distance = _signed_distance(form, y, x, radius)
    return np.clip(0.5 - distance, 0, 1).astype(np.float32)


def _signed_distance(
    form: NDArray[np.int64], y: NDArray[np.float64], x: NDArray[np.float64], radius: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance to the form's outline in px, negative inside; every form fits a box of half-side `radius`."""
    ay, ax = np.abs(y), np.abs(x)
    euclid = np.hypot(y, x)
    arm = 0.36 * radius
    outlines = {
        "disc": euclid - radius,
        "ring": np.abs(euclid - 0.72 * radius) - 0.28 * radius,
        "square": np.maximum(ay, ax) - 0.92 * radius,
        "diamond": (ay + ax - radius) / np.sqrt(2),
        "cross": np.minimum(np.maximum(ay - radius, ax - arm), np.maximum(ay - arm, ax - radius)),
        # apex up; the two slanted sides have slope 2, so their normals have length sqrt(5)
        "triangle": np.maximum((2 * ax - y - radius) / np.sqrt(5), y - radius),
    }
    return np.select([form == number for number in range(len(FORMS))], [outlines[name] for name in FORMS])
