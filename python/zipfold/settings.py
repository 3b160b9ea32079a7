"""How calls are run: device, threads, memory, progress. By argument, context manager, or environment.

``ZIPFOLD_DEVICE``, ``ZIPFOLD_THREADS`` and ``ZIPFOLD_MEMORY`` are read when the package is imported.
"""

from __future__ import annotations

import contextlib
import contextvars
import difflib
import inspect
import math
import operator
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import _zipfold
from .arrays import index, number
from .errors import ArrayTypeError, RequestError, ZipfoldError
from .renamed import WORDS

__all__ = ["Device", "Settings", "devices", "settings", "using"]

#: Arguments of a call that say how, not what, in the order the compiled half takes them.
Given = tuple[
    int, "int | None", "dict[str, str] | None", "tuple[int, int] | None", "Callable[[int, int], object] | None", str
]


class Settings(NamedTuple):
    """What is in force.

    ``threads`` (0: all), ``memory`` in bytes (None: 80 % of what is free), ``device`` (one of :func:`zipfold.devices`,
    or ``"auto"``: a GPU where one is there and pays), and the ``precision`` of matrices (None: as each function says).
    """

    threads: int = 0
    memory: int | None = None
    device: str = "auto"
    precision: str | None = None


class Device(NamedTuple):
    """A device that runs can be sent to: ``id`` is what ``device=`` takes, ``memory`` is in bytes, and ``host`` says that
    it is this machine's processor behind a device's interface."""

    id: str
    name: str
    memory: int
    host: bool


def devices() -> list[Device]:
    """The devices there are besides ``"cpu"``: those of CUDA, then those of OpenCL. None where no runtime is installed.

    >>> import zipfold as zf
    >>> all(device.id.startswith(("cuda:", "opencl:")) for device in zf.devices())
    True
    """
    return [Device(*device) for device in _zipfold.devices()[0]]


def memory_bytes(memory: int | float | str | None) -> int | None:
    """``"2GiB"``, ``"500MB"`` or a number of bytes."""
    if memory is None:
        return None
    if isinstance(memory, str):
        return _zipfold.parse_bytes(memory)
    try:
        one = number(memory, "memory")
    except ArrayTypeError:
        one = math.nan
    if not 0 < one < 2**63:
        raise RequestError(f"memory: {memory!r} bytes (limit: more than 0)\n  try: memory='2GiB'")
    return int(memory)


def threads_of(threads: int) -> int:
    """A number of threads, 0 for all."""
    one = index(threads)
    if one is None or not 0 <= one <= 4096:
        raise RequestError(f"threads: {threads!r} (limit: 0 for all, or a number up to 4096)\n  try: threads=0")
    return one


def count(value: Any, name: str, like: int) -> int:
    """A whole number from 1 on; ``like`` is one that does."""
    one = index(value)
    if one is None or not 1 <= one < 2**32:
        raise _beyond(one, value, (1, 2**32 - 1), ("a whole number", name, like))
    return one


def seconds(value: Any, name: str, like: float, least: float = -math.inf, most: float = math.inf) -> float:
    """A time from ``least`` to ``most``; ``like`` is one that does."""
    try:
        one = number(value, name)
    except ZipfoldError:
        one = math.nan
    if not least <= one <= most:
        raise _beyond(one, value, (least, most), ("a number of seconds", name, like))
    return one


def _beyond(one: float | None, value: Any, limits: tuple[float, float], words: tuple[str, str, float]) -> RequestError:
    """The refusal of what is not a number between two limits."""
    (least, most), (what, name, like) = limits, words
    if one is not None and one > most:
        what += f" up to {most:.0f}"
    elif math.isfinite(least):
        what += f" from {least:g} on"
    return RequestError(f"{name}: expected {what}, got {value!r}\n  try: {name}={like:g}")


def output_paths(save: Any) -> list[str]:
    """The paths of one file, or of several, that an answer is written to."""
    return [os.fspath(save)] if isinstance(save, (str, os.PathLike)) else [os.fspath(one) for one in save]


