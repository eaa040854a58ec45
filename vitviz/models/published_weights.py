"""List and fetch the published weights that the app offers; listing needs neither torch nor a network."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vitviz.models.download import NoNetworkError, Progress, download, weights_file
from vitviz.models.parameter_count import published_megabytes
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, PretrainedError
from vitviz.models.size import MOST_MILLIONS, millions, too_large

# Small and varied: supervised DeiT, self-supervised DINO, a ViT pretrained on ImageNet-21k, Swin.
SMALL = (
    "deit_tiny_patch16_224.fb_in1k",
    "vit_small_patch16_224.dino",
    "vit_small_patch16_224.augreg_in21k_ft_in1k",
    "swin_tiny_patch4_window7_224.ms_in1k",
)
_MAX_HEADER_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Offer:
    """Published weights, as listed.

    Attributes:
        name: accepted by `fetch` and `load_pretrained`.
        megabytes: of the file, in 10^6 bytes.
        knows: number of classes, such as '1,000 classes'.
        trained_on: the training images.
        url: the file at its publisher.
        path: expected location of the file on this machine.
        cached: `path` if the complete file is there, else None.
    """

    name: str
    title: str
    megabytes: float
    knows: str
    trained_on: str
    url: str
    path: Path
    cached: Path | None

    @property
    def command(self) -> str:
        """Shell command that downloads the weights on a machine with a network."""
        return f"python -m vitviz.fetch {self.name}"


def list_weights() -> tuple[Offer, ...]:
    """Return all weights that the app offers: `SMALL` first, then the others by file size."""
    rank = {name: place for place, name in enumerate(SMALL)}
    weights = [describe_weights(entry) for entry in PRETRAINED.values() if not too_large(entry.config)]
    return tuple(sorted(weights, key=lambda o: (rank.get(o.name, len(rank)), round(o.megabytes), o.title)))


def describe_weights(entry: Pretrained) -> Offer:
    """Return an entry's listing, including whether its file is cached."""
    path, classes = weights_file(entry), entry.config.num_classes
    return Offer(
        name=entry.name,
        title=entry.title,
        megabytes=published_megabytes(entry.config),
        knows=f"{classes:,} classes" if classes else "no classes",
        trained_on=entry.trained_on,
        url=entry.url,
        path=path,
        cached=path if is_whole(path) else None,
    )


def fetch(
    entry: Pretrained, progress: Progress | None = None, cancelled: Callable[[], bool] | None = None
) -> Path:
    """Return the published file of an entry, downloaded unless it is complete.

    Args:
        entry: of `PRETRAINED`.
        progress: called with (bytes so far, bytes in all or None).
        cancelled: called between chunks.

    Raises:
        NoNetworkError: if its host does not serve it; the message describes the manual copy.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if the model is too large for this app, or the file is not the published one.
    """
    if too_large(entry.config):
        raise PretrainedError(
            f"{entry.title} has {millions(entry.config):,.0f} million parameters, more than the"
            f" {MOST_MILLIONS:,.0f} million that this app supports: choose a smaller one"
        )
    target = weights_file(entry)
    if target.is_file() and not is_whole(target):  # copied by hand and cut short
        target.unlink()
    try:
        return download(_mirrored(entry.url), target, progress, cancelled, entry.sha256_start)
    except NoNetworkError as error:
        raise NoNetworkError(f"{error}. {describe_manual_copy(entry)}") from error


def describe_manual_copy(entry: Pretrained) -> str:
    """Return instructions for copying the file to a machine without a network, without a full stop."""
    weights = describe_weights(entry)
    return (
        f"On a machine with a network, `{weights.command}` downloads {weights.path.name} ({weights.megabytes:,.0f} MB)"
        f" and prints its path; copy the file to `{weights.path}`"
    )


def is_whole(path: Path) -> bool:
    """Return True if a complete weights file is at this path; its tensors are not read."""
    try:
        if path.suffix != ".safetensors":
            return zipfile.is_zipfile(path)  # torchvision's: a zip's table of contents is at its end
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= _MAX_HEADER_BYTES:
                return False
            table = json.loads(file.read(length))
        ends = (entry["data_offsets"][1] for name, entry in table.items() if name != "__metadata__")
        return path.stat().st_size == 8 + length + max(ends, default=0)
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return False


def _mirrored(url: str) -> str:
    """Return the same file at the mirror that HF_ENDPOINT or VITVIZ_TORCHVISION_ENDPOINT names, if any."""
    for host, variable in (
        ("https://huggingface.co", "HF_ENDPOINT"),
        ("https://download.pytorch.org", "VITVIZ_TORCHVISION_ENDPOINT"),
    ):
        mirror = os.environ.get(variable)
        if mirror and url.startswith(f"{host}/"):
            return mirror.rstrip("/") + url.removeprefix(host)
    return url
