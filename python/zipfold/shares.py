"""Questions in shares: planned once, worked on by any executor, merged to the bits of one run."""

from __future__ import annotations

import json
import os
import time
import typing
from collections.abc import Callable
from typing import Any

from . import _zipfold
from .arrays import truth
from .errors import ArrayTypeError, Interrupted, RequestError, ZipfoldError
from .executors import Calls, calls_of
from .inference import Inference, _merged
from .lazy import Pairs, _outcome
from .settings import count, given, seconds, threads_of
from .signals import Ended, ends_in_order
from .stores import Folder, Temporary, store_of

__all__ = ["Failure", "Job", "Progress", "attach", "submit", "work"]

#: Seconds without a sign of life after which a worker is taken to be lost.
_LEASE = 60.0
#: The longest lease: a year.
_LONGEST_LEASE = 366 * 86400
#: Seconds without a worker after which a share that no worker had room for is given up.
_UNMOVED = 5.0


class Progress(typing.NamedTuple):
    """How far a job is."""

    #: Shares that are done.
    done: int
    #: Shares in all.
    shares: int
    #: Shares that workers are at.
    running: int
    #: Shares that failed and are not done.
    failed: int
    #: Seconds of work that is left, at the rate of the shares that are done.
    seconds_left: float


class Failure(typing.NamedTuple):
    """A share that failed."""

    #: Its number, from 1.
    share: int
    #: How often it failed. That a machine had no room for it does not count.
    times: int
    #: The last error.
    error: str


def work(store: Any, share: int | None = None, *, retries: int = 3, lease: float = _LEASE, **how: Any) -> dict[str, Any]:
    """Works on one share of a store, or on shares until none is left. ``zipfold work`` is the same as a command.

    Ctrl-C, and in the main thread SIGTERM and SIGHUP where the process has no handlers of its own, keep a checkpoint inside
    the share. The next worker goes on there at once. SIGTERM then raises ``SystemExit(143)``, and SIGHUP ``SystemExit(129)``.

    Parameters
    ----------
    store : path or URL
        The folder or the place in an object store; see :func:`submit`.
    share : int, optional
        The number of a share, from 1. Left out, it is shares that no other worker is at, and those of lost workers.
    retries : int
        Times that a share is tried before it is left alone.
    lease : float
        Seconds without a sign of life after which another worker is taken to be lost, from 1 on.
    **how
        ``memory``, ``threads``, ``device``, ``plan``, as in :func:`zipfold.using`. The plan of an inference says all of these
        but ``threads``.

    Returns
    -------
    dict
        The numbers of the shares that were ``done``, and of the ``failed`` ones, with their errors.

    Raises
    ------
    ValueError
        For what is not a store, a number that no share has, inputs that are not those of the plan, and settings that are not
        numbers.

    >>> import tempfile
    >>> import zipfold as zf
    >>> question = zf.pairs([[0.0], [1.0], [3.0]]).pair("cityblock").sum()
    >>> folder = tempfile.mkdtemp()
    >>> job = zf.submit(question, executor=None, store=folder, shares=1)
    >>> zf.work(folder)
    {'done': [1], 'failed': []}
    """
    number = None if share is None else count(share, "share", 1)
    place = store_of(store)
    _refuse_planned(place, how)
    return _work(place, number, _habits(lease, retries), given(**how))


def _refuse_planned(store: Folder, how: dict[str, Any]) -> None:
    """Refuses what the plan of an inference says for all of its workers."""
    odd = sorted(how.keys() & {"memory", "device", "plan"})
    if odd and store.is_of_inference():
        remedy = "leave it out" if odd[0] == "plan" else f"zf.submit with {odd[0]}="
        raise RequestError(f"{odd[0]}: the plan of the inference says it\n  try: {remedy}")


def _work(store: Folder, share: int | None, habits: tuple[float, int], asked: Any) -> dict[str, Any]:
    with ends_in_order():
        return store.work(share, habits, asked)


def _habits(lease: Any, retries: Any) -> tuple[float, int]:
    """How workers go about shares, as the compiled half takes it."""
    return seconds(lease, "lease", _LEASE, least=1, most=_LONGEST_LEASE), count(retries, "retries", 3)


def _share(address: tuple[str, str | None], share: int, habits: tuple[float, int], threads: int | None) -> None:
    """One share, for an executor: its error is noted in the store, and does not end the executor."""
    try:
        _work(store_of(*address), share, habits, given(threads=threads))
    except Ended as end:
        # An executor would take it for an error of the share, and its process would go on.
        os._exit(typing.cast("int", end.code))