def _device(device: str) -> str:
    if not isinstance(device, str):
        raise RequestError(f"device: {device!r}\n  try: 'auto', 'cpu', 'cuda', 'cuda:1', 'cuda:0,1', 'opencl' or 'opencl:1'")
    _zipfold.check_device(device)
    return device


def checked_precision(precision: str | None) -> str | None:
    """``"f32"``, ``"f64"`` or None."""
    if precision not in (None, "f32", "f64"):
        raise RequestError(f"precision: {precision!r} (limit: 'f32' or 'f64')\n  try: precision='f64'")
    return precision


def _environment() -> Settings:
    threads, memory, device = (os.environ.get(f"ZIPFOLD_{name}") for name in ("THREADS", "MEMORY", "DEVICE"))
    try:
        number = int(threads) if threads and threads.strip().isdecimal() else threads
        return Settings(threads_of(number or 0), memory_bytes(memory or None), _device(device or "auto"))  # type: ignore[arg-type]
    except RequestError as error:
        text = f"{error}".split("\n")[0]
        raise RequestError(f"an environment variable ZIPFOLD_… is not understood: {text}\n  try: unset it, or correct it") from None


#: None until the environment was read: a variable that means nothing is an error of the first call, not of the import.
_current: contextvars.ContextVar[Settings | None] = contextvars.ContextVar("zipfold_settings", default=None)
_FROM_ENVIRONMENT: list[Settings] = []


def _now() -> Settings:
    now = _current.get()
    if now is not None:
        return now
    if not _FROM_ENVIRONMENT:
        _FROM_ENVIRONMENT.append(_environment())
    return _FROM_ENVIRONMENT[0]


def settings() -> Settings:
    """The settings in force here.

    >>> import zipfold as zf
    >>> zf.settings().device
    'auto'
    """
    return _now()


@contextlib.contextmanager
def using(
    *,
    threads: int | None = None,
    memory: int | float | str | None = None,
    device: str | None = None,
    precision: str | None = None,
) -> Iterator[Settings]:
    """Settings for a ``with`` block, in this thread and the tasks it starts.

    Parameters
    ----------
    threads : int, optional
        0 for all.
    memory : int or str, optional
        Bytes, or text such as ``"2GiB"``.
    device : str, optional
        ``"auto"``, ``"cpu"``, or an id of :func:`zipfold.devices`.
    precision : "f64" or "f32", optional
        Of matrices.

    Returns
    -------
    context manager that gives the :class:`Settings` in force

    Raises
    ------
    ValueError
        For what is no number of threads, size, device or precision.

    >>> import zipfold as zf
    >>> with zf.using(threads=1, memory="1GiB"):
    ...     zf.settings().threads
    1
    """
    before = _now()
    now = Settings(
        before.threads if threads is None else threads_of(threads),
        before.memory if memory is None else memory_bytes(memory),
        before.device if device is None else _device(device),
        before.precision if precision is None else checked_precision(precision),
    )
    token = _current.set(now)
    try:
        yield now
    finally:
        _current.reset(token)


def given(
    *,
    threads: int | None = None,
    memory: int | float | str | None = None,
    device: str | None = None,
    plan: dict[str, str] | None = None,
    shard: tuple[int, int] | None = None,
    progress: bool | Callable[[int, int], object] = False,
    **unknown: Any,
) -> Given:
    """The arguments of one call over the settings in force."""
    if unknown:
        check_how(unknown)
    now = _now()
    if plan is not None and not (hasattr(plan, "items") and all(isinstance(key, str) for key in plan)):
        raise RequestError(f"plan: {plan!r} (limit: a dict of settings)\n  try: plan={{'prune': 'off'}}")
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise RequestError(f"progress: {progress!r} (limit: True, or a function of pairs done and pairs in all)\n  try: progress=True")
    return (
        now.threads if threads is None else threads_of(threads),
        now.memory if memory is None else memory_bytes(memory),
        {key: str(value) for key, value in plan.items()} if plan else None,
        None if shard is None else _shard(shard),
        Bar() if progress is True else (progress or None),
        now.device if device is None else _device(device),
    )


