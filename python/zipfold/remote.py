"""Inputs by reference: what a URL names is read through fsspec, by ranges where only some rows are asked for."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import os
import posixpath
import re
import tempfile
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .errors import InputError, RequestError
from .settings import given

__all__ = ["Fingerprint", "fingerprint", "read"]

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.:-]+://")
#: Bytes of an ``.npy`` file that hold its header, nearly always.
_HEAD = 4096
#: Files that were fetched, by URL: the state that they are of, and where they are.
_fetched: dict[str, tuple[tuple[int, str], str]] = {}
#: The folder with them, which goes with the process.
_folder: list[tempfile.TemporaryDirectory[str]] = []


class Fingerprint(typing.NamedTuple):
    """Which state of an input was read."""

    #: Bytes.
    size: int
    #: The tag of the state, or the time of the last change, as the store tells it; empty if it does not.
    mark: str
    #: SHA-256 of the bytes that were read.
    sha256: str


def is_url(path: Any) -> bool:
    """Whether ``path`` is a URL of fsspec: ``s3://…``, ``https://…``, ``memory://…``."""
    return isinstance(path, str) and _SCHEME.match(path) is not None and not os.path.exists(path)


def place(path: Any) -> str:
    """The path of an input for the engine. What a URL names is fetched whole, once for each state of it."""
    return _fetch(path)[0] if is_url(path) else os.fspath(path)


def _opened(url: str) -> tuple[Any, str]:
    """The file system of ``url``, and the path there."""
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        raise RequestError(f"{url}: a URL is read by fsspec, which is not there\n  try: pip install 'zipfold[remote]'") from None
    try:
        fs, path = core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise RequestError(f"{url}: fsspec does not open it: {error}\n  try: the package that fsspec names") from error
    return fs, path