class Job:
    """A question in shares; see :func:`submit`.

    The store is the job: another process sees the same by :func:`attach`.
    """

    def __init__(self, store: Folder, calls: Calls | None, habits: tuple[float, int], threads: int | None) -> None:
        self.store, self._store = store.name, store
        self._temporary = Temporary.known.get(store.name)
        self._calls, self._threads = calls, threads
        self._lease, self._retries = habits
        self._under_way: dict[int, Any] = {}
        self._tries: dict[int, int] = {}
        self._errors: dict[int, str] = {}
        #: Why the executor takes no more shares, if it does not.
        self._lost: str | None = None
        self._cancelled = False

    def _start(self, share: int) -> None:
        if self._calls is None or self._lost is not None:
            return
        habits = (self._lease, self._retries)
        try:
            call = self._calls.start(_share, self._store.address, share, habits, self._threads)
        except Exception as error:  # an executor that was shut down, or broke
            self._lost = _told(error)
            return
        self._tries[share] = self._tries.get(share, 0) + 1
        self._under_way[share] = call

    def _status(self) -> dict[str, Any]:
        return self._store.status(self._lease)

    def _turn(self) -> dict[str, Any]:
        """Looks at the calls that have ended, and starts those shares again that are not done."""
        if self._calls is None:
            return self._status()
        ended = [share for share, call in self._under_way.items() if self._calls.ended(call)]
        status = self._status()
        missing = set(status["missing"])
        for share in ended:
            error = self._calls.error(self._under_way.pop(share))
            if share not in missing:
                continue
            if error is not None and self._calls.is_lost(error):
                self._lost = _told(error)
            elif error is not None:
                self._errors[share] = _told(error)
            if self._tries[share] < self._retries and not self._cancelled:
                self._start(share)
        return status

    def progress(self) -> Progress:
        """How far the job is."""
        status = self._turn()
        running = sum(not one["lost"] for one in status["running"])
        return Progress(status["done"], status["shares"], running, len(status["failed"]), status["seconds_left"])

    def failures(self) -> list[Failure]:
        """The shares that failed and are not done, and those whose workers were lost.

        An executor that broke or was shut down is not a failure of a share: :meth:`result` tells it.
        """
        status = self._turn()
        noted = {one["share"]: Failure(one["share"], one["times"], one["error"]) for one in status["failed"]}
        for share in status["missing"]:
            if share in self._errors and share not in self._under_way:
                noted.setdefault(share, Failure(share, self._tries.get(share, 0), self._errors[share]))
        return [noted[share] for share in sorted(noted)]

    def wait(self, timeout: float | None = None, *, incomplete: bool = False) -> bool:
        """Waits until every share is done, or nothing more happens; False if ``timeout`` seconds did not suffice.

        Without an executor others work, who may be still to come; with ``incomplete`` only those who are at a share are waited for.
        """
        end = None if timeout is None else time.monotonic() + seconds(timeout, "timeout", _LEASE)
        last: list[Any] = []
        changed = begun = time.monotonic()
        while True:
            status = self._turn()
            if not status["missing"] or self._cancelled:
                return True
            live = any(not one["lost"] for one in status["running"])
            idle = not self._under_way and self._calls is not None
            given_up = {one["share"] for one in status["failed"] if one["times"] >= self._retries}
            # Workers leave a share that they have no room for to others, of which there may be none.
            seen = [status["done"], status["failed"]]
            if seen != last or live:
                last, changed = seen, time.monotonic()
            elif incomplete and self._calls is None and time.monotonic() - changed >= self._store.quiet:
                # Between two shares a worker is at none, for less than a look at a folder.
                idle = True
            if time.monotonic() - changed >= _UNMOVED:
                given_up |= {one["share"] for one in status["failed"] if one["no_room"]}
            # A share that was given up before is under way again where a job was attached with an executor.
            if idle or given_up - self._under_way.keys() >= set(status["missing"]):
                return True
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(self._store.pause(time.monotonic() - begun))

    def result(self, timeout: float | None = None, *, incomplete: bool = False, **how: Any) -> Any:
        """The answer, as ``question.run()`` gives it, with the same bits; waits for the shares.

        With ``incomplete`` it is that of the shares that are done when no more are under way: what is missing is as if it
        had no pairs, NaN in matrices.

        Raises
        ------
        TimeoutError
            When ``timeout`` seconds did not suffice; the job goes on.
        ValueError
            When shares are missing, which the message names with the error of the first that failed; when the executor broke
            or was shut down before they were done, with how another one goes on from what is done.
        """

        incomplete = truth(incomplete, "incomplete")
        _refuse_planned(self._store, how)
        if incomplete and self._store.is_of_inference():
            raise RequestError("incomplete: an inference has no answer without some of its shares\n  try: without incomplete=")

        def merge(folder: str) -> Any:
            if _zipfold.store_is_of_inference(folder):
                return [_merged(folder, given(**how)[0])]
            raw, _ = _zipfold.store_merge(folder, incomplete, given(**how))
            return _outcome(raw, _tall(folder, len(raw["results"]))).results

        results = self._merged(timeout, incomplete, merge)
        return results[0] if len(results) == 1 else results

    def save(
        self,
        path: Any,
        timeout: float | None = None,
        *,
        incomplete: bool = False,
        overwrite: bool = False,
        **how: Any,
    ) -> list[str]:
        """Writes the answer to a file and returns the names of the files; waits for the shares, as :meth:`result` does.

        The suffix names the format, as for ``question.save``. The matches of a join need not fit in memory:
        ``job.save("matches.parquet")`` takes them from the runs of the store, a part at a time.
        """
        if self._store.is_of_inference():
            raise RequestError("save: expected a question about pairs, got an inference\n  try: result()")
        both = (truth(incomplete, "incomplete"), truth(overwrite, "overwrite"))

        def call(folder: str) -> Any:
            return _zipfold.store_save(folder, os.fspath(path), both, given(**how))

        names, _ = self._merged(timeout, incomplete, call)
        return typing.cast("list[str]", names)

    def _merged(self, timeout: float | None, incomplete: bool, merge: Callable[[str], Any]) -> Any:
        """What ``merge`` gives of the folder with the parts, once the shares are done."""
        if not self.wait(timeout, incomplete=incomplete):
            done = self.progress()
            raise TimeoutError(f"{done.done} of {done.shares} shares are done after {timeout} seconds")
        if self._cancelled and self._status()["missing"] and not incomplete:
            raise Interrupted("the job was cancelled")
        if self._lost is not None:
            self._check_rest(self._lost, incomplete)
        try:
            with self._store.gathered() as folder:
                return merge(folder)
        except ZipfoldError as error:
            lost = [f for f in self.failures() if f.share in self._errors]
            if lost and not incomplete:
                raise type(error)(f"{error}\n  share {lost[0].share}: {lost[0].error}") from None
            raise

    def _check_rest(self, lost: str, incomplete: bool) -> None:
        """Refuses to merge without the shares that the executor was lost with, and says how they are done."""
        status = self._status()
        failed = {one["share"] for one in status["failed"]} | self._errors.keys()
        if failed >= set(status["missing"]) or (incomplete and status["done"]):
            # The merge tells what is wrong, if anything is.
            return
        kept = "stay in the store" if self._temporary is None else "stay in the store until the last job at it has gone"
        raise RequestError(
            f"executor: expected one that takes calls until all shares are done, got {lost}\n"
            f"  {status['done']} of {status['shares']} shares are done and {kept}: nothing of them is lost\n"
            f"  try: zf.attach({self.store!r}, executor=…).result() with a new executor"
        )

    def cancel(self) -> None:
        """Starts no more shares, and cancels the ones that have not begun. What is done stays in the store."""
        self._cancelled = True
        if self._calls is not None:
            for call in self._under_way.values():
                self._calls.cancel(call)
        self._under_way.clear()

    def __repr__(self) -> str:
        done = self.progress()
        return f"<job of {done.shares} shares, {done.done} done, in {self.store}>"


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _tall(store: str, folds: int) -> tuple[bool, ...]:
    """Which weights had columns: a result of theirs has them, too."""
    try:
        with open(os.path.join(store, "question.json"), encoding="utf-8") as text:
            return tuple(json.load(text)["tall"])
    except FileNotFoundError:
        # Planned from a file.
        return (False,) * folds