#: What every call takes beside its own arguments.
HOW = ("threads", "memory", "device", "plan", "progress")
#: Names of other libraries for arguments of ours.
_MEANT = {
    "n_jobs": "threads", "njobs": "threads", "workers": "threads", "num_threads": "threads", "nthreads": "threads",
    "verbose": "progress", "n_neighbors": "k", "bin": "bins", "edges": "bins", "nbins": "bins", "r": "within", "radius": "within",
    "eps": "within", "threshold": "within", "distance": "metric", "on": "where", "boxsize": "box", "period": "box",
}  # fmt: skip


def check_how(how: dict[str, Any], own: Callable[..., Any] | None = None) -> None:
    """Refuses keywords that neither ``own`` nor every call takes, and names the one that was meant."""
    known = [*HOW]
    if own is not None:
        known += [name for name, p in inspect.signature(own).parameters.items() if p.kind is not p.VAR_KEYWORD]
    for name in how:
        if name in known or (own is None and name == "shard"):
            continue
        meant = WORDS.get(("argument", name), _MEANT.get(name))
        near = [meant] if meant in known else difflib.get_close_matches(name, known, 1)
        more = f"{near[0]}=…" if near else f"one of {', '.join(known)}"
        where = f"{own.__name__} takes" if own is not None else "there is"
        raise ArrayTypeError(f"{name}: {where} no argument '{name}'\n  try: {more}")


def check_beside(asked: Mapping[str, Any], names: Sequence[str], needs: str, like: Any) -> None:
    """Refuses arguments that were given and mean nothing without another one, which was not."""
    for name in names:
        if asked[name] is not None and asked[needs] is None:
            raise RequestError(f"{name}: expected {needs} too, got {name}={asked[name]!r} alone\n  try: {needs}={like!r}, or leave {name} out")


def check_apart(asked: Mapping[str, Any], names: Sequence[str], other: str) -> None:
    """Refuses arguments that mean nothing next to another one."""
    for name in names:
        if asked[name] is not None and asked[other] is not None:
            raise RequestError(f"{name}: expected {other} alone, got {name}={asked[name]!r} too\n  try: leave {name} out")


def _shard(shard: Any) -> tuple[int, int]:
    try:
        index, parts = (operator.index(v) for v in shard)
    except (TypeError, ValueError):
        raise RequestError(f"shard: {shard!r} (limit: two whole numbers, index and parts)\n  try: shard=(0, 2)") from None
    if not 0 <= index < parts:
        raise RequestError(f"shard: expected 0 <= index < parts, got shard {index} of {parts}\n  try: shard=(0, {max(parts, 1)})")
    return index, parts


def quick() -> Given:
    """As :func:`given` without arguments."""
    now = _now()
    return (now.threads, now.memory, None, None, None, now.device)


class Bar:
    """A progress line on a terminal, or a bar in a notebook."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.name = ""
        self.handle: Any = None
        self.notebook = "ipykernel" in sys.modules

    def phase(self, name: str) -> None:
        """Another phase begins: rate and time left are of it alone."""
        self.start = time.monotonic()
        self.name = {"range": "finding the range  "}.get(name, "")

    def __call__(self, pairs: int, total: int) -> None:
        share = pairs / total
        spent = time.monotonic() - self.start
        left = spent / share - spent if share > 0 else float("nan")
        rate = pairs / spent if spent > 0 else 0.0
        text = f"{self.name}{share:6.1%}  {rate:.3g} pairs/s  {left:.0f} s left"
        if self.notebook:
            self._in_notebook(share, text)
        elif sys.stderr.isatty():
            end = "\n" if pairs == total else ""
            sys.stderr.write(f"\r[{'#' * int(share * 30):<30}] {text}   {end}")
            sys.stderr.flush()

    def _in_notebook(self, share: float, text: str) -> None:
        from IPython.display import HTML, display

        html = HTML(f"<progress value='{share:.4f}' max='1'></progress> <code>{text}</code>")
        if self.handle is None:
            self.handle = display(html, display_id=True)
        else:
            self.handle.update(html)
