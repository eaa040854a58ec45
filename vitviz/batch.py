"""Inspect an image or many with one model: lazily, several at once, with results that go to disk as they come."""

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from tqdm import tqdm

from vitviz.analysis.attention import FloatArray
from vitviz.data.image_decoding import ImageError
from vitviz.data.image_preprocessing import prepare
from vitviz.devices import Device, DType, make_input
from vitviz.growth import WEIGHT_LEVELS, unpack_rows
from vitviz.loading import load
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.whole_image import explain_fixed_shape, fit_model, fit_size
from vitviz.probe.capture import as_array
from vitviz.probe.layers import list_layers
from vitviz.view import Query, View, inspect_pixels
from vitviz.view_inputs import find_index, read_image, require

AT_ONCE = 8  # images in one forward pass
READERS = 2  # threads that decode and prepare images ahead of the model
ImageSource = str | Path | Image.Image | NDArray[Any]
IMAGES = {".png", ".jpg", ".jpeg", ".webp", ".avif", ".gif", ".bmp", ".tif", ".tiff"}


def list_images(folder: str | Path) -> list[Path]:
    """Return the files of a folder that are named as images, and links to such files, by name.

    Raises:
        ValueError: if there is none.
        OSError: if there is no such folder.

    Example:
        >>> import tempfile, numpy as np, vitviz
        >>> from PIL import Image
        >>> folder = tempfile.mkdtemp()
        >>> Image.fromarray(np.zeros((8, 8), np.uint8)).save(f"{folder}/a.png")
        >>> [file.name for file in vitviz.list_images(folder)]
        ['a.png']
    """
    files = sorted(
        file for file in Path(folder).iterdir() if file.suffix.lower() in IMAGES and file.is_file()
    )
    if not files:
        raise ValueError(f"the folder {folder} has no images ({', '.join(sorted(IMAGES))})")
    return files


def list_sources(image: object) -> "Sequence[ImageSource] | None":
    """Return the images of a folder, a list or an array (N, H, W, 3); None for one image."""
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        return list_images(path) if path.is_dir() else None
    if isinstance(image, list | tuple) and not image:
        raise ValueError("expected at least one image, received none")
    if isinstance(image, list | tuple) and all(map(_is_image, image)):
        return [*image]
    if getattr(image, "ndim", 0) == 4:
        return [*np.asarray(image)]
    return None


def _is_image(entry: object) -> bool:
    """Return True for an element of a list of images, False for a row of an image given as nested lists."""
    return isinstance(entry, str | os.PathLike | Image.Image) or getattr(entry, "ndim", 0) >= 2


