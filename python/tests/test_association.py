"""Networks of rows that go together: against pandas and SciPy."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import stats

import zipfold as zf


def genes(rng, rows=60, samples=45, missing=0.06, digits=9):
    factors = rng.normal(size=(4, samples))
    x = rng.normal(size=(rows, 4)) * (rng.random((rows, 4)) < 0.4) @ factors + rng.normal(size=(rows, samples))
    x = np.round(x, digits)
    x[7] = 0.1
    x[rng.random(x.shape) < missing] = np.nan
    return x


def all_pairs(x, method, min_periods):
    r = pd.DataFrame(x.T).corr(method=method, min_periods=min_periods).to_numpy()
    there = (~np.isnan(x)).astype(int)
    i, j = np.triu_indices(len(x), 1)
    keep = ~np.isnan(r[i, j])
    return i[keep], j[keep], r[i, j][keep], (there @ there.T)[i, j][keep]


def p_values(x, method, i, j, r, n):
    if method == "kendall":
        both = [~np.isnan(x[a]) & ~np.isnan(x[b]) for a, b in zip(i, j)]
        return np.array([stats.kendalltau(x[a, m], x[b, m]).pvalue for a, b, m in zip(i, j, both)])
    t = r * np.sqrt((n - 2) / ((1 + r) * (1 - r)))
    return 2 * stats.t.sf(np.abs(t), n - 2)


@pytest.mark.parametrize("missing", [0.0, 0.06, 0.4])
@pytest.mark.parametrize("digits", [0, 9])
@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_values_and_discoveries_are_those_of_pandas_and_scipy(rng, method, digits, missing):
    x = genes(rng, missing=missing, digits=digits)
    i, j, r, n = all_pairs(x, method, 10)
    p = p_values(x, method, i, j, r, n)
    with pytest.warns(zf.ZipfoldWarning, match="1 row never varies"):
        every = zf.network(x, measure=method, min_periods=10)
    np.testing.assert_array_equal(every.i, i)
    np.testing.assert_array_equal(every.j, j)
    np.testing.assert_array_equal(every.counts, n)
    np.testing.assert_allclose(every.values, r, rtol=0, atol=1e-12)
    np.testing.assert_allclose(every.p, p, rtol=1e-9)
    assert every.tested == len(p) and every.constant == 1
    with pytest.warns(zf.ZipfoldWarning):
        found = zf.network(x, measure=method, min_periods=10, fdr=0.05)
    q = stats.false_discovery_control(p)
    keep = q <= 0.05
    np.testing.assert_array_equal(found.i, i[keep])
    np.testing.assert_array_equal(found.j, j[keep])
    np.testing.assert_allclose(found.q, q[keep], rtol=1e-9)


def bicor(x, y):
    """Langfelder and Horvath 2012."""
    both = ~np.isnan(x) & ~np.isnan(y)

    def weighed(v):
        away = v - np.median(v)
        mad = np.median(np.abs(away))
        if mad == 0:
            return v - v.mean()
        u = away / (9 * mad)
        return away * (1 - u**2) ** 2 * (np.abs(u) < 1)

    a, b = weighed(x[both]), weighed(y[both])
    return (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_bicor_is_that_of_its_paper(rng, missing):
    x = np.delete(genes(rng, missing=missing), 7, axis=0)
    got = zf.network(x, measure="bicor")
    wanted = [bicor(x[a], x[b]) for a, b in zip(got.i, got.j)]
    np.testing.assert_allclose(got.values, wanted, rtol=0, atol=1e-12)
    t = np.abs(got.values) * np.sqrt((got.counts - 2) / (1 - got.values**2))
    np.testing.assert_allclose(got.p, 2 * stats.t.sf(t, got.counts - 2), rtol=1e-9)


def daub(x, y, bins, order):
    """Daub and others 2004: splines of SciPy, sums over common samples."""
    from scipy.interpolate import BSpline

    last = bins - order + 1
    knots = np.concatenate([np.zeros(order - 1), np.arange(last + 1), np.full(order - 1, last)])

    def weights(v):
        z = (v - np.nanmin(v)) / (np.nanmax(v) - np.nanmin(v)) * last
        return BSpline.design_matrix(np.where(np.isnan(z), 0, z), knots, order - 1).toarray()

    both = ~np.isnan(x) & ~np.isnan(y)
    p = weights(x)[both].T @ weights(y)[both] / both.sum()
    independent = np.outer(p.sum(1), p.sum(0))
    return (p[p > 0] * np.log(p[p > 0] / independent[p > 0])).sum()


@pytest.mark.parametrize(("bins", "order"), [(10, 3), (6, 2), (20, 4)])
def test_mutual_information_is_that_of_splines(rng, bins, order):
    x = np.delete(genes(rng, rows=15, missing=0.1), 7, axis=0)
    got = zf.network(x, measure="mi", bins=bins, order=order)
    wanted = [daub(x[a], x[b], bins, order) for a, b in zip(got.i, got.j)]
    np.testing.assert_allclose(got.values, wanted, rtol=0, atol=1e-12)
    assert got.p is None


def test_names_files_and_matrices(tmp_path, rng):
    x = genes(rng, missing=0.05)
    frame = pd.DataFrame(x, index=[f"G{k}" for k in range(len(x))])
    frame.to_csv(tmp_path / "x.csv", index_label="gene")
    how = {"measure": "spearman", "fdr": 0.1, "power": 6, "sign": "signed"}
    paths = [tmp_path / f"e.{suffix}" for suffix in ("csv", "parquet", "npz", "csr.npz", "graphml", "svg")]
    with pytest.warns(zf.ZipfoldWarning):
        got = zf.network(tmp_path / "x.csv", save=paths, matrices=("values", "overlaps"), **how)
    with pytest.warns(zf.ZipfoldWarning):
        same = zf.network(frame, matrices=("values", "overlaps"), **how)
    assert same == got
    with pytest.warns(zf.ZipfoldWarning):
        turned = zf.network(frame.T, transpose=True, **how)
    assert turned.names == got.names and np.array_equal(turned.values, got.values)
    np.testing.assert_allclose(got.weights, ((1 + got.values) / 2) ** 6, rtol=1e-14)
    table = pd.read_csv(paths[0], comment="#")
    pd.testing.assert_frame_equal(table.drop(columns=["i", "j"]), got.table(), check_dtype=False, check_exact=True)
    assert pd.read_parquet(paths[1])["a"].tolist() == got.table()["a"].tolist()
    with np.load(paths[2]) as archive:
        np.testing.assert_array_equal(archive["spearman"], got.values)
    sparse = scipy.sparse.load_npz(paths[3])
    np.testing.assert_array_equal(sparse.toarray(), got.csr().toarray())
    assert sparse.has_sorted_indices and (abs(sparse - sparse.T)).nnz == 0
    import xml.etree.ElementTree as tree

    space = "{http://graphml.graphdrawing.org/xmlns}"
    graph = tree.parse(paths[4]).getroot().find(f"{space}graph")
    assert len(graph.findall(f"{space}edge")) == len(got.i)
    assert graph.find(f"{space}node").find(f"{space}data").text == "G0"
    assert paths[5].read_text().startswith("<svg")
    np.testing.assert_array_equal(got.degrees, np.asarray((sparse != 0).sum(axis=0)).ravel())
    values = got.matrices["values"]
    np.testing.assert_array_equal(values[got.i, got.j], got.values)
    weights = np.nan_to_num(((1 + values) / 2) ** 6)
    np.fill_diagonal(weights, 0)
    k = weights.sum(0)
    overlap = (weights @ weights + weights) / (np.minimum(k[:, None], k) + 1 - weights)
    np.fill_diagonal(overlap, 1)
    np.testing.assert_allclose(got.matrices["overlaps"], overlap, rtol=1e-12)


def scale_free(k):
    """WGCNA's scaleFreeFitIndex."""
    ends = np.linspace(k.min(), k.max(), 11)
    place = np.clip(np.searchsorted(ends, k, side="left") - 1, 0, 9)
    count = np.bincount(place, minlength=10)
    middle = (ends[1:] + ends[:-1]) / 2
    mean = np.array([k[place == b].mean() if count[b] else middle[b] for b in range(10)])
    fit = stats.linregress(np.log10(mean), np.log10(count / len(k) + 1e-9))
    return -np.sign(fit.slope) * fit.rvalue**2, fit.slope


