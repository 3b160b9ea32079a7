"""What comes in at every door: objects of many protocols, masks, sizes, keywords, times; and what must not depend on them."""

import datetime
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import zipfold as zf
from zipfold.arrays import rows

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

X = np.random.default_rng(5).random((40, 3))


class Both:
    """An array that is an Arrow stream of one column too, as xarray.DataArray is."""

    ndim, shape = 2, X.shape

    def __array__(self, dtype=None, copy=None):
        return X

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table({"all": X.ravel()}).__arrow_c_stream__()


ARRAYS = {"arrow and array": Both, "pandas": lambda: pd.DataFrame(X), "polars": lambda: pl.DataFrame(X, schema=list("abc"))}


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_an_array_is_an_array_whatever_else_it_is(make):
    np.testing.assert_array_equal(zf.pdist(make()), zf.pdist(X))
    np.testing.assert_array_equal(zf.knn(make(), k=2).indices, zf.knn(X, k=2).indices)
    np.testing.assert_allclose(np.asarray(zf.corr(make())), zf.corr(X))


def test_xarray_is_an_array():
    xr = pytest.importorskip("xarray")
    data = xr.DataArray(X, dims=("i", "k"))
    np.testing.assert_array_equal(zf.cdist(data, data), zf.cdist(X, X))
    assert zf.pairs(data).sum().run().shape == (40,)
    with pytest.raises(TypeError, match="Dataset"):
        zf.pdist(xr.Dataset({"u": ("i", X[:, 0])}))


LISTS = {
    "fixed size": lambda x: pa.table({"e": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])}),
    "list": lambda x: pa.table({"e": pa.array(x.tolist(), pa.list_(pa.from_numpy_dtype(x.dtype)))}),
    "large list": lambda x: pa.table({"e": pa.array(x.tolist(), pa.large_list(pa.from_numpy_dtype(x.dtype)))}),
    "column": lambda x: pa.chunked_array([pa.array(x[:7].tolist()), pa.array(x[7:].tolist())]),
    "polars Array": lambda x: pl.DataFrame({"e": pl.Series(x, dtype=pl.Array(pl.Float64, x.shape[1]))}),
    "polars Series": lambda x: pl.Series("e", x.tolist()),
    "pandas column": lambda x: pd.Series(list(x)),
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_embeddings_are_rows(make):
    np.testing.assert_array_equal(rows(make(X), "X"), X)
    np.testing.assert_array_equal(zf.knn(make(X), k=1).indices, zf.knn(X, k=1).indices)


def test_precision_of_columns_is_kept():
    single = X.astype(np.float32)
    for make in (LISTS["fixed size"], LISTS["list"], lambda x: pa.table({"a": x[:, 0], "b": x[:, 1]})):
        assert rows(make(single), "X").dtype == np.float32
    assert rows(pa.table({"a": single[:, 0], "b": X[:, 1]}), "X").dtype == np.float64


def test_lists_that_are_no_rows():
    with pytest.raises(ValueError, match="same length|one length"):
        zf.pdist(pd.Series([[1.0], [1.0, 2.0]]))
    with pytest.raises(TypeError, match="one length"):
        zf.pdist(pa.table({"e": [[1.0], [1.0, 2.0]]}))
    with pytest.raises(TypeError, match="collect"):
        zf.pdist(pl.DataFrame({"a": [1.0]}).lazy())


MASKED = np.ma.array(np.ones(40), mask=np.arange(40) == 3)
MASKED_ROWS = np.ma.array(X, mask=X > 0.9)
MASKS = {
    "rows": lambda: zf.cdist(MASKED_ROWS, X),
    "Y": lambda: zf.knn(X, MASKED_ROWS),
    "weights": lambda: zf.pairs(X).sum(weights=MASKED).run(),
    "histogram weights": lambda: zf.pair_histogram(X, bins=2, range=(0, 1), weights=MASKED),
    "attributes": lambda: zf.pairs(X, attributes={"m": MASKED}).pair("y.m").sum().run(),
    "options": lambda: zf.cdist(X, X, "minkowski", p=2, w=np.ma.array([1.0, 2, 3], mask=[0, 1, 0])),
    "edges": lambda: zf.pair_histogram(X, bins=np.ma.array([0.0, 1, 2], mask=[0, 1, 0])),
    "box": lambda: zf.pairs(X).periodic(np.ma.array([1.0, 1, 1], mask=[0, 1, 0])),
    "closure": lambda: zf.cdist(X, X, lambda x, y: (x * np.ma.array([1.0, 2, 3], mask=[0, 1, 0])).sum()),
    "parameter": lambda: zf.cdist(X, X, lambda x, y, w: (x * w).sum(), w=np.ma.array([1.0, 2, 3], mask=[0, 1, 0])),
    "tables": lambda: zf.infer(zf.Network([np.ma.array([0.5, 0.5], mask=[0, 1])], [[0]])),
}


