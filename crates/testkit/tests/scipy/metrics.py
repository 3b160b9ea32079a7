#!/usr/bin/env python3
"""Every named metric of `zipfold dist` against SciPy and scikit-learn, on the test data that SciPy installs.

    python metrics.py PATH/TO/zipfold [METRIC ...]

Needs NumPy, SciPy (with its test data) and scikit-learn. Prints a table, one line for each comparison, and ends with
status 1 when one disagrees. Tolerances are those of SciPy's own tests (scipy/spatial/tests/test_distance.py).
"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import scipy.spatial
import scipy.stats
from scipy.spatial import distance
from sklearn.metrics import pairwise

DATA = pathlib.Path(scipy.spatial.__file__).parent / "tests" / "data"
RTOL = 1e-7
# Values of bounded similarities and of 1 - cosine carry the rounding of numbers near 1.
ATOL = {name: 1e-13 for name in ("cosine", "correlation", "pearson", "spearman", "cosine_similarity")}
# SciPy's own value near 0 is the square root of the rounding of a sum near 0.
ATOL["jensenshannon"] = 1e-8

REAL = "braycurtis canberra chebyshev cityblock correlation cosine euclidean hamming minkowski seuclidean sqeuclidean"
BOOLEAN = "dice hamming jaccard rogerstanimoto russellrao sokalsneath yule"
WEIGHTED = "braycurtis canberra chebyshev cityblock correlation cosine euclidean hamming minkowski sqeuclidean " + BOOLEAN
# Metrics whose error in single precision is relative to the value; that of the others is to 1, or as said here.
RELATIVE = "braycurtis canberra additive_chi2 chebyshev cityblock euclidean sqeuclidean hamming minkowski seuclidean mahalanobis nan_euclidean"
SCALE = {"polynomial": 8.0}
TRANSLATION = "chebyshev cityblock euclidean sqeuclidean minkowski seuclidean mahalanobis"


def load(name):
    """A data file of SciPy's tests."""
    return np.loadtxt(DATA / f"{name}.txt")


class Command:
    """The command under test."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)

    def save(self, name, array):
        """Saves `array` and returns its path."""
        path = self.folder / f"{name}.npy"
        np.save(path, np.ascontiguousarray(array))
        return str(path)

    def param(self, name, value):
        """`name=value`, an array through a file."""
        if isinstance(value, np.ndarray):
            return f"{name}=@{self.save('param-' + name, value.ravel().astype(float))}"
        return f"{name}={float(value)!r}"

    def dist(self, metric, params, x, y=None, extra=()):
        """The matrix of `zipfold dist`, or the condensed triangle without y."""
        out = self.folder / "out.npy"
        out.unlink(missing_ok=True)
        words = [self.binary, "dist", self.save("x", x)]
        words += ["--condensed"] if y is None else [self.save("y", y)]
        words += ["--metric", metric, *extra]
        for name, value in params.items():
            words += ["--param", self.param(name, value)]
        done = subprocess.run([*words, "-o", str(out)], capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
        return np.load(out)


class Table:
    """Comparisons made so far."""

    def __init__(self):
        self.bad = self.count = 0
        print(f"{'metric':18} {'options':16} {'data':26} {'against':10} {'values':>7} {'max rel':>9} {'max abs':>9}")

    def line(self, metric, params, data, against, got, right, rtol=RTOL, atol=None):
        """Prints one comparison."""
        atol = ATOL.get(metric, 0.0) if atol is None else atol
        self.count += 1
        options = ",".join(f"{k}" if isinstance(v, np.ndarray) else f"{k}={v:g}" for k, v in params.items())
        start = f"{metric:18} {options:16} {data:26} {against:10}"
        if isinstance(got, Exception) or got.shape != right.shape:
            self.bad += 1
            return print(f"{start} FAILED {got if isinstance(got, Exception) else got.shape}")
        plain = np.isfinite(got) & np.isfinite(right)
        gap = np.abs(got[plain].astype(float) - right[plain])
        size = np.abs(right[plain])
        rel = np.max(gap[size > 0] / size[size > 0], initial=0.0)
        right_ones = np.allclose(got, right, rtol=rtol, atol=atol, equal_nan=True)
        self.bad += not right_ones
        verdict = "" if right_ones else "  DISAGREES"
        print(f"{start} {got.size:7} {rel:9.1e} {np.max(gap, initial=0.0):9.1e}{verdict}")


def attempt(go, *args):
    """The value, or the exception, of a call."""
    try:
        return go(*args)
    except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as e:
        return e


def files(command, table, wanted):
    """Against the values that SciPy's tests read from files."""
    double, boolean, iris = load("pdist-double-inp"), load("pdist-boolean-inp"), load("iris")
    cases = [(m, {}, x, d, s) for m in ("chebyshev", "cityblock", "correlation", "cosine", "euclidean",
                                        "jensenshannon", "seuclidean") for x, d, s in ((double, "double", ""),
                                                                                      (iris, "iris", "-iris"))]
    cases += [("minkowski", {"p": 3.2}, double, "double", ""), ("minkowski", {"p": 3.2}, iris, "iris", "-iris"),
              ("minkowski", {"p": 5.8}, iris, "iris", "-iris"), ("hamming", {}, boolean, "boolean", ""),
              ("jaccard", {}, boolean, "boolean", "")]
    for metric, params, x, data, suffix in cases:
        if metric in wanted:
            power = f"-{params['p']}" if params else ""
            right = load(f"pdist-{metric}{power}-ml{suffix}")
            atol = {"cosine": 1e-5, "jensenshannon": 1e-12}.get(metric)
            table.line(metric, params, data, "file", attempt(command.dist, metric, params, x), right, atol=atol)
    if "spearman" in wanted:
        right = load("pdist-spearman-ml")
        got = attempt(command.dist, "spearman", {}, double)
        table.line("spearman", {}, "double", "file", got, 1.0 - right, atol=1e-7)


