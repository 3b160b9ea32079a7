"""Inputs by reference: what a URL names is read through fsspec, by ranges where only some rows are asked for."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import itertools
import json
import math
import operator
import os
import posixpath
import re
import secrets
import shutil
import tempfile
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .errors import InputError, RequestError, ZipfoldError
from .settings import given

__all__ = ["Fingerprint", "fingerprint", "read"]

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.:-]+://")
#: What a URL has before its server, and a URL of Azure where that is a container: ``abfs://container@account.dfs…``.
_BEFORE_SERVER, _CONTAINER = re.compile(r"[A-Za-z0-9+.-]*://[^/?#]*@"), re.compile("(?:abfss?|az)://[^:@]+@")
#: Bytes of an ``.npy`` file that hold its header, nearly always.
_HEAD = 1 << 14
#: Bytes that are fetched at a time.
_PIECE = 8 << 20
#: The most chunks of a Zarr array that are fetched for one call.
_MOST_CHUNKS = 1_000_000
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
    if not is_url(path):
        return os.fspath(path)
    url, member = _member(path)
    return _fetch(url)[0] + member


def _member(url: str) -> tuple[str, str]:
    """The URL of a file with several tables, and which of them: ``….npz:name``, as the engine splits paths."""
    found = re.fullmatch(r"(.*\.(?:npz|fits|xyz)(?:\.gz|\.xz)?)(:[^:/?#]+)", url, flags=re.IGNORECASE)
    return (found[1], found[2]) if found else (url, "")


def shown(url: str) -> str:
    """``url`` as messages and files name it: without user, password, query and fragment, which may be secrets.

    What a URL of Azure has there without a colon is the name of a container, and stays.
    """

    def without_user(found: re.Match[str]) -> str:
        return found[0] if _CONTAINER.fullmatch(found[0]) else found[0].partition("://")[0] + "://"

    return re.sub(r"[?#].*?(?=::|$)", "", _BEFORE_SERVER.sub(without_user, url), flags=re.DOTALL)


def _told(error: BaseException, url: str) -> str:
    """What an error of a store says, without the secrets of URLs."""
    text = str(error).replace(url, shown(url))
    return re.sub(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+", lambda found: shown(found[0]), text)


def opened(url: str, **options: Any) -> tuple[Any, str]:
    """The file system of ``url`` with these options, and the path there."""
    name = shown(url)
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        remedy = "try: pip install 'zipfold[remote]'"
        raise RequestError(f"{name}: a URL is read by fsspec, which is not there\n  {remedy}") from None
    try:
        fs, path = core.url_to_fs(url, **options)
    except (ImportError, ValueError) as error:
        told = _told(error, url)
        raise RequestError(f"{name}: fsspec does not open it: {told}\n  try: the package that fsspec names") from None
    return fs, path


@contextlib.contextmanager
def errors(url: str, done: str = "read") -> typing.Iterator[None]:
    """Errors of a store as ours: each store has its own classes. Causes may hold secrets, and are not shown."""
    try:
        yield
    except (ZipfoldError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001
        if isinstance(error, FileNotFoundError) and done == "read":
            raise InputError(f"{shown(url)}: there is nothing") from None
        raise InputError(f"{shown(url)}: cannot be {done}: {_told(error, url) or type(error).__name__}") from None


def _name(path: str) -> str:
    """The last name of a path or URL, whose suffix tells the format."""
    name = posixpath.basename(re.split("[?#]", path)[0].rstrip("/"))
    return "input" if name in ("", ".", "..") else name


def _info(fs: Any, path: str) -> dict[str, Any]:
    """What the store itself tells of ``path`` now."""
    fs.invalidate_cache()
    return typing.cast("dict[str, Any]", fs.info(path))


def mark_of(info: dict[str, Any]) -> tuple[int, str]:
    """The size and the mark of a file."""
    keys = (
        ("ETag", "etag"),
        ("md5Hash", "Content-MD5", "ContentMD5", "content_md5", "Digest"),
        ("LastModified", "Last-Modified", "last_modified", "mtime", "updated", "created"),
    )
    found = [next((str(info[key]) for key in some if info.get(key) is not None), "") for some in keys]
    return int(info.get("size") or 0), " ".join(filter(None, found))


def _state(fs: Any, path: str) -> tuple[int, str]:
    return mark_of(_info(fs, path))


def _changed(url: str) -> InputError:
    return InputError(f"{shown(url)}: it was changed while it was read\n  try: again, when nobody writes it")


def _files(root: str) -> list[str]:
    return sorted(os.path.join(at, name) for at, _, names in os.walk(root) for name in names)


def hash_of(path: str) -> str:
    found = hashlib.sha256()
    for name in _files(path) if os.path.isdir(path) else [path]:
        if os.path.isdir(path):
            # Files that change their places are another array.
            found.update(f"{os.path.relpath(name, path)}\0{os.path.getsize(name)}\0".encode())
        with open(name, "rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
    return found.hexdigest()


class _Array:
    """A Zarr array: its chunks have the names that the metadata tell, so that no store needs to list them."""

    def __init__(self, fs: Any, path: str, url: str) -> None:
        self.fs, self.url = fs, url
        self.root, mark, self.query = path.partition("?")
        self.root, self.query = self.root.rstrip("/"), mark + self.query
        for self.meta in (".zarray", "zarr.json"):
            try:
                text = fs.cat_file(self.at(self.meta))
                break
            except FileNotFoundError:
                continue
        else:
            raise InputError(f"{shown(url)}: there is no Zarr array")
        try:
            self.about = json.loads(text)
            self._grid()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ZipfoldError):
                raise
            raise InputError(f"{shown(url)}: the metadata are damaged: {type(error).__name__}: {error}") from None

    def at(self, key: str) -> str:
        return f"{self.root}/{key}{self.query}"

    def _grid(self) -> None:
        about = self.about
        self.shape = [operator.index(side) for side in about["shape"]]
        if self.meta == ".zarray":
            chunk, self.prefix, self.separator = about["chunks"], [], about.get("dimension_separator")
        else:
            chunk, keys = about["chunk_grid"]["configuration"]["chunk_shape"], about["chunk_key_encoding"]
            if keys["name"] not in ("default", "v2"):
                raise RequestError(f"{shown(self.url)}: expected keys of chunks default or v2, got {keys['name']!r}")
            first = keys["name"] == "default"
            self.prefix = ["c"] if first else []
            self.separator = keys.get("configuration", {}).get("separator", "/" if first else ".")
        self.chunk = [operator.index(side) for side in chunk]
        if self.separator not in (".", "/", None):
            raise RequestError(f"{shown(self.url)}: expected . or / between the numbers of chunks, got {self.separator!r}")
        if len(self.shape) not in (1, 2):
            raise RequestError(f"{shown(self.url)}: expected one or two dimensions, got {len(self.shape)}")
        if len(self.chunk) != len(self.shape) or min(self.chunk) < 1 or min(self.shape) < 0:
            raise InputError(f"{shown(self.url)}: the shape of the chunks does not fit that of the array")

    def _key(self, numbers: tuple[int, ...], separator: str) -> str:
        return separator.join([*self.prefix, *map(str, numbers)])

    def _numbers(self, span: tuple[int, int]) -> tuple[int, int, list[tuple[int, ...]]]:
        """The first row of chunks with rows of ``span``, the one behind the last, and the numbers of the chunks."""
        height = self.chunk[0]
        first, end = span[0] // height, max(-(-span[1] // height), span[0] // height + 1)
        across = [range(-(-side // length)) for side, length in zip(self.shape[1:], self.chunk[1:], strict=True)]
        down = range(first, min(end, -(-self.shape[0] // height)))
        count = len(down) * math.prod(map(len, across))
        if count > _MOST_CHUNKS:
            raise RequestError(
                f"{shown(self.url)}: expected at most {_MOST_CHUNKS} chunks, got {count}\n  try: rows=(0, 1000)"
            )
        return first, end, list(itertools.product(down, *across))

    def state(self, span: tuple[int, int]) -> tuple[int, str]:
        """The size and the mark of the metadata and the chunks of ``span``."""
        _, _, numbers = self._numbers(span)
        separators = [self.separator] if self.separator else [".", "/"]
        keys = [self.meta, *(self._key(some, separator) for separator in separators for some in numbers)]
        self.fs.invalidate_cache()
        marks: list[tuple[str, int, str]] = []
        for key in keys:
            with contextlib.suppress(FileNotFoundError):
                marks.append((key, *mark_of(self.fs.info(self.at(key)))))
        whole = all(mark for _, _, mark in marks)
        return sum(size for _, size, _ in marks), hashlib.sha256(repr(marks).encode()).hexdigest() if whole else ""

    def fetch(self, span: tuple[int, int], folder: str) -> int:
        """Puts an array of the chunks of ``span`` alone into ``folder``, and returns its first row."""
        first, end, numbers = self._numbers(span)
        for separator in [self.separator] if self.separator else [".", "/"]:
            # Some writers say nothing of the separator, and use the other one.
            found = [self._fetch(some, first, separator, folder) for some in numbers]
            if any(found):
                break
        else:
            separator = self.separator or "."
        about = dict(self.about)
        about["shape"] = [min(self.shape[0], end * self.chunk[0]) - first * self.chunk[0], *self.shape[1:]]
        if self.meta == ".zarray":
            about["dimension_separator"] = separator
        with open(os.path.join(folder, self.meta), "w", encoding="utf-8") as file:
            json.dump(about, file)
        return first * self.chunk[0]

    def _fetch(self, numbers: tuple[int, ...], first: int, separator: str, folder: str) -> bool:
        local = os.path.join(folder, self._key((numbers[0] - first, *numbers[1:]), separator))
        os.makedirs(os.path.dirname(local), exist_ok=True)
        try:
            self.fs.get_file(self.at(self._key(numbers, separator)), local)
        except FileNotFoundError:
            # Nothing else says that a chunk is not there, and has the fill value.
            with contextlib.suppress(FileNotFoundError):
                os.remove(local)
            return False
        return True


def _array_of(fs: Any, path: str, url: str) -> _Array | None:
    """The array that a URL names, if it is that of a folder."""
    if _name(path).endswith(".zarr") or fs.info(path).get("type") == "directory":
        return _Array(fs, path, url)
    return None


def _fetch(url: str, into: str | None = None) -> tuple[str, tuple[int, str]]:
    """A copy of what ``url`` names, and the state that it is of. It lies in a folder of this process, or in ``into``."""
    fs, path = opened(url)
    with errors(url):
        array = _array_of(fs, path, url)
        whole = (0, array.shape[0]) if array else (0, 0)
        state = array.state(whole) if array else _state(fs, path)
        known = _fetched.get(url)
        if into is None and known is not None and known[0] == state and state[1] and os.path.exists(known[1]):
            return known[1], state
        if not _folder:
            _folder.append(tempfile.TemporaryDirectory(prefix="zipfold-remote-"))
        own = into or tempfile.mkdtemp(dir=_folder[0].name)
        # Its own name, which tells the format.
        local = os.path.join(own, _name(path))
        if array:
            os.mkdir(local)
            array.fetch(whole, local)
        else:
            fs.get_file(path, local)
        if (array.state(whole) if array else _state(fs, path)) != state:
            raise _changed(url)
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
        return Fingerprint(size, mark, hash_of(local))
    name = os.fspath(path)
    try:
        facts = [os.stat(file) for file in (_files(name) if os.path.isdir(name) else [name])]
        return Fingerprint(sum(f.st_size for f in facts), str(max((f.st_mtime_ns for f in facts), default="")), hash_of(name))
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
    if span is not None and is_url(path):
        found = _rows(path, span, chosen, asked)
        if found is not None:
            return found
    found = _zipfold.read_file(place(path), chosen, asked)
    return found if span is None else _cut(found, 0, span, shown(str(path)))


def _cut(found: np.ndarray[Any, Any], first: int, span: tuple[int, int], name: str) -> np.ndarray[Any, Any]:
    """The rows of ``span`` among ``found``, which begin with row ``first``."""
    if span[1] - first > len(found):
        raise _too_few(name, first + len(found), span)
    return found[span[0] - first : span[1] - first]


def _too_few(name: str, rows: int, span: tuple[int, int]) -> RequestError:
    return RequestError(f"{name}: expected rows up to {rows}, got {span[1]}")


def _rows(url: str, span: tuple[int, int], columns: list[str] | None, asked: Any) -> np.ndarray[Any, Any] | None:
    """Some rows of a URL by ranges; none where its format or its server has no ranges."""
    fs, path = opened(url)
    ways = {".npy": _rows_of_npy, ".parquet": _rows_of_parquet, ".zarr": _rows_of_zarr}
    way = ways.get(posixpath.splitext(_name(path))[1])
    # The engine reads the part as it would the whole file.
    with errors(url), tempfile.TemporaryDirectory(prefix="zipfold-rows-") as folder:
        if way is None or (way is not _rows_of_zarr and not _has_ranges(fs, path)):
            return None
        local, first = way((fs, path, url), span, folder)
        return _cut(_zipfold.read_file(local, columns, asked), first, span, shown(url))


def _has_ranges(fs: Any, path: str) -> bool:
    """Whether the server of ``path`` gives ranges: some give the whole file for each, or do not tell its size."""
    if "http" not in ([fs.protocol] if isinstance(fs.protocol, str) else fs.protocol):
        return True
    size = _info(fs, path).get("size")
    return size is not None and size > 1 and len(fs.cat_file(path, start=0, end=1)) == 1


def _places_in_npy(where: tuple[Any, str, str], size: int, span: tuple[int, int]) -> tuple[int, Any, list[tuple[int, int]]]:
    """The bytes of the header, what it says (shape, order, type), and the places of the bytes of some rows."""
    (fs, path, url), (first, end) = where, span
    name = shown(url)
    head = io.BytesIO(fs.cat_file(path, start=0, end=min(size, _HEAD)))
    try:
        version = np.lib.format.read_magic(head)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = reader(head)
    except ValueError as error:
        raise InputError(f"{name}: the header is damaged: {error}") from error
    if dtype.hasobject or len(shape) not in (1, 2):
        raise InputError(f"{name}: expected numbers in one or two dimensions, got {dtype} of {shape}")
    if end > shape[0]:
        raise _too_few(name, shape[0], span)
    line = math.prod(shape[1:]) * dtype.itemsize
    spans = [(head.tell() + first * line, head.tell() + end * line)]
    if fortran and len(shape) == 2:
        # A column has its rows next to each other.
        starts = [head.tell() + (column * shape[0] + first) * dtype.itemsize for column in range(shape[1])]
        spans = [(start, start + (end - first) * dtype.itemsize) for start in starts]
    return head.tell(), (shape, fortran, dtype), spans


def _rows_of_npy(where: tuple[Any, str, str], span: tuple[int, int], folder: str) -> tuple[str, int]:
    """The bytes of some rows, behind a header that says how many."""
    (fs, path, url), (first, end) = where, span
    name, state = shown(url), _state(fs, path)
    _, (shape, fortran, dtype), spans = _places_in_npy(where, state[0], span)
    local = os.path.join(folder, "rows.npy")
    with open(local, "wb") as file:
        about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": fortran, "shape": (end - first, *shape[1:])}
        np.lib.format.write_array_header_2_0(file, about)
        for at, stop in spans:
            for start in range(at, stop, _PIECE):
                piece = fs.cat_file(path, start=start, end=min(start + _PIECE, stop))
                if len(piece) != min(start + _PIECE, stop) - start:
                    raise InputError(f"{name}: the array ends early")
                file.write(piece)
    if _state(fs, path) != state:
        raise _changed(url)
    return local, first


def _rows_of_parquet(where: tuple[Any, str, str], span: tuple[int, int], folder: str) -> tuple[str, int]:
    """The row groups that have some of the rows."""
    fs, path, url = where
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        remedy = "try: pip install 'zipfold[arrow]'"
        raise RequestError(f"{shown(url)}: rows of a Parquet file are read by pyarrow\n  {remedy}") from None
    state, local = _state(fs, path), os.path.join(folder, "rows.parquet")
    with fs.open(path, "rb") as remote:
        file = parquet.ParquetFile(remote)
        counts = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        if span[1] > starts[-1]:
            raise _too_few(shown(url), int(starts[-1]), span)
        groups = [at for at in range(len(counts)) if starts[at] < span[1] and starts[at + 1] > span[0]]
        # No rows have the columns of the first group.
        groups = groups or list(range(min(1, len(counts))))
        parquet.write_table(file.read_row_groups(groups), local)
    if _state(fs, path) != state:
        raise _changed(url)
    return local, int(starts[groups[0]]) if groups else 0


def _rows_of_zarr(where: tuple[Any, str, str], span: tuple[int, int], folder: str) -> tuple[str, int]:
    """The chunks that have some of the rows."""
    array = _Array(*where)
    if span[1] > array.shape[0]:
        raise _too_few(shown(where[2]), array.shape[0], span)
    state = array.state(span)
    first = array.fetch(span, folder)
    if array.state(span) != state:
        raise _changed(where[2])
    return folder, first


def _places_in_parquet(where: tuple[Any, str, str], size: int, span: tuple[int, int]) -> list[tuple[int, int]]:
    """The places of the row groups that have some of the rows, of the footer, and of the mark at the start."""
    fs, path, _ = where
    parquet = importlib.import_module("pyarrow.parquet")
    with fs.open(path, "rb") as remote:
        about = parquet.ParquetFile(remote).metadata
        remote.seek(size - 8)
        footer = int.from_bytes(remote.read(4), "little") + 8
    places, start = [(0, 4), (size - footer, size)], 0
    for group in map(about.row_group, range(about.num_row_groups)):
        if start < span[1] and start + group.num_rows > span[0]:
            for column in map(group.column, range(group.num_columns)):
                pages = [at for at in (column.dictionary_page_offset, column.data_page_offset) if at]
                places.append((min(pages), min(pages) + column.total_compressed_size))
        start += group.num_rows
    return places


def places_of_rows(where: tuple[Any, str, str], size: int, span: tuple[int, int]) -> list[tuple[int, int]] | None:
    """The places in a file of what a reader of some rows needs; none where all of it is needed, or nobody knows."""
    fs, path, _ = where
    suffix = posixpath.splitext(_name(path))[1]
    if not _has_ranges(fs, path):
        return None
    if suffix == ".npy":
        head, _, spans = _places_in_npy(where, size, span)
        return [(0, head), *spans]
    with contextlib.suppress(ImportError):
        return _places_in_parquet(where, size, span) if suffix == ".parquet" else None
    return None


def chunks_of_rows(where: tuple[Any, str, str], span: tuple[int, int]) -> set[str]:
    """The names of the files of a Zarr array in its folder that a reader of some rows needs, if they are there."""
    array = _Array(*where)
    _, _, numbers = array._numbers(span)
    return {array.meta, *(array._key(some, separator) for some in numbers for separator in (".", "/"))}


@contextlib.contextmanager
def problem_of(path: str, folder: str, *, whole: bool = False) -> typing.Iterator[str]:
    """The path of a problem file whose inputs are files: what its URLs name is fetched into the store ``folder`` once.

    With ``whole`` its files are copied there, too: nothing outside of the store is read.

    The workers of a store see its folder, and need neither fsspec nor the keys of the URLs. ``inputs/urls.json`` has the
    fingerprints; the plan has the hashes of the copies. The copies lie in a folder of their own below ``inputs``, since
    the plan names them; it goes when planning fails. Nothing in a folder that is a store already is touched.
    """
    problem = _to_be_copied(path, whole)
    if problem is None:
        yield path
        return
    if os.path.exists(os.path.join(folder, "plan.json")):
        raise RequestError(f"{folder}: the folder is a store already\n  try: another folder with store=…")
    inputs = os.path.join(folder, "inputs")
    made = [name for name in (folder, inputs) if not os.path.isdir(name)]
    os.makedirs(inputs, exist_ok=True)
    # Not mkdtemp: workers of other users read it, as far as the umask lets them.
    own = os.path.join(inputs, secrets.token_hex(8))
    os.mkdir(own)
    try:
        yield _copied(path, problem, own, whole)
        os.replace(os.path.join(own, "urls.json"), os.path.join(inputs, "urls.json"))
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        with contextlib.suppress(OSError):
            for name in reversed(made):
                os.rmdir(name)
        raise


def _to_be_copied(path: str, whole: bool) -> dict[str, Any] | None:
    """The problem of a file that names URLs, or any; none where the engine reads the file itself, or says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        problem = _parsed(path, text, whole) if whole or "://" in text else None
    except (OSError, ValueError) as error:
        if isinstance(error, ZipfoldError):
            raise
        return None
    if not isinstance(problem, dict) or not any(whole or is_url(owner[key]) for owner, key in _names(problem)):
        return None
    return problem


