"""Published weights that the app offers: what each is, how large, where its file lies, and how it is fetched.

What a listing of them needs is known without torch and without a network.
"""

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

# The small ones that show most: a classifier, one that learned without labels, a ViT that saw more, windows.
SMALL = (
    "deit_tiny_patch16_224.fb_in1k",
    "vit_small_patch16_224.dino",
    "vit_small_patch16_224.augreg_in21k_ft_in1k",
    "swin_tiny_patch4_window7_224.ms_in1k",
)
_MAX_HEADER_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Offer:
    """Published weights as a list names them.

    Attributes:
        name: what `fetch` and `load_pretrained` take.
        megabytes: of the file, in 10^6 bytes.
        knows: what it answers with, such as '1,000 classes'.
        trained_on: the images that it learned from.
        url: the file at its publisher.
        path: where the file lies on this machine, or must lie.
        cached: that path where a whole file lies there, else None.
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
    """Return all that this app shows: `SMALL` in its order, then the others from the smallest file to the largest."""
    rank = {name: place for place, name in enumerate(SMALL)}
    shown = (entry for entry in PRETRAINED.values() if not too_large(entry.config))
    made = [describe_weights(entry) for entry in shown]
    return tuple(sorted(made, key=lambda o: (rank.get(o.name, len(rank)), round(o.megabytes), o.title)))


def describe_weights(entry: Pretrained) -> Offer:
    """Return what is to say about an entry now."""
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
    """Return the published file of an entry, fetched unless a whole one is there.

    Args:
        entry: of `PRETRAINED`.
        progress: called with (bytes so far, bytes in all or None).
        cancelled: asked between chunks.

    Raises:
        NoNetworkError: if its host does not give it; the message says how it gets here all the same.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if this app does not show the model, or the file is not the published one.
    """
    if too_large(entry.config):
        raise PretrainedError(
            f"{entry.title} has {millions(entry.config):,.0f} million parameters, more than the"
            f" {MOST_MILLIONS:,.0f} million that this app shows"
        )
    target = weights_file(entry)
    if target.is_file() and not is_whole(target):  # copied by hand and cut short
        target.unlink()
    try:
        return download(_mirrored(entry.url), target, progress, cancelled, entry.sha256_start)
    except NoNetworkError as error:
        raise NoNetworkError(f"{error}. {describe_manual_copy(entry)}") from error


def describe_manual_copy(entry: Pretrained) -> str:
    """Return how the file gets to a machine without a network, in one sentence without its full stop."""
    said = describe_weights(entry)
    return (
        f"On a machine with a network, `{said.command}` fetches {said.path.name} ({said.megabytes:,.0f} MB) and says"
        f" where it lies; copy it to `{said.path}`"
    )


def is_whole(path: Path) -> bool:
    """Return True if a file of weights lies there that is not cut short; its numbers are not read."""
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