def test_powers_are_fitted(rng):
    x = np.delete(genes(rng, rows=200), 7, axis=0)
    got = zf.network(x, measure="bicor", powers=[1, 4, 9], threshold=0.9, matrices="values")
    r = np.abs(got.matrices["values"])
    np.fill_diagonal(r, 0)
    for at, power in enumerate(got.fits["power"]):
        k = (r**power).sum(0)
        r2, slope = scale_free(k)
        np.testing.assert_allclose(got.fits["r2"][at], r2, rtol=1e-9)
        np.testing.assert_allclose(got.fits["slope"][at], slope, rtol=1e-9)
        np.testing.assert_allclose(got.fits["mean"][at], k.mean(), rtol=1e-12)
        np.testing.assert_allclose(got.fits["median"][at], np.median(k), rtol=1e-12)
    chosen = zf.network(x, measure="bicor", power="auto", threshold=0.9)
    fine = chosen.fits["power"][chosen.fits["r2"] >= 0.85]
    assert chosen.power == (fine[0] if len(fine) else chosen.fits["power"][np.nanargmax(chosen.fits["r2"])])


def test_best_edges_and_triangles(rng):
    x = np.delete(genes(rng), 7, axis=0)
    r = np.abs(pd.DataFrame(x.T).corr().to_numpy())
    np.fill_diagonal(r, 0)
    best = {tuple(sorted((a, int(b)))) for a in range(len(x)) for b in np.argsort(-r[a], kind="stable")[:4]}
    got = zf.network(x, top=4)
    assert list(zip(got.i, got.j)) == sorted(best)
    both = zf.network(x, top=4, fdr=1.0)
    assert list(zip(both.i, both.j)) == sorted(best)
    pruned = zf.network(x, threshold=0.3, prune=0.0)
    r[r < 0.3] = 0
    weakest = {
        (a, b)
        for a in range(len(x))
        for b in range(a + 1, len(x))
        if r[a, b] and (np.minimum(r[a], r[b]) > r[a, b]).any()
    }
    kept = {(a, b) for a, b in zip(*np.nonzero(np.triu(r)))} - weakest
    assert set(zip(pruned.i, pruned.j)) == kept


