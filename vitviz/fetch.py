"""Download published weights into the app's folder: python -m vitviz.fetch deit_tiny_patch16_224."""

import argparse
import sys
from collections.abc import Sequence

from tqdm import tqdm

from vitviz.models.file_download import weights_folder
from vitviz.models.pretrained_list import Pretrained, PretrainedError, find
from vitviz.models.published_weights import SMALL, fetch, find_weights, list_weights


def main(arguments: Sequence[str] | None = None) -> int:
    """Download the named weights, or list all; returns 1 if a download failed."""
    parser = argparse.ArgumentParser(prog="python -m vitviz.fetch", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="name from the list; its tag is optional")
    parser.add_argument(
        "--all-small", action="store_true", help=f"download the first {len(SMALL)} of the list"
    )
    options = parser.parse_args(arguments)
    names = [*(SMALL if options.all_small else ()), *options.names]
    if not names:
        print(listing(list_weights()))
        return 0
    return int(not all([_fetched(name) for name in dict.fromkeys(names)]))


def listing(offered: Sequence[Pretrained]) -> str:
    """Return one line per entry, and the folder of the files."""
    width = max(len(entry.name) for entry in offered)
    lines = [
        f"{entry.name:<{width}}  {entry.megabytes:5,.0f} MB  {'cached' if find_weights(entry) else '      '}"
        f"  {entry.title}: {entry.summary}, {entry.trained_on}"
        for entry in offered
    ]
    small = sum(entry.megabytes for entry in offered if entry.name in SMALL)
    return "\n".join(
        [
            *lines,
            "",
            f"The files are stored in {weights_folder()} (change it with $VITVIZ_WEIGHTS).",
            f"Run python -m vitviz.fetch NAME… to download some, or --all-small for the first {len(SMALL)}"
            f" ({small:,.0f} MB).",
        ]
    )


def _fetched(name: str) -> bool:
    try:
        entry = find(name)
        print(f"{entry.name}: {_with_bar(entry)}")
        return True
    except PretrainedError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False


def _with_bar(entry: Pretrained) -> str:
    with tqdm(desc=entry.name, unit="B", unit_scale=True, leave=False, file=sys.stderr, disable=None) as bar:

        def draw(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        path = fetch(entry, draw)
    return f"{path.stat().st_size / 1e6:,.1f} MB, {path}"


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit("Interrupted; partial files were removed.") from None
