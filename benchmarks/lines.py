"""Count the project's lines at two commits: what each folder had, added, removed and has.

    python benchmarks/lines.py [BEFORE [AFTER]] > benchmarks/lines.md

Counted are .py, .js, .toml and .md of vitviz, pages and app.py, and, apart, of tests. The lines of a moved file count
as neither added nor removed.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
WAVE = "47471e31^"  # the commit before 'one instrument' began
SUFFIXES = (".py", ".js", ".toml", ".md")
PLACES = ("vitviz", "pages", "app.py", "tests")


def main() -> None:
    before, after = [*sys.argv[1:], WAVE, "HEAD"][:1] + [*sys.argv[2:3], "HEAD"][:1]
    changed = {folder: (added, removed) for folder, added, removed in count_changes(before, after)}
    first, last = count_lines(before), count_lines(after)
    named = [run_git("log", "-1", "--format=%h of %cs", commit).strip() for commit in (before, after)]
    print(f"# Lines\n\n`python benchmarks/lines.py`: {named[0]} to {named[1]}.\n")
    print("| folder | before | added | removed | after |\n|---|---|---|---|---|")
    for folder in sorted(
        first.keys() | last.keys(), key=lambda name: (name.startswith("tests"), -last[name])
    ):
        added, removed = changed.get(folder, (0, 0))
        print(f"| {folder} | {first[folder]:,} | {added:,} | {removed:,} | {last[folder]:,} |")
    for title, is_test in (("source", False), ("tests", True)):
        sums = [
            sum(lines for folder, lines in count.items() if folder.startswith("tests") == is_test)
            for count in (first, last)
        ]
        print(f"| **{title}** | {sums[0]:,} | | | **{sums[1]:,}** |")


def count_lines(commit: str) -> Counter[str]:
    """Return the lines of each folder at a commit."""
    lines: Counter[str] = Counter()
    for line in run_git("grep", "-c", "", commit, "--", *PLACES).splitlines():
        path, _, count = line.removeprefix(f"{commit}:").rpartition(":")
        if path.endswith(SUFFIXES):
            lines[find_folder(path)] += int(count)
    return lines


def count_changes(before: str, after: str) -> list[tuple[str, int, int]]:
    """Return (folder, lines added, lines removed)."""
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    words = iter(run_git("diff", "--numstat", "-z", "-M", before, after, "--", *PLACES).split("\0"))
    for word in words:
        plus, _, rest = word.partition("\t")
        minus, _, path = rest.partition("\t")
        if rest and not path:  # renamed: its old and its new path follow
            path = [next(words), next(words)][1]
        if path.endswith(SUFFIXES):
            added[find_folder(path)] += int(plus)
            removed[find_folder(path)] += int(minus)
    return [(folder, added[folder], removed[folder]) for folder in added.keys() | removed.keys()]


def find_folder(path: str) -> str:
    parts = PurePosixPath(path).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def run_git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