@pytest.mark.parametrize("call", MASKS.values(), ids=MASKS)
def test_masked_values_are_refused_everywhere(call):
    with pytest.raises(zf.ZipfoldError, match="masked values"):
        call()


SAME = {
    "cdist": lambda x, y: zf.cdist(x, y),
    "cdist seuclidean": lambda x, y: zf.cdist(x, y, "seuclidean"),
    "cdist mahalanobis": lambda x, y: zf.cdist(x, y, "mahalanobis"),
    "cdist kl": lambda x, y: zf.cdist(x, y, "kl"),
    "knn": lambda x, y: tuple(zf.knn(x, y, 3)),
    "join": lambda x, y: (zf.similarity_join(x, y, within=0.3).i, zf.similarity_join(x, y, within=0.3).j),
    "histogram": lambda x, y: zf.pair_histogram(x, y, bins=4, range=(0, 1)).counts,
    "sum": lambda x, y: zf.pairs(x, y).sum().run(),
    "attributes": lambda x, y: zf.pairs(x, y, attributes=({"m": x[:, 0]}, {"m": y[:, 1]})).pair("x.m - y.m").sum().run(),
    "argmin": lambda x, y: zf.pairwise_distances_argmin_min(x, y),
    "pairwise_distances": lambda x, y: zf.pairwise_distances(x, y, "cosine"),
    "kernels": lambda x, y: zf.pairwise_kernels(x, y, "rbf"),
    "kneighbors": lambda x, y: zf.NearestNeighbors(n_neighbors=3).fit(y).kneighbors(x),
}


@pytest.mark.parametrize("call", SAME.values(), ids=SAME)
def test_an_object_given_twice_is_two_equal_ones(call):
    np.testing.assert_equal(call(X, X), call(X, X.copy()))


@pytest.mark.parametrize("metric", sorted(zf.metrics()))
@pytest.mark.filterwarnings("ignore::zipfold.ZipfoldWarning")
def test_an_object_given_twice_is_two_equal_ones_for_every_metric(metric):
    x = np.ascontiguousarray(X[:, :2])
    np.testing.assert_array_equal(zf.cdist(x, x, metric), zf.cdist(x, x.copy(), metric))


def no_return(x, y):
    (x - y).sum()


def draws(x, y):
    return np.random.default_rng().random() * (x - y).sum()


def counts(x, y, seen=[]):  # noqa: B006
    seen.append(1)
    return (x - y).sum() + len(seen)


@pytest.mark.parametrize(("function", "words"), [(no_return, "no_return.*'return'"), (draws, "another formula"), (counts, "another formula")])
def test_functions_that_are_no_formula(function, words):
    for ask in (lambda: zf.cdist(X, X, function), lambda: zf.pairs(X).pair(function), lambda: zf.pairs(X).join(function)):
        with pytest.raises(zf.TraceError, match=words):
            ask()


