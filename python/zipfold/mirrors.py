"""Mirrors: folders of this machine with a copy of a store, which its processes have in common.

``.lock`` is locked in common by whoever uses a mirror, so one alone removes it: the last process that lets go of it.
``.fetch`` is locked by the process that fills it. What a lost process left goes a day later, with the next new mirror.
"""

from __future__ import annotations

import contextlib
import glob
import multiprocessing.util
import os
import secrets
import shutil
import stat
import threading
import time
import typing

from .errors import RequestError, ResourceError

__all__ = ["PREFIX", "filling", "held"]

#: How the name of a mirror begins, before the number of its store.
PREFIX = "zipfold-mirror-"
#: Mirrors that a process keeps between its shares.
_MOST = 4
#: Seconds after which a mirror that nobody uses is taken to be left by a lost process.
_LEFT = 86400.0


class _Kept:
    """The mirrors that this process keeps."""

    def __init__(self) -> None:
        #: Their locks, the ones that were used last at the end.
        self.locks: dict[str, int] = {}
        self.turn = threading.Lock()
        self.goes_at_exit = False

    def forget(self) -> None:
        """A fork has copies of the locks of its parent, which are not its own."""
        for copy in self.locks.values():
            os.close(copy)
        self.locks, self.turn, self.goes_at_exit = {}, threading.Lock(), False


_kept = _Kept()
os.register_at_fork(after_in_child=_kept.forget)


@contextlib.contextmanager
def held(root: str) -> typing.Iterator[None]:
    """Has the folder ``root``, which may be new, as a mirror that no process removes."""
    lock = _hold(root)
    try:
        yield
    finally:
        _keep(root, lock)


@contextlib.contextmanager
def filling(root: str) -> typing.Iterator[None]:
    """One process alone fills a mirror that it holds."""
    import fcntl

    file = os.open(os.path.join(root, ".fetch"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _hold(root: str) -> int:
    import fcntl

    name = os.path.join(root, ".lock")
    while True:
        _make(root)
        # The last process may remove the folder between any two of these calls.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_SH)
                if os.path.samestat(os.fstat(lock), os.stat(name)):
                    os.utime(name)
                    return lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)


def _make(root: str) -> None:
    """Makes a mirror that no other user can write."""
    try:
        with contextlib.suppress(FileExistsError):
            os.makedirs(os.path.dirname(root))
        try:
            os.mkdir(root, 0o700)
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                facts = os.lstat(root)
                if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
                    raise RequestError(f"{root}: expected a folder of this user, for a copy of the store, got another") from None
            return
    except OSError as error:
        remedy = "try: a folder for temporary files (TMPDIR) that all workers have, where the question is submitted"
        raise ResourceError(f"{root}: no folder can be made there for a copy of the store: {error}\n  {remedy}") from None
    for other in glob.glob(os.path.join(glob.escape(os.path.dirname(root)), f"{PREFIX}*")):
        _sweep(other)


def _sweep(root: str) -> None:
    """Removes a mirror that was left."""
    # It may be another user's, or go in this moment.
    with contextlib.suppress(OSError):
        if time.time() - os.stat(os.path.join(root, ".lock")).st_mtime > _LEFT:
            _let_go(root, os.open(os.path.join(root, ".lock"), os.O_RDWR), left=True)


def _let_go(root: str, lock: int, *, left: bool = False) -> None:
    """Gives a mirror up, and removes it if nobody else has it. A checkpoint inside a share is kept for a day."""
    import fcntl

    try:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            running = os.path.join(root, "running")
            if left or not (os.path.isdir(running) and os.listdir(running)):
                # Whoever comes now makes a new one.
                gone = f"{root}.{secrets.token_hex(8)}"
                os.rename(root, gone)
                shutil.rmtree(gone, ignore_errors=True)
    finally:
        os.close(lock)


def _keep(root: str, lock: int) -> None:
    """Keeps a mirror for the next share: few of them, until the process ends."""
    with _kept.turn:
        if not _kept.goes_at_exit:
            # Unlike atexit, processes of a pool that were forked run this, too.
            multiprocessing.util.Finalize(None, _let_all_go, exitpriority=0)
            _kept.goes_at_exit = True
        before = _kept.locks.pop(root, None)
        _kept.locks[root] = lock
        ended = list(_kept.locks.items())[:-_MOST]
        for name, _ in ended:
            del _kept.locks[name]
    if before is not None:
        os.close(before)
    for name, old in ended:
        _let_go(name, old)


def _let_all_go() -> None:
    with _kept.turn:
        mine = list(_kept.locks.items())
        _kept.locks.clear()
    for name, lock in mine:
        _let_go(name, lock)
