"""Inference on networks from every source, against the sum over all configurations."""

import functools
import itertools
import pathlib
import pickle
import time

import numpy as np
import pytest

import zipfold as zf


@pytest.fixture
def network(rng):
    a, b, c = rng.random(2), rng.random((2, 3)), rng.random((3, 2))
    return zf.Network([a, b, c], [[0], [0, 1], [1, 2]])


def joint(network):
    shape = (2, 3, 2)
    out = np.ones(shape)
    for states in itertools.product(*map(range, shape)):
        for table, scope in zip(network.tables, network.scopes, strict=True):
            out[states] *= table[tuple(states[v] for v in scope)]
    return out


def test_every_task(network):
    table = joint(network)
    assert zf.infer(network, "pr") == pytest.approx(np.log10(table.sum()))
    marginals = zf.infer(network)
    for variable in range(3):
        others = tuple(v for v in range(3) if v != variable)
        wanted = table.sum(others) / table.sum()
        np.testing.assert_allclose(list(marginals[variable].values()), wanted, rtol=1e-12)
    states, log10 = zf.infer(network, "map")
    best = np.unravel_index(table.argmax(), table.shape)
    assert states == {str(v): str(s) for v, s in enumerate(best)}
    assert log10 == pytest.approx(np.log10(table.max()))
    states, log10 = zf.infer(network, "mmap", keep=[1])
    assert states == {"1": str(table.sum((0, 2)).argmax())}
    kept, log10 = zf.infer(network, "sum", keep=[2, 0])
    np.testing.assert_allclose(kept * 10**log10, table.sum(1).T, rtol=1e-12)
    samples = zf.infer(network, "samples", samples=4000)
    share = sum(s["1"] == "0" for s in samples) / 4000
    assert share == pytest.approx(table.sum((0, 2))[0] / table.sum(), abs=0.05)


def test_evidence_of_every_form(network, tmp_path):
    table = joint(network)[:, 2]
    seen = zf.infer(network, evidence={1: 2})
    np.testing.assert_allclose(list(seen[0].values()), table.sum(1) / table.sum(), rtol=1e-12)
    path = tmp_path / "seen.evid"
    path.write_text("1 1 2")
    assert zf.infer(network, evidence=path)[0] == seen[0]
    assert pickle.loads(pickle.dumps(seen)) == seen


def test_impossible_evidence():
    network = zf.Network([np.array([1.0, 0.0])], [[0]])
    assert zf.infer(network, "pr", evidence={0: 1}) == -np.inf
    with pytest.raises(ValueError, match="probability is zero"):
        zf.infer(network, evidence={0: 1})


def test_files(tmp_path):
    path = tmp_path / "coin.uai"
    path.write_text("MARKOV\n1\n2\n1\n1 0\n2 0.25 0.75\n")
    assert zf.infer(path)[0] == {"0": 0.25, "1": 0.75}
    assert zf.infer(str(path), "pr") == pytest.approx(0)
    with pytest.raises(ValueError, match="there is no such file"):
        zf.infer(pathlib.Path("nowhere.uai"))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (zf.Network([np.zeros(2)], [[0, 1]]), "1 axes for 2 variables"),
        (zf.Network([np.ones(2), np.ones(3)], [[0], [0]]), "3 states here and 2 elsewhere"),
        (zf.Network([np.ones(2)], [["a"]]), "no number of a variable"),
        (zf.Network([np.ones(2)], [["a"]], names=["b"]), "no variable 'a'"),
        (zf.Network([np.ones(2)], [[1]]), "variable 0 is in no table"),
        (zf.Network([-np.ones(2)], [[0]]), "not a finite number"),
        (zf.Network([np.ones(2)], []), "1 tables and 0 scopes"),
    ],
)
def test_networks_that_contradict_themselves(model, words):
    with pytest.raises(ValueError, match=words):
        zf.infer(model)


def test_questions_that_mean_nothing(network):
    for ask, words in [({"task": "guess"}, "guess"), ({"evidence": {7: 0}}, "7"), ({"task": "mmap"}, "no variable")]:
        with pytest.raises(ValueError, match=words):
            zf.infer(network, **ask)
    with pytest.raises(TypeError, match="a file, a Network"):
        zf.infer(3)


SEMIRINGS = {
    "sum-product": (np.multiply, np.sum),
    "max-product": (np.multiply, np.max),
    "log-sum-exp": (np.add, lambda t, axis: np.log(np.exp(t).sum(axis))),
    "min-sum": (np.add, np.min),
}