def test_times_of_joins_are_exact_or_refused():
    stamps = pd.DatetimeIndex(np.array(["2024-01-01T00:00:00.000000001", "2024-01-01"], "M8[ns]"))
    left, right = pd.DataFrame({"t": stamps[:1]}), pd.DataFrame({"t": stamps[1:]})
    with pytest.raises(TypeError, match="column 't'.*nanoseconds(.|\n)*subtract"):
        zf.join(left, right, "x.t == y.t")
    # Since an origin they are exact.
    since = [pd.DataFrame({"t": frame.t - stamps[1]}) for frame in (left, right)]
    assert len(zf.join(*since, "x.t == y.t")) == 0
    assert len(zf.join(*since, "x.t > y.t")) == 1
    # A moment is one number in every unit.
    moments = np.array(["2024-03-01T10:20:30.123456", "1999-12-31T23:59:59.999999", "1969-07-20T20:17:40.5"], "M8[us]")
    micro, nano = pd.DataFrame({"t": moments}), pd.DataFrame({"t": moments.astype("M8[ns]")})
    assert len(zf.join(micro, nano, "x.t == y.t")) == 3
    later = pd.DataFrame({"t": moments + np.timedelta64(1, "us")})
    assert len(zf.join(micro, later, "x.t == y.t")) == 0
    assert len(zf.join(micro, later, lambda x, y: abs(x.t - y.t) < datetime.timedelta(milliseconds=1))) == 3
    assert len(zf.join(micro, later, lambda x, y: (abs(x.t - y.t) < pd.Timedelta("1ms")) & (x.t > np.datetime64("2000-01-01")))) == 1


def test_a_moment_in_a_function_is_the_number_of_its_column():
    start = np.datetime64("1970-01-01T00:00:00.000001", "us")
    moments = start + np.random.default_rng(3).integers(0, 2 * 10**15, 50).astype("m8[us]")
    table = pd.DataFrame({"t": moments})
    for moment in moments:
        assert len(zf.join(table, None, lambda x, y, m=moment: (x.t == m) & (y.t != m))) == 49
    nothing = np.datetime64("NaT", "us")
    assert len(zf.join(table, None, lambda x, y: x.t > nothing)) == 0


def test_the_index_of_a_frame_is_no_column():
    plain = pd.DataFrame({"a": [0.0, 5.0, 1.0], "b": [0.0, 0.0, 0.0]})
    for index in ([10, 20, 30], pd.DatetimeIndex(["2024-01-01T00:00:00.000000001"] * 3)):
        odd = plain.set_axis(index, axis=0)
        assert zf.join(odd, None, "norm(x - y) < 2", rows=True).j.tolist() == [2]


def test_zeros_at_the_end_of_a_decimal_are_no_digits():
    import decimal

    table = pa.table({"d": pa.array([decimal.Decimal("1.0"), decimal.Decimal("2.5")], pa.decimal128(38, 18))})
    assert zf.join(table, None, "x.d < y.d", rows=True).i.tolist() == [0]


def test_a_join_reads_only_what_its_condition_names():
    odd = {"n": [1.0, 5.0], "id": np.array([2**60 + 1, 2**60 + 2]), "list": [[1, 2], [3]], "object": [{"a": 1}, object()]}
    left = pd.DataFrame(odd)
    arrow = pa.table({"id": odd["id"], "list": odd["list"], "n": odd["n"]})
    for table in (left, arrow, pl.DataFrame(arrow)):
        assert zf.join(table, table, "x.n < y.n", rows=True).i.tolist() == [0]
        assert zf.join(table, None, lambda x, y: abs(x.n - y.n) < 9, rows=True).j.tolist() == [1]
    assert zf.join(arrow, arrow, "x[2] < y[2]", rows=True).i.tolist() == [0]
    with pytest.raises(TypeError, match="'id'.*2\\^53"):
        zf.join(left, left, "x.id == y.id")
    with pytest.raises(TypeError, match="'id'|'list'"):
        zf.join(arrow, arrow, "norm(x - y) < 1")
    with pytest.raises(ValueError, match="'n'"):
        zf.join(left, left, "x.nn < y.n")


@pytest.mark.parametrize("metric", ["euclidean", "jensenshannon", "minkowski", "cosine", "cityblock", "haversine"])
def test_a_join_within_a_distance_has_the_pair_at_that_distance(metric, rng):
    x = rng.random((150, 2))
    nearest = zf.knn(x, x, 5, metric=metric)
    found = [len(zf.similarity_join(x[i : i + 1], x, within=float(nearest.distances[i, 4]), metric=metric)) for i in range(len(x))]
    assert min(found) >= 5
    matrix = zf.cdist(x, x, metric)
    d = float(matrix[3, 77])
    assert len(zf.similarity_join(x, x, within=d, metric=metric)) == (matrix <= d).sum()
    assert zf.pair_histogram(x, x, bins=[-1, d, 1e9], metric=metric).counts.tolist() == [(matrix < d).sum(), (matrix >= d).sum()]


