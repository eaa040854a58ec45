"""What is freed stays with a process that trains, and goes back to the system from one that waits."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

MAPS = """
import resource
import numpy as np
from vitviz.malloc import give_back, keep_freed

def resident():
    return int(open("/proc/self/statm").read().split()[1])

keep_freed()
for turn in range(12):
    if turn == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones((8, 1 << 20), np.uint8) + np.ones((8, 1 << 20), np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
held = resident()
give_back()
print(held - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc takes orders about its heap")
def test_maps_of_one_size_are_given_pages_once_and_these_go_back_when_told() -> None:
    stated = subprocess.run([sys.executable, "-c", MAPS], capture_output=True, text=True, check=True)
    given, returned = map(int, stated.stdout.split())
    assert given < 100  # 10,000 where every map is a mapping of its own
    assert returned > 1000  # two maps' pages of 4 KiB are 4,096
