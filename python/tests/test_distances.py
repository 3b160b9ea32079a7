"""``cdist`` and ``pdist`` against SciPy, on every metric both have."""

import numpy as np
import pytest
from scipy.spatial import distance as scipy_distance

import zipfold as zf

REAL = ["braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming"]
REAL += ["mahalanobis", "minkowski", "seuclidean", "sqeuclidean"]
BOOLEAN = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]


def rows(rng, metric, n, d=7):
    if metric in BOOLEAN:
        return rng.random((n, d)) < 0.5
    if metric == "jensenshannon":
        return rng.random((n, d))
    return rng.normal(size=(n, d))


@pytest.mark.parametrize("metric", [*REAL, *BOOLEAN, "jensenshannon"])
@pytest.mark.parametrize("n", [13, 140])
def test_every_metric_agrees_with_scipy(rng, metric, n):
    a, b = rows(rng, metric, n), rows(rng, metric, 9)
    np.testing.assert_allclose(zf.cdist(a, b, metric), scipy_distance.cdist(a, b, metric), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(zf.pdist(a, metric), scipy_distance.pdist(a, metric), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("minkowski", {"p": 1.5}),
        ("minkowski", {"p": 3, "w": np.arange(1.0, 8.0)}),
        ("cosine", {"w": np.arange(1.0, 8.0)}),
        ("hamming", {"w": np.arange(1.0, 8.0)}),
        ("seuclidean", {"V": np.arange(1.0, 8.0)}),
        ("mahalanobis", {"VI": np.diag(np.arange(1.0, 8.0))}),
    ],
)
def test_options_are_scipys(rng, metric, options):
    a, b = rng.normal(size=(11, 7)), rng.normal(size=(6, 7))
    wanted = scipy_distance.cdist(a, b, metric, **options)
    np.testing.assert_allclose(zf.cdist(a, b, metric, **options), wanted, rtol=1e-12)


def test_a_formula_a_function_and_a_name_are_one_thing(rng):
    a, b = rng.normal(size=(20, 4)), rng.normal(size=(30, 4))
    named = zf.cdist(a, b, "cityblock")
    assert np.array_equal(named, zf.cdist(a, b, "sum(abs(x - y))"))
    assert np.array_equal(named, zf.cdist(a, b, lambda x, y: abs(x - y).sum()))
    assert np.array_equal(named, zf.cdist(a, b, lambda x, y: np.sum(np.abs(x - y))))


def test_out_is_filled_and_returned(rng):
    a, b = rng.normal(size=(150, 5)), rng.normal(size=(140, 5))
    wanted = scipy_distance.cdist(a, b)
    out = np.full((150, 140), np.nan)
    assert zf.cdist(a, b, out=out) is out
    np.testing.assert_allclose(out, wanted, rtol=1e-13)
    single = np.zeros((150, 140), np.float32)
    zf.cdist(a, b, out=single)
    np.testing.assert_allclose(single, wanted, rtol=1e-6)
    condensed = np.zeros(150 * 149 // 2)
    assert zf.pdist(a, out=condensed) is condensed
    np.testing.assert_allclose(condensed, scipy_distance.pdist(a), rtol=1e-13)


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((4, 4)),
        np.zeros((3, 4), np.int64),
        np.zeros((4, 3)).T,
        np.zeros((3, 8))[:, ::2],
        np.broadcast_to(0.0, (3, 4)),
    ],
)
def test_an_out_that_does_not_fit_is_refused(rng, out):
    with pytest.raises(ValueError, match="out"):
        zf.cdist(rng.normal(size=(3, 2)), rng.normal(size=(4, 2)), out=out)


def test_single_precision_on_request(rng):
    a = rng.normal(size=(40, 33)).astype(np.float32)
    assert zf.cdist(a, a).dtype == np.float64
    single = zf.cdist(a, a, precision="f32")
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, scipy_distance.cdist(a, a), rtol=1e-5, atol=1e-6)


def test_nan_goes_through_as_in_scipy():
    a = np.array([[0.0, np.nan], [1.0, 2.0]])
    for metric in ["euclidean", "cityblock", "chebyshev", "cosine"]:
        assert np.isnan(zf.cdist(a, a, metric)[0]).all(), metric


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0, 0)])
def test_nothing_gives_nothing(shape):
    a = np.zeros(shape)
    assert zf.cdist(a, a).shape == (shape[0], shape[0])
    assert np.array_equal(zf.cdist(a, a), scipy_distance.cdist(a, a))
