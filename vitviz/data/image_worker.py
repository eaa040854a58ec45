"""Decode uploaded images in two processes with limits on time and memory, so that none holds the server.

`python -m vitviz.data.image_worker` is such a process: it reads files from its stdin and writes pixels to its stdout.
"""

import atexit
import contextlib
import math
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from vitviz.data.image_decoding import ImageError, check_file_size, decode_image, picture_size, shrink_image
from vitviz.locks import FairLock
from vitviz.upload_limits import IMAGE_BYTES

WORKERS = 2
CPU_LIMIT_S = 4  # of one image; the slowest accepted photo takes about one
WALL_LIMIT_S = 30.0  # of one image, on a busy machine
MEMORY_LIMIT_BYTES = 2**30  # of address space, with Python, NumPy and Pillow

_COMMAND = (sys.executable, "-m", "vitviz.data.image_worker")
_PROJECT = Path(__file__).resolve().parents[2]
_REQUEST = struct.Struct(">QQ")  # (bytes of the file, most pixels to return, 0 for all)
_REPLY = struct.Struct(">?QQQQ")  # (decoded, height, width, both in the file), or (False, bytes of text)
_MAX_REPLY_BYTES = 3 * 2**26  # above every image that `decode_image` returns
_KILLED = getattr(signal, "SIGKILL", 0)  # Windows has none, and no such limits
_END_S = 1.0  # a process whose pipe broke ends in milliseconds
_user: ContextVar[str] = ContextVar("user", default="")  # whose images this thread decodes


@contextlib.contextmanager
def decode_for(user: str) -> Iterator[None]:
    """Decode the images in the body for a user, who has one worker at a time: the others are left to other users."""
    before = _user.set(user)
    try:
        yield
    finally:
        _user.reset(before)


@dataclass(frozen=True, eq=False)
class DecodedImage:
    """An upright RGB image, and its size before it was shrunk."""

    pixels: NDArray[np.uint8]  # (H, W, 3)
    file_size: tuple[int, int]  # (height, width)


class _WorkerLost(Exception):
    """The process ended over an image, beyond a limit."""


class _WorkerKilled(Exception):
    """Something else than a limit killed the process, such as a system that lacks memory."""