class StoredAttention:
    """The attention of many images in a folder that `Batch.attention` wrote.

    Attributes:
        images: the images' names.
        shape: (images, layers, heads, tokens, tokens).

    Raises:
        ValueError: if the folder holds no stored attention.

    Example:
        >>> import tempfile, numpy as np, vitviz
        >>> folder = tempfile.mkdtemp()
        >>> _ = vitviz.inspect("digits_vit", [np.eye(16)] * 2).attention(folder)
        >>> stored = vitviz.StoredAttention(folder)  # in another process, or later
        >>> len(stored), stored.images, stored[1].dtype
        (2, ['0', '1'], dtype('float32'))
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        try:
            self.images: list[str] = json.loads((folder / "images.json").read_text("utf-8"))
            self._codes = np.load(folder / "attention.npy", mmap_mode="r", allow_pickle=False)
            self._peaks = np.load(folder / "peaks.npy", mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"{folder} holds no stored attention: {error}") from error
        self.shape = self._codes.shape

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> FloatArray:
        """Return one image's attention (layers, heads, tokens, tokens), within 0.8 % of each row's largest weight."""
        return unpack_rows(self._codes[index], self._peaks[index])


@dataclass(frozen=True, eq=False)
class Batch:
    """Several images as one model sees them; they are read when they are needed.

    Example:
        >>> import numpy as np, vitviz
        >>> batch = vitviz.inspect("digits_vit", [np.zeros((64, 64), np.uint8)] * 3)
        >>> len(batch), batch[0].prediction == batch[1].prediction, batch.distances().shape
        (3, True, (3, 4, 4))
    """

    model: LoadedModel
    sources: Sequence[ImageSource]

    def __repr__(self) -> str:
        return f"Batch({self.model!r}, {len(self.sources)} images)"

    def __len__(self) -> int:
        return len(self.sources)

    @overload
    def __getitem__(self, index: int) -> View: ...
    @overload
    def __getitem__(self, index: slice) -> "Batch": ...
    def __getitem__(self, index: int | slice) -> "View | Batch":
        if isinstance(index, slice):
            return Batch(self.model, self.sources[index])
        if not -len(self) <= index < len(self):
            raise IndexError(f"the batch has {len(self)} images, received the index {index}")
        return inspect_pixels(self.model, self._read(index % len(self)))

    def __iter__(self) -> Iterator[View]:
        return (self[index] for index in range(len(self)))

    @property
    def names(self) -> list[str]:
        """The images' file names, or their numbers.

        Example:
            >>> import numpy as np, vitviz
            >>> batch = vitviz.inspect("digits_vit", np.zeros((3, 64, 64, 3), np.uint8))
            >>> batch.names
            ['0', '1', '2']
        """
        return [
            Path(source).name if isinstance(source, str | os.PathLike) else str(number)
            for number, source in enumerate(self.sources)
        ]

    def readable(self) -> "tuple[Batch, dict[str, str]]":
        """Return the batch of the images that can be decoded, and the reason for each of the others by its name.

        It decodes every image once and keeps none.

        Raises:
            ImageError: if none can be decoded.

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> from pathlib import Path
            >>> folder = Path(tempfile.mkdtemp())
            >>> _ = (folder / "empty.png").write_bytes(b"")
            >>> _ = vitviz.inspect("digits_vit", np.eye(8)).save(folder / "heads.png")
            >>> batch, unread = vitviz.inspect("digits_vit", vitviz.list_images(folder)).readable()
            >>> batch.names, unread
            (['heads.png'], {'empty.png': 'empty.png: This file is empty (0 bytes).'})
        """

        def find_reason(number: int) -> str:
            try:
                self._read(number)
            except (ImageError, OSError) as error:
                return str(error)
            return ""

        with ThreadPoolExecutor(READERS) as readers:
            reasons = list(readers.map(find_reason, range(len(self))))
        if all(reasons):
            raise ImageError(reasons[0])
        kept = [source for source, reason in zip(self.sources, reasons, strict=True) if not reason]
        named = zip(self.names, reasons, strict=True)
        return Batch(self.model, kept), {name: reason for name, reason in named if reason}

    def save(self, out: str | Path, layers: list[int] | None = None, query: Query = None) -> list[Path]:
        """Write every image's attention to a folder, one .png each as `View.save` draws it, and return their paths.

        Args:
            out: a folder, made if missing; the files keep the images' names.
            layers: as `View.save` takes them.
            query: as `View.attention` takes it.

        Raises:
            ValueError: if out ends in .png or .html, or as `View.save`.
            ImageError: if an image cannot be read; `readable` leaves such images out.

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> batch = vitviz.inspect("digits_vit", np.zeros((3, 64, 64, 3), np.uint8))
            >>> [file.name for file in batch.save(tempfile.mkdtemp(), layers=[-1])]
            ['0.png', '1.png', '2.png']
        """
        folder = Path(out)
        if folder.suffix in (".png", ".html"):
            raise ValueError(f"the images of a batch go to a folder, received {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        stems = [Path(name).stem for name in self.names]
        names = stems if len(set(stems)) == len(stems) else self.names
        views = tqdm(self, total=len(self), desc="save", unit="image", leave=False, disable=None)
        return [
            view.save(folder / f"{name}.png", layers, query) for name, view in zip(names, views, strict=True)
        ]

    def distances(self) -> FloatArray:
        """Return the mean attention distance of every head in pixels, (images, layers, heads).

        Raises:
            ValueError: as `View.distances`.
            ImageError: if an image cannot be read; `readable` leaves such images out.

        Example:
            >>> import numpy as np, vitviz
            >>> batch = vitviz.inspect("digits_vit", np.zeros((3, 64, 64, 3), np.uint8))
            >>> batch.distances().shape
            (3, 4, 4)
        """
        from vitviz.probe.capture import attention_distances, window_attention_distances

        able = abilities(self.model.config)
        require(able.distance)
        parts = [
            attention_distances(self.model.model, images, with_mean=False).distance_px
            if able.heads_over_all
            else window_attention_distances(self.model.model, images)[1]
            for images in self._read_inputs("distances")
        ]
        return np.concatenate(parts)

    def attention(self, out: str | Path) -> StoredAttention:
        """Write the attention of every layer and head to a folder, as uint8 with one scale per row, and return it.

        Args:
            out: a new folder; attention.npy in it takes one byte per weight.

        Raises:
            ValueError: if the model has no attention over all patches, or the folder holds files.
            ImageError: if an image cannot be read; `readable` leaves such images out.

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> batch = vitviz.inspect("digits_vit", np.zeros((3, 64, 64, 3), np.uint8))
            >>> stored = batch.attention(tempfile.mkdtemp())
            >>> stored.shape, stored[0].shape
            ((3, 4, 4, 65, 65), (4, 4, 65, 65))
        """
        require(abilities(self.model.config).heads_over_all)
        folder = Path(out)
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"{folder} already holds files: name a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        vit = as_vit(self.model.config)
        layout = self.model.layout(*vit.image_shape)
        shape = vit.depth, vit.num_heads, layout.num_tokens
        codes, peaks = (
            np.empty((AT_ONCE, *shape, shape[-1]), np.uint8),
            np.empty((AT_ONCE, *shape), np.float16),
        )

        def on_record(name: str, tensor: Tensor) -> None:
            part = name.split(".")
            if part[0] == "blocks" and part[2:] == ["attn"]:
                chosen = slice(len(tensor)), int(part[1])
                top = tensor.amax(dim=-1)
                shares = tensor / top.half().float().clamp_min(1e-7)[..., None]
                levels = shares.clamp_(max=1).sqrt_().mul_(WEIGHT_LEVELS).round_().to(torch.uint8)
                codes[chosen], peaks[chosen] = as_array(levels), as_array(top)

        # Written as it comes: the pages of a memory map would count as this process's memory.
        with (
            (folder / "attention.npy").open("wb") as code_file,
            (folder / "peaks.npy").open("wb") as peak_file,
        ):
            _write_npy_header(code_file, (len(self), *codes.shape[1:]), "|u1")
            _write_npy_header(peak_file, (len(self), *shape), "<f2")
            for images in self._read_inputs("attention"):
                self._run(images, on_record)
                code_file.write(codes[: len(images)].data)
                peak_file.write(peaks[: len(images)].data)
        (folder / "images.json").write_text(json.dumps(self.names), "utf-8")
        return StoredAttention(folder)

    def tokens(self, layer: int = -1, *, out: str | Path) -> Path:
        """Write every image's tokens after a layer to a file, and return its path.

        Args:
            layer: index of the layer.
            out: ends in .npz (tokens, (images, tokens, width) in fp32, and images, their names) or .parquet (one row
                per token: image, token, vector; needs pyarrow).

        Raises:
            ValueError: if the file has another ending, or as `View.tokens`.
            ImageError: if an image cannot be read; `readable` leaves such images out.
            ImportError: if pyarrow is missing for a .parquet file.

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> batch = vitviz.inspect("digits_vit", np.zeros((3, 64, 64, 3), np.uint8))
            >>> with np.load(batch.tokens(out=f"{tempfile.mkdtemp()}/tokens.npz")) as file:
            ...     file["tokens"].shape
            (3, 65, 64)
        """
        require(abilities(self.model.config).attention)
        layers = list_layers(self.model.config)[1:]
        name, path = layers[find_index("layer", layer, len(layers))].record, Path(out)
        if path.suffix not in (".npz", ".parquet"):
            raise ValueError(f"expected a path that ends in .npz or .parquet, received {path}")
        parts = self._read_tokens(name)
        if path.suffix == ".npz":
            _write_npz(path, parts, self.names)
        else:
            _write_parquet(path, parts, self.names)
        return path

    def _read_tokens(self, name: str) -> Iterator[NDArray[np.float32]]:
        for images in self._read_inputs("tokens"):
            kept: list[NDArray[np.float32]] = []

            def on_record(record: str, tensor: Tensor, kept: list[NDArray[np.float32]] = kept) -> None:
                if record == name:
                    kept.append(as_array(tensor))

            self._run(images, on_record)
            yield kept[0].reshape(len(images), -1, kept[0].shape[-1])

    def _run(self, images: FloatArray, on_record: Callable[[str, Tensor], None]) -> None:
        with torch.inference_mode():
            self.model.model(make_input(self.model.model, images), record=on_record)

    def _read_inputs(self, title: str) -> Iterator[FloatArray]:
        """Yield the model's inputs (b, C, H, W); the next ones are decoded while the model runs."""
        groups = [range(len(self))[i : i + AT_ONCE] for i in range(0, len(self), AT_ONCE)]
        progress = tqdm(total=len(self), desc=title, unit="image", leave=False, disable=None)
        with progress, ThreadPoolExecutor(READERS) as readers:
            ahead = [readers.submit(self._prepare, group) for group in groups[:READERS]]
            for place in range(len(groups)):
                images = ahead.pop(0).result()
                if place + READERS < len(groups):
                    ahead.append(readers.submit(self._prepare, groups[place + READERS]))
                yield images
                progress.update(len(images))

    def _prepare(self, numbers: range) -> FloatArray:
        return np.stack([prepare(self._read(n), self.model.preparation).input for n in numbers])

    def _read(self, number: int) -> NDArray[np.uint8]:
        """Return an image's pixels; an error names the image."""
        try:
            return read_image(self.sources[number])
        except ImageError as error:
            raise ImageError(f"{self.names[number]}: {error}") from error


