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

    def _answer(self, with_body):
        data = self.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        first, end = 0, len(data)
        asked = self.headers.get("Range")
        if asked:
            low, high = asked.removeprefix("bytes=").split("-")
            first, end = int(low), min(int(high) + 1 if high else end, end)
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", hashlib.md5(data).hexdigest())
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
    _Ranges.files, _Ranges.served = {}, []
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


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("separator", [".", "/"])
def test_rows_of_zarr_are_chunks(memory, version, separator):
    shape, chunks = [500, 4], [64, 3]
    if version == 2:
        about = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<f8", "compressor": None, "fill_value": 0,
                 "order": "C", "filters": None, "dimension_separator": separator}  # fmt: skip
        memory.pipe("/a.zarr/.zarray", json.dumps(about).encode())
    else:
        about = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float64", "fill_value": 0,
                 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                 "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
                 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}  # fmt: skip
        memory.pipe("/a.zarr/zarr.json", json.dumps(about).encode())
    padded = np.zeros((512, 6))
    padded[:500, :4] = ROWS
    for i in range(8):
        for j in range(2):
            key = separator.join([*(["c"] if version == 3 else []), str(i), str(j)])
            memory.pipe(f"/a.zarr/{key}", padded[i * 64 : i * 64 + 64, j * 3 : j * 3 + 3].tobytes())
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
        [(local, size, mark, sha)] = json.loads((store / "inputs" / "urls.json").read_text()).values()
        assert (size, sha) == (len(_npy(ROWS)), hashlib.sha256(_npy(ROWS)).hexdigest()) and mark
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