def inputs():
    """(name, x, y, boolean) of SciPy's cdist tests."""
    yield "cdist-X1/X2", load("cdist-X1"), load("cdist-X2"), False
    for name in ("random-double-data", "random-int-data", "random-uint-data", "random-bool-data"):
        x = load(name)
        yield name, x[::2], x[1::2], "bool" in name
    iris = load("iris")
    yield "iris", iris[:75], iris[75:], False
    boolean = load("pdist-boolean-inp")
    yield "pdist-boolean-inp", boolean[:10], boolean[10:], True


def option_sets(metric, dim, rng):
    """Options to try for a SciPy metric."""
    weights = rng.uniform(0.1, 2.0, dim) * (np.arange(dim) % 5 != 4)
    yield {}
    if metric in WEIGHTED.split():
        yield {"w": weights}
    if metric == "minkowski":
        for p in (0.5, 1.0, 1.5, 3.0, np.inf):
            yield {"p": p}
            yield {"p": p, "w": weights}
    if metric == "seuclidean":
        yield {"V": rng.uniform(0.1, 2.0, dim)}
    if metric == "mahalanobis":
        a = rng.normal(size=(dim, dim))
        yield {"VI": a @ a.T}
        yield {"VI": a}


def scipy_value(metric, params, x, y):
    """SciPy's cdist, or pdist without y."""
    if metric in BOOLEAN.split() and metric != "hamming":
        x, y = x.astype(bool), None if y is None else y.astype(bool)
    if metric == "yule" and "w" in params:
        # cdist of SciPy 1.15 gives another value than its own function of two vectors; later versions agree with that.
        metric, params = lambda u, v, w=params["w"]: distance.yule(u, v, w), {}
    return distance.pdist(x, metric, **params) if y is None else distance.cdist(x, y, metric, **params)