def _copied(path: str, problem: dict[str, Any], own: str, whole: bool) -> str:
    """The path of the problem over copies in the folder ``own``, which has ``urls.json``, too."""
    known: dict[str, tuple[str, Fingerprint]] = {}
    files: dict[str, str] = {}
    for owner, key in _names(problem):
        url, member = _member(owner[key])
        if not is_url(url):
            # Of the working directory, as everywhere.
            name = url if url == "-" else os.path.abspath(url)
            if whole and os.path.exists(name):
                name = files.get(name) or files.setdefault(name, _copy(name, os.path.join(own, f"file-{len(files)}")))
            owner[key] = name + member
            continue
        if url not in known:
            into = os.path.join(own, str(len(known)))
            os.mkdir(into)
            local, state = _fetch(url, into)
            known[url] = (local, Fingerprint(*state, hash_of(local)))
        owner[key] = known[url][0] + member
    about = [
        {"url": shown(url), "url_sha256": hashlib.sha256(url.encode()).hexdigest(), "file": local, **mark._asdict()}
        for url, (local, mark) in known.items()
    ]
    with open(os.path.join(own, "urls.json"), "w", encoding="utf-8") as file:
        json.dump(about, file, indent=1)
    made = os.path.join(own, "problem.json")
    try:
        with open(made, "w", encoding="utf-8") as file:
            json.dump(problem, file, allow_nan=False)
    except (TypeError, ValueError) as error:
        remedy = "try: finite numbers, or " + ("a store in a folder" if whole else "inputs in files")
        raise RequestError(f"{path}: a value that JSON has not: {error}\n  {remedy}") from None
    return made