@overload
def inspect(  # type: ignore[overload-overlap]  # a string is a file, not a sequence
    model: str | Path | nn.Module | LoadedModel,
    image: ImageSource,
    *,
    whole_image: bool = False,
    device: Device = None,
    dtype: DType = None,
) -> View: ...
@overload
def inspect(
    model: str | Path | nn.Module | LoadedModel,
    image: Sequence[ImageSource],
    *,
    device: Device = None,
    dtype: DType = None,
) -> Batch: ...
def inspect(
    model: str | Path | nn.Module | LoadedModel,
    image: ImageSource | Sequence[ImageSource],
    *,
    whole_image: bool = False,
    device: Device = None,
    dtype: DType = None,
) -> View | Batch:
    """Return the view of one image with one model, or the batch of several.

    Args:
        model: of `load`, or what `load` takes.
        image: a file, a Pillow image, or an array (H, W) or (H, W, 3), uint8 or floats in [0, 1]; it is turned
            upright, cropped and resized as the model's preparation says. A list of them, a folder or an array
            (N, H, W, 3) is a batch, whose images are read when they are needed.
        whole_image: True resizes the image in its own proportions to whole patches, and a ViT's positions to their
            grid.
        device: as `load` takes it.
        dtype: as `load` takes it.

    Raises:
        ImageError: if the file is no image, or the file or a Pillow image is damaged.
        OSError: if the file cannot be read.
        TypeError: if the image is none of these, or as `load`.
        ValueError: if the array is no image, if the model's shape of images is fixed, or as `load`.

    Example:
        >>> import numpy as np, vitviz
        >>> view = vitviz.inspect("digits_vit", np.zeros((64, 64), np.uint8))
        >>> len(view.prediction), round(sum(probability for _, probability in view.prediction), 4)
        (10, 1.0)
    """
    if (sources := list_sources(image)) is not None:
        if whole_image:
            raise TypeError(
                "whole_image is for one image: each of a batch would need a model of its own size"
            )
        return Batch(load(model, device=device, dtype=dtype), sources)
    loaded, pixels = load(model, device=device, dtype=dtype), read_image(image)  # type: ignore[arg-type]
    if whole_image:
        if reason := explain_fixed_shape(loaded.config, loaded.preparation):
            raise ValueError(f"whole_image does not fit {loaded.title}: {reason}")
        size = fit_size(loaded.vit.config, (pixels.shape[0], pixels.shape[1]))
        # A name or file is opened at that size, so that its own table of positions is resized once.
        if isinstance(model, str | Path):
            loaded = load(model, img_size=size, device=device, dtype=dtype)
        loaded = load(fit_model(loaded, size), device=device, dtype=dtype)
    return inspect_pixels(loaded, pixels)