@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_sum_products_over_semirings(rng, semiring):
    times, plus = SEMIRINGS[semiring]
    a, b = rng.random((2, 3)), rng.random((3, 4))
    wanted = plus(times(a[:, :, None], b[None]), axis=1)
    np.testing.assert_allclose(zf.sum_product([a, b], [[0, 1], [1, 2]], [2, 0], semiring), wanted.T, rtol=1e-13)
    with pytest.raises(ValueError, match="no semiring"):
        zf.sum_product([a, b], [[0, 1], [1, 2]], [], "max-max")


def test_sum_products_on_a_device(rng):
    a, b = rng.random((40, 30)), rng.random((30, 50))
    if any(device.id == "opencl:0" for device in zf.devices()):
        for semiring in ("sum-product", "max-product", "log-sum-exp"):
            host = zf.sum_product([a, b], [[0, 1], [1, 2]], [2, 0], semiring)
            there = zf.sum_product([a, b], [[0, 1], [1, 2]], [2, 0], semiring, device="opencl:0")
            np.testing.assert_allclose(there, host, rtol=1e-12)
        with pytest.raises(ValueError, match="expected a finite number from 0"):
            zf.sum_product([-a, b], [[0, 1], [1, 2]], [2, 0], device="opencl:0")
        with pytest.raises(ValueError, match="does not fold by min-sum"):
            zf.sum_product([a, b], [[0, 1], [1, 2]], [2, 0], "min-sum", device="opencl:0")
    with pytest.raises(ValueError):
        zf.sum_product([a, b], [[0, 1], [1, 2]], [2, 0], device="nowhere")


def test_truth_and_negative_numbers(rng):
    a, b = rng.random((3, 3)) < 0.4, rng.random((3, 3)) < 0.4
    got = zf.sum_product([a, b], [[0, 1], [1, 2]], [0, 2], "or-and")
    np.testing.assert_array_equal(got, (a.astype(int) @ b) > 0)
    c, d = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(zf.sum_product([c, d], [[0, 1], [1, 2]], [0, 2]), c @ d, rtol=1e-12)


def test_maxima_of_negative_numbers_are_refused():
    for device in (None, "cpu", "auto"):
        for bad in (-3.0, np.nan, np.inf):
            with pytest.raises(ValueError, match="table 1: expected a finite number from 0, got"):
                zf.sum_product([[[1.0, 2.0]], [bad, 1.0]], [[0, 1], [1]], [0], "max-product", device=device)
    for bad in (np.nan, -np.inf):
        with pytest.raises(ValueError, match="table 0: expected a cost above -inf, got"):
            zf.sum_product([[bad, 1.0]], [[0]], [], "min-sum")


def _einsum(tables, scopes, keep):
    operands = [x for pair in zip(tables, scopes, strict=True) for x in pair]
    return np.einsum(*operands, keep)


@pytest.mark.parametrize("signed", [False, True])
def test_random_sum_products(rng, signed):
    for _ in range(60):
        cards = rng.integers(1, 6, size=6)
        scopes = [sorted(rng.choice(6, size=rng.integers(1, 4), replace=False).tolist()) for _ in range(rng.integers(1, 6))]
        scopes += [[v] for v in range(6) if not any(v in scope for scope in scopes)]
        keep = rng.permutation(6)[: rng.integers(0, 4)].tolist()
        draw = rng.normal if signed else rng.random
        tables = [draw(size=[cards[v] for v in scope]) for scope in scopes]
        want = _einsum(tables, scopes, keep)
        most = _einsum([abs(t) for t in tables], scopes, keep)
        assert (abs(zf.sum_product(tables, scopes, keep) - want) <= 1e-12 * most).all()
        costs = zf.sum_product(tables, scopes, keep, "min-sum")
        if not signed:
            best = zf.sum_product([np.exp(-t) for t in tables], scopes, keep, "max-product")
            np.testing.assert_allclose(-np.log(best), costs, atol=1e-12)
        truths = [t > 0.5 for t in tables]
        counts = _einsum([t.astype(float) for t in truths], scopes, keep)
        np.testing.assert_array_equal(zf.sum_product(truths, scopes, keep, "or-and"), counts > 0)