@pytest.mark.parametrize("metric", ["spearman", "seuclidean", "mahalanobis", "pearson", "cosine"])
def test_joins_by_metrics_that_look_at_all_rows(metric, rng):
    x = rng.random((60, 4))
    matrix = zf.cdist(x, x.copy(), metric)
    whole = zf.pairs(x).pair(metric).domain("square").matrix().run()
    limit = float(np.median(whole))
    i, j = np.nonzero(np.triu(whole <= limit, 1))
    found = zf.similarity_join(x, within=limit, metric=metric)
    assert (found.i.tolist(), found.j.tolist()) == (i.tolist(), j.tolist())
    np.testing.assert_array_equal(found.values, whole[i, j])
    assert len(zf.similarity_join(x, x, at_least=float(np.median(matrix)), metric=metric)) == (matrix >= np.median(matrix)).sum()
    asked = zf.pairs(x).pair(metric).join("value <= h or value > 1e9".replace("h", repr(limit)), "2 * value").run()
    np.testing.assert_array_equal(asked.values, 2 * found.values)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "spearman"])
def test_radius_neighbours_by_metrics_that_look_at_all_rows(metric, rng):
    x = rng.random((60, 4))
    near = zf.NearestNeighbors(radius=0.9, metric=metric).fit(x)
    matrix = zf.pairs(x).pair(metric).domain("square").matrix().run()
    np.fill_diagonal(matrix, np.inf)
    assert [part.tolist() for part in near.radius_neighbors(return_distance=False)] == [np.flatnonzero(r <= 0.9).tolist() for r in matrix]


@pytest.mark.filterwarnings("ignore::zipfold.ZipfoldWarning")
def test_a_similarity_takes_the_largest():
    for metric, about in zf.metrics().items():
        x = np.ascontiguousarray(X[:, :2]) if about["rows"] == "latlon" else X
        kind = about["kind"] == "similarity"
        default, said = zf.knn(x, k=3, metric=metric), zf.knn(x, k=3, metric=metric, largest=kind)
        assert default == said, metric
        assert set(about) == {"aliases", "options", "symmetric", "rows", "kind", "range", "definition"}
    inner = X @ X.T
    np.fill_diagonal(inner, -np.inf)
    np.testing.assert_array_equal(zf.knn(X, k=1, metric="linear").indices[:, 0], inner.argmax(1))


def test_degrees_and_bytes_are_told_of():
    cities = np.array([[48.8566, 2.3522], [51.5074, -0.1278]])
    with pytest.warns(zf.ZipfoldWarning, match="degrees(.|\n)*unit='deg'") as seen:
        zf.pdist(cities, "haversine")
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(zf.pdist(cities, "haversine", unit="deg", radius=6371.0088), 343.556, atol=1e-3)
        np.testing.assert_allclose(zf.pdist(cities, "haversine", unit="deg"), zf.pdist(np.deg2rad(cities), "haversine"), rtol=1e-12)
        zf.pairwise_distances(X > 0.5, metric="jaccard")
    packed = np.packbits(X > 0.5, axis=1)
    for call in (lambda: zf.knn(packed, k=1, metric="jaccard"), lambda: zf.pdist(packed, "dice"), lambda: zf.pairs(packed).pair("yule").sum().explain()):
        with pytest.warns(zf.ZipfoldWarning, match="packed bits"):
            call()
    with pytest.raises(ValueError, match="'rad' or 'deg'"):
        zf.pdist(cities, "haversine", unit="grad")


def test_results_compare():
    for ask in (
        lambda: zf.knn(X, k=3), lambda: zf.pair_histogram(X, bins=3, range=(0, 1), mean=True),
        lambda: zf.similarity_join(X, within=0.3), lambda: zf.infer(zf.Network([np.array([0.5, 0.5])], [[0]])),
        lambda: zf.pairs(X).sum().explain(threads=1),
    ):  # fmt: skip
        assert ask() == ask()
    assert zf.knn(X, k=3) != zf.knn(X, k=2)
    assert zf.knn(X, k=3) != zf.knn(X[::-1], k=3)


