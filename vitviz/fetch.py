"""Fetch published weights into the folder that the app reads: python -m vitviz.fetch deit_tiny_patch16_224."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tqdm import tqdm

from vitviz.models.download import weights_folder
from vitviz.models.pretrained_list import Pretrained, PretrainedError, find
from vitviz.models.published_weights import SMALL, Offer, fetch, list_weights


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the named weights, or list what can be fetched; returns 1 where one of them could not be had."""
    parser = argparse.ArgumentParser(prog="python -m vitviz.fetch", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of the list; its tag may be left out")
    parser.add_argument("--all-small", action="store_true", help=f"the first {len(SMALL)} of the list")
    options = parser.parse_args(arguments)
    names = [*(SMALL if options.all_small else ()), *options.names]
    if not names:
        print(listing(list_weights()))
        return 0
    return int(not all([_fetched(name) for name in dict.fromkeys(names)]))


def listing(offered: Sequence[Offer]) -> str:
    """Return one line for each of the weights, and where their files are kept."""
    width = max(len(offer.name) for offer in offered)
    lines = [
        f"{offer.name:<{width}}  {offer.megabytes:5,.0f} MB  {'here' if offer.cached else '    '}"
        f"  {offer.title}: {offer.knows}, {offer.trained_on}"
        for offer in offered
    ]
    small = sum(offer.megabytes for offer in offered if offer.name in SMALL)
    return "\n".join(
        [
            *lines,
            "",
            f"The files are kept in {weights_folder()} ($VITVIZ_WEIGHTS names another folder).",
            f"python -m vitviz.fetch NAME… fetches some, --all-small the first {len(SMALL)} ({small:,.0f} MB).",
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
    return f"{path.stat().st_size / 1e6:,.1f} MB in {path}"


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:  # what was under way has been removed
        raise SystemExit("stopped") from None
