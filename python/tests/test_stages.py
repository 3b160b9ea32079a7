"""Second stages, distances of sets and several values of a parameter, as a caller has them."""

import numpy as np
import pytest
import zipfold as zf
from scipy.spatial.distance import cdist, directed_hausdorff

RNG = np.random.default_rng(31)
A, B = RNG.random((230, 3)), RNG.random((170, 3)) + 0.1
GAUSS = "exp(-sum((x - y)^2) / (2*h^2))"


def test_hausdorff_is_that_of_scipy():
    found = zf.hausdorff(A, B)
    forward, backward = directed_hausdorff(A, B), directed_hausdorff(B, A)
    assert found.value == max(forward[0], backward[0]) == float(found)
    assert found.forward[0] == forward[0] and found.forward_rows[0].tolist() == [forward[1], forward[2]]
    assert found.backward[0] == backward[0] and found.backward_rows[0].tolist() == [backward[2], backward[1]]
    assert zf.hausdorff(A, B, direction="forward").value == forward[0]
    assert zf.hausdorff(A, B, direction="backward").backward[0] == backward[0]
    assert zf.hausdorff(A, B, direction="forward").backward is None


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "sqeuclidean", "cosine"])
def test_measures_are_those_of_a_matrix(metric):
    d = cdist(A, B, metric)
    found = zf.hausdorff(A, B, metric)
    np.testing.assert_allclose(found.value, max(d.min(1).max(), d.min(0).max()), rtol=1e-12, atol=1e-15)
    found = zf.chamfer(A, B, metric)
    np.testing.assert_allclose(found.value, d.min(1).mean() + d.min(0).mean(), rtol=1e-12)
    found = zf.hausdorff(A, B, metric, quantile=0.95)
    wanted = max(np.quantile(d.min(1), 0.95), np.quantile(d.min(0), 0.95))
    np.testing.assert_allclose(found.value, wanted, rtol=1e-12)
    assert (found.rows == -1).all()


def test_functions_options_boxes_and_batches():
    found = zf.hausdorff(A, B, lambda x, y: abs(x - y).sum())
    assert found.value == zf.hausdorff(A, B, "cityblock").value
    assert zf.hausdorff(A, B, "minkowski", p=1).value == pytest.approx(found.value, rel=1e-12)
    near = np.minimum(abs(A[:, None] - B[None]), 1 - abs(A[:, None] - B[None]))
    d = np.sqrt((near**2).sum(-1))
    assert zf.chamfer(A, B, box=1.0).value == pytest.approx(d.min(1).mean() + d.min(0).mean(), rel=1e-12)
    labels = [np.array(["u", "v"])[RNG.integers(0, 2, len(side))] for side in (A, B)]
    labels[0][0] = "w"
    found = zf.hausdorff(A, B, batch="organ", attributes=tuple({"organ": side} for side in labels))
    assert found.batches == ["u", "v", "w"]
    for at, name in enumerate("uv"):
        a, b = A[labels[0] == name], B[labels[1] == name]
        assert found.values[at] == max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0])
    assert np.isnan(found.values[2]) and (found.rows[2] == -1).all()
    with pytest.raises(ValueError, match="3 batches"):
        found.value  # noqa: B018


def test_nan_and_empty_sets():
    odd = A.copy()
    odd[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        zf.hausdorff(odd, B)
    assert np.isnan(zf.hausdorff(odd, B, nan="propagate").value)
    rest = np.delete(A, 7, 0)
    assert zf.hausdorff(odd, B, nan="skip").value == zf.hausdorff(rest, B).value
    for x, y in ((A[:0], B), (A, B[:0])):
        with pytest.raises(ValueError, match="expected rows in both sets"):
            zf.chamfer(x, y)


def test_files_plans_and_pages(tmp_path):
    for name, rows in (("a", A), ("b", B)):
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="x,y,z", comments="")
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert zf.hausdorff(*paths).value == zf.hausdorff(A, B).value
    assert "from rows of y" in zf.hausdorff(*paths, explain=True)
    out = [str(tmp_path / "o.csv"), str(tmp_path / "o.html")]
    found = zf.chamfer(A, B, save=out)
    assert (tmp_path / "o.csv").read_text().startswith("chamfer,forward,backward\n")
    assert "chamfer" in (tmp_path / "o.html").read_text()
    found.report(str(tmp_path / "again.html"))
    with pytest.raises(ValueError, match="one of each"):
        zf.hausdorff(paths[0], B)


def test_results_of_rows_are_folded_once_more():
    d = cdist(A, B)
    asked = zf.pairs(A, B)
    np.testing.assert_allclose(asked.sum().then("mean").run(), d.sum(1).mean(), rtol=1e-12)
    np.testing.assert_allclose(asked.min(0).then("quantile:0.9").run(), np.quantile(d.min(0), 0.9), rtol=1e-12)
    worst = asked.nearest(1).then("max").run()
    assert (worst.values, worst.i, worst.j) == (d.min(1).max(), d.min(1).argmax(), d[d.min(1).argmax()].argmin())
    ranks = asked.nearest(3).then("median").run()
    np.testing.assert_allclose(ranks, np.median(np.sort(d)[:, :3], axis=0), rtol=1e-12)
    column = asked.max(0).then("min").run()
    assert (column.values, column.j, column.i) == (d.max(0).min(), d.max(0).argmin(), None)
    kinds = [RNG.integers(0, 3, len(side)) for side in (A, B)]
    grouped = zf.pairs(A, B, attributes=tuple({"kind": side} for side in kinds)).by("kind")
    found = grouped.nearest(1).then("max").run()
    assert found.values.shape == (3, 3, 1) and found.groups == ["0", "1", "2"]
    for a in range(3):
        for b in range(3):
            assert found.values[a, b, 0] == directed_hausdorff(A[kinds[0] == a], B[kinds[1] == b])[0]
    with pytest.raises(ValueError, match="numbers by row"):
        asked.matrix().then("max").run()
    with pytest.raises(ValueError, match=r"then.*'most'"):
        asked.sum().then("most").run()