def test_weights_of_one_column_keep_it():
    kernel = zf.pairs(X).pair("rbf")
    matrix = kernel.matrix().run()
    for weights in (X[:, :1], X[:, 0], X[:, :2]):
        got = kernel.sum(weights=weights).run()
        assert got.shape == (matrix @ weights).shape
        np.testing.assert_allclose(got, matrix @ weights)
    assert kernel.mean(None, weights=X[:, :1]).run().shape == (1,)
    question = kernel.fold(zf.fold.sum(weights=X[:, :1]), zf.fold.sum())
    shapes = [part.shape for part in zf.merge(question, [question.run(shard=(i, 2)) for i in range(2)])]
    assert shapes == [(40, 1), (40,)]


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_questions_from_buffers_beside_a_pickle(offset):
    question = zf.pairs(X, attributes={"m": X[:, 0]}).pair("y.m * sum((x - y)^2)").sum(weights=X[:, 1])
    buffers: list = []
    text = pickle.dumps(question, protocol=5, buffer_callback=buffers.append)
    assert buffers
    moved = []
    for buffer in buffers:
        raw = buffer.raw()
        room = bytearray(len(raw) + offset)
        room[offset:] = raw
        moved.append(memoryview(room)[offset:])
    again = pickle.loads(text, buffers=moved)
    np.testing.assert_array_equal(again.run(), question.run())
    parts = [again.run(shard=(i, 2)) for i in range(2)]
    np.testing.assert_array_equal(zf.merge(again, parts), question.run())