@contextlib.contextmanager
def _errors(url: str) -> typing.Iterator[None]:
    """Errors of a store as ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{url}: there is nothing") from error
    except (OSError, TimeoutError) as error:
        raise InputError(f"{url}: cannot be read: {error}") from error


def _state(fs: Any, path: str) -> tuple[int, str]:
    """The size and the mark of a file, or of all files in a folder."""
    info = fs.info(path)
    if info.get("type") == "directory":
        files = sorted(fs.find(path, detail=True).items())
        marks = [(name, *_mark(found)) for name, found in files]
        return sum(mark[1] for mark in marks), hashlib.sha256(repr(marks).encode()).hexdigest()
    return _mark(info)


def _mark(info: dict[str, Any]) -> tuple[int, str]:
    keys = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "updated", "created")
    mark = next((str(info[key]) for key in keys if info.get(key) is not None), "")
    return int(info.get("size") or 0), mark


def _files(root: str) -> list[str]:
    return sorted(os.path.join(at, name) for at, _, names in os.walk(root) for name in names)


def _hash(path: str) -> str:
    found = hashlib.sha256()
    for name in _files(path) if os.path.isdir(path) else [path]:
        with open(name, "rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
    return found.hexdigest()


def _fetch(url: str, into: str | None = None) -> tuple[str, tuple[int, str]]:
    """A copy of what ``url`` names, and the state that it is of."""
    fs, path = _opened(url)
    with _errors(url):
        state = _state(fs, path)
        known = _fetched.get(url)
        if into is None and known is not None and known[0] == state and state[1] and os.path.exists(known[1]):
            return known[1], state
        if not _folder:
            _folder.append(tempfile.TemporaryDirectory(prefix="zipfold-remote-"))
        # Its own name, which tells the format.
        own = tempfile.mkdtemp(dir=into or _folder[0].name)
        name = posixpath.basename(path.rstrip("/").split("?")[0]) or "input"
        local = os.path.join(own, name)
        if fs.isdir(path):
            fs.get(path.rstrip("/") + "/", local + "/", recursive=True)
        else:
            fs.get_file(path, local)
        if _state(fs, path) != state:
            raise InputError(f"{url}: it was changed while it was read\n  try: again, when nobody writes it")
    if into is None:
        _fetched[url] = (state, local)
    return local, state


def fingerprint(path: Any) -> Fingerprint:
    """Which state of an input there is: its size, its tag or time, and a hash of its bytes, which are read.

    Parameters
    ----------
    path : path or URL
        A file, the folder of a Zarr array, or what a URL of fsspec names.

    Returns
    -------
    Fingerprint
        ``size`` in bytes, ``mark`` (tag or time of the last change, empty where the store tells none), ``sha256``.

    Raises
    ------
    ValueError
        When there is nothing, it cannot be read, or it changes while it is read.

    >>> import tempfile, os
    >>> import zipfold as zf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/a.csv", "w") as file:
    ...         _ = file.write("1,2")
    ...     zf.fingerprint(f"{folder}/a.csv").size
    3
    """
    if is_url(path):
        local, (size, mark) = _fetch(path)
        return Fingerprint(size, mark, _hash(local))
    name = os.fspath(path)
    try:
        facts = [os.stat(file) for file in (_files(name) if os.path.isdir(name) else [name])]
        return Fingerprint(sum(f.st_size for f in facts), str(max((f.st_mtime_ns for f in facts), default="")), _hash(name))
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error}") from error


def _span(rows: Any) -> tuple[int, int] | None:
    """The first row and the one behind the last, counted from 0."""
    if rows is None:
        return None
    first, end = (rows.start or 0, rows.stop) if isinstance(rows, (slice, range)) else rows
    if getattr(rows, "step", None) not in (None, 1) or end is None or not 0 <= first <= end:
        raise RequestError(f"rows: expected a range of rows from 0, got {rows!r}\n  try: rows=(0, 1000)")
    return int(first), int(end)


def read(path: Any, *, rows: Any = None, columns: Sequence[Any] | None = None, **how: Any) -> np.ndarray[Any, Any]:
    """Reads a table of numbers from a file or a URL of fsspec, as an array of two dimensions.

    Parameters
    ----------
    path : path or URL
        Any format of ``zipfold formats``; of a URL, ``.npy``, ``.parquet`` and Zarr arrays are read by ranges where ``rows``
        are given: the bytes of these rows, the row groups or chunks that have some. Other formats are fetched whole.
    rows : range, slice or (first, end), optional
        These rows alone.
    columns : names or numbers, optional
        These columns alone.
    **how
        ``memory``, the bytes that it may take.

    Returns
    -------
    array of shape (rows, columns)
        Of float32 where the input is, of float64 otherwise.

    Raises
    ------
    ValueError
        When there is nothing, it holds no table of numbers, has fewer rows, or changes while it is read.
    MemoryError
        When the memory does not hold it.

    >>> import tempfile, os
    >>> import numpy as np, zipfold as zf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.arange(12.0).reshape(6, 2))
    ...     zf.read(f"{folder}/a.npy", rows=(4, 6))
    array([[ 8.,  9.],
           [10., 11.]])
    """
    span, chosen = _span(rows), None if columns is None else [str(column) for column in columns]
    asked = given(**how)
    if is_url(path):
        url = path.rstrip("/")
        if span is not None and url.endswith(".npy"):
            array = _rows_of_npy(url, *span)
            return array if columns is None else array[:, [int(column) for column in columns]]
        if span is not None and url.endswith(".parquet"):
            return _rows_of_parquet(url, span, chosen, asked)
        if span is not None and url.endswith(".zarr"):
            return _rows_of_zarr(url, span, chosen, asked)
    found: np.ndarray[Any, Any] = _zipfold.read_file(place(path), chosen, asked)
    return found if span is None else _cut(found, 0, span, str(path))


def _cut(found: np.ndarray[Any, Any], first: int, span: tuple[int, int], name: str) -> np.ndarray[Any, Any]:
    """The rows of ``span`` among ``found``, which begin with row ``first``."""
    if span[1] - first > len(found):
        raise RequestError(f"{name}: expected rows up to {first + len(found)}, got {span[1]}")
    return found[span[0] - first : span[1] - first]


def _rows_of_npy(url: str, first: int, end: int) -> np.ndarray[Any, Any]:
    fs, path = _opened(url)
    with _errors(url):
        state = _state(fs, path)
        head = io.BytesIO(fs.cat_file(path, start=0, end=min(state[0], _HEAD)))
        try:
            version = np.lib.format.read_magic(head)
            reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = reader(head)
        except ValueError as error:
            raise InputError(f"{url}: the header is damaged: {error}") from error
        if dtype.hasobject or dtype.kind not in "biuf" or len(shape) not in (1, 2):
            raise InputError(f"{url}: expected numbers in one or two dimensions, got {dtype} of {shape}")
        if end > shape[0]:
            raise RequestError(f"{url}: expected rows up to {shape[0]}, got {end}")
        width = shape[1] if len(shape) == 2 else 1
        if fortran and len(shape) == 2:
            # A column has its rows next to each other.
            starts = [head.tell() + (column * shape[0] + first) * dtype.itemsize for column in range(width)]
            parts = [fs.cat_file(path, start=at, end=at + (end - first) * dtype.itemsize) for at in starts]
            array = np.stack([np.frombuffer(part, dtype) for part in parts], axis=1)
        else:
            line = width * dtype.itemsize
            part = fs.cat_file(path, start=head.tell() + first * line, end=head.tell() + end * line)
            array = np.frombuffer(part, dtype)
        if array.size != (end - first) * width:
            raise InputError(f"{url}: the array ends early")
        if _state(fs, path) != state:
            raise InputError(f"{url}: it was changed while it was read\n  try: again, when nobody writes it")
    kept = array.dtype.newbyteorder("=") if array.dtype in ("f4", "f8") else np.dtype("f8")
    return np.ascontiguousarray(array.reshape(end - first, width).astype(kept))


def _rows_of_parquet(url: str, span: tuple[int, int], columns: list[str] | None, asked: Any) -> np.ndarray[Any, Any]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise RequestError(f"{url}: rows of a Parquet file are read by pyarrow\n  try: pip install 'zipfold[arrow]'") from None
    fs, path = _opened(url)
    with _errors(url), fs.open(path, "rb") as remote, tempfile.TemporaryDirectory() as folder:
        file = parquet.ParquetFile(remote)
        counts = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        if span[1] > starts[-1]:
            raise RequestError(f"{url}: expected rows up to {starts[-1]}, got {span[1]}")
        groups = [at for at in range(len(counts)) if starts[at] < span[1] and starts[at + 1] > span[0]]
        # No rows have the columns of the first group.
        groups = groups or list(range(min(1, len(counts))))
        # The engine reads what they hold, as it would the whole file.
        parquet.write_table(file.read_row_groups(groups), f"{folder}/part.parquet")
        found = _zipfold.read_file(f"{folder}/part.parquet", columns, asked)
    return _cut(found, starts[groups[0]] if groups else 0, span, url)


def _rows_of_zarr(url: str, span: tuple[int, int], columns: list[str] | None, asked: Any) -> np.ndarray[Any, Any]:
    """The chunks of some rows, as an array of these rows alone, which the engine reads."""
    fs, path = _opened(url)
    with _errors(url), tempfile.TemporaryDirectory() as folder:
        meta = next((name for name in (".zarray", "zarr.json") if fs.exists(f"{path}/{name}")), None)
        if meta is None:
            raise InputError(f"{url}: there is no Zarr array")
        about = json.loads(fs.cat_file(f"{path}/{meta}"))
        second = meta == ".zarray"
        height = about["chunks"][0] if second else about["chunk_grid"]["configuration"]["chunk_shape"][0]
        if span[1] > about["shape"][0]:
            raise RequestError(f"{url}: expected rows up to {about['shape'][0]}, got {span[1]}")
        first, end = span[0] // height, max(-(-span[1] // height), span[0] // height + 1)
        for name in fs.find(path):
            key = posixpath.relpath(name, path) if not name.startswith(path + "/") else name[len(path) + 1 :]
            number = re.match(r"(c[./])?(\d+)(?=[./]|$)", key)
            if number and first <= int(number[2]) < end:
                local = os.path.join(folder, f"{number[1] or ''}{int(number[2]) - first}{key[number.end() :]}")
                os.makedirs(os.path.dirname(local), exist_ok=True)
                fs.get_file(name, local)
        about["shape"][0] = min(about["shape"][0], end * height) - first * height
        with open(os.path.join(folder, meta), "w", encoding="utf-8") as file:
            json.dump(about, file)
        found = _zipfold.read_file(folder, columns, asked)
    return _cut(found, first * height, span, url)


def problem_of(path: str, folder: str) -> str:
    """The path of a problem file whose inputs are files: what its URLs name is fetched into the store ``folder`` once.

    The workers of a store see its folder, and need neither fsspec nor the keys of the URLs. ``inputs/urls.json`` has the
    fingerprints; the plan has the hashes of the copies.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        # The engine says what is wrong with it.
        return path
    if "://" not in text:
        return path
    problem = _parsed(path, text)
    inputs = os.path.join(folder, "inputs")
    known: dict[str, tuple[str, Fingerprint]] = {}
    for owner, key in _names(problem):
        url = owner[key]
        if not is_url(url):
            owner[key] = url if url == "-" else os.path.join(os.path.dirname(os.path.abspath(path)), url)
            continue
        if url not in known:
            os.makedirs(inputs, exist_ok=True)
            local, state = _fetch(url, inputs)
            known[url] = (local, Fingerprint(*state, _hash(local)))
        owner[key] = known[url][0]
    if not known:
        return path
    with open(os.path.join(inputs, "urls.json"), "w", encoding="utf-8") as file:
        json.dump({url: [local, *mark] for url, (local, mark) in known.items()}, file, indent=1)
    made = os.path.join(inputs, "problem.json")
    with open(made, "w", encoding="utf-8") as file:
        json.dump(problem, file)
    return made


def _parsed(path: str, text: str) -> dict[str, Any]:
    if path.endswith(".json"):
        return typing.cast("dict[str, Any]", json.loads(text))
    try:
        toml = importlib.import_module("tomllib")
    except ImportError:
        raise RequestError(f"{path}: URLs in TOML need Python 3.11\n  try: the problem as JSON") from None
    return typing.cast("dict[str, Any]", toml.loads(text))


def _names(problem: dict[str, Any]) -> typing.Iterator[tuple[dict[str, Any], str]]:
    """Where a problem names inputs: each owner with its key."""
    for key in ("x", "y"):
        value = problem.get(key)
        if isinstance(value, str):
            yield problem, key
        elif isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value, "name"
    for fold in problem.get("folds", []):
        value = fold.get("weights") if fold.get("kind") == "reduce" else None
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value, "name"
        elif isinstance(value, str) and fold.get("kind") == "reduce":
            yield fold, "weights"