def scipy_metrics(command, table, wanted):
    """Against SciPy's cdist and pdist, with options."""
    rng = np.random.default_rng(5)
    for data, x, y, boolean in inputs():
        names = set((BOOLEAN if boolean else REAL + " mahalanobis").split())
        names |= {"jensenshannon"} if (x >= 0).all() and (y >= 0).all() else set()
        for metric in sorted(names & wanted):
            if metric == "mahalanobis" and data == "cdist-X1/X2":
                x = np.vstack([x, 10.0 - x])
            for params in option_sets(metric, x.shape[1], rng):
                got = attempt(command.dist, metric, params, x, y)
                table.line(metric, params, data, "cdist", got, scipy_value(metric, params, x, y))
                if metric == "mahalanobis" and not params and len(x) <= x.shape[1]:
                    continue
                got = attempt(command.dist, metric, params, x)
                table.line(metric, params, data, "pdist", got, scipy_value(metric, params, x, None))


def options_of_functions(command, table, wanted):
    """Options that SciPy takes for two vectors only."""
    x, y = load("random-double-data")[:10], load("random-double-data")[10:30]
    w = np.linspace(0.1, 2.0, x.shape[1])
    cases = [("jensenshannon", {"base": 2.0}, lambda u, v: distance.jensenshannon(u, v, 2.0)),
             ("correlation", {"centered": 0.0}, lambda u, v: distance.correlation(u, v, centered=False)),
             ("correlation", {"centered": 0.0, "w": w}, lambda u, v: distance.correlation(u, v, w, centered=False)),
             ("kl", {}, scipy.stats.entropy), ("kl", {"base": 2.0}, lambda u, v: scipy.stats.entropy(u, v, 2.0)),
             ("pearson", {}, lambda u, v: scipy.stats.pearsonr(u, v)[0]),
             ("spearman", {}, lambda u, v: scipy.stats.spearmanr(u, v)[0]),
             ("hellinger", {}, lambda u, v: np.linalg.norm(np.sqrt(u / u.sum()) - np.sqrt(v / v.sum())) / np.sqrt(2))]
    for metric, params, call in cases:
        if metric in wanted:
            right = np.array([[call(u, v) for v in y] for u in x])
            table.line(metric, params, "random-double-data", "function", attempt(command.dist, metric, params, x, y), right)
    if "spearman" in wanted:
        ties = load("random-int-data") // 10
        right = np.array([[scipy.stats.spearmanr(u, v)[0] for v in ties[5:20]] for u in ties[:5]])
        got = attempt(command.dist, "spearman", {}, ties[:5], ties[5:20])
        table.line("spearman", {}, "random-int-data, ties", "function", got, right)


def kernels(command, table, wanted):
    """Against scikit-learn's kernels."""
    # Of a size at which exponentials neither vanish nor saturate.
    data = load("random-double-data") / load("random-double-data").mean() / 4
    x, y = data[:40], data[40:]
    x[0], y[0] = 0.0, 0.0
    both = {"gamma": 0.3, "coef0": 0.5}
    cases = [("linear", pairwise.linear_kernel, [{}]), ("rbf", pairwise.rbf_kernel, [{}, {"gamma": 0.3}]),
             ("polynomial", pairwise.polynomial_kernel, [{}, both, {**both, "degree": 2}, {"degree": 2.5}]),
             ("laplacian", pairwise.laplacian_kernel, [{}, {"gamma": 0.3}]),
             ("sigmoid", pairwise.sigmoid_kernel, [{}, both]), ("chi2", pairwise.chi2_kernel, [{}, {"gamma": 0.3}]),
             ("additive_chi2", pairwise.additive_chi2_kernel, [{}]),
             ("cosine_similarity", pairwise.cosine_similarity, [{}])]
    for metric, call, sets in cases:
        for params in sets if metric in wanted else []:
            got = attempt(command.dist, metric, params, x, y)
            table.line(metric, params, "random-double-data", "sklearn", got, call(x, y, **params))
    if "haversine" in wanted:
        rng = np.random.default_rng(2)
        points = rng.uniform((-np.pi / 2, -np.pi), (np.pi / 2, np.pi), (60, 2))
        right = pairwise.haversine_distances(points[:20], points[20:])
        got = attempt(command.dist, "haversine", {}, points[:20], points[20:])
        table.line("haversine", {}, "uniform", "sklearn", got, right)
    if "nan_euclidean" in wanted:
        holes = load("random-double-data")
        holes[np.random.default_rng(3).uniform(size=holes.shape) < 0.3] = np.nan
        holes[0] = np.nan
        right = pairwise.nan_euclidean_distances(holes[:30], holes[30:])
        got = attempt(command.dist, "nan_euclidean", {}, holes[:30], holes[30:])
        table.line("nan_euclidean", {}, "random-double, holes", "sklearn", got, right)