class ImageWorker:
    """One process that decodes one image at a time; it ends with its parent."""

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, (str(_PROJECT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Each further thread of OpenBLAS reserves address space.
            env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C in a terminal ends the server, and the server its workers
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def decode(self, encoded: bytes, most_pixels: int | None) -> DecodedImage:
        """Return the image in a file.

        Raises:
            ImageError: as `decode_image`.
            _WorkerLost, _WorkerKilled: if the process is gone.
        """
        timer = threading.Timer(WALL_LIMIT_S, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(encoded, most_pixels or 0)
        except (OSError, struct.error, _WorkerLost) as error:  # a broken pipe, or half an answer
            in_time = timer.is_alive()
            if in_time and self._end() == -_KILLED:
                raise _WorkerKilled from error
            raise _WorkerLost from error
        finally:
            timer.cancel()

    def _end(self) -> int:
        """Return how the process ended by itself; its pipes are closed or half an answer came."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_END_S)
        return 0

    def close(self) -> None:
        """End the process at once."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was still to be written has no reader
                if pipe is not None:
                    pipe.close()
        self._process.wait()

    def _exchange(self, encoded: bytes, most_pixels: int) -> DecodedImage:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(_REQUEST.pack(len(encoded), most_pixels))
        stdin.write(encoded)
        stdin.flush()
        decoded, height, width, *file_size = _REPLY.unpack(stdout.read(_REPLY.size))
        if not decoded:
            raise ImageError(stdout.read(min(height, 1000)).decode())
        if height * width * 3 > _MAX_REPLY_BYTES:
            raise _WorkerLost
        pixels = np.empty((height, width, 3), np.uint8)
        if stdout.readinto(pixels.data) != pixels.nbytes:  # type: ignore[attr-defined]
            raise _WorkerLost
        return DecodedImage(pixels, (file_size[0], file_size[1]))


class ImageWorkers:
    """A few worker processes, started when they are needed; callers wait in the order in which they came."""

    def __init__(self, count: int = WORKERS) -> None:
        self._turns = FairLock(count)
        self._turns_of_user: WeakValueDictionary[str, FairLock] = WeakValueDictionary()
        self._guard = threading.Lock()
        self._idle: list[ImageWorker] = []  # appending and popping are atomic

    def decode(self, encoded: bytes, most_pixels: int | None = None) -> DecodedImage:
        """Return the image in a file, decoded by a worker; see `decode_in_worker`."""
        check_file_size(len(encoded))  # before it waits, and before 20 MB and more pass a pipe
        with self._guard:
            user = _user.get()
            turns_of_user = (
                self._turns_of_user.setdefault(user, FairLock()) if user else contextlib.nullcontext()
            )
        with turns_of_user, self._turns:
            try:
                try:
                    return self._decode_once(encoded, most_pixels)
                except _WorkerKilled:  # not for this image's sake
                    return self._decode_once(encoded, most_pixels)
            except _WorkerKilled as error:
                raise ImageError(
                    "The server's system ended the process that decodes this image, twice: try again later, or make the"
                    " image smaller."
                ) from error
            except _WorkerLost as error:
                raise ImageError(
                    f"This image takes more than {CPU_LIMIT_S} seconds or {MEMORY_LIMIT_BYTES // 2**20:,} MB to decode:"
                    " make it smaller, or save it again as a plain PNG or JPEG."
                ) from error

    def warm(self) -> None:
        """Start the first worker; does not wait until it is ready.

        Raises:
            OSError: if no process can be started.
        """
        with self._turns:
            if not self._idle:
                self._idle.append(ImageWorker())

    def close(self) -> None:
        """End the workers that are idle."""
        while self._idle:
            self._idle.pop().close()

    def _decode_once(self, encoded: bytes, most_pixels: int | None) -> DecodedImage:
        worker = self._get_idle()
        keep = False
        try:
            image = worker.decode(encoded, most_pixels)
            keep = True
            return image
        except ImageError:
            keep = True
            raise
        finally:
            if keep:
                self._idle.append(worker)
            else:
                worker.close()

    def _get_idle(self) -> ImageWorker:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        try:
            return ImageWorker()
        except OSError as error:  # no process may be started, or no memory is left
            raise ImageError(
                "The server cannot start a process to decode the image. Try again later, or tell the operator."
            ) from error


WORKERS_OF_SERVER = ImageWorkers()
atexit.register(WORKERS_OF_SERVER.close)


def decode_in_worker(encoded: bytes, most_pixels: int | None = None) -> DecodedImage:
    """Decode an image as `decode_image` does, in a process with limits on its time and memory.

    Args:
        most_pixels: larger images are shrunk to about as many, see `shrink_image`.

    Raises:
        ImageError: as `decode_image`; if decoding goes beyond the limits; if no process can be started.
    """
    return WORKERS_OF_SERVER.decode(encoded, most_pixels)


def main() -> None:
    """Answer requests until stdin ends."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    _limit_memory()
    while head := stdin.read(_REQUEST.size):
        length, most_pixels = _REQUEST.unpack(head)
        encoded = stdin.read(min(length, IMAGE_BYTES))
        _limit_time()
        _answer(stdout, encoded, most_pixels)


def _answer(stdout: IO[bytes], encoded: bytes, most_pixels: int) -> None:
    try:
        pixels, file_size = decode_image(encoded), picture_size(encoded)
        pixels = np.ascontiguousarray(shrink_image(pixels, most_pixels) if most_pixels else pixels)
    except ImageError as error:
        text = str(error).encode()
        stdout.write(_REPLY.pack(False, len(text), 0, 0, 0) + text)
    else:
        stdout.write(_REPLY.pack(True, *pixels.shape[:2], *file_size))
        stdout.write(pixels.data)
    stdout.flush()


if sys.platform == "win32":  # it has no such limits: the parent's timeout is all there is

    def _limit_memory() -> None: ...

    def _limit_time() -> None: ...

else:
    import resource

    def _limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no image may reach the disk

    def _limit_time() -> None:
        """Allow `CPU_LIMIT_S` from now: the limit counts from the start of the process, in whole seconds."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(used.ru_utime + used.ru_stime) + CPU_LIMIT_S
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
