"""Limit what users may upload: bytes, pixels, files, records, model sizes, and how much of it the server stores.

The size of the models of a run is limited by `training/run_size`, the parts of a file format by its parser, and time
and memory by the process that spends them.
"""

from functools import singledispatch

from vitviz.config import ModelConfig, SwinConfig, ViTConfig

# Any file. An operator can change the first: `server.maxUploadSize` in .streamlit/config.toml; `upload_guard` raises a
# session's and the server's with it.
FILE_BYTES = 128 * 2**20  # weights as large as Swin-T's
SESSION_BYTES = 2 * FILE_BYTES  # of files that no page has taken yet: it takes each at once
SESSION_FILES = 16
SERVER_BYTES = 8 * FILE_BYTES
UPLOADS_PER_USER = 12  # runs, and datasets, within UPLOAD_WINDOW_S
UPLOADS_PER_ADDRESS = 120  # a class behind one address
UPLOAD_WINDOW_S = 3600.0

# An image
IMAGE_BYTES = 20 * 2**20
IMAGE_PIXELS = 16 * 2**20  # 4096 x 4096
WEBP_PIXELS = 12 * 2**20  # its decoder holds several copies
JPEG_PIXELS = 64 * 2**20  # a 50-megapixel phone's, which JPEG lets us decode small
JPEG_SCANS = 64  # a progressive JPEG has about ten; thousands in a small file are a trap
SCANNED_PIXELS = 2**28  # scans x pixels: about a second; 16 scans of an image of 4096 x 4096
IMAGE_SIDE_PX = (
    32_768  # Pillow keeps a pointer and more for every row: 16 million rows of one pixel are 0.4 GB
)
STORED_PIXELS = 2048 * 2048  # larger images are reduced; also of a panorama, whose crop has its shorter side
IMAGES_PER_USER = 4
IMAGES_BYTES = 512 * 2**20  # of all users, in memory: forty of the largest
CLASS_IMAGES = 6  # that a teacher shares with a class; the oldest is deleted first
CLASS_IMAGE_BYTES = 16 * 2**20
CLASS_IMAGES_BYTES = 2**30  # of all classes; 200 classes with 6 of the largest images would take 19 GB

# A zip of labelled images
DATASET_ZIP_BYTES = 64 * 2**20
DATASET_UNPACKED_BYTES = 512 * 2**20  # images hardly compress: an archive that says more is a bomb
DATASET_FILES = 20_000
DATASET_IMAGES = 10_000
DATASET_PIXELS = 10**9  # as they are stored: 10,000 of 316 x 316, or 80 photographs of 12 megapixels
DATASET_BYTES = 128 * 2**20  # all images, at the size they are trained at; held twice for a moment
DATASET_IMAGE_PX = 256
DATASET_CLASSES = 100
DATASET_TITLE_LENGTH = 40
CLASS_NAME_LENGTH = 60
PATH_LENGTH = 1000  # characters of a name in an archive
FOLDER_DEPTH = 32  # of a path; one of 30,000 is a trap
DATASETS_PER_USER = 3
DATASETS_BYTES = 2 * 2**30  # of all users, on disk

# The zip of a run, and a checkpoint
CHECKPOINT_BYTES = 64 * 2**20  # the models trained here take a few MB
RUN_ZIP_BYTES = 64 * 2**20
RUN_UNPACKED_BYTES = 96 * 2**20  # weights do not compress
RUN_FILES = 1024
RUN_CONFIG_BYTES = 128 * 1024
RUN_STATUS_BYTES = 16 * 1024
RUN_RECORDS = 50_000  # of all models together, as the next two; each takes some 20 microseconds
RUN_RECORDS_BYTES = 16 * 2**20
RUN_RECORD_VALUES = 2_000_000  # commas
RECORD_BYTES = 128 * 1024  # a confusion table of 100 classes
RECORD_BRACKETS = 256  # an object with a confusion table
SNAPSHOT_HEADER_BYTES = 256 * 1024  # 2,300 tensors; a ViT of 12 layers has 150
SNAPSHOT_HEADERS_BYTES = 2 * 2**20  # of all snapshots together
RESUME_HEADER_BYTES = 2 * 2**20
RECORDED_PER_USER = 2  # recorded runs of own loops, within the limits of a run's zip
RECORDED_BYTES = 2**30  # of all users, on disk and in memory

# A user's weights: a file, or a folder in a zip
WEIGHTS_BYTES = 8 << 30  # of a model's tensors: a ViT-g in fp32
WEIGHTS_FILES = 200  # of a zip: a folder of shards has a few dozen
WEIGHTS_SHARDS = 64
WEIGHTS_JSON_BYTES = 8 * 2**20  # an ImageNet-21k config with its labels is 2 MB
WEIGHTS_PER_USER = 2
WEIGHTS_DISK_MB = 2048  # of all users, unless VITVIZ_OWN_WEIGHTS_MB is set

LESSON_BYTES = 64 * 1024

# The model of an untrusted config, before anything is built from it
MAX_IMAGE_PX = 2048
MAX_WIDTH = 8192
MAX_TABLE = 2**23  # values of a table of positions, or of the offsets in the windows of all layers
MAX_LAYERS = 512  # each takes half a millisecond to lay out


def check_buildable(config: ModelConfig, most_layers: int) -> None:
    """Check that a config is small enough to build.

    Args:
        config: of the model, from a file or a form.
        most_layers: how many it may have; a file's tensors, of which every layer has at least one.

    Raises:
        ValueError: stating what is out of proportion.
    """
    layers, own_width = _layers_and_widths(config)
    widths = [max(config.image_shape), config.in_chans, config.num_classes, *own_width]
    if max(config.image_shape) > MAX_IMAGE_PX:
        raise ValueError(f"image_size must be at most {MAX_IMAGE_PX}, received {max(config.image_shape)}")
    if max(widths) > MAX_WIDTH:
        raise ValueError(f"expected widths of at most {MAX_WIDTH}, received {max(widths)}")
    most_layers = min(most_layers, MAX_LAYERS)
    if layers > most_layers:
        raise ValueError(f"there can be at most {most_layers} layers here, received {layers}")


@singledispatch
def _layers_and_widths(config: ModelConfig) -> tuple[int, list[int]]:
    """Return a model's number of layers and its inner widths; refuse other numbers that are out of proportion."""
    widths = [*getattr(config, "widths", ()), getattr(config, "channels", 1)]
    return sum(getattr(config, "blocks", (1,))), widths


@_layers_and_widths.register
def _(config: ViTConfig) -> tuple[int, list[int]]:
    rows, cols = config.grid
    if rows * cols * config.embed_dim > MAX_TABLE:
        raise ValueError(
            f"{rows} x {cols} positions of width {config.embed_dim} are more than {MAX_TABLE} values"
        )
    _check_mlp(config.mlp_ratio)
    return config.depth + len(config.stem), [config.embed_dim, *config.stem]


@_layers_and_widths.register
def _(config: SwinConfig) -> tuple[int, list[int]]:
    layers = sum(config.depths)
    if layers * config.window_size**4 > MAX_TABLE:
        raise ValueError(
            f"windows of {config.window_size} x {config.window_size} tokens in {layers} layers have more than"
            f" {MAX_TABLE} offsets"
        )
    _check_mlp(config.mlp_ratio)
    return layers, [config.embed_dim * 2 ** min(len(config.depths), 64), config.window_size]


def _check_mlp(ratio: float) -> None:
    if ratio > 64:
        raise ValueError(f"mlp_ratio must be at most 64, received {ratio:g}")