def _copy(name: str, into: str) -> str:
    """A copy of a file, or of a Zarr array in its folder, under its own name in the new folder ``into``."""
    local = os.path.join(into, os.path.basename(name.rstrip("/")))
    os.mkdir(into)
    try:
        return str(shutil.copytree(name, local) if os.path.isdir(name) else shutil.copyfile(name, local))
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error}") from None


def _parsed(path: str, text: str, whole: bool) -> dict[str, Any]:
    if path.endswith(".json"):
        return typing.cast("dict[str, Any]", json.loads(text))
    try:
        toml = importlib.import_module("tomllib")
    except ImportError:
        what = "TOML for a store in an object store" if whole else "TOML with :// in it, which may be a URL,"
        raise RequestError(f"{path}: {what} needs Python 3.11\n  try: the problem as JSON") from None
    return typing.cast("dict[str, Any]", toml.loads(text))


def _names(problem: dict[str, Any]) -> typing.Iterator[tuple[dict[str, Any], str]]:
    """Where a problem names inputs: each owner with its key."""
    for key in ("x", "y", "pairs"):
        value = problem.get(key)
        if isinstance(value, str):
            yield problem, key
        elif isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value, "name"
    folds = problem.get("folds")
    for fold in folds if isinstance(folds, list) else []:
        if not isinstance(fold, dict):
            continue
        value = fold.get("weights") if fold.get("kind") == "reduce" else None
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value, "name"
        elif isinstance(value, str) and fold.get("kind") == "reduce":
            yield fold, "weights"
