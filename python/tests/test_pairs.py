"""The general face: functions that trace, folds, plans."""

import math

import numpy as np
import pytest

import zipfold as zf
from zipfold.renamed import WORDS


@pytest.fixture
def xy(rng):
    return rng.normal(size=(23, 3)), rng.normal(size=(17, 3))


def plain(function, x, y):
    return np.array([[function(a, b) for b in y] for a in x], dtype=float)


FUNCTIONS = [
    lambda x, y: abs(x - y).sum(),
    lambda x, y: np.sqrt(((x - y) ** 2).sum()),
    lambda x, y: np.linalg.norm(x - y),
    lambda x, y: np.max(np.abs(x - y)),
    lambda x, y: (x * y).sum() / np.sqrt((x * x).sum() * (y @ y)),
    lambda x, y: np.exp(-np.sum((x - y) ** 2) / 2),
    lambda x, y: x[0] * y[1] - 2 * x[-1],
    lambda x, y: np.sum(np.minimum(x, y)) + 1,
    lambda x, y: np.count_nonzero((x > 0) & (y > 0)),
    lambda x, y: zf.where(x[0] < y[0], x[1], -y[1]),
    lambda x, y: np.where(x > 0, y, 0.5).mean(),
    lambda x, y: sum((a - b) ** 2 for a, b in zip(x, y, strict=True)),
    lambda x, y: np.dot(x, np.array([1.0, 2.0, 3.0])) + y.clip(-0.5, 0.5).sum(),
    lambda x, y: np.arctan2(x[0], y[0]) + np.hypot(x[1], y[1]) + 2.0 ** x[2],
    lambda x, y: np.any(x > 1) | np.all(y < 1) | ~(x[0] < 0),
    lambda x, y: np.linalg.norm(x[:2] - y[1:]) + x[0:1].max(),
    lambda x, y: np.sum(np.array([1.0, 2.0]) * (x[-2:] - y[:2]) ** 2) * np.dot(x[:], y) + x[1:9].mean(),
    lambda x, y: 3.0,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_traced_function_has_the_values_of_the_function(xy, function):
    x, y = xy
    got = zf.pairs(x, y).pair(function).matrix().run()
    np.testing.assert_allclose(got, plain(function, x, y), rtol=1e-12, atol=1e-14)


def test_parameters(xy):
    x, y = xy
    wanted = plain(lambda a, b: np.exp(-((a - b) ** 2).sum() / (2 * 0.5**2)), x, y)
    for pair in ["exp(-sum((x - y)^2) / (2*h^2))", lambda x, y, h: np.exp(-((x - y) ** 2).sum() / (2 * h**2))]:
        np.testing.assert_allclose(zf.pairs(x, y).pair(pair, h=0.5).matrix().run(), wanted, rtol=1e-12)
    weights = np.array([1.0, 0.0, 2.0])
    got = zf.cdist(x, y, lambda a, b, w: (w * abs(a - b)).sum(), w=weights)
    np.testing.assert_allclose(got, plain(lambda a, b: (weights * abs(a - b)).sum(), x, y), rtol=1e-13)


def branch(x, y):
    if x[0] > 0:
        return y[0]
    return x[0]


NO_FORMULA = [
    (branch, r"test_pairs.py:\d+.*steer Python(.|\n)*if x\[0\] > 0"),
    (lambda x, y: math.exp(x[0]), "no Python number"),
    (lambda x, y: float(x[0]) + 1, "no Python number"),
    (lambda x, y: x.reshape(1, -1).sum(), r"\.reshape"),
    (lambda x, y: np.sort(x)[0], "numpy.sort"),
    (lambda x, y: np.cumsum(x)[0], "numpy.cumsum"),
    (lambda x, y: 0.0 < x[0] < 1.0, "steer Python"),
    (lambda x, y: x[::2].sum(), "takes each of them"),
    (lambda x, y: x[2:2].sum(), "has components"),
    (lambda x, y: x[[0, 1]].sum(), "one by one or as a slice"),
    (lambda x, y: (x[:2] * np.ones(4)).sum(), "does not fit a row"),
    (lambda x, y: (x[:2] * y[1:]).sum() * len(x[:2] - y), "of 2 and of 3 components"),
    (lambda x, y: zf.where(x[:2] > 0, x, y).sum(), "of 2 and of 3 components"),
    (lambda x, y: [x, y], "not a value of the pair|no place in a formula"),
    (lambda x: x, "cannot be called with two rows"),
    (lambda x, y: x & y, "truth values"),
]


@pytest.mark.parametrize(("function", "words"), NO_FORMULA)
def test_what_no_formula_says_is_named_with_its_line(function, words):
    with pytest.raises(zf.TraceError, match=words):
        zf.cdist([[0.0, 1.0, 2.0]], [[0.0, 1.0, 3.0]], function)


def test_slices_have_lengths_of_their_own():
    x, y = np.array([[1.0, 2.0, 5.0]]), np.array([[4.0, 8.0, 1.0]])
    for function in (
        lambda x, y: x[:2].sum() / len(x[:2]),
        lambda x, y: abs(x[:2] - y[1:]).sum() / (x[:2] - y[1:]).size,
        lambda x, y: (x[1:2] * y[2:]).sum() * (2 * x[1:2]).shape[0],
        lambda x, y: np.where(x[:2] > 1.5, x[:2], 0).sum() + len(np.sqrt(y[1:])),
        lambda x, y: (x[:2] * np.array([1.0, 3.0])).sum() + len(x[:2] * np.array([1.0, 3.0])),
        lambda x, y: len(x) * x.sum() + len(x[:]),
    ):
        assert zf.cdist(x, y, function)[0, 0] == pytest.approx(float(function(x[0], y[0])))


def test_components_that_rows_do_not_have():
    with pytest.raises(IndexError, match="component 5 of rows that have 2"):
        zf.cdist([[0.0, 1.0]], [[0.0, 1.0]], lambda x, y: x[5])


def test_every_fold_against_the_matrix(xy):
    x, y = xy
    question = zf.pairs(x, y).pair("sum(abs(x - y))")
    matrix = question.matrix().run()
    wanted = {
        "sum": matrix.sum(1), "mean": matrix.mean(1), "min": matrix.min(1), "max": matrix.max(1),
        "argmin": matrix.argmin(1), "argmax": matrix.argmax(1), "count": (matrix != 0).sum(1),
        "logsumexp": np.log(np.exp(matrix).sum(1)),
    }  # fmt: skip
    for op, values in wanted.items():
        np.testing.assert_allclose(getattr(question, op)().run(), values, rtol=1e-12, err_msg=op)
    np.testing.assert_allclose(question.sum(axis=0).run(), matrix.sum(0), rtol=1e-12)
    np.testing.assert_allclose(question.sum(axis=None).run(), matrix.sum(), rtol=1e-12)
    weights = np.arange(17 * 2.0).reshape(17, 2)
    np.testing.assert_allclose(question.sum(weights=weights).run(), matrix @ weights, rtol=1e-12)
    shares = np.exp(matrix) / np.exp(matrix).sum(1, keepdims=True)
    np.testing.assert_allclose(question.softmax(weights=weights).run(), shares @ weights, rtol=1e-12)


def test_several_folds_in_one_sweep(xy):
    x, y = xy
    question = zf.pairs(x, y).pair("cityblock")
    total, nearest, histogram = question.fold(zf.fold.sum(), zf.fold.nearest(3), zf.fold.histogram(4, (0, 8))).run()
    matrix = question.matrix().run()
    np.testing.assert_allclose(total, matrix.sum(1))
    np.testing.assert_array_equal(nearest.indices, np.argsort(matrix, axis=1, kind="stable")[:, :3])
    np.testing.assert_array_equal(histogram.counts, np.histogram(matrix, 4, (0, 8))[0])


def test_forces_are_vectors(rng):
    x = rng.normal(size=(9, 2))

    def pull(a, b):
        cube = (((a - b) ** 2).sum() + 0.1) ** 1.5
        return (b[0] - a[0]) / cube, (b[1] - a[1]) / cube

    got = zf.pairs(x).pair(pull).sum().run()
    gaps = x[None] - x[:, None]
    np.testing.assert_allclose(got, (gaps / ((gaps**2).sum(-1) + 0.1)[..., None] ** 1.5).sum(1), rtol=1e-12, atol=1e-13)


def test_periodic_boxes(rng):
    x = rng.random((40, 3)) * 10
    gaps = x[:, None] - x[None]
    gaps -= 10 * np.rint(gaps / 10)
    wanted = np.sqrt((gaps**2).sum(-1))[np.triu_indices(40, 1)]
    np.testing.assert_allclose(zf.pairs(x).periodic([10, 10, 10]).condensed().run(), wanted, rtol=1e-13)
    for box in ([np.nan] * 3, [np.inf] * 3, [-1, 1, 1], [1, 1]):
        with pytest.raises(ValueError, match="box"):
            zf.pairs(x).periodic(box).condensed().run()


def test_nothing_runs_before_run_and_explain_says_how(rng):
    question = zf.pairs(rng.normal(size=(2_000_000, 3))).nearest(5)
    plan = question.explain()
    assert "predicted" in str(plan)
    assert plan.fields["pairs"] == 2_000_000 * 1_999_999
    assert "<table>" in plan._repr_html_()
    assert "2000000 × 2000000" in repr(question)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda q: q.run(), "nothing to keep"),
        (lambda q: q.nearest(0), "k: 0"),
        (lambda q: q.nearest(2.5), "k: 2.5"),
        (lambda q: q.pair("sum(abs(x - z))").matrix().run(), "unknown name 'z'"),
        (lambda q: q.pair("euclidian"), "'euclidean'"),
        (lambda q: q.reduce("median"), "median"),
        (lambda q: q.histogram(0), "bins"),
        (lambda q: q.histogram(3, (1, 0)), "range"),
        (lambda q: q.histogram([3, 1]).run(), "edges"),
        (lambda q: q.histogram(3, (0, np.nan)), "range"),
        (lambda q: q.domain("some"), "domain"),
        (lambda q: q.nan("ignore"), "nan"),
        (lambda q: q.precision("f16"), "precision"),
        (lambda q: q.cutoff(-1), "cutoff"),
        (lambda q: q.join("x + y").run(), "condition"),
        (lambda q: q.sum(weights=[1.0]).run(), "weights"),
    ],
)
def test_requests_that_mean_nothing(rng, ask, words):
    with pytest.raises(ValueError, match=words) as caught:
        ask(zf.pairs(rng.normal(size=(4, 3))))
    assert isinstance(caught.value, zf.ZipfoldError)


