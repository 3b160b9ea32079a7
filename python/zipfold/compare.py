"""``python -m zipfold.compare``: zipfold beside other libraries, in one process, on the same arrays.

Every engine that is installed is measured, best of several runs, after its answer was compared with zipfold's.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import zipfold as zf

__all__ = ["main", "table"]

#: A task: what it is called, and for every engine a function that gives its answer.
Task = tuple[str, dict[str, Callable[[], Any]]]


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except Exception:
        return None


def _distances(rng: np.random.Generator, scale: float) -> list[Task]:
    spatial, pairwise = _installed("scipy.spatial.distance"), _installed("sklearn.metrics.pairwise")
    tasks: list[Task] = []
    for n, d in [(100, 3), (int(3000 * scale), 3), (int(3000 * scale), 128)]:
        x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        for metric in ("euclidean", "cityblock"):
            engines = {"zipfold": lambda x=x, y=y, m=metric: zf.cdist(x, y, m)}
            if spatial:
                engines["SciPy"] = lambda x=x, y=y, m=metric: spatial.cdist(x, y, m)
            if pairwise:
                engines["scikit-learn"] = lambda x=x, y=y, m=metric: pairwise.pairwise_distances(x, y, m)
            tasks.append((f"{metric} matrix, {n} × {n}, d = {d}", engines))
    return tasks


def _neighbours(rng: np.random.Generator, scale: float) -> list[Task]:
    neighbors, faiss = _installed("sklearn.neighbors"), _installed("faiss")
    n, d, k = int(10_000 * scale), 32, 10
    x = rng.normal(size=(n, d)).astype(np.float32)
    engines = {"zipfold": lambda: zf.knn(x[: n // 4], x, k, metric="sqeuclidean").indices}
    if neighbors:
        brute = neighbors.NearestNeighbors(n_neighbors=k, algorithm="brute").fit(x)
        engines["scikit-learn"] = lambda: brute.kneighbors(x[: n // 4], return_distance=False)
    if faiss:
        index = faiss.IndexFlatL2(d)
        index.add(x)
        engines["FAISS"] = lambda: index.search(x[: n // 4], k)[1]
    return [(f"{k} nearest of {n // 4} in {n}, d = {d}, float32", engines)]


def _sums(rng: np.random.Generator, scale: float) -> list[Task]:
    neighbors, keops = _installed("sklearn.neighbors"), _installed("pykeops.numpy")
    n = int(10_000 * scale)
    x = rng.random((n, 3))
    question = zf.pairs(x, x.copy()).pair("exp(-sum((x - y)^2) / (2*h^2))", h=0.1).sum()
    engines = {"zipfold": lambda: question.run()}
    if neighbors:
        density = neighbors.KernelDensity(bandwidth=0.1, rtol=1e-8).fit(x)
        norm = n * (2 * np.pi * 0.01) ** 1.5
        engines["scikit-learn"] = lambda: np.exp(density.score_samples(x)) * norm
    if keops:
        a, b = keops.LazyTensor(x[:, None, :]), keops.LazyTensor(x[None, :, :])
        engines["KeOps"] = lambda: ((-((a - b) ** 2).sum(-1) / 0.02).exp()).sum(dim=1).ravel()
    histogram = {"zipfold": lambda: zf.pair_histogram(x, bins=100, range=(0, 2)).counts}
    tree = _installed("scipy.spatial")
    if tree:
        edges = np.linspace(0, 2, 101)
        own = tree.cKDTree(x)

        def by_tree() -> Any:
            # Ordered pairs within each edge; every point is within 0 of itself.
            below = (own.count_neighbors(own, np.nextafter(edges, -np.inf)) - n) // 2
            return np.diff(np.maximum(below, 0))

        histogram["SciPy"] = by_tree
    return [(f"Gaussian sum, {n} × {n}, d = 3", engines), (f"histogram of distances, {n} points, 100 bins", histogram)]


def _inference(rng: np.random.Generator, scale: float) -> list[Task]:
    gum = _installed("pyagrum") or _installed("pyAgrum")
    if gum is None:
        return []
    gum.initRandom(7)
    model = gum.randomBN(n=int(60 * scale) + 4, ratio_arc=1.3, domain_size=3)

    def exact() -> Any:
        engine = gum.LazyPropagation(model)
        engine.makeInference()
        return np.concatenate([engine.posterior(node).toarray() for node in sorted(model.nodes())])

    def ours() -> Any:
        return np.concatenate([list(row.values()) for row in zf.infer(model).probabilities.values()])

    return [(f"all marginals, random network of {model.size()} variables", {"zipfold": ours, "pyAgrum": exact})]


def _agree(ours: Any, theirs: Any) -> bool:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.kind in "iu":
        return bool((ours == theirs).mean() > 0.999)
    return bool(np.allclose(ours, theirs, rtol=1e-4, atol=1e-6))


def _seconds(work: Callable[[], Any], budget: float = 1.0) -> float:
    best, spent, runs = float("inf"), 0.0, 0
    while spent < budget or runs < 3:
        start = time.perf_counter()
        work()
        once = time.perf_counter() - start
        best, spent, runs = min(best, once), spent + once, runs + 1
    return best


def _text(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def table(scale: float = 1.0, budget: float = 1.0) -> list[tuple[str, dict[str, float]]]:
    """Best seconds by task and engine; NaN where an engine gave another answer than zipfold."""
    rng = np.random.default_rng(0)
    tasks = [*_distances(rng, scale), *_neighbours(rng, scale), *_sums(rng, scale), *_inference(rng, scale)]
    out = []
    for name, engines in tasks:
        ours = engines["zipfold"]()
        times = {}
        for engine, work in engines.items():
            times[engine] = _seconds(work, budget) if _agree(ours, work()) else float("nan")
        out.append((name, times))
    return out


def main(arguments: list[str] | None = None) -> None:
    """Prints the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m zipfold.compare", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="least time for each measurement")
    given = parser.parse_args(arguments)
    rows = table(given.scale, given.seconds)
    engines = list(dict.fromkeys(engine for _, times in rows for engine in times))
    print(f"zipfold {zf.__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores\n")
    print("| task | " + " | ".join(engines) + " |")
    print("|---|" + "---:|" * len(engines))
    for name, times in rows:
        cells = [("other answer" if times[e] != times[e] else _text(times[e])) if e in times else "–" for e in engines]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
