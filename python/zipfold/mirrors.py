"""Mirrors: folders of this machine with a copy of a store, which its processes have in common.

``.lock`` is locked in common by whoever uses a mirror, so one alone removes it: the last process that lets go of it.
``.fetch`` is locked by the process that fills it. What a lost process left goes a day later, with the next new mirror.
So do mirrors with a checkpoint, or with a part that could not be put.
"""

from __future__ import annotations

import contextlib
import glob
import multiprocessing.util
import os
import re
import secrets
import shutil
import stat
import threading
import time
import typing

from .errors import RequestError, ResourceError

__all__ = ["PREFIX", "filling", "freed", "held"]

#: How the name of a mirror begins, before the number of its store.
PREFIX = "zipfold-mirror-"
#: Mirrors that a process keeps between its shares.
_MOST = 4
#: Seconds after which a mirror that nobody uses is taken to be left by a lost process.
_LEFT = 86400.0
#: Folders with what would be computed again: a mirror with files there outlives its processes.
_WORTH_KEEPING = ("running", "parts")


class _Lock:
    """A file that this process has open to lock it."""

    def __init__(self, name: str, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        # No fork comes between the two.
        with _kept.turn:
            self.file: int | None = os.open(name, flags, 0o600)
            _kept.open.add(self)

    def take(self, how: int) -> None:
        """Locks it, by a constant of fcntl."""
        import fcntl

        if self.file is None:
            raise OSError("the lock is that of another process")
        fcntl.flock(self.file, how)

    def close(self) -> None:
        """Unlocks and closes it, also where a fork has a copy. In a fork it is closed already."""
        import fcntl

        with _kept.turn:
            file, self.file = self.file, None
            _kept.open.discard(self)
            if file is not None:
                # Closing alone unlocks it only when every copy is closed. Some file systems know no locks.
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)
                os.close(file)


class _Kept:
    """The mirrors that this process keeps."""

    def __init__(self) -> None:
        #: Their locks, the ones that were used last at the end.
        self.locks: dict[str, _Lock] = {}
        #: All locks that are open, the ones in use, too.
        self.open: set[_Lock] = set()
        self.turn = threading.RLock()
        self.goes_at_exit = False

    def before_fork(self) -> None:
        self.turn.acquire()

    def after_fork(self) -> None:
        self.turn.release()

    def forget(self) -> None:
        """A fork has copies of the locks of its parent, which are not its own: it closes them, and unlocks none."""
        for lock in self.open:
            if lock.file is not None:
                os.close(lock.file)
                lock.file = None
        self.locks, self.open, self.turn, self.goes_at_exit = {}, set(), threading.RLock(), False


_kept = _Kept()
os.register_at_fork(before=_kept.before_fork, after_in_parent=_kept.after_fork, after_in_child=_kept.forget)


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

    lock = _Lock(os.path.join(root, ".fetch"))
    try:
        lock.take(fcntl.LOCK_EX)
        yield
    finally:
        lock.close()


def freed(root: str, name: str) -> None:
    """Removes the lease of a share from a mirror, unless a process of this machine lives at it: a killed one leaves its own."""
    import fcntl

    running = os.path.join(root, "running")
    for held in os.listdir(running) if os.path.isdir(running) else ():
        if not re.fullmatch(rf"{name}(-\d+)?\.held", held):
            continue
        try:
            lock = _Lock(os.path.join(running, held), os.O_RDWR)
        except FileNotFoundError:
            # Its process has just ended.
            continue
        try:
            # In common, so that two who look at one time do not take each other for its worker, who has it alone.
            lock.take(fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return
        finally:
            lock.close()
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(root, "leases", name))


def _hold(root: str) -> _Lock:
    import fcntl

    name = os.path.join(root, ".lock")
    while True:
        _make(root)
        # The last process may remove the folder between any two of these calls.
        with contextlib.suppress(FileNotFoundError):
            lock = _Lock(name)
            try:
                lock.take(fcntl.LOCK_SH)
                if lock.file is not None and os.path.samestat(os.fstat(lock.file), os.stat(name)):
                    os.utime(name)
                    return lock
            except BaseException:
                lock.close()
                raise
            lock.close()


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
            _let_go(root, _Lock(os.path.join(root, ".lock"), os.O_RDWR), left=True)


def _let_go(root: str, lock: _Lock, *, left: bool = False) -> None:
    """Gives a mirror up, and removes it if nobody else has it. Checkpoints, and parts that were not put, are kept for a day."""
    import fcntl

    try:
        with contextlib.suppress(OSError):
            lock.take(fcntl.LOCK_EX | fcntl.LOCK_NB)
            folders = [os.path.join(root, name) for name in _WORTH_KEEPING]
            if left or not any(os.path.isdir(folder) and os.listdir(folder) for folder in folders):
                # Whoever comes now makes a new one.
                gone = f"{root}.{secrets.token_hex(8)}"
                os.rename(root, gone)
                shutil.rmtree(gone, ignore_errors=True)
    finally:
        lock.close()


def _keep(root: str, lock: _Lock) -> None:
    """Keeps a mirror for the next share: few of them, until the process ends."""
    with _kept.turn:
        if lock.file is None:
            # This process is a fork of the one that holds it.
            return
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
        before.close()
    for name, old in ended:
        _let_go(name, old)


def _let_all_go() -> None:
    with _kept.turn:
        mine = list(_kept.locks.items())
        _kept.locks.clear()
    for name, lock in mine:
        _let_go(name, lock)