SIZES = {
    "k": "zf.knn(np.random.rand(6, 3), k=10**9)",
    "k beyond 64 bits": "zf.knn(np.random.rand(6, 3), k=10**30)",
    "bins": "zf.pair_histogram(np.random.rand(6, 3), bins=99_000_000, range=(0, 1), weights=np.ones(6), mean=True)",
    "axes": "zf.pairs(np.random.rand(6, 3)).histogram(axes=[{'bins': 20_000, 'range': (0, 1)}] * 2).run()",
    "wide weights": "zf.pairs(np.zeros((300, 1))).sum(weights=np.ones((300, 300_000), 'f4')).run()",
    "join": "zf.similarity_join(np.zeros((40_000, 1)), within=1.0)",
    "matrix": "zf.pairs(np.zeros((30_000, 1))).matrix().run()",
    "cdist": "zf.cdist(np.zeros((1, 1)), np.zeros((10**8, 1), '?'))",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space of Linux")
@pytest.mark.parametrize("call", SIZES.values(), ids=SIZES)
def test_no_size_ends_the_interpreter(call):
    code = (
        "import resource, numpy as np, zipfold as zf\n"
        "zf.cdist([[0.0]], [[1.0]])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        f"try: {call}; print('answered')\n"
        "except (MemoryError, ValueError) as error: print(type(error).__name__, error)\n"
    )
    # The budget that is asked is smaller than the room there is.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120, env=os.environ | {"ZIPFOLD_MEMORY": "512MiB", "ZIPFOLD_THREADS": "2"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Error" in done.stdout or "answered" in done.stdout


def test_a_size_asks_the_budget_without_a_limit_of_its_own():
    with pytest.raises(MemoryError, match="memory"):
        zf.knn(np.random.rand(6, 3), k=2**32)


REFUSED = {
    "njobs": (lambda: zf.knn(X, k=1, njobs=2), TypeError, "threads"),
    "n_neighbors": (lambda: zf.knn(X, n_neighbors=2), TypeError, "k=…"),
    "bin": (lambda: zf.pair_histogram(X, bin=3), TypeError, "bins=…"),
    "thread": (lambda: zf.pairs(X).sum().run(thread=2), TypeError, "threads=…"),
    "cdist option": (lambda: zf.cdist(X, X, "euclidean", thread=3), TypeError, "threads=…"),
    "radius": (lambda: zf.similarity_join(X, radius=1), TypeError, "within=…"),
    "plan": (lambda: zf.knn(X, k=1, plan="fast"), ValueError, "plan: 'fast'.*dict"),
    "progress": (lambda: zf.knn(X, k=1, progress=5), ValueError, "progress: 5.*function"),
    "range": (lambda: zf.pair_histogram(X, bins=3, range=(0, 1, 2)), ValueError, "range: .*two numbers"),
    "range text": (lambda: zf.pair_histogram(X, bins=3, range="01"), ValueError, "range: .*two numbers"),
    "bins": (lambda: zf.pair_histogram(X, bins="auto"), ValueError, "bins: 'auto'"),
    "shard": (lambda: zf.pairs(X).sum().run(shard="0/2"), ValueError, "shard: '0/2'.*index and parts"),
    "series": (lambda: zf.pdist(pl.Series([1.0, 2.0])), ValueError, "one dimension"),
    "corr": (lambda: zf.corr(pd.DataFrame(X), pd.DataFrame(X)), TypeError, "method: expected a name, got a DataFrame"),
    "k as Y": (lambda: zf.knn(X, 3), ValueError, "Y: expected rows, got the number 3\n  try: k=3"),
    "rows": (lambda: zf.pdist(7), ValueError, "expected rows of numbers, got 7"),
    "threads": (lambda: zf.knn(X, k=1, threads=1.5), ValueError, "threads: 1.5"),
    "within": (lambda: zf.similarity_join(X, within="1"), TypeError, "within: expected a number, got '1'"),
    "nan": (lambda: zf.similarity_join(X, within=np.nan), ValueError, "within: nan"),
    "cutoff": (lambda: zf.pairs(X).cutoff("1"), TypeError, "cutoff: expected a number"),
    "big objects": (lambda: zf.cdist(np.array([[2**53 + 1]], object), [[0.0]]), ValueError, r"XA\[0, 0\].*2\^53"),
    "huge objects": (lambda: zf.cdist([[10**30]], [[0.0]]), ValueError, r"XA\[0, 0\].*2\^53"),
    "big options": (lambda: zf.cdist(X, X, "minkowski", p=2**53 + 1), ValueError, r"2\^53"),
    "big closure": (lambda: zf.cdist(X, X, lambda x, y: x[0] + (2**53 + 1)), ValueError, r"2\^53"),
    "tanimoto": (lambda: zf.cdist(X, X, "tanimoto"), ValueError, "'jaccard', which is 1"),
    "half": (lambda: zf.pdist(X, "x[0] - y[1]"), ValueError, r"\.domain\('ordered'\)"),
    "box": (lambda: zf.pairs(X).periodic([1, 1]).sum().run(), ValueError, r"X\[:, :3\]"),
    "covariance": (lambda: zf.pdist(X[:3], "mahalanobis"), ValueError, "VI=…"),
    "no range": (lambda: zf.pair_histogram(X[:1], bins=3), ValueError, r"range=\(LO, HI\)"),
    "labels": (lambda: zf.pairs(X, attributes={"l": ["a", None] * 20}).join("x.l == y.l").run(), ValueError, "NaN"),
    "mixed labels": (lambda: zf.pairs(X, attributes={"l": ["a", 1] * 20}), TypeError, "labels and the number 1"),
}  # fmt: skip


def in_words(said):
    """Whether a message names options as arguments: neither as flags of the command nor as marks."""
    return not any(sign in str(said) for sign in (" --", "(--", "\ufdd0", "u{fdd"))


def test_an_option_is_an_argument():
    """The command says '--range: …' and '--range LO HI' here, '--nan skip' there."""
    with pytest.raises(ValueError, match="no finite range") as caught:
        zf.pair_histogram(X[:1], bins=3)
    assert str(caught.value).startswith("range: ")
    assert "give one: range=(LO, HI)" in str(caught.value)
    with pytest.raises(ValueError, match="nan='skip' leaves such pairs out, nan='propagate' lets them through"):
        zf.pair_histogram([[0.0], [np.nan]], bins=3)


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_meant_is_said(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, zf.ZipfoldError)
    assert in_words(caught.value)


def test_an_environment_that_means_nothing_is_an_error_of_the_first_call():
    code = "import zipfold as zf\ntry: zf.cdist([[0.0]], [[1.0]])\nexcept ValueError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"ZIPFOLD_MEMORY": "lots"}, capture_output=True, text=True, check=True
    )
    assert "ZIPFOLD_" in done.stdout
    assert "memory" in done.stdout