def degenerate(command, table, wanted):
    """Rows of zeros, of ones, of equal numbers, and rows against themselves."""
    x = np.array([[0, 0, 0], [1, 0, 2], [1, 1, 1], [2, 0, 0], [1, 0, 2]], dtype=float)
    for metric in sorted((set((REAL + " jensenshannon " + BOOLEAN).split())) & wanted):
        if metric == "seuclidean":
            continue
        data = (x != 0).astype(float) if metric in BOOLEAN.split() else x
        got = attempt(command.dist, metric, {}, data, data)
        table.line(metric, {}, "degenerate", "cdist", got, scipy_value(metric, {}, data, data), atol=1e-15 + ATOL.get(metric, 0))


def offset(command, table, wanted):
    """Single precision a million away from the origin keeps the digits of differences."""
    rng = np.random.default_rng(9)
    x = (1e6 + rng.normal(size=(60, 7)) * 100).astype(np.float32)
    y = (1e6 + rng.normal(size=(50, 7)) * 100).astype(np.float32)
    for metric in TRANSLATION.split():
        sets = [{"p": 3.0}, {"p": 1.5}] if metric == "minkowski" else [{}]
        for params in sets if metric in wanted else []:
            right = distance.cdist(x.astype(float), y.astype(float), metric, **params)
            table.line(metric, params, "float32 at 1e6", "cdist", attempt(command.dist, metric, params, x, y), right, rtol=1e-5)


def single(command, table, wanted):
    """Every metric in single precision against double precision of the same numbers, on the stored inputs."""
    kernels = "linear rbf polynomial laplacian sigmoid chi2 additive_chi2 cosine_similarity"
    positive = set("jensenshannon hellinger kl chi2 additive_chi2".split())
    for data, x, y, boolean in inputs():
        names = set((BOOLEAN if boolean else f"{REAL} {kernels} mahalanobis jensenshannon hellinger kl pearson spearman").split())
        if (x < 0).any() or (y < 0).any():
            names -= positive
        for metric in sorted(names & wanted):
            if metric == "mahalanobis" and len(x) + len(y) <= 2 * x.shape[1]:
                continue
            x32, y32 = (v.astype(np.float32) / np.float32(np.abs(x).max() if metric in kernels else 1) for v in (x, y))
            right = attempt(command.dist, metric, {}, x32.astype(float), y32.astype(float))
            got = attempt(command.dist, metric, {}, x32, y32)
            if isinstance(right, Exception) or isinstance(got, Exception):
                table.line(metric, {}, f"{data}, f32", "f64", got, np.zeros(0))
                continue
            scale = 1.0 if metric not in RELATIVE.split() else 0.0
            if metric == "linear":
                scale = np.linalg.norm(x32, axis=1).max() * np.linalg.norm(y32, axis=1).max()
            table.line(metric, {}, f"{data}, f32", "f64", got, right, rtol=1e-5, atol=1e-5 * scale * SCALE.get(metric, 1.0))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    names = REAL + " " + BOOLEAN + " mahalanobis jensenshannon kl pearson spearman hellinger linear rbf polynomial "
    names += "laplacian sigmoid chi2 additive_chi2 cosine_similarity haversine nan_euclidean"
    wanted = set(sys.argv[2:]) or set(names.split())
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        command, table = Command(sys.argv[1], folder), Table()
        for part in (files, scipy_metrics, options_of_functions, kernels, degenerate, offset, single):
            part(command, table, wanted)
    print(f"{table.count - table.bad} of {table.count} agree")
    sys.exit(table.bad > 0 or table.count == 0)


if __name__ == "__main__":
    main()
