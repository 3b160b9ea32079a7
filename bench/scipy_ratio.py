#!/usr/bin/env python3
"""Every kind of work that SciPy can do, by zipfold and by SciPy, in one run.

    python bench/scipy_ratio.py PATH/TO/zipfold [--quick] [NAME ...]

zipfold's time is that of the whole command: start, reading, computing, writing. SciPy's is that of numpy.load, the call
and numpy.save in a process already running. Both are the least of several turns, taken alternately. Prints a table as
Markdown, the ratio being SciPy's time over zipfold's, and ends with status 1 when a ratio is below 1.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy
from scipy.spatial import KDTree
from scipy.spatial import distance as ssd

REAL = ("braycurtis canberra chebyshev cityblock correlation cosine euclidean hamming jensenshannon mahalanobis "
        "seuclidean sqeuclidean").split()
BOOLEAN = "dice jaccard rogerstanimoto russellrao sokalsneath yule".split()


def workloads(quick):
    """(name, words, x, y, call) of everything compared; `call` takes the loaded arrays."""
    rng = np.random.default_rng(0)
    size = 1 if quick else 2
    for dim, n in ((3, 2000 * size), (64, 1200 * size), (512, 600 * size)):
        x, y = rng.random((n, dim)), rng.random((n + 77, dim))
        for metric in REAL:
            if metric == "mahalanobis" and dim > 64:
                continue
            yield f"cdist {metric} {n} d={dim}", ["dist", "X", "Y", "--metric", metric], x, y, lambda a, b, m=metric: ssd.cdist(a, b, m)
        for p in (1.5, 3.0):
            words = ["dist", "X", "Y", "--metric", "minkowski", "--param", f"p={p}"]
            yield f"cdist minkowski p={p} {n} d={dim}", words, x, y, lambda a, b, p=p: ssd.cdist(a, b, "minkowski", p=p)
        words = ["dist", "X", "--condensed"]
        yield f"pdist euclidean {n} d={dim}", words, x, None, lambda a, b: ssd.pdist(a)
        u, v = (rng.random((n, dim)) < 0.4).astype(float), (rng.random((n, dim)) < 0.4).astype(float)
        for metric in BOOLEAN:
            words = ["dist", "X", "Y", "--metric", metric]
            yield f"cdist {metric} {n} d={dim}", words, u, v, lambda a, b, m=metric: ssd.cdist(a.astype(bool), b.astype(bool), m)
    plane, cube = rng.random((20000 * size, 2)) * 100, rng.random((20000 * size, 3))
    words = ["join", "X", "--self", "--where", "sum((x - y)^2) <= 1"]
    yield f"KDTree.query_pairs {len(plane)} d=2", words, plane, None, lambda a, b: KDTree(a).query_pairs(1, output_type="ndarray")
    words = ["knn", "X", "Y", "-k", "10"]
    yield f"KDTree.query k=10 {len(cube)} d=3", words, cube[:5000], cube, lambda a, b: KDTree(b).query(a, 10)[1]
    edges = np.linspace(0, 0.1, 51)
    words = ["hist", "X", "--bins", "50", "--range", "0", "0.1"]
    yield (f"KDTree.count_neighbors {len(cube)} 50 bins", words, cube, None,
           lambda a, b: KDTree(a).count_neighbors(KDTree(a), edges, cumulative=False))
    points = rng.random((4000 * size, 3))
    words = ["hist", "X", "--bins", "300", "--range", "0", "2"]
    yield f"pdist and histogram {len(points)}", words, points, None, lambda a, b: np.histogram(ssd.pdist(a), 300, (0, 2))[0]
    words = ["reduce", "X", "Y", "--op", "sum"]
    yield f"cdist and sum {len(points)}", words, points, points + 0.1, lambda a, b: ssd.cdist(a, b).sum(1)
    words = ["reduce", "X", "Y", "--op", "argmin"]
    yield f"cdist and argmin {len(points)}", words, points, points + 0.1, lambda a, b: ssd.cdist(a, b).argmin(1)


def ours(binary, words, folder):
    """Seconds of the command."""
    out = folder / {"dist": "o.npy", "knn": "o.npz", "join": "o.parquet", "hist": "o.csv", "reduce": "o.npy"}[words[0]]
    words = [str(folder / "x.npy") if w == "X" else str(folder / "y.npy") if w == "Y" else w for w in words]
    out.unlink(missing_ok=True)
    start = time.perf_counter()
    subprocess.run([binary, *words, "-o", str(out), "--quiet"], check=True)
    return time.perf_counter() - start


def theirs(call, has_y, folder):
    """Seconds of SciPy."""
    start = time.perf_counter()
    x = np.load(folder / "x.npy")
    y = np.load(folder / "y.npy") if has_y else None
    np.save(folder / "o2.npy", call(x, y))
    return time.perf_counter() - start


def main():
    words = sys.argv[1:]
    if not words:
        sys.exit(__doc__)
    quick = "--quick" in words
    names = [w for w in words[1:] if w != "--quick"]
    warnings.simplefilter("ignore")
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}, {os.cpu_count()} cores\n")
    print("| work | zipfold s | SciPy s | ratio |\n|---|---|---|---|")
    slower = []
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        folder = pathlib.Path(folder)
        for name, args, x, y, call in workloads(quick):
            if names and not any(n in name for n in names):
                continue
            np.save(folder / "x.npy", x)
            if y is not None:
                np.save(folder / "y.npy", y)
            turns = [(ours(words[0], args, folder), theirs(call, y is not None, folder)) for _ in range(3)]
            a, b = (min(t[i] for t in turns) for i in (0, 1))
            slower += [name] if b < a else []
            print(f"| {name} | {a:.4f} | {b:.4f} | {b / a:.2f} |", flush=True)
    print(f"\n{len(slower)} slower than SciPy" + "".join(f"\n* {name}" for name in slower))
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