def test_a_box_of_one_length_has_it_on_all_sides():
    assert zf.pair_histogram(X, bins=4, range=(0, 1), box=1.0) == zf.pair_histogram(X, bins=4, range=(0, 1), box=[1, 1, 1])


def test_the_package_shows_what_it_has_and_nothing_else():
    assert dir(zf) == sorted(zf.__all__)
    assert all(hasattr(zf, name) for name in dir(zf))
    assert {"NearestNeighbors", "KernelDensity", "KNeighborsTransformer"} <= set(dir(zf))


def test_marginals_are_a_mapping():
    network = zf.Network([np.array([0.25, 0.75]), np.full((2, 2), 0.5)], [["lung"], ["lung", "smoke"]], names=["lung", "smoke"], bayes=True)
    m = zf.infer(network)
    assert list(m) == ["lung", "smoke"]
    assert len(m) == 2
    assert "lung" in m
    assert "nose" not in m
    assert dict(m.items())["lung"] == {"0": 0.25, "1": 0.75}
    with pytest.raises(KeyError, match="try 'lung'"):
        m["long"]
    kept, log10 = zf.infer(network, "sum", keep="lung")
    np.testing.assert_allclose(kept * 10**log10, [0.25, 0.75])
    assert zf.infer(network, "mmap", keep="lung")[0] == {"lung": "1"}


def test_tables_of_children_that_do_not_sum_to_one_are_refused():
    wrong = zf.Network([np.array([0.8, 0.2]), np.array([[0.9, 0.2], [0.1, 0.8]])], [["rain"], ["rain", "wet"]], names=["rain", "wet"], bayes=True)
    with pytest.raises(ValueError, match=r"table 1: the row \[0, :\] of the child 'wet' sums to 1.1(.|\n)*moveaxis"):
        zf.infer(wrong)
    assert zf.infer(zf.Network(wrong.tables, wrong.scopes, wrong.names), "pr") == pytest.approx(np.log10(0.8 * 1.1 + 0.2 * 0.9))


def test_a_function_of_numba_is_the_function_it_is_made_of():
    class Compiled:
        def __init__(self, function):
            self.py_func = function

        def __call__(self, *_):
            raise AssertionError("compiled code has no formula")

    np.testing.assert_array_equal(zf.cdist(X, X, Compiled(lambda x, y: abs(x - y).sum())), zf.cdist(X, X, "cityblock"))


def test_rows_of_truth_take_and_or_not():
    bits = X > 0.5
    got = zf.cdist(bits, bits, lambda x, y: (x & y).sum() + (x[0] | ~y[1]) + (x ^ y).any())
    wanted = [[(a & b).sum() + int(a[0] | ~b[1]) + int((a ^ b).any()) for b in bits] for a in bits]
    np.testing.assert_array_equal(got, wanted)
    with pytest.raises(zf.TraceError, match="truth values"):
        zf.cdist(X, bits, lambda x, y: (x & y).sum())


def test_options_of_one_number_may_be_arrays_of_one():
    for gamma in (np.array([0.5]), np.array(0.5), np.float32(0.5)):
        np.testing.assert_array_equal(zf.pairwise_kernels(X, metric="rbf", gamma=gamma), zf.pairwise_kernels(X, metric="rbf", gamma=0.5))


def test_slices_in_joins_are_of_the_columns_that_the_caller_has():
    random = np.random.default_rng(5)
    a = pd.DataFrame({"who": ["a", "b"] * 30, **{name: random.random(60) for name in "pqrs"}})
    b = pd.DataFrame({"u": random.random(50), "v": random.random(50), "kind": ["a"] * 50})
    for sliced, written in [
        ("sum(x[2:4] - y[0:2]) > 0.1", "(x.q - y.u) + (x.r - y.v) > 0.1"),
        ("sum(x[ 1 : 3 ] - y[:2]) > 0.1 and x.who == y.kind", "(x.p - y.u) + (x.q - y.v) > 0.1 and x.who == y.kind"),
        ("max(x[3:]) < y[1]", "max(x.r, x.s) < y.v"),
        ("x[4] < sum(y[0:1])", "x.s < y.u"),
    ]:
        got, wanted = (zf.join(a, b, where, rows=True) for where in (sliced, written))
        assert len(wanted.i) and got.i.tolist() == wanted.i.tolist() and got.j.tolist() == wanted.j.tolist()
    traced = zf.join(a, b, lambda x, y: (x[-2:] - y[:2]).sum() > 0.1, rows=True)
    assert traced.i.tolist() == zf.join(a, b, "(x.r - y.u) + (x.s - y.v) > 0.1", rows=True).i.tolist()
    for wrong in ("sum(x[3:9]) > 0", "sum(x[2:2]) > 0", "sum(y[3:]) > 0"):
        with pytest.raises(ValueError, match="expected a slice of the"):
            zf.join(a, b, wrong)


