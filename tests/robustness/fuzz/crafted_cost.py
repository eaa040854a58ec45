"""Decode one file in this fresh process and print the processor time and the memory that it took here."""

from __future__ import annotations

import argparse
import io
import re
import time
from pathlib import Path

from PIL import Image

from vitviz.data.image_decoding import ImageError, decode_image
from vitviz.data.image_worker import decode_in_worker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--in-process", action="store_true")
    options = parser.parse_args()
    data = options.file.read_bytes()
    decode = decode_image if options.in_process else lambda data: decode_in_worker(data).pixels
    if not options.in_process:
        decode(_small())  # starts the worker
    peak, cpu, begun = _peak_mb(), time.process_time(), time.monotonic()
    try:
        shape = decode(data).shape
        result = f"{shape[1]} x {shape[0]}"
    except ImageError as error:
        result = str(error)
    except BaseException as error:
        result = f"NOT HELD {type(error).__name__}: {str(error)[:100]}"
    seconds = time.process_time() - cpu
    print(f"{seconds:6.2f} s {time.monotonic() - begun:6.2f} s clock {_peak_mb() - peak:5.0f} MB  {result}")


def _small() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG")
    return buffer.getvalue()


def _peak_mb() -> float:
    """Of this program alone: what getrusage says includes the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


if __name__ == "__main__":
    main()