def test_values_of_a_parameter_are_questions_of_their_own():
    h = np.array([0.1, 0.5, 2.0])
    asked = zf.pairs(A).pair(GAUSS)
    for make in (lambda q: q.sum(), lambda q: q.mean(0), lambda q: q.logsumexp(), lambda q: q.quantile([0.1, 0.9])):
        every = make(asked.param(h=h)).run()
        for at, value in enumerate(h):
            alone = make(zf.pairs(A).pair(GAUSS, h=value)).run()
            np.testing.assert_array_equal(every[:, at], alone)
    total = asked.param(h=h).sum(None).run()
    assert total.shape == (3,)
    assert total.tolist() == [zf.pairs(A).pair(GAUSS, h=value).sum(None).run() for value in h]
    near = zf.pairs(A).pair("norm(x - y)^p").param(p=[1.0, 2.0]).nearest(2).run()
    assert near.indices.shape == (230, 2, 2)
    weights = RNG.random((230, 1))
    assert asked.param(h=h).sum(weights=weights).run().shape == (230, 3, 1)


def test_histograms_have_the_axis_first():
    kinds = RNG.integers(0, 2, len(A))
    asked = zf.pairs(A, attributes={"kind": kinds}).pair("norm(x - y)")
    weighed = {"weight": "exp(-value / h)", "bins": 8, "range": (0, 1)}
    every = asked.param(h=[0.5, 1.0]).histogram(**weighed).run()
    alone = [asked.pair("norm(x - y)", h=value).histogram(**weighed).run() for value in (0.5, 1.0)]
    assert every.counts.shape == (2, 8) and every.param[0] == "h"
    for at in range(2):
        np.testing.assert_array_equal(every.of_value(at).weights, alone[at].weights)
    grouped = asked.by("kind").param(h=[0.5, 1.0]).histogram(**weighed).run()
    assert grouped.counts.shape == (2, 2, 2, 8)
    one = asked.by("kind").pair("norm(x - y)", h=1.0).histogram(**weighed).run()
    np.testing.assert_array_equal(grouped.of_value(1).between("0", "1").weights, one.between("0", "1").weights)
    with pytest.raises(ValueError, match="of_value"):
        grouped.between("0", "1")


def test_what_has_no_meaning_is_refused():
    asked = zf.pairs(A).pair(GAUSS)
    with pytest.raises(ValueError, match="got a matrix"):
        asked.param(h=[1.0]).matrix().run()
    with pytest.raises(ValueError, match="one parameter"):
        asked.param(h=[1.0], k=[2.0])
    with pytest.raises(ValueError, match="got none"):
        asked.param(h=[]).sum().run()
    with pytest.raises(ValueError, match="NaN as value 1"):
        asked.param(h=[1.0, np.nan]).sum().run()
    with pytest.raises(ValueError, match="without it"):
        zf.pairs(A).pair("norm(x - y)").param(h=[1.0]).sum().run()
    with pytest.raises(ValueError, match="no option 'h'"):
        zf.pairs(A).param(h=[1.0]).sum().run()


def test_outcomes_are_attributes_of_the_next_question():
    density = zf.pairs(A).pair("exp(-sum((x - y)^2) / 0.02)").mean().run()
    asked = zf.pairs(A, attributes={"density": density})
    higher = asked.pair("if(y.density > x.density, norm(x - y), inf)").domain("ordered").nearest(1).run()
    d = np.where(density[None] > density[:, None], cdist(A, A), np.inf)
    np.fill_diagonal(d, np.inf)
    np.testing.assert_array_equal(higher.distances[:, 0], d.min(1))


def test_shards_and_files_have_the_axis(tmp_path):
    question = zf.pairs(A).pair(GAUSS).param(h=[0.5, 1.0]).sum()
    parts = [question.run(shard=(at, 3)) for at in range(3)]
    np.testing.assert_array_equal(zf.merge(question, parts), question.run())
    worst = zf.pairs(A).nearest(1).then("max")
    parts = [worst.run(shard=(at, 3)) for at in range(3)]
    assert zf.merge(worst, parts) == worst.run()
    question.save(str(tmp_path / "s.csv"), str(tmp_path / "s.npy"), str(tmp_path / "s.svg"))
    assert (tmp_path / "s.csv").read_text().startswith("i,h=0.5,h=1.0\n")
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), question.run())
    worst.save(str(tmp_path / "w.csv"))
    assert (tmp_path / "w.csv").read_text().startswith("i,j,value\n")
