"""Executors of other libraries behind one face: what starts a call, and what tells how it went.

``concurrent.futures`` (pools of processes and threads, ``mpi4py.futures.MPIPoolExecutor``), a Dask ``Client``, and Ray are
told apart by what they can do. None of them is imported unless it is asked for by its name.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import re
import sys
import typing
from collections.abc import Callable
from typing import Any

from .errors import ArrayTypeError, RequestError

__all__ = ["Calls", "calls_of", "numbers_of"]

#: Libraries of executors: their extra, and the versions from which on and before which they do.
EXTRAS = {
    "distributed": ("dask", "2024.8", "2027"),
    "ray": ("ray", "2.30", "3"),
    "mpi4py": ("mpi", "4", "5"),
}


class Calls(typing.Protocol):
    """What starts calls somewhere else."""

    def start(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Starts a call, and returns its handle."""

    def ended(self, call: Any) -> bool:
        """Whether a call has ended, well or not."""

    def error(self, call: Any) -> BaseException | None:
        """The error of a call that has ended, if it had one."""

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error is that of an executor that takes no more calls, and not of the call that has it."""

    def cancel(self, call: Any) -> None:
        """Ends a call that has not begun, and one under way where that can be done."""


class _Futures:
    """An executor of :mod:`concurrent.futures`, or what answers as one."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def start(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._executor.submit(function, *arguments)

    def ended(self, call: Any) -> bool:
        return bool(call.done())

    def error(self, call: Any) -> BaseException | None:
        if call.cancelled():
            return None
        return typing.cast("BaseException | None", call.exception())

    def is_lost(self, error: BaseException) -> bool:
        # One lost process breaks a pool of processes: all of its calls have this error.
        return isinstance(error, concurrent.futures.BrokenExecutor)

    def cancel(self, call: Any) -> None:
        call.cancel()


class _Dask(_Futures):
    """A ``distributed.Client``. A call is no value that Dask may take from an earlier one."""

    def start(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._executor.submit(function, *arguments, pure=False)


class _Ray:
    """The module ``ray``, connected to a cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        if not ray.is_initialized():
            ray.init()

    def start(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if not self._ray.is_initialized():
            # A call would start a cluster on this machine.
            raise RuntimeError("ray was shut down")
        return self._ray.remote(function).remote(*arguments)

    def ended(self, call: Any) -> bool:
        if not self._ray.is_initialized():
            return True
        ready, _ = self._ray.wait([call], timeout=0)
        return bool(ready)

    def error(self, call: Any) -> BaseException | None:
        if not self._ray.is_initialized():
            return None
        try:
            self._ray.get(call)
        except Exception as error:  # whatever the task raised, or the loss of its worker
            return error
        return None

    def is_lost(self, error: BaseException) -> bool:
        # A lost worker costs its call alone.
        return False

    def cancel(self, call: Any) -> None:
        if self._ray.is_initialized():
            self._ray.cancel(call)


def calls_of(executor: Any) -> Calls:
    """What starts calls with ``executor``; ``"dask"`` and ``"ray"`` start a cluster on this machine."""
    if isinstance(executor, str):
        executor = _by_name(executor)
    _check_version(executor)
    if all(hasattr(executor, name) for name in ("remote", "wait", "is_initialized")):
        return _Ray(executor)
    if not callable(getattr(executor, "submit", None)):
        raise ArrayTypeError(
            f"executor: expected an executor with submit(function, ...), a Dask Client or ray, got {type(executor).__name__}\n"
            "  try: executor=concurrent.futures.ProcessPoolExecutor(2)"
        )
    return _Dask(executor) if hasattr(executor, "scheduler_info") else _Futures(executor)


def _by_name(name: str) -> Any:
    if name == "dask":
        return _module("distributed").Client()
    if name == "ray":
        return _module("ray")
    raise RequestError(f"executor: '{name}' (limit: an executor, 'dask' or 'ray')")


def _module(name: str) -> Any:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise RequestError(f"executor: {name} is not installed ({error})\n  try: {_install(name)}") from None
    _check_version(module)
    return module


def _check_version(executor: Any) -> None:
    """Refuses a version that shares were never tested with, of a module or of the library of an object."""
    name = (getattr(executor, "__name__", None) or type(executor).__module__).partition(".")[0]
    if name not in EXTRAS:
        return
    version = str(getattr(sys.modules.get(name), "__version__", ""))
    _, first, end = EXTRAS[name]
    if version and not numbers_of(first) <= numbers_of(version) < numbers_of(end):
        raise RequestError(f"executor: expected {name} from {first} on and before {end}, got {version}\n  try: {_install(name)}")


def numbers_of(version: str) -> tuple[int, ...]:
    """A version as numbers that compare."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _install(name: str) -> str:
    return f"pip install 'zipfold[{EXTRAS[name][0]}]'"
