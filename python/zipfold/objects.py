"""Objects of an object store, by fsspec: read, listed, written, and put where there is nothing.

A name is put once, whole, by the rule of its file system:

* ``s3``, ``gs``, ``abfs``: the server refuses a second object. One that ignores this condition keeps the later object.
* ``file``: a file of another name is written and linked to, which succeeds once.
* ``memory``: one process alone has these files; its threads take turns.
* Others: after a look, a file of another name is written and moved. Of two at the same moment the later one stays.
  A file system without a move of its own copies the file and removes it: others may see the copy before it is whole.
"""

from __future__ import annotations

import contextlib
import filecmp
import importlib
import os
import posixpath
import random
import re
import secrets
import tempfile
import threading
import time
import typing
from collections.abc import Callable
from typing import Any

from . import remote
from .errors import RequestError, ZipfoldError
from .executors import numbers_of

__all__ = ["Objects"]

#: Times that an access is tried, and the seconds after the first one, which double.
_TRIES, _FIRST_WAIT = 6, 0.1
#: Bytes of one access.
_PIECE = 32 << 20
#: File systems whose servers put an object where there is none in one step.
_PUTS_ONCE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl"}
#: The first fsspec whose file systems know that an object must not be there yet. Earlier ones write over it.
_FSSPEC = "2024.12"
#: What happens again if it is tried again.
_LASTING = (FileNotFoundError, PermissionError, NotImplementedError, ZipfoldError, MemoryError)
_memory = threading.Lock()