def test_more_neighbours_than_rows_leaves_places_empty():
    found = zf.knn([[0.0], [1.0]], k=3)
    assert found.indices.tolist() == [[1, -1, -1], [0, -1, -1]]
    assert np.isnan(found.distances[:, 1:]).all()
    assert found.graph().nnz == 2


def test_ones_in_binary_of_rows_and_arrays():
    x = np.array([[0.0], [1.0], [6.0], [2.0**53 - 1], [2.0**53], [0.5], [-1.0], [np.nan]])
    wanted = [0, 1, 2, 53, np.nan, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(zf.popcount(x[:, 0]), wanted)
    assert zf.popcount(7) == 3
    functions = [lambda x, y: zf.popcount(x[0] * y[0])]
    if hasattr(np, "bitwise_count"):
        functions.append(lambda x, y: np.bitwise_count(x[0] * y[0]))
    for function in functions:
        found = zf.pairs(x, np.ones((1, 1))).nan("propagate").pair(function).matrix().run()
        np.testing.assert_array_equal(found[:, 0], wanted)
    total = zf.pairs(x[:3]).pair(lambda x, y: zf.popcount(x + y).sum()).matrix().run()
    assert total[1, 2] == 3


def test_metrics_that_prepare_tables_in_formulas():
    rows = np.random.default_rng(8).normal(size=(30, 5))
    for metric in ("spearman", "mahalanobis", "seuclidean"):
        named = zf.pairs(rows).pair(metric).matrix().run()
        np.testing.assert_array_equal(zf.pairs(rows).pair(f"1 - {metric}(x, y)").matrix().run(), 1 - named)
        with_axis = zf.pairs(rows).join(f"{metric}(x, y) < 0.5").run()
        assert sorted(zip(with_axis.i, with_axis.j, strict=True)) == sorted(zip(*np.nonzero(np.triu(named < 0.5, 1)), strict=True))
    with pytest.raises(ValueError, match="alone, got 'x'"):
        zf.pairs(rows).pair("spearman(x, y) + x[0]").matrix().run()


def old_word(place, old):
    """A call, or a problem, with a word of earlier versions where it used to be."""
    q = zf.pairs([[0.0], [1.0]])
    if place == "method":
        return lambda: getattr(q, old)
    if place == "argument":
        return lambda: q.join("x[0] < y[0]", **{old: "semi"})
    if place == "field":
        return lambda: getattr(q.sum().outcome().tally if old == "far" else q.sum().outcome(), old)
    if place == "override":
        key, _, value = old.partition("=")
        return lambda: q.sum().run(plan={key: value or "1"})
    fold = {"kind": "join", "where": "x[0] < y[0]"}
    if place == "fold":
        fold["kind"] = old
    elif old == "along":
        fold = {"kind": "reduce", "op": "sum", old: "row"}
    elif place == "fold key":
        fold[old] = "semi"
    if place == "problem":
        return lambda: q._with(**{old: "square"}).sum().run()
    return lambda: q.fold(zf.Fold(fold)).run()


@pytest.mark.parametrize(("place", "old", "new"), [(*key, new) for key, new in WORDS.items()])
def test_a_word_of_earlier_versions_is_refused_with_the_new_one(place, old, new):
    with pytest.raises((zf.ZipfoldError, AttributeError), match=new) as caught:
        old_word(place, old)()
    assert old in str(caught.value)
    if place == "method":
        with pytest.raises(AttributeError, match=new):
            getattr(zf.fold, old)
    if place == "argument":
        with pytest.raises(TypeError, match=f"{new}="):
            zf.fold.join("x[0] < y[0]", **{old: "semi"})
