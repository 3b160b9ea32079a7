"""Estimators: scikit-learn's own checks, and its answers."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_iris
from sklearn.neighbors import KernelDensity, KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import zipfold as zf


@parametrize_with_checks([zf.NearestNeighbors(), zf.KNeighborsTransformer(), zf.KernelDensity()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture
def xy(rng):
    return rng.normal(size=(80, 4)), rng.normal(size=(30, 4))


@pytest.mark.parametrize("metric", ["minkowski", "euclidean", "manhattan", "chebyshev", "cosine"])
def test_neighbours_are_scikit_learns(xy, metric):
    x, y = xy
    ours = zf.NearestNeighbors(n_neighbors=4, radius=1.2, metric=metric).fit(x)
    theirs = NearestNeighbors(n_neighbors=4, radius=1.2, metric=metric, algorithm="brute").fit(x)
    for query in (None, y):
        for got, wanted in zip(ours.kneighbors(query), theirs.kneighbors(query), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        got, wanted = ours.kneighbors_graph(query, mode="distance"), theirs.kneighbors_graph(query, mode="distance")
        np.testing.assert_allclose(got.toarray(), wanted.toarray(), rtol=1e-6)
        got, wanted = ours.radius_neighbors_graph(query), theirs.radius_neighbors_graph(query)
        np.testing.assert_array_equal(got.toarray(), wanted.toarray())
        got = ours.radius_neighbors(query, sort_results=True)
        wanted = theirs.radius_neighbors(query, sort_results=True)
        for a, b in zip(got, wanted, strict=True):
            assert len(a) == len(b)
            for one, other in zip(a, b, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_more_neighbours_than_there_are(xy):
    with pytest.raises(ValueError, match="n_neighbors = 81"):
        zf.NearestNeighbors().fit(xy[0]).kneighbors(n_neighbors=81)


def test_a_step_of_a_pipeline():
    x, y = load_iris(return_X_y=True)
    ours = make_pipeline(
        StandardScaler(), zf.KNeighborsTransformer(n_neighbors=7), KNeighborsClassifier(5, metric="precomputed")
    )
    theirs = make_pipeline(StandardScaler(), KNeighborsClassifier(5, algorithm="brute"))
    assert ours.fit(x, y).score(x, y) == pytest.approx(theirs.fit(x, y).score(x, y), abs=0.01)
    graph = zf.NearestNeighbors(radius=0.5).fit(x).radius_neighbors_graph(x, mode="distance")
    labels = DBSCAN(eps=0.5, metric="precomputed").fit_predict(graph)
    np.testing.assert_array_equal(labels, DBSCAN(eps=0.5).fit_predict(x))


@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_densities_are_scikit_learns(xy, rng, kernel, weighted):
    x, y = xy[0][:, :3], xy[1][:, :3]
    weights = rng.random(80) if weighted else None
    for bandwidth in (0.9, "scott"):
        ours = zf.KernelDensity(kernel=kernel, bandwidth=bandwidth).fit(x, sample_weight=weights)
        theirs = KernelDensity(kernel=kernel, bandwidth=bandwidth, rtol=1e-12).fit(x, sample_weight=weights)
        np.testing.assert_allclose(ours.score_samples(y), theirs.score_samples(y), rtol=1e-9)


def test_samples_of_a_density_lie_where_it_is(rng):
    density = zf.KernelDensity(kernel="tophat", bandwidth=0.1).fit([[0.0, 0.0], [5.0, 5.0]])
    points = density.sample(200, random_state=0)
    assert np.isfinite(density.score_samples(points)).all()
