"""Quantiles of rows are those of NumPy."""

import numpy as np
import pytest
import zipfold as zf
from scipy.spatial.distance import cdist

METRICS = {"euclidean": "euclidean", "cityblock": "cityblock", "chebyshev": "chebyshev"}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 300, 3), (130, 129, 2), (257, 1000, 20), (3, 2, 5)])
def test_quantiles_are_those_of_numpy(metric, shape):
    n, m, d = shape
    rng = np.random.default_rng(n + m)
    x, y = rng.random((n, d)), rng.random((m, d))
    q = [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]
    wanted = np.quantile(cdist(x, y, METRICS[metric]), q, axis=1).T
    got = zf.pairs(x, y).pair(metric).quantile(q).run()
    assert got.shape == (n, len(q))
    np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15)
    median = zf.pairs(x, y).pair(metric).median().run(threads=3)
    assert median.shape == (n,)
    np.testing.assert_array_equal(median, got[:, 3])


def test_ties_and_integers_have_the_bits_of_numpy():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 4, (140, 3)).astype(float), rng.integers(0, 4, (333, 3)).astype(float)
    q = np.linspace(0, 1, 21)
    wanted = np.quantile(cdist(x, y, "cityblock"), q, axis=1).T
    np.testing.assert_array_equal(zf.pairs(x, y).pair("cityblock").quantile(q).run(), wanted)


def test_a_set_with_itself():
    x = np.random.default_rng(3).random((200, 2))
    whole = cdist(x, x)
    np.testing.assert_allclose(zf.pairs(x).median().run(), np.median(whole, axis=1), rtol=1e-14)
    others = whole[~np.eye(200, dtype=bool)].reshape(200, 199)
    for domain in ("ordered", "triangle"):
        got = zf.pairs(x).domain(domain).median().run()
        np.testing.assert_allclose(got, np.median(others, axis=1), rtol=1e-14)


def test_shares_merge_to_the_bits_of_the_whole():
    x = np.random.default_rng(4).random((900, 3))
    asked = zf.pairs(x).quantile([0.2, 0.9])
    parts = [asked.run(shard=(i, 4)) for i in range(4)]
    np.testing.assert_array_equal(zf.merge(asked, parts), asked.run())


def test_what_is_no_quantile_is_refused():
    x = np.zeros((3, 1))
    for q in (1.5, -0.1, [], float("nan")):
        with pytest.raises(zf.RequestError, match="quantile"):
            zf.pairs(x).quantile(q).run()
    with pytest.raises(zf.RequestError, match="all pairs of a row"):
        zf.pairs(x).domain("triangle").median().histogram(2, (0, 1)).run()
