"""Answers that must not depend on how a question is written, or on the size of its numbers."""

import math
import struct

import numpy as np
import pandas as pd
import pytest

import zipfold as zf

EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, math.inf, -math.inf, 1e23]


def bits(values):
    return [struct.pack("<d", v) for v in values]


def numbers(rng, n):
    with np.errstate(all="ignore"):
        wild = np.frombuffer(rng.bytes(8 * n), np.float64)
    wild = np.where(np.isnan(wild), 0.1, wild)
    return [*EXTREMES, *wild.tolist(), *(rng.random(n) * 100).tolist(), *(rng.integers(0, 10**6, n) * 0.001).tolist()]


def test_numbers_keep_their_bits_between_python_and_the_engine(rng):
    sent = numbers(rng, 33_000)
    question = zf.pairs([[0.0], [1.0]]).pair("abs(x[0] - y[0])", v=sent[:7])
    for at in range(0, len(sent), 5_000):
        part = sent[at : at + 5_000]
        edges = np.unique(part)
        asked = question.histogram(edges) if len(edges) > 1 else question.count()
        problem = asked.outcome().problem
        got = problem["folds"][0]["axes"][0]["edges"]
        assert bits(float(v) for v in got) == bits(edges)
    params = question.count().outcome().problem["pair"]["params"]["v"]
    assert bits(float(v) for v in params) == bits(sent[:7])


def test_values_on_an_edge_are_in_the_bin_that_numpy_says(rng):
    X = rng.integers(0, 60, (300, 1)) * 0.1
    edges = np.linspace(0, 4, 41)
    h = zf.pair_histogram(X, bins=edges, metric="cityblock")
    assert (h.edges == edges).all()
    assert (h.counts == np.histogram(zf.pdist(X, "cityblock"), edges)[0]).all()
    x = 23.822062838521834
    assert zf.pairs([[0.0], [x]]).domain("ordered").cutoff(x).count(None).run() == 2


def test_infinite_numbers_travel(rng):
    X = rng.normal(size=(20, 3))
    far = zf.knn(X, k=3, metric="minkowski", params={"p": np.inf})
    near = zf.knn(X, k=3, metric="chebyshev")
    assert (far.indices == near.indices).all() and (far.distances == near.distances).all()
    assert (zf.cdist(X, X, "minkowski", p=np.inf) == zf.cdist(X, X, "chebyshev")).all()
    h = zf.pair_histogram(X, bins=[0, 1, np.inf])
    assert h.counts.sum() == 190 and h.edges[-1] == np.inf
    assert zf.pairs(X).domain("ordered").cutoff(np.inf).count(None).run() == 380
    problem = zf.pairs(X).cutoff(np.inf).pair("minkowski", p=np.inf).count().problem
    assert problem["cutoff"] == "inf" and problem["pair"]["params"]["p"] == "inf"


def test_forces_in_a_box_do_not_depend_on_the_spelling():
    X = np.array([[1.0, 1.0], [9.0, 9.5]])
    q = zf.pairs(X).periodic([10, 10]).domain("ordered")
    wanted = np.array([-2.0, -1.5]) / 6.25
    for pair in (
        "(y - x) / sum((x - y)^2)",
        "-(x - y) / sum((y - x)^2)",
        lambda x, y: (y - x) / ((x - y) ** 2).sum(),
        lambda x, y: -(0.5 * x - 0.5 * y) / ((y - x) ** 2).sum() * 2,
    ):
        np.testing.assert_allclose(q.pair(pair).sum().run()[0], wanted, rtol=1e-15)
    with pytest.raises(ValueError, match="only inside differences"):
        q.pair(lambda x, y: x[0] * y[0] + (x - y).sum()).sum().run()


def test_joins_match_as_sql_does():
    a, b = pd.DataFrame({"s": ["a", None, "zoe"], "v": [1.0, 2.0, None]}), pd.DataFrame({"s": ["b", "ann"], "v": [1.0, 3.0]})
    found = lambda where: sorted(zip(*(lambda m: (m.i.tolist(), m.j.tolist()))(zf.join(a, b, where, rows=True)), strict=True))
    assert found("x.s != y.s") == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert found("not (x.v > y.v)") == [(0, 0), (0, 1), (1, 1)]
    assert found("x.v == y.v or x.v != y.v") == [(0, 0), (0, 1), (1, 0), (1, 1)]
    # Words compare in the order of their characters, whatever came first.
    assert found("x.s < y.s") == [(0, 0), (0, 1)]
    assert found(lambda x, y: x.s > y.s) == [(2, 0), (2, 1)]
    for where in ("x.s - y.s < 1", "x.s < 1", "x.s == y.v", "euclidean(x, y) < 1", lambda x, y: abs(x.s - y.s) < 1):
        with pytest.raises(ValueError, match="text column"):
            zf.join(a, b, where)
    beside = {"kind": ["zoe", "ann", "bob"]}
    q = zf.pairs([[0.0], [1.0], [2.0]], attributes=beside).domain("ordered")
    assert q.join("x.kind < y.kind").run().i.tolist() == [1, 1, 2]
    with pytest.raises(ValueError, match="text column"):
        q.pair("x.kind * y.kind").sum().run()


def test_a_triangle_has_each_pair_once():
    X = np.array([[0.0], [1.0], [3.0]])
    q = zf.pairs(X).domain("triangle").pair("abs(x[0] - y[0])")
    assert q.sum(None).run() == 6 == q.condensed().run().sum()
    assert q.count(None).run() == 3 == q.histogram(1, (0, 9)).run().counts.sum()
    assert q.sum().run().tolist() == [4, 3, 5]
    assert zf.pairs(X).pair("abs(x[0] - y[0])").sum(None).run() == 12


def test_weights():
    w = [1e13, 1, 1]
    assert zf.pair_histogram([[0.0], [50.0], [50.5]], bins=[0, 1, 100], weights=w).weights.tolist() == [1, 2e13]
    with pytest.raises(ValueError, match="row 1"):
        zf.pair_histogram([[0.0], [1.0], [2.0]], bins=1, range=(0, 5), weights=[1, np.nan, 1])
    q = zf.pairs([[0.0]], [[1.0], [2.0], [4.0]]).pair("abs(x[0] - y[0])")
    w = np.array([1.0, 1, 2])
    assert q.mean(weights=w).run().tolist() == [2.75]
    assert q.mean(weights=np.c_[w, w]).run().tolist() == [[2.75, 2.75]]
    assert zf.pairs(np.zeros((0, 2))).sum(weights=np.zeros(0)).run().tolist() == []


def test_constant_variables_have_no_correlation(rng):
    for value in (0.1, 0.3, 1e6 + 0.1):
        data = np.c_[np.full(7, value), np.arange(7.0)]
        assert np.isnan(zf.corr(data)).tolist() == [[True, True], [True, False]]
        gaps = np.vstack([data, [np.nan, 3.0]])
        np.testing.assert_array_equal(np.isnan(zf.corr(gaps)), pd.DataFrame(gaps).corr().isna())


def test_ends_of_the_range():
    assert zf.cdist([[1e200, 0.0]], [[0.0, 1e200]], "cosine") == 1
    assert zf.pairs([[0.0]], [[1.0], [2.0]]).pair("if(y[0] > 1, inf, 0)").logsumexp().run() == np.inf
    assert zf.pairs(np.zeros((2, 0))).pair("sum(y) * sum(x * y)").domain("square").matrix().run().tolist() == [[0, 0], [0, 0]]
