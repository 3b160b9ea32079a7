"""Numbers and labels beside the components of rows."""

import pickle

import numpy as np
import pytest

import zipfold as zf

RNG = np.random.default_rng(3)
X, Y = RNG.random((300, 3)), RNG.random((200, 3))
MASS, OTHER = RNG.random(300), RNG.random(200)
LABELS, MORE = RNG.choice(["a", "b", "c"], 300), RNG.choice(["d", "b", "a"], 200)
FAR = np.sqrt(((X[:, None] - Y[None]) ** 2).sum(-1))


def both():
    return zf.pairs(X, Y, attributes=({"mass": MASS, "kind": LABELS}, {"mass": OTHER, "kind": MORE}))


@pytest.mark.parametrize("pair", [lambda x, y: x.mass * y.mass / (1 + ((x - y) ** 2).sum()),
                                  "x.mass * y.mass / (1 + sum((x - y)^2))"], ids=["function", "formula"])
def test_a_formula_reads_numbers_beside_the_components(pair):
    wanted = MASS[:, None] * OTHER[None] / (1 + FAR**2)
    assert np.allclose(both().pair(pair).matrix().run(), wanted, rtol=1e-13)
    assert np.allclose(both().pair(pair).sum().run(), wanted.sum(1), rtol=1e-13)


def test_metrics_leave_them_out_and_joins_read_them():
    found = both().pair("euclidean").join("x.kind == y.kind and sum((x - y)^2) < 0.04").run()
    i, j = np.nonzero((LABELS[:, None] == MORE[None]) & (FAR < 0.2))
    assert found.i.tolist() == i.tolist() and found.j.tolist() == j.tolist()
    assert np.allclose(both().pair("euclidean").matrix().run(), FAR)


def test_of_single_precision_in_shares_and_pickled():
    question = zf.pairs(X.astype(np.float32), attributes={"mass": MASS}).pair("x.mass * y.mass * sum(abs(x - y))").sum()
    question = pickle.loads(pickle.dumps(question))
    whole = question.run()
    assert np.array_equal(zf.merge(question, [question.run(shard=(i, 3)) for i in range(3)]), whole)
    assert np.allclose(whole, (MASS * MASS[:, None] * np.abs(X[:, None] - X).sum(-1)).sum(1), rtol=1e-6)


def test_a_box_is_about_components_only():
    charge = np.array([0.9, 0.1])
    question = zf.pairs(np.array([[0.0, 0.0], [0.9, 0.0]]), attributes={"q": charge}).periodic([1.0, 1.0])
    got = question.pair("sum(abs(x - y)) + 10 * abs(x.q - y.q)").matrix().run()
    assert np.allclose(got, [[0, 8.1], [8.1, 0]])


def test_pruned_runs_read_them():
    rows, weight = RNG.random((20_000, 2)), RNG.random(20_000)
    question = zf.pairs(rows, attributes={"w": weight}).join("sum((x - y)^2) < 1e-6 and abs(x.w - y.w) < 0.5")
    got = question.run()
    from scipy.spatial import cKDTree

    near = cKDTree(rows).query_pairs(1e-3, output_type="ndarray")
    near = near[np.abs(weight[near[:, 0]] - weight[near[:, 1]]) < 0.5]
    assert sorted(zip(got.i.tolist(), got.j.tolist(), strict=True)) == sorted(map(tuple, np.sort(near, 1).tolist()))


@pytest.mark.parametrize(("attributes", "error", "words"), [
    ({"mass": MASS[:5]}, ValueError, "'mass' has 5 numbers, X 300 rows"),
    ({"mass": X}, ValueError, "300 × 3"),
    ({"2m": MASS}, ValueError, "cannot be written as x.name"),
    ([1, 2], TypeError, "a dict"),
    ({"mass": MASS * 1j}, TypeError, "complex"),
    ({"mass": np.where(MASS > 0.5, np.nan, 1.0)}, ValueError, "NaN"),
])
def test_what_is_wrong_is_named(attributes, error, words):
    with pytest.raises(error, match=words):
        zf.pairs(X, attributes=attributes).pair("x.mass * y.mass").sum().run()


def test_two_inputs_have_their_own_and_names_are_found():
    with pytest.raises(ValueError, match="attributes=\\(those of X, those of Y\\)"):
        zf.pairs(X, Y, attributes={"mass": MASS})
    with pytest.raises(AttributeError, match="one of mass"):
        zf.pairs(X, attributes={"mass": MASS}).pair(lambda x, y: x.weight)
    with pytest.raises(ValueError, match="both named 'mass'"):
        zf.pairs(X, names=["mass", "b", "c"], attributes={"mass": MASS}).pair("x.mass").sum().run()