def test_permutations_are_a_loop_of_orders(rng):
    x = np.delete(genes(rng, rows=12, samples=14), 7, axis=0)
    got = zf.network(x, measure="spearman", permutations=400, seed=5)
    theory = zf.network(x, measure="spearman").p
    assert np.abs(got.p - theory).max() < 0.12
    assert np.abs(got.p - theory).mean() < 0.03
    np.testing.assert_array_equal(got.p, zf.network(x, measure="spearman", permutations=400, seed=5, threads=1).p)


def test_refusals_and_plans(rng):
    x = genes(rng, rows=9)
    with pytest.raises(zf.RequestError, match="permutations=1000"):
        zf.network(x, measure="mi", fdr=0.1)
    with pytest.raises(zf.InputError, match="'A' in rows 0 and 2"):
        zf.network(x[:3], names=["A", "B", "A"])
    with pytest.raises(zf.InputError, match="got inf"):
        zf.network([[1.0, np.inf], [1.0, 2.0]])
    with pytest.raises(zf.InputError, match="none for 3 rows"):
        zf.network(np.empty((3, 0)))
    with pytest.raises(zf.RequestError, match="powers="):
        zf.network(x, powers=[2, -1])
    with pytest.raises(zf.RequestError, match="order=3"):
        zf.network(x, measure="mi", order=6)
    with pytest.raises(zf.RequestError, match="matrices"):
        zf.network(x, matrices="tom")
    with pytest.raises(zf.RequestError, match="power=6"):
        zf.network(x, matrices="weights")
    text = zf.network(x, measure="spearman", fdr=0.05, explain=True)
    assert "two sweeps" in text and "9 by 45 samples" in text
    assert json.dumps(text)
    with pytest.warns(zf.ZipfoldWarning, match="fewer than 30 values"):
        short = np.vstack([x, np.where(np.arange(45) < 20, 1.0 * np.arange(45), np.nan)])
        assert zf.network(short, min_periods=30).i.max() < 9


@pytest.mark.parametrize("measure", ["pearson", "spearman", "kendall", "bicor", "mi"])
def test_orders_without_a_value_are_counted(rng, measure):
    x = genes(rng, rows=16, samples=12, missing=0.2)[8:]
    got = zf.network(x, measure=measure, permutations=60, min_periods=5, seed=9)
    drawn = zf.network(x, measure=measure, permutations=60, min_periods=8, seed=9)
    common = {(i, j): p for i, j, p in zip(got.i, got.j, got.p)}
    more = [p - common[i, j] for i, j, p in zip(drawn.i, drawn.j, drawn.p)]
    assert min(more) >= 0 and max(more) > 0.02 and got.p.max() <= 1