def test_texts_in_the_formulas_of_joins_compare_with_columns_of_text():
    random = np.random.default_rng(6)
    words = np.array(["ann", "bob", "Zoe", "ä", "a b", "x == y", "", None], dtype=object)
    a = pd.DataFrame({"t": random.random(80), "who": random.choice(words, 80)})
    b = pd.DataFrame({"t": random.random(70), "who": random.choice(words, 70)})
    left, right = a.assign(i=range(80)), b.assign(j=range(70))
    both = left.merge(right, how="cross")
    known = both.who_x.notna()
    for text, holds in [
        ("x.who == 'bob' and x.t < y.t", (both.who_x == "bob") & (both.t_x < both.t_y)),
        ('x.who == "x == y" and y.who != "ann"', (both.who_x == "x == y") & both.who_y.notna() & (both.who_y != "ann")),
        ("x.who < 'b' and x.t < y.t", known & (both.who_x.fillna("") < "b") & (both.t_x < both.t_y)),
        ("x.who == 'nobody'", both.t_x < 0),
        ("x.who == '' and x.t < y.t", (both.who_x == "") & (both.t_x < both.t_y)),
        ("'bob' <= y.who and x.t < y.t", both.who_y.notna() & (both.who_y.fillna("") >= "bob") & (both.t_x < both.t_y)),
    ]:
        found = zf.join(a, b, text, rows=True)
        assert list(zip(found.i, found.j, strict=True)) == list(zip(both.i[holds], both.j[holds], strict=True)), text
    traced = zf.join(a, b, lambda x, y: (x.who == "bob") & (x.t < y.t), rows=True)
    assert traced.i.tolist() == zf.join(a, b, "x.who == 'bob' and x.t < y.t", rows=True).i.tolist()
    own = zf.join(a, where="x.who == 'bob' and y.who == 'ann'", rows=True)
    pairs = {(i, j) for i in range(80) for j in range(80) if a.who[i] == "bob" and a.who[j] == "ann" and i != j}
    assert {*zip(own.i.tolist(), own.j.tolist(), strict=True)} == pairs
    empty = zf.join(a, b, lambda x, y: (x.who == "") & (x.t < y.t), rows=True)
    assert empty.i.tolist() == zf.join(a, b, "x.who == '' and x.t < y.t", rows=True).i.tolist() != []
    for wrong in ("x.t == 'bob'", "x.who + 'a' == y.who"):
        with pytest.raises(ValueError):
            zf.join(a, b, wrong)


def test_functions_of_tables_of_two_widths_see_each_of_its_own():
    random = np.random.default_rng(7)
    a, b = random.random((30, 4)), random.random((20, 2))
    for function, wanted in [
        (lambda x, y: x[-1] - y[-1], a[:, None, 3] - b[None, :, 1]),
        (lambda x, y: x[2:].sum() * y[0], a[:, None, 2:].sum(-1) * b[None, :, 0]),
        (lambda x, y: (x[:2] - y[:]).sum(), (a[:, None, :2] - b[None]).sum(-1)),
        (lambda x, y: sum(y) + len(x), b.sum(-1)[None, :] + 4 + 0 * a[:, :1]),
    ]:
        got = zf.pairs(a, b).pair(function).fold(zf.fold.matrix()).run()
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
    with pytest.raises(IndexError):
        zf.pairs(a, b).pair(lambda x, y: y[2])
    with pytest.raises(TypeError, match="vectors of 2 and of 4 components"):
        zf.pairs(a, b).pair(lambda x, y: (x - y).sum())
