"""Histograms, joins, correlations; tables in and out; pictures."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import zipfold as zf

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def test_histogram_is_numpys(rng):
    x = rng.normal(size=(300, 3))
    got = zf.pair_histogram(x, bins=30, range=(0.5, 4))
    wanted, edges = np.histogram(pdist(x), 30, (0.5, 4))
    np.testing.assert_array_equal(got.counts, wanted)
    np.testing.assert_allclose(got.edges, edges, rtol=1e-14)
    assert got.counts.dtype == np.uint64
    assert got.under == (pdist(x) < 0.5).sum()
    assert got.over == (pdist(x) > 4).sum()
    assert got.under + got.over + got.counts.sum() == 300 * 299 // 2
    assert got.density() @ np.diff(edges) == pytest.approx(1)
    whole = zf.pair_histogram(x, bins=7)
    np.testing.assert_array_equal(whole.edges[[0, -1]], [pdist(x).min(), pdist(x).max()])
    assert whole.over == whole.under == 0


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "cosine", "1 * sqrt(sum((x - y)^2))", "x[0] - y[1]"])
def test_ranges_that_are_found_are_numpys(rng, metric):
    lattice = rng.integers(1, 9, (60, 3)) * 0.1
    for x in (lattice, rng.random((250, 3)), lattice.astype(np.float32), lattice + 1e6):
        values = zf.pairs(x).pair(metric).precision("f64").domain("square").matrix().run()
        one_way = metric == "x[0] - y[1]"
        values = values[~np.eye(len(x), dtype=bool)] if one_way else values[np.triu_indices(len(x), 1)]
        question = zf.pairs(x).pair(metric).histogram(7)
        got = question.run()
        wanted, edges = np.histogram(values, 7)
        np.testing.assert_array_equal(got.counts, wanted)
        np.testing.assert_array_equal(got.edges, edges)
        assert got.over == got.under == 0
        assert "first" in str(question.explain())


def test_histogram_of_two_samples_with_weights_and_means(rng):
    x, y, w, v = rng.random((40, 2)), rng.random((30, 2)), rng.random(40), rng.random(30)
    got = zf.pair_histogram(x, y, [0, 0.3, 0.9], weights=(w, v), mean=True, closed="half-open")
    gaps = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))
    wanted = np.histogram(gaps, [0, 0.3, 0.9], weights=w[:, None] * v)[0]
    np.testing.assert_allclose(got.weights, wanted, rtol=1e-12)
    np.testing.assert_allclose(got.means[0], gaps[gaps < 0.3].mean(), rtol=1e-12)


def test_histogram_of_two_axes(rng):
    x = rng.random((50, 3))
    axes = [
        {"value": "norm(x - y)", "bins": 4, "range": (0, 2)},
        {"value": "abs(x[2] - y[2])", "edges": [0, 0.25, 1]},
    ]
    got = zf.pairs(x).histogram(axes=axes).run()
    i, j = np.triu_indices(50, 1)
    wanted = np.histogram2d(pdist(x), abs(x[i, 2] - x[j, 2]), [np.linspace(0, 2, 5), [0, 0.25, 1]])[0]
    np.testing.assert_array_equal(got.counts, wanted)


def test_similarity_join(rng):
    x = rng.random((200, 2))
    found = zf.similarity_join(x, within=0.1)
    gaps = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    i, j = np.nonzero(np.triu(gaps <= 0.1, 1))
    assert found.i.tolist() == i.tolist()
    assert found.j.tolist() == j.tolist()
    np.testing.assert_allclose(found.values, gaps[i, j], rtol=1e-13)
    np.testing.assert_allclose(found.graph().toarray()[i, j], gaps[i, j], rtol=1e-13)
    assert len(zf.similarity_join(x, at_least=0.9, value=False)) == (np.triu(gaps, 1) >= 0.9).sum()
    with pytest.raises(ValueError, match="within"):
        zf.similarity_join(x)


LEFT = {"t": [0.0, 5.0, 9.0, 2.0], "who": ["ann", "bob", None, "eve"], "n": [1, 2, 3, 4]}
RIGHT = {"t": [0.1, 5.2, 9.1], "who": ["ann", "ann", "eve"], "m": [10, 20, 30]}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_join_in_the_callers_library(library):
    left, right = library(LEFT), library(RIGHT)
    out = zf.join(left, right, lambda x, y: (abs(x.t - y.t) < 1) & (x.n < 3), value="y.t - x.t")
    assert type(out) is type(left)
    columns = out.to_pydict() if hasattr(out, "to_pydict") else {c: list(out[c]) for c in out.columns}
    assert list(columns) == ["t_x", "who_x", "n", "t_y", "who_y", "m", "value"]
    assert columns["n"] == [1, 2]
    assert columns["m"] == [10, 20]
    assert columns["value"] == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_compares_across_tables_and_nulls_match_nothing(library):
    found = zf.join(library(LEFT), library(RIGHT), "x.who == y.who", rows=True)
    assert list(zip(found.i, found.j, strict=True)) == [(0, 0), (0, 1), (3, 2)]
    anti = zf.join(library(LEFT), library(RIGHT), "x.who == y.who", kind="anti", rows=True)
    assert anti.tolist() == [1, 2]
    semi = zf.join(library(LEFT), library(RIGHT), "x.who == y.who", kind="semi")
    assert len(semi) == 2


def test_join_of_duckdb_with_categories_and_times():
    duckdb = pytest.importorskip("duckdb")
    left = duckdb.sql("SELECT * FROM (VALUES (TIMESTAMP '2020-01-01 00:00:00', 1), (TIMESTAMP '2020-01-02', 2)) t(moment, n)")
    right = pd.DataFrame({"moment": pd.to_datetime(["2020-01-01 00:00:30"]), "kind": pd.Categorical(["a"])})
    found = zf.join(left, right, "abs(x.moment - y.moment) <= 30", rows=True)
    assert (found.i.tolist(), found.j.tolist()) == ([0], [0])


def test_join_asks_for_tables_and_columns():
    with pytest.raises(TypeError, match="a table is wanted"):
        zf.join([[1]], [[2]], "x.a < y.a")
    with pytest.raises(ValueError, match="no column 'b'"):
        zf.join(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), "x.b < y.b")
    with pytest.raises(AttributeError, match="no column 'b'"):
        zf.join(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), lambda x, y: x.b < y.b)
    with pytest.raises(ValueError, match="no condition"):
        zf.join(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_corr_is_pandas(rng, method):
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    pd.testing.assert_frame_equal(zf.corr(frame, method), frame.corr(method), rtol=1e-12)


def test_corr_leaves_missing_values_out_of_their_pairs(rng):
    frame = pd.DataFrame(rng.normal(size=(50, 4)) + 100, columns=list("abcd"))
    frame.iloc[:10, 0] = np.nan
    frame.iloc[5:48, 1] = np.nan
    pd.testing.assert_frame_equal(zf.corr(frame), frame.corr(), rtol=1e-9)
    pd.testing.assert_frame_equal(zf.corr(frame, min_periods=5), frame.corr(min_periods=5), rtol=1e-9)
    with pytest.raises(ValueError, match="dropna"):
        zf.corr(frame, "spearman")


@pytest.mark.parametrize("gaps", [False, True])
def test_kendall_is_pandas(rng, gaps, monkeypatch):
    # Small whole numbers, so that there are ties; slices so small that there are several.
    monkeypatch.setattr("zipfold.statistics._COMPARED", 1000)
    frame = pd.DataFrame(rng.integers(0, 6, size=(80, 4)).astype(float), columns=list("abcd"))
    if gaps:
        frame.iloc[:10, 0] = np.nan
        frame.iloc[5:78, 1] = np.nan
    pd.testing.assert_frame_equal(zf.corr(frame, "kendall"), frame.corr("kendall"), rtol=1e-12)
    few = zf.corr(frame, "kendall", min_periods=75)
    pd.testing.assert_frame_equal(few, frame.corr("kendall", min_periods=75), rtol=1e-12)
    assert few.isna().to_numpy().any() == gaps


def test_kendall_of_too_many_observations_says_what_to_do():
    with pytest.raises(ValueError, match="20000.*\n.*spearman"):
        zf.corr(np.zeros((20_001, 2)), "kendall")


def test_results_become_tables(rng):
    x = rng.random((30, 2))
    histogram, nearest = zf.pair_histogram(x, bins=5), zf.knn(x, k=2)
    matches = zf.similarity_join(x, within=0.2)
    for result, columns in [
        (histogram, ["lo", "hi", "count"]),
        (nearest, ["row", "rank", "index", "distance"]),
        (matches, ["i", "j", "value"]),
    ]:
        assert list(result.to_pandas().columns) == columns
        assert result.to_arrow().column_names == columns
    assert pl.DataFrame(matches)["i"].to_list() == matches.i.tolist()
    assert pa.table(nearest)["distance"].to_pylist() == nearest.distances.ravel().tolist()


def test_tiles_of_a_plan_cover_the_pairs_once():
    for question in [zf.pairs(np.zeros((70_000, 2))).condensed(), zf.pairs(np.zeros((900, 2)), np.zeros((70_000, 2))).nearest(1)]:
        plan = question.explain(memory="1TiB")
        seen = np.zeros([-(-side // 128) for side in plan.shape], int)
        for top, bottom, left, right in plan.tiles():
            seen[-(-top // 100) : -(-bottom // 100), -(-left // 100) : -(-right // 100)] += 1
        assert seen.max() == 1
        assert np.triu(seen).sum() == np.triu(np.ones_like(seen)).sum()
        assert len(plan.tiles()) <= 48 * 48


def test_results_draw_themselves(rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    from matplotlib.figure import Figure

    x = rng.random((30, 2))
    network = zf.Network([np.array([0.25, 0.75])], [["<rain>"]], names=["<rain>"])
    plans = [zf.pairs(x).matrix().explain(), zf.pairs(x, x[:3]).nearest(1).explain()]
    results = [zf.pair_histogram(x, bins=5), zf.knn(x, k=2), zf.similarity_join(x, within=0.2), zf.infer(network)]
    for result in [*results, *plans]:
        assert "<svg" in result._repr_html_()
        axes = Figure().subplots()
        assert result.plot(axes) is axes
        assert axes.has_data()
    assert "<rain>" not in zf.infer(network)._repr_html_()