class Objects:
    """A place of an object store. Every access is tried again, with growing pauses."""

    def __init__(self, url: str) -> None:
        self.url = re.sub("(?<![:/])/+$", "", url)
        if "::" in url or remote.shown(url) != url:
            # What Azure has before the @ is a container, and no secret unless it has a colon.
            what = f"store: expected a URL without user, password, query and second scheme, got {remote.shown(url)}"
            raise RequestError(f"{what}\n  try: keys in the environment of each worker, as fsspec reads them")
        self.fs, self.path = remote.opened(self.url, use_listings_cache=False)
        self.path = self.path.rstrip("/")
        version = str(importlib.import_module("fsspec").__version__)
        if numbers_of(version) < numbers_of(_FSSPEC):
            raise RequestError(f"store: expected fsspec from {_FSSPEC} on, got {version}\n  try: pip install 'fsspec>={_FSSPEC}'")
        self._kinds = {self.fs.protocol} if isinstance(self.fs.protocol, str) else set(self.fs.protocol)
        if self._kinds & {"http", "https"}:
            raise RequestError(f"store: expected a file system that can be written, got {self.url}\n  try: s3://, gs:// or abfs://")
        self._is_flat = bool(self._kinds & (_PUTS_ONCE | {"memory"}))

    def at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def again(self, name: str, call: Callable[[], Any], done: str = "read") -> Any:
        with remote.errors(f"{self.url}/{name}", done):
            for turn in range(_TRIES - 1):
                try:
                    return call()
                except _LASTING:
                    raise
                except Exception:  # noqa: BLE001 - each file system has errors of its own
                    time.sleep(_FIRST_WAIT * 2**turn * (1 + random.random()))
            return call()

    def _size(self, path: str) -> int | None:
        """The bytes of what is there; none if there is nothing."""
        try:
            return int(self.fs.info(path)["size"])
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        return self.again(name, lambda: self._size(self.at(name))) is not None

    def read(self, name: str) -> bytes | None:
        def call() -> bytes | None:
            try:
                return bytes(self.fs.cat_file(self.at(name)))
            except FileNotFoundError:
                return None

        return typing.cast("bytes | None", self.again(name, call))

    def fetch(self, name: str, local: str, expected: tuple[int, str] | None = None) -> None:
        """Puts a copy of an object at ``local``, if it has these bytes, by their number and hash."""
        own = f"{local}.{secrets.token_hex(8)}"

        def call() -> None:
            self.fs.get_file(self.at(name), own)
            if expected is not None and (os.path.getsize(own), remote.hash_of(own)) != expected:
                raise OSError(f"expected the {expected[0]} bytes that were sent, got other ones")

        try:
            self.again(name, call)
            os.replace(own, local)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(own)

    def copy(self, name: str, place: tuple[int, int], into: typing.BinaryIO) -> None:
        """Writes the bytes of an object from one place up to another."""
        for start in range(place[0], place[1], _PIECE):
            end = min(start + _PIECE, place[1])

            def call(start: int = start, end: int = end) -> bytes:
                piece = bytes(self.fs.cat_file(self.at(name), start=start, end=end))
                if len(piece) != end - start:
                    raise OSError(f"expected {end - start} bytes, got {len(piece)}")
                return piece

            into.write(self.again(name, call))

    def names(self, folder: str, pattern: str = ".*") -> dict[str, tuple[int, str]]:
        """The names of what is below a folder, and the state of each."""
        start = self.at(folder).strip("/")

        def listed(path: str) -> typing.Iterator[dict[str, Any]]:
            # Not find, which takes a folder that cannot be listed for an empty one.
            with contextlib.suppress(FileNotFoundError):
                for one in self.fs.ls(path, detail=True):
                    if one["type"] != "directory":
                        yield one
                    elif one["name"].strip("/") != path.strip("/"):
                        yield from listed(one["name"])

        def call() -> dict[str, tuple[int, str]]:
            states = {one["name"].strip("/").removeprefix(f"{start}/"): remote.mark_of(one) for one in listed(self.at(folder))}
            return {name: states[name] for name in sorted(states) if re.fullmatch(pattern, name)}

        return typing.cast("dict[str, tuple[int, str]]", self.again(folder, call))

    def _whole(self, path: str, write: Callable[[str], Any]) -> None:
        """Writes a file whole, over one that is there."""
        if self._is_flat:
            write(path)
            return
        # Files of a file system with folders are seen while they are written. Some move by a copy, which is seen, too.
        own = f"{path}.{secrets.token_hex(8)}"
        self.fs.makedirs(posixpath.dirname(path), exist_ok=True)
        write(own)
        self.fs.mv(own, path)

    def write(self, name: str, data: bytes) -> None:
        """Writes a small object, over one that is there."""
        self.again(name, lambda: self._whole(self.at(name), lambda path: self.fs.pipe_file(path, data)), "written")

    def send(self, local: str, name: str) -> None:
        """Writes the bytes of a file to a name that nobody else writes."""
        self.again(name, lambda: self._whole(self.at(name), lambda path: self.fs.put_file(local, path)), "written")

    def put(self, local: str, name: str) -> bool:
        """Puts the bytes of a file where there is nothing; whether what is there then has these bytes.

        A call that fails after it has written, and one of another worker with the same bytes, are as good as this one.
        """
        path = self.at(name)

        def call() -> bool:
            if self._size(path) is None:
                try:
                    self._create(local, path)
                    return True
                except Exception:
                    if self._size(path) is None:
                        raise
            return self._is_same(local, path)

        return bool(self.again(name, call, "written"))

    def _create(self, local: str, path: str) -> None:
        if self._kinds & _PUTS_ONCE:
            self.fs.put_file(local, path, mode="create")
        elif "memory" in self._kinds:
            with _memory, open(local, "rb") as file:
                self.fs.pipe_file(path, file.read(), mode="create")
        elif not getattr(self.fs, "local_file", False):
            # A look and a move: of two at the same moment the later one stays.
            self._whole(path, lambda own: self.fs.put_file(local, own))
        else:
            own = f"{path}.{secrets.token_hex(8)}"
            self.fs.makedirs(posixpath.dirname(path), exist_ok=True)
            try:
                self.fs.put_file(local, own)
                self.fs.link(own, path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    self.fs.rm_file(own)

    def _is_same(self, local: str, path: str) -> bool:
        if self._size(path) != os.path.getsize(local):
            return False
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other")
            self.fs.get_file(path, other)
            return filecmp.cmp(local, other, shallow=False)

    def remove(self, name: str, *, tree: bool = False) -> None:
        """Removes an object, or all below a name. Nobody misses it, so failures are not told."""
        path = self.at(name)

        def call() -> None:
            try:
                self.fs.rm(path, recursive=True) if tree else self.fs.rm_file(path)
            except Exception:
                # Not every file system says by its error that there is nothing.
                if tree or self._size(path) is not None:
                    raise

        with contextlib.suppress(ZipfoldError):
            self.again(name, call, "removed")
