"""A folder in which nothing can be written, for this process; root may write where a file's mode forbids it."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHANGES = ("mkdir", "unlink", "rmdir", "rename", "replace", "utime", "symlink")


@contextmanager
def read_only(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a disk says that was mounted read-only, or became so when it failed."""

    def refuse(path: Any) -> None:
        if isinstance(path, str | os.PathLike) and Path(os.path.abspath(path)).is_relative_to(folder):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(path: Any, *given: Any, **more: Any) -> Any:
            inside = more.get("dir_fd")
            refuse(path if inside is None else Path(os.readlink(f"/proc/self/fd/{inside}"), path))
            return real(path, *given, **more)

        return change

    def opening(real: Callable[..., Any]) -> Callable[..., Any]:
        def open_file(path: Any, mode: Any = "r", *given: Any, **more: Any) -> Any:
            if (
                mode & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
                if isinstance(mode, int)
                else set(mode) & set("wax+")
            ):
                refuse(path)
            return real(path, mode, *given, **more)

        return open_file

    with patch.context() as patched:
        for name in CHANGES:
            patched.setattr(os, name, refusing(getattr(os, name)))
        for where in (builtins, io, os):
            patched.setattr(where, "open", opening(where.open))
        yield
