"""List and fetch the published weights that the app offers; listing needs neither torch nor a network."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError, safe_open

from vitviz.models.file_download import ByteProgress, NoNetworkError, download, weights_file, weights_folder
from vitviz.models.hub import HubFolder, cache_folder, fetch_hub_folder
from vitviz.models.model_cost import MOST_MILLIONS, millions, too_large
from vitviz.models.pretrained_list import PRETRAINED, SHIPPED_MB, Pretrained, PretrainedError

SHIPPED = "dinov2_small_saliency"  # lies in `checkpoints/`
_PACKAGE = Path(__file__).parents[1]
SHIPPED_FOLDERS = (_PACKAGE.parent / "checkpoints", _PACKAGE / "shipped")  # of a checkout, of a wheel
# To download, small and varied: supervised DeiT, self-supervised DINO, a ViT pretrained on ImageNet-21k, Swin.
SMALL = (
    "deit_tiny_patch16_224.fb_in1k",
    "vit_small_patch16_224.dino",
    "vit_small_patch16_224.augreg_in21k_ft_in1k",
    "swin_tiny_patch4_window7_224.ms_in1k",
)
_MAX_HEADER_BYTES = 4 * 2**20
_HUB = "https://huggingface.co/"
_REVISION = "revision"  # file that holds the commit of a downloaded hub file


def list_weights() -> tuple[Pretrained, ...]:
    """Return all weights that the app offers: the shipped ones, `SMALL`, then the others by file size."""
    rank = {name: place for place, name in enumerate((SHIPPED, *SMALL))}
    weights = [entry for entry in PRETRAINED.values() if not too_large(entry.config)]
    return tuple(
        sorted(
            weights, key=lambda entry: (rank.get(entry.name, len(rank)), round(entry.megabytes), entry.title)
        )
    )


def find_weights(entry: Pretrained) -> Path | None:
    """Return the complete file of an entry in the app's folder or in the hub's cache, or None."""
    return next((path for path in list_paths(entry) if is_whole(path)), None)


def list_paths(entry: Pretrained) -> list[Path]:
    """Return where the file of an entry may be: in this project, in the app's folder, in the hub's cache."""
    if entry.is_shipped:
        return [*(folder / entry.file_name for folder in SHIPPED_FOLDERS), weights_file(entry)]
    folder = _find_hub_folder(entry)
    cached = None if folder is None else folder.find()
    return [weights_file(entry), *([] if cached is None else [cached / entry.file_name])]


def list_names() -> list[str]:
    """Return the names of entries that may have a file on this machine, from the lists of their folders."""
    names = {path.name for path in _list_folder(weights_folder())}
    names |= {path.name.removeprefix("models--timm--") for path in _list_folder(cache_folder())}
    return sorted(name for name in {SHIPPED, *names} if name in PRETRAINED)


def _list_folder(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _find_hub_folder(entry: Pretrained) -> HubFolder | None:
    """Return the hub's file of an entry, at the commit that was downloaded first; None for other sources."""
    if not entry.url.startswith(_HUB):
        return None
    owner, repo, _, branch, name = entry.url.removeprefix(_HUB).split("/")
    record = weights_folder() / entry.name / _REVISION
    revision = record.read_text("utf-8").strip() if record.is_file() else branch
    most_bytes = round(1.1e6 * entry.megabytes) + _MAX_HEADER_BYTES
    return HubFolder(f"{owner}/{repo}", revision, {name: most_bytes})


def fetch(
    entry: Pretrained, progress: ByteProgress | None = None, cancelled: Callable[[], bool] | None = None
) -> Path:
    """Return the published file of an entry, downloaded unless it is complete.

    Args:
        entry: of `PRETRAINED`.
        progress: called with (bytes so far, bytes in all or None).
        cancelled: called between chunks.

    Raises:
        NoNetworkError: if its source does not serve it; the message describes the manual copy.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if the model is too large for this app, or the file is not the published one.
    """
    if too_large(entry.config):
        raise PretrainedError(
            f"{entry.title} has {millions(entry.config):,.0f} million parameters, more than the"
            f" {MOST_MILLIONS:,.0f} million that this app supports: choose a smaller one"
        )
    local_file = find_weights(entry)
    if local_file is not None:
        return local_file
    if entry.is_shipped:
        raise PretrainedError(explain_missing(entry))
    target = weights_file(entry)
    if target.is_file():  # copied by hand and cut short
        target.unlink()
    try:
        return _download(entry, target, progress, cancelled)
    except NoNetworkError as error:
        raise NoNetworkError(
            f"{error}. The rest of the app works without these weights. {describe_manual_copy(entry)}"
        ) from error


def _download(
    entry: Pretrained, target: Path, progress: ByteProgress | None, cancelled: Callable[[], bool] | None
) -> Path:
    hub_folder = _find_hub_folder(entry)
    if hub_folder is None:
        return download(_mirrored(entry.url), target, progress, cancelled, entry.sha256_start)
    folder = fetch_hub_folder(hub_folder, None, progress, cancelled)
    record = target.with_name(_REVISION)  # later loads read this commit, whatever the branch becomes
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(f"{folder.name}\n", "utf-8")
    return folder / entry.file_name


def explain_missing(entry: Pretrained) -> str:
    """Return why a shipped model cannot be opened and where to get its file, without a full stop."""
    damaged = next((path for path in list_paths(entry) if path.is_file()), None)
    state = "is missing from this installation" if damaged is None else f"is damaged: {damaged} is incomplete"
    return (
        f"The file of {entry.title} {state}. Copy checkpoints/{entry.file_name} ({SHIPPED_MB} MB) from a checkout of"
        f" this project's repository to `{damaged or weights_file(entry)}`"
    )


def describe_manual_copy(entry: Pretrained) -> str:
    """Return instructions for copying the file to a machine without a network, without a full stop."""
    return (
        f"On a machine with a network, `{entry.command}` downloads {entry.file_name} ({entry.megabytes:,.0f} MB)"
        f" and prints its path; copy the file to `{weights_file(entry)}`"
    )


def is_whole(path: Path) -> bool:
    """Return True if a complete weights file is at this path; its tensors are not read."""
    try:
        if path.suffix != ".safetensors":
            return zipfile.is_zipfile(path)  # torchvision's: a zip's table of contents is at its end
        with safe_open(path, framework="numpy"):  # checks the header and the file's size
            return True
    except (OSError, SafetensorError):
        return False


def _mirrored(url: str) -> str:
    """Return the same file at the mirror that VITVIZ_TORCHVISION_ENDPOINT names, if any."""
    mirror, host = os.environ.get("VITVIZ_TORCHVISION_ENDPOINT"), "https://download.pytorch.org"
    return mirror.rstrip("/") + url.removeprefix(host) if mirror and url.startswith(f"{host}/") else url
