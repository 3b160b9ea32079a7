"""Inputs by reference: URLs of fsspec, read by ranges."""

import hashlib
import http.server
import io
import json
import sys
import threading

import numpy as np
import pytest

import zipfold as zf
from zipfold import remote

fsspec = pytest.importorskip("fsspec")

ROWS = np.add.outer(np.arange(500) * 10.0, np.arange(4) / 4)


def _npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture
def memory():
    """The files of ``memory://``, empty at first."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    yield fs
    fs.store.clear()


class _Ranges(http.server.BaseHTTPRequestHandler):
    """Files that are given by ranges."""

    files: dict[str, bytes] = {}
    served: list[int] = []
    #: Paths that are forbidden, and what is left out: ranges, the length, the tag.
    forbidden: set[str] = set()
    without: set[str] = set()
    date = "Thu, 01 Jan 2026 00:00:00 GMT"

    def _answer(self, with_body):
        path = self.path.split("?")[0]
        data = self.files.get(path)
        if path in self.forbidden:
            self.send_error(403)
            return
        if data is None:
            self.send_error(404)
            return
        first, end = 0, len(data)
        asked = self.headers.get("Range")
        if "ranges" in self.without:
            asked = None
        if asked:
            low, high = asked.removeprefix("bytes=").split("-")
            first, end = int(low), min(int(high) + 1 if high else end, end)
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        if "tag" not in self.without:
            self.send_header("ETag", hashlib.md5(data).hexdigest())
        self.send_header("Last-Modified", self.date)
        if "length" not in self.without:
            self.send_header("Content-Length", str(end - first))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(data)}")
        self.end_headers()
        if with_body:
            type(self).served.append(end - first)
            self.wfile.write(data[first:end])

    def do_HEAD(self):
        self._answer(False)

    def do_GET(self):
        self._answer(True)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    pytest.importorskip("aiohttp")
    _Ranges.files, _Ranges.served, _Ranges.forbidden, _Ranges.without = {}, [], set(), set()
    _Ranges.date = "Thu, 01 Jan 2026 00:00:00 GMT"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ranges) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


def test_whole_tables_are_read(memory, tmp_path):
    memory.pipe("/a.npy", _npy(ROWS))
    memory.pipe("/a.csv", b"x,y\n1,2\n3,4\n")
    np.testing.assert_array_equal(zf.read("memory://a.npy"), ROWS)
    np.testing.assert_array_equal(zf.read("memory://a.csv", columns=["y"]), [[2.0], [4.0]])
    np.save(tmp_path / "b.npy", ROWS.astype("f4"))
    assert zf.read(f"file://{tmp_path}/b.npy").dtype == np.float32
    np.testing.assert_array_equal(zf.read(tmp_path / "b.npy", rows=slice(3, 5)), ROWS[3:5].astype("f4"))


@pytest.mark.parametrize("array", [ROWS, ROWS.astype("f4"), np.asfortranarray(ROWS), ROWS[:, 0], (ROWS * 4).astype(">i4")])
def test_rows_of_an_array_are_a_range(memory, array):
    memory.pipe("/a.npy", _npy(array))
    right = array.reshape(500, -1)
    for rows in [(0, 500), (17, 18), (100, 350), (5, 5)]:
        found = zf.read("memory://a.npy", rows=rows)
        np.testing.assert_array_equal(found, right[rows[0] : rows[1]])
    np.testing.assert_array_equal(zf.read("memory://a.npy", rows=(1, 3), columns=[0]), right[1:3, :1])
    with pytest.raises(zf.RequestError, match="rows up to 500, got 501"):
        zf.read("memory://a.npy", rows=(0, 501))


def test_rows_over_http_take_their_bytes_alone(server):
    data = _npy(np.arange(400_000.0).reshape(100_000, 4))
    _Ranges.files["/a.npy"] = data
    found = zf.read(f"{server}/a.npy", rows=(50_000, 50_100))
    np.testing.assert_array_equal(found.ravel(), np.arange(200_000.0, 200_400.0))
    assert sum(_Ranges.served) < 20_000 < len(data), _Ranges.served
    # The whole file once, and not again while it is the same.
    assert zf.read(f"{server}/a.npy").shape == (100_000, 4)
    before = sum(_Ranges.served)
    assert zf.read(f"{server}/a.npy").shape == (100_000, 4)
    assert sum(_Ranges.served) - before < 1000
    _Ranges.files["/a.npy"] = _npy(np.ones((3, 2)))
    assert zf.read(f"{server}/a.npy").tolist() == [[1, 1]] * 3
    with pytest.raises(zf.InputError, match="there is nothing"):
        zf.read(f"{server}/none.npy")


def test_rows_of_parquet_are_row_groups(memory):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    pq.write_table(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), out, row_group_size=64)
    memory.pipe("/a.parquet", out.getvalue())
    for rows in [(0, 500), (60, 70), (128, 192), (7, 7)]:
        np.testing.assert_array_equal(zf.read("memory://a.parquet", rows=rows), ROWS[rows[0] : rows[1], :2])
    np.testing.assert_array_equal(zf.read("memory://a.parquet", rows=(1, 2), columns=["b"]), ROWS[1:2, 1:2])


def _zarr(version, separator, put, encoding=None):
    """Puts ``ROWS`` as an array of 64 × 3 chunks."""
    shape, chunks = [500, 4], [64, 3]
    if version == 2:
        about = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<f8", "compressor": None, "fill_value": 0,
                 "order": "C", "filters": None, "dimension_separator": separator}  # fmt: skip
        put(".zarray", json.dumps(about).encode())
    else:
        keys = encoding or {"name": "default", "configuration": {"separator": separator}}
        about = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float64", "fill_value": 0,
                 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}, "chunk_key_encoding": keys,
                 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}  # fmt: skip
        put("zarr.json", json.dumps(about).encode())
    padded = np.zeros((512, 6))
    padded[:500, :4] = ROWS
    for i in range(8):
        for j in range(2):
            key = separator.join([*(["c"] if version == 3 else []), str(i), str(j)])
            put(key, padded[i * 64 : i * 64 + 64, j * 3 : j * 3 + 3].tobytes())
    return about


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("separator", [".", "/"])
def test_a_zarr_array_needs_no_listing(server, version, separator):
    def put(key, data):
        _Ranges.files[f"/a.zarr/{key}"] = data

    _zarr(version, separator, put)
    url = f"{server}/a.zarr"
    for rows in [(0, 500), (60, 70), (128, 192), (499, 500), (7, 7)]:
        np.testing.assert_array_equal(zf.read(url, rows=rows), ROWS[rows[0] : rows[1]])
    np.testing.assert_array_equal(zf.read(url), ROWS)
    np.testing.assert_array_equal(zf.read(url + "?key=secret", rows=(60, 70)), ROWS[60:70])
    # A chunk that the server does not show is not one that is not there.
    first = separator.join([*(["c"] if version == 3 else []), "0", "0"])
    _Ranges.forbidden.add(f"/a.zarr/{first}")
    with pytest.raises(zf.InputError, match="cannot be read"):
        zf.read(url, rows=(0, 10))
    del _Ranges.files[f"/a.zarr/{first}"]
    _Ranges.forbidden.clear()
    assert zf.read(url, rows=(0, 10))[:, :3].tolist() == [[0.0] * 3] * 10


def test_chunks_of_version_2_are_found_by_either_separator(memory):
    def put(key, data):
        about = json.loads(data) if key == ".zarray" else None
        if about:
            del about["dimension_separator"]
            data = json.dumps(about).encode()
        memory.pipe(f"/a.zarr/{key}", data)

    _zarr(2, "/", put)
    np.testing.assert_array_equal(zf.read("memory://a.zarr", rows=(60, 70)), ROWS[60:70])
    np.testing.assert_array_equal(zf.read("memory://a.zarr"), ROWS)


def test_damaged_metadata_of_zarr_are_told(memory):
    about = _zarr(3, "/", lambda key, data: memory.pipe(f"/a.zarr/{key}", data))
    grid = lambda chunk: {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}}}  # noqa: E731
    for change, error, text in [
        ({"shape": "500"}, zf.InputError, "damaged"),
        ({"shape": None}, zf.InputError, "damaged"),
        ({"chunk_grid": []}, zf.InputError, "damaged"),
        (grid([0, 3]), zf.InputError, "does not fit"),
        (grid([3]), zf.InputError, "does not fit"),
        ({"shape": [10**12, 4]}, zf.RequestError, "at most 1000000 chunks"),
        ({"chunk_key_encoding": {"name": "other"}}, zf.RequestError, "expected keys of chunks"),
        ({"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}}, zf.RequestError, "expected . or /"),
    ]:
        memory.pipe("/a.zarr/zarr.json", json.dumps({**about, **change}).encode())
        for rows in [(0, 1), None] if "1000000" not in text else [None]:
            with pytest.raises(error, match=text):
                zf.read("memory://a.zarr", rows=rows)
    memory.pipe("/a.zarr/zarr.json", b"{")
    with pytest.raises(zf.InputError, match="damaged"):
        zf.read("memory://a.zarr", rows=(0, 1))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("separator", [".", "/"])
def test_rows_of_zarr_are_chunks(memory, version, separator):
    _zarr(version, separator, lambda key, data: memory.pipe(f"/a.zarr/{key}", data))
    np.testing.assert_array_equal(zf.read("memory://a.zarr"), ROWS)
    for rows in [(0, 500), (60, 70), (128, 192), (499, 500), (7, 7)]:
        np.testing.assert_array_equal(zf.read("memory://a.zarr", rows=rows), ROWS[rows[0] : rows[1]])
    # A chunk that these rows do not have may be away.
    memory.rm(f"/a.zarr/{separator.join([*(['c'] if version == 3 else []), '0', '0'])}")
    np.testing.assert_array_equal(zf.read("memory://a.zarr", rows=(100, 110)), ROWS[100:110])


def test_places_that_take_paths_take_urls(memory):
    memory.pipe("/left.csv", b"k,v\na,1\nb,2\n")
    memory.pipe("/right.csv", b"k,w\nb,5\na,7\n")
    found = zf.join("memory://left.csv", "memory://right.csv", on="k", select="x.v, y.w")
    assert list(np.asarray(found["v"])) == [1, 2] and list(np.asarray(found["w"])) == [7, 5]
    memory.pipe("/sky.csv", b"ra,dec\n10,0\n20,60\n")
    matched = zf.crossmatch("memory://sky.csv", "memory://sky.csv", radius=1, select="x.ra, separation")
    assert list(np.asarray(matched["ra"])) == [10, 20]


def test_a_store_has_what_urls_name(memory, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    memory.pipe("/a.npy", _npy(ROWS))
    problem = {"schema": 1, "x": "memory://a.npy", "pair": {"metric": "euclidean"}, "folds": [{"kind": "nearest", "k": 2}]}
    for name, text in [
        ("p.json", json.dumps(problem)),
        ("p.toml", 'schema = 1\nx = "memory://a.npy"\npair = { metric = "euclidean" }\nfolds = [{ kind = "nearest", k = 2 }]\n'),
    ]:
        if name == "p.toml" and sys.version_info < (3, 11):
            continue
        (tmp_path / name).write_text(text)
        store = tmp_path / f"store-{name}"
        with ThreadPoolExecutor(1) as pool:
            job = zf.submit(str(tmp_path / name), executor=pool, store=store, shares=1)
            result = job.result(60)
        right = zf.pairs(ROWS).nearest(2).run()
        np.testing.assert_array_equal(result.indices, right.indices)
        [about] = json.loads((store / "inputs" / "urls.json").read_text())
        assert (about["size"], about["sha256"]) == (len(_npy(ROWS)), hashlib.sha256(_npy(ROWS)).hexdigest())
        assert about["mark"] and about["url_sha256"] == hashlib.sha256(b"memory://a.npy").hexdigest()
        # Workers of other processes need the store alone.
        memory.rm("/a.npy")
        np.testing.assert_array_equal(zf.attach(store).result(60).indices, right.indices)
        saved = zf.attach(store).save(tmp_path / f"{name}.csv", 60)
        assert saved == [str(tmp_path / f"{name}.csv")]
        memory.pipe("/a.npy", _npy(ROWS))


def test_fingerprints_tell_states_apart(memory):
    memory.pipe("/a.npy", _npy(ROWS))
    first = zf.fingerprint("memory://a.npy")
    assert first == zf.fingerprint("memory://a.npy")
    assert first.size == len(_npy(ROWS)) and first.sha256 == hashlib.sha256(_npy(ROWS)).hexdigest()
    memory.pipe("/a.npy", _npy(ROWS + 1))
    again = zf.fingerprint("memory://a.npy")
    assert again.size == first.size and again.sha256 != first.sha256


def test_files_of_an_array_that_change_places_are_another_state(tmp_path):
    def put(key, data):
        path = tmp_path / "a.zarr" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    _zarr(3, "/", put)
    first = zf.fingerprint(tmp_path / "a.zarr")
    (tmp_path / "a.zarr/c/7/1").rename(tmp_path / "a.zarr/c/8")
    assert zf.fingerprint(tmp_path / "a.zarr").sha256 != first.sha256
    (tmp_path / "a.zarr/c/8").rename(tmp_path / "a.zarr/c/7/1")
    assert zf.fingerprint(tmp_path / "a.zarr").sha256 == first.sha256


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(zf.RequestError, match=r"pip install 'zipfold\[remote\]'"):
        zf.read("s3://bucket/a.npy")
    assert not remote.is_url("data/a.npy") and not remote.is_url("std::vector")
    assert remote.is_url("simplecache::s3://bucket/a.npy")


def test_what_fsspec_does_not_know_is_refused(memory):
    with pytest.raises(zf.RequestError, match="fsspec does not open it"):
        zf.read("nothing://a.npy")
    with pytest.raises(zf.InputError, match="there is nothing"):
        zf.read("memory://none.npy")
    memory.pipe("/bad.npy", b"not an array at all")
    with pytest.raises(zf.InputError, match="the header is damaged"):
        zf.read("memory://bad.npy", rows=(0, 1))
    with pytest.raises(zf.RequestError, match="expected a range of rows"):
        zf.read("memory://bad.npy", rows=(3, 1))


@pytest.mark.parametrize(
    "array",
    [
        np.array([[2**53 + 1, 1], [2**53 + 3, 2], [5, 6]]),
        np.array([[0.1, 2.0], [3.0, 4.0]], "f2"),
        np.array([[0.1, 2.0], [3.0, 4.0]], ">f4"),
        np.asfortranarray(np.arange(6, dtype=">i2").reshape(3, 2)),
        np.array([True, False]),
    ],
)
def test_rows_are_what_the_engine_reads(memory, tmp_path, array):
    """The same values, types and refusals as of the whole file."""
    memory.pipe("/a.npy", _npy(array))
    np.save(tmp_path / "a.npy", array)

    def outcome(*args, **how):
        try:
            return zf.read(*args, **how)
        except zf.ZipfoldError as error:
            return type(error)

    for how in [{}, {"columns": [0]}, {"columns": ["a"]}, {"memory": 1}]:
        found, right = outcome("memory://a.npy", rows=(0, 2), **how), outcome(tmp_path / "a.npy", rows=(0, 2), **how)
        assert getattr(found, "dtype", found) == getattr(right, "dtype", right)
        np.testing.assert_array_equal(found, right)


def test_servers_without_ranges_or_lengths_give_the_whole(server):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    pq.write_table(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), out, row_group_size=64)
    _Ranges.files = {"/a.npy": _npy(ROWS), "/a.parquet": out.getvalue()}
    for without in [{"ranges"}, {"length"}, {"ranges", "length"}, set()]:
        _Ranges.without = without
        np.testing.assert_array_equal(zf.read(f"{server}/a.npy", rows=(60, 70)), ROWS[60:70])
        np.testing.assert_array_equal(zf.read(f"{server}/a.parquet?key=1", rows=(60, 70)), ROWS[60:70, :2])


def test_a_state_without_a_tag_has_a_time(server):
    _Ranges.files["/a.csv"], _Ranges.without = b"1,2\n", {"tag"}
    assert zf.read(f"{server}/a.csv").tolist() == [[1, 2]]
    _Ranges.files["/a.csv"], _Ranges.date = b"3,4\n", "Fri, 02 Jan 2026 00:00:00 GMT"
    assert zf.read(f"{server}/a.csv").tolist() == [[3, 4]]


@pytest.mark.parametrize("name", ["a.npy", "a.parquet", "a.zarr"])
def test_rows_that_change_while_they_are_read_are_told(memory, monkeypatch, name):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    pq.write_table(pa.table({"a": ROWS[:, 0]}), out)
    memory.pipe("/a.parquet", out.getvalue())
    memory.pipe("/a.npy", _npy(ROWS))
    _zarr(3, "/", lambda key, data: memory.pipe(f"/a.zarr/{key}", data))
    watched = {"a.zarr": "/a.zarr/c/0/0"}.get(name, f"/{name}")
    calls = []

    def info(path, real=memory.info, **how):
        about = real(path, **how)
        calls.append(path)
        if path.endswith(watched):
            # Another time at each look.
            about["created"] = len(calls)
        return about

    monkeypatch.setattr(memory, "info", info)
    for rows in [(0, 10), None]:
        with pytest.raises(zf.InputError, match="changed while it was read"):
            zf.read(f"memory://{name}", rows=rows)


def test_secrets_of_urls_are_not_told(server, memory, tmp_path):
    url = server.replace("://", "://user:pw123@") + "/a.npy?X-Amz-Signature=abc456#f789"
    assert remote.shown(url) == f"{server}/a.npy"
    assert remote.shown("zip://a.csv::https://u:p@h/b.zip?s=1") == "zip://a.csv::https://h/b.zip"

    def clean(text):
        assert not any(secret in text for secret in ("pw123", "abc456", "f789", "user:")), text

    _Ranges.forbidden.add("/a.npy")
    for rows in [(0, 1), None]:
        with pytest.raises(zf.InputError) as caught:
            zf.read(url, rows=rows)
        clean(str(caught.value))
        assert caught.value.__suppress_context__
    _Ranges.forbidden.clear()
    _Ranges.files["/a.npy"] = _npy(ROWS)
    problem = {"schema": 1, "x": url, "pair": {"metric": "euclidean"}, "folds": [{"kind": "nearest", "k": 2}]}
    (tmp_path / "p.json").write_text(json.dumps(problem))
    store = tmp_path / "store"
    zf.submit(str(tmp_path / "p.json"), executor=None, store=store, shares=1)
    for file in store.rglob("*"):
        if file.is_file():
            clean(file.read_bytes().decode("latin1"))


def test_a_store_is_not_touched_and_failures_leave_nothing(memory, tmp_path):
    memory.pipe("/a.npy", _npy(ROWS))
    problem = {"schema": 1, "x": "memory://a.npy", "pair": {"metric": "euclidean"}, "folds": [{"kind": "nearest", "k": 2}]}
    path, store = tmp_path / "p.json", tmp_path / "store"

    def submit(store, **change):
        path.write_text(json.dumps({**problem, **change}))
        zf.submit(str(path), executor=None, store=store, shares=1)

    def state(folder):
        return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}

    submit(store)
    before = state(store)
    [own] = [f for f in (store / "inputs").iterdir() if f.is_dir()]
    assert own.stat().st_mode & 0o077 == (tmp_path / "store").stat().st_mode & 0o077
    memory.pipe("/a.npy", _npy(ROWS + 1))
    with pytest.raises(zf.RequestError, match="store already"):
        submit(store)
    assert state(store) == before
    # Neither what is fetched nor what is planned may fail in the middle.
    for change in [{"y": "memory://none.npy"}, {"folds": [{"kind": "nearest", "k": -1}]}]:
        with pytest.raises(zf.ZipfoldError):
            submit(tmp_path / "other", **change)
        assert not (tmp_path / "other").exists()
    out = io.BytesIO()
    np.savez(out, points=ROWS, others=ROWS[:1])
    memory.pipe("/b.npz", out.getvalue())
    assert zf.read("memory://b.npz:others").shape == (1, 4)
    submit(tmp_path / "member", x="memory://b.npz:points")
    if sys.version_info >= (3, 11):
        toml = tmp_path / "p.toml"
        toml.write_text('schema = 1\nx = "memory://a.npy"\npair = { metric = "euclidean" }\n'
                        'folds = [{ kind = "histogram", edges = [0.0, inf] }]\n')  # fmt: skip
        with pytest.raises(zf.RequestError, match="a value that JSON has not"):
            zf.submit(str(toml), executor=None, store=tmp_path / "third", shares=1)
        assert not (tmp_path / "third").exists()
