"""``python -m zipfold.compare``: zipfold beside other libraries, in one process, on the same arrays.

Every engine that is installed is measured, best of several turns taken alternately, after its answer was compared with
zipfold's. Engines that are not installed are named under the table.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import zipfold as zf

__all__ = ["main", "table"]

#: A task: what it is called, and for every engine a function that gives its answer.
Task = tuple[str, dict[str, Callable[[], Any]]]


#: The engines besides zipfold, and the modules they are imported from.
_ENGINES = {
    "SciPy": ("scipy",),
    "scikit-learn": ("sklearn",),
    "FAISS": ("faiss",),
    "KeOps": ("pykeops",),
    "pyAgrum": ("pyagrum", "pyAgrum"),
}


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except Exception:
        # A package that is there and cannot be loaded (KeOps without a compiler) is as good as not there.
        return None


def _versions() -> dict[str, str | None]:
    """The version of every engine, None where it cannot be imported."""
    out: dict[str, str | None] = {}
    for engine, modules in _ENGINES.items():
        module = next(filter(None, map(_installed, modules)), None)
        out[engine] = None if module is None else str(getattr(module, "__version__", "of unknown version"))
    return out


def _distances(rng: np.random.Generator, scale: float) -> list[Task]:
    spatial, pairwise = _installed("scipy.spatial.distance"), _installed("sklearn.metrics.pairwise")
    tasks: list[Task] = []
    for n, d in [(100, 3), (int(3000 * scale), 3), (int(3000 * scale), 128)]:
        x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        for metric in ("euclidean", "cityblock"):
            engines: dict[str, Callable[[], Any]] = {"zipfold": partial(zf.cdist, x, y, metric)}
            if spatial:
                engines["SciPy"] = partial(spatial.cdist, x, y, metric)
            if pairwise:
                engines["scikit-learn"] = partial(pairwise.pairwise_distances, x, y, metric)
            tasks.append((f"{metric} matrix, {n} × {n}, d = {d}", engines))
    return tasks


def _neighbours(rng: np.random.Generator, scale: float) -> list[Task]:
    neighbors, faiss = _installed("sklearn.neighbors"), _installed("faiss")
    n, d, k = int(10_000 * scale), 32, 10
    x = rng.normal(size=(n, d)).astype(np.float32)
    engines: dict[str, Callable[[], Any]] = {"zipfold": lambda: zf.knn(x[: n // 4], x, k, metric="sqeuclidean").indices}
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
    engines: dict[str, Callable[[], Any]] = {"zipfold": lambda: question.run()}
    if neighbors:
        density = neighbors.KernelDensity(bandwidth=0.1, rtol=1e-8).fit(x)
        norm = n * (2 * np.pi * 0.01) ** 1.5
        engines["scikit-learn"] = lambda: np.exp(density.score_samples(x)) * norm
    if keops:
        a, b = keops.LazyTensor(x[:, None, :]), keops.LazyTensor(x[None, :, :])
        engines["KeOps"] = lambda: ((-((a - b) ** 2).sum(-1) / 0.02).exp()).sum(dim=1).ravel()
    histogram: dict[str, Callable[[], Any]] = {"zipfold": lambda: zf.pair_histogram(x, bins=100, range=(0, 2)).counts}
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


def _once(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _seconds(engines: dict[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """Best seconds of each, by turns until each has had ``budget`` seconds and three turns."""
    times: dict[str, list[float]] = {engine: [] for engine in engines}
    waiting = list(engines)
    while waiting:
        for engine in waiting:
            times[engine].append(_once(engines[engine]))
        waiting = [e for e in waiting if len(times[e]) < 3 or sum(times[e]) < budget]
    return {engine: min(all_turns) for engine, all_turns in times.items()}


def _text(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def table(scale: float = 1.0, budget: float = 1.0) -> list[tuple[str, dict[str, float]]]:
    """Best seconds by task and engine; NaN where an engine gave another answer than zipfold."""
    rng = np.random.default_rng(0)
    tasks = [*_distances(rng, scale), *_neighbours(rng, scale), *_sums(rng, scale), *_inference(rng, scale)]
    out = []
    for name, engines in tasks:
        ours = engines["zipfold"]()
        agree = {engine: work for engine, work in engines.items() if _agree(ours, work())}
        times = _seconds(agree, budget)
        out.append((name, {engine: times.get(engine, float("nan")) for engine in engines}))
    return out


def main(arguments: list[str] | None = None) -> None:
    """Prints the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m zipfold.compare", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="least time for each measurement")
    given = parser.parse_args(arguments)
    versions = _versions()
    rows = table(given.scale, given.seconds)
    engines = ["zipfold", *(engine for engine, version in versions.items() if version is not None)]
    have = [f"{engine} {version}" for engine, version in versions.items() if version is not None]
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    print(", ".join([f"zipfold {zf.__version__}", *have, machine]) + "\n")
    print("| task | " + " | ".join(engines) + " |")
    print("|---|" + "---:|" * len(engines))
    for name, times in rows:
        cells = [("other answer" if times[e] != times[e] else _text(times[e])) if e in times else "–" for e in engines]
        print(f"| {name} | " + " | ".join(cells) + " |")
    missing = [engine for engine, version in versions.items() if version is None]
    print("\n– : the engine does not do this.", f"Not installed: {', '.join(missing) or 'none'}.")


if __name__ == "__main__":
    main()