def submit(
    question: Pairs | Inference | str | os.PathLike[str],
    *,
    executor: Any,
    store: Any = None,
    shares: int | str = "auto",
    retries: int = 3,
    lease: float = _LEASE,
    threads: int | None = None,
    **how: Any,
) -> Job:
    """Starts ``question`` in shares, and returns a job at once.

    Parameters
    ----------
    question : Pairs, Inference or path
        Rows of arrays are sent once, through the store: at most 256 MiB. Larger ones belong into files: a path is that of
        a problem file (TOML or JSON), whose inputs workers read themselves. Paths of inputs are those of this process,
        and must be the same for all workers. An object store has copies of the inputs. An :class:`Inference` is sent with
        its network; its shares are slices of its plan, about a minute long.
    executor
        Any executor of :mod:`concurrent.futures` (pools of processes, ``mpi4py.futures.MPIPoolExecutor``), a Dask
        ``Client``, the module ``ray``, or ``"dask"`` or ``"ray"`` for one on this machine. None starts nothing:
        ``zf.work(store)`` or ``zipfold work DIR`` elsewhere does.
    store : path or URL, optional
        A folder that all workers see, new or empty, or a place in an object store: ``"s3://bucket/prefix"``, and any URL of
        fsspec that can be written. A temporary folder if left out, for workers on this machine; it goes with the job.
    shares : int or "auto"
        Into how many shares; ``"auto"`` makes them about two minutes long, with results within a quarter of the memory.
    retries : int
        Times that a share is tried before it is left alone.
    lease : float
        Seconds without a sign of life after which a worker is taken to be lost, from 1 on: a share that is started again
        waits for it that long.
    threads : int, optional
        Threads of each worker.
    **how
        ``memory``, ``device``, ``plan`` of the planning, as in :func:`zipfold.using`; ``plan`` for pairs alone. Workers of
        an inference hold the ``memory`` of its plan.

    Returns
    -------
    Job with ``progress()``, ``failures()``, ``result()`` and ``cancel()``

    Raises
    ------
    ValueError
        For a place that is a store already, rows beyond 256 MiB, more shares than strips of tiles, a problem file that
        cannot be read, an executor whose library is not installed, and settings that are not numbers.
    TypeError
        For anything but a question, an executor or a place.

    >>> import concurrent.futures
    >>> import zipfold as zf
    >>> question = zf.pairs([[0.0], [1.0], [3.0]]).pair("cityblock").sum()
    >>> with concurrent.futures.ThreadPoolExecutor(2) as pool:
    ...     job = zf.submit(question, executor=pool, shares=1)
    ...     job.result()
    array([4., 3., 5.])
    >>> job.progress().done
    1
    """
    if not isinstance(question, (Pairs, Inference, str, os.PathLike)):
        kind = type(question).__name__
        raise ArrayTypeError(f"question: expected zf.pairs(…), zf.Inference(…) or the path of a problem file, got {kind}")
    number = None if isinstance(shares, str) and shares == "auto" else count(shares, "shares", 8)
    habits, asked = _habits(lease, retries), given(threads=threads, **how)
    calls = None if executor is None else calls_of(executor)
    temporary = Temporary() if store is None else None
    place = store_of(store if temporary is None else temporary.folder)
    try:
        planned = place.plan(question, number, asked)
    except BaseException:
        if temporary is not None:
            temporary.remove()
        raise
    job = Job(place, calls, habits, threads)
    for share in range(1, planned + 1):
        job._start(share)
    return job