def test_the_default_path_takes_the_kernels(rng):
    """Half a billion products take seconds by counting."""
    a, b = rng.normal(size=(800, 800)), rng.normal(size=(800, 800))
    for semiring, tables in [("sum-product", [a, b]), ("sum-product", [a**2, b**2]), ("max-product", [a**2, b**2])]:
        start = time.process_time()
        got = zf.sum_product(tables, [[0, 1], [1, 2]], [0, 2], semiring)
        assert time.process_time() - start < 5, semiring
        if semiring == "sum-product":
            np.testing.assert_allclose(got, tables[0] @ tables[1], atol=1e-10)


ZEROS = {"sum-product": 0.0, "max-product": 0.0, "log-sum-exp": -np.inf, "min-sum": np.inf, "or-and": False}


@pytest.mark.parametrize("semiring", ZEROS)
def test_axes_without_values(semiring):
    tables, scopes = [np.zeros((0, 3)), np.ones((3, 2))], [[0, 1], [1, 2]]
    for device in (None, "cpu", "auto"):
        ask = functools.partial(zf.sum_product, tables, scopes, semiring=semiring, device=device)
        np.testing.assert_array_equal(ask([1]), np.full(3, ZEROS[semiring]))
        np.testing.assert_array_equal(ask([2, 1]), np.full((2, 3), ZEROS[semiring]))
        np.testing.assert_array_equal(ask([]), np.array(ZEROS[semiring]))
        assert ask([0]).shape == (0,) and ask([2, 0]).shape == (2, 0)
        assert ask([1]).dtype == (bool if semiring == "or-and" else np.float64)


def test_numbers_of_a_question_are_checked(network):
    for name in ("samples", "seed"):
        for bad in (-1, np.int64(-1), 2**64):
            with pytest.raises(ValueError, match=f"{name}: expected a whole number from 0 to"):
                zf.infer(network, "samples", **{name: bad})
        for bad in (1.5, "3", True, None):
            with pytest.raises(TypeError, match=f"{name}: expected a whole number, got"):
                zf.infer(network, "samples", **{name: bad})
        assert zf.infer(network, "samples", **{name: np.int32(2)})
    for name in ("order_seconds", "time_limit"):
        for bad in (-1, -0.5, np.nan, -np.inf):
            with pytest.raises(ValueError, match=f"{name}: expected a number of seconds from 0 on, got"):
                zf.infer(network, "pr", **{name: bad})
        with pytest.raises(TypeError, match=f"{name}: expected a number, got"):
            zf.infer(network, "pr", **{name: "1"})
        assert np.isfinite(zf.infer(network, "pr", **{name: np.int64(1)}))
    zf.infer(network, "pr", time_limit=np.inf)
    values, _ = zf.infer(network, "sum", keep=np.int64(1))
    assert values.shape == (3,)


def test_models_of_pgmpy():
    models = pytest.importorskip("pgmpy.models")
    discrete = pytest.importorskip("pgmpy.factors.discrete")
    model = models.DiscreteBayesianNetwork([("rain", "wet"), ("sun", "wet")])
    model.add_cpds(
        discrete.TabularCPD("rain", 2, [[0.8], [0.2]], state_names={"rain": ["no", "yes"]}),
        discrete.TabularCPD("sun", 2, [[0.3], [0.7]], state_names={"sun": ["no", "yes"]}),
        discrete.TabularCPD(
            "wet", 2, [[0.9, 0.95, 0.2, 0.4], [0.1, 0.05, 0.8, 0.6]], ["rain", "sun"], [2, 2],
            state_names={"wet": ["no", "yes"], "rain": ["no", "yes"], "sun": ["no", "yes"]},
        ),
    )  # fmt: skip
    got = zf.infer(model, evidence={"wet": "yes"})["rain"]["yes"]
    wet = 0.8 * (0.3 * 0.1 + 0.7 * 0.05), 0.2 * (0.3 * 0.8 + 0.7 * 0.6)
    assert got == pytest.approx(wet[1] / sum(wet))


def test_models_of_pyagrum():
    gum = pytest.importorskip("pyagrum")
    model = gum.fastBN("rain{no|yes}->wet{no|yes}<-sun{no|yes}")
    engine = gum.LazyPropagation(model)
    engine.setEvidence({"wet": "yes"})
    engine.makeInference()
    got = zf.infer(model, evidence={"wet": "yes"})
    for name in ("rain", "sun"):
        np.testing.assert_allclose(list(got[name].values()), engine.posterior(name).toarray(), rtol=1e-9)