def _write_npz(path: Path, parts: Iterator[NDArray[np.float32]], names: list[str]) -> None:
    """Write tokens.npy and images.npy into a zip, part after part."""
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("tokens.npy", "w", force_zip64=True) as file:
            for number, part in enumerate(parts):
                if number == 0:
                    _write_npy_header(file, (len(names), *part.shape[1:]), "<f4")
                file.write(np.ascontiguousarray(part).tobytes())
        with archive.open("images.npy", "w") as file:
            np.lib.format.write_array(file, np.array(names), allow_pickle=False)


def _write_npy_header(file: IO[bytes], shape: tuple[int, ...], number_format: str) -> None:
    header = {"descr": number_format, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _write_parquet(path: Path, parts: Iterator[NDArray[np.float32]], names: list[str]) -> None:
    """Write one row group per part."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [("image", pa.string()), ("token", pa.int32()), ("vector", pa.list_(pa.float32()))]
    schema, start = pa.schema(fields), 0
    with pq.ParquetWriter(path, schema) as writer:
        for part in parts:
            images, tokens = part.shape[:2]
            rows = {
                "image": np.repeat(names[start : start + images], tokens),
                "token": np.tile(np.arange(tokens, dtype=np.int32), images),
                "vector": list(part.reshape(-1, part.shape[-1])),
            }
            writer.write_table(pa.table(rows, schema))
            start += images