def attach(
    store: Any, *, executor: Any = None, retries: int = 3, lease: float = _LEASE, threads: int | None = None
) -> Job:
    """The job of a store that this process did not start, or that ``zipfold plan`` has made.

    Parameters
    ----------
    store : path or URL
        The folder or the place in an object store.
    executor : optional
        Starts the shares that are missing; see :func:`submit`. Without one, others work on them.
    retries : int
        Times that a share is tried before it is left alone.
    lease : float
        Seconds without a sign of life after which a worker is taken to be lost, from 1 on: a share that is started again
        waits for it that long.
    threads : int, optional
        Threads of each worker.

    Returns
    -------
    Job

    Raises
    ------
    ValueError
        For a folder that is not a store, when the job is looked at, and for settings that are not numbers.
    TypeError
        For anything but an executor or a place.

    >>> import tempfile
    >>> import zipfold as zf
    >>> question = zf.pairs([[0.0], [1.0], [3.0]]).pair("cityblock").sum()
    >>> folder = tempfile.mkdtemp()
    >>> job = zf.submit(question, executor=None, store=folder, shares=1)
    >>> job.progress().done
    0
    >>> zf.work(folder)["done"]
    [1]
    >>> zf.attach(folder).result()
    array([4., 3., 5.])
    """
    habits, workers = _habits(lease, retries), None if threads is None else threads_of(threads)
    job = Job(store_of(store), None if executor is None else calls_of(executor), habits, workers)
    for share in job._status()["missing"] if executor is not None else ():
        job._start(share)
    return job
