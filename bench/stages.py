#!/usr/bin/env python3
"""Hausdorff's and Chamfer's distances next to SciPy, and several values of a parameter next to one.

    ZIPFOLD_PACKAGE=FOLDER python bench/stages.py [--turns 3]

* Hausdorff's distance of two sets of random points in three dimensions, next to ``scipy.spatial.distance.directed_hausdorff`` in both
  directions, which ends the loop of a row early, and next to ``scipy.spatial.KDTree``; the sets are alike, the worst case of the early
  end, or one of them is moved, the best one. Of 64 components next to ``directed_hausdorff`` alone.
* Chamfer's distance next to ``KDTree``.
* ten values of a parameter next to one: bandwidths of a Gaussian kernel (an exponential for each value), of a Cauchy kernel (a division),
  and thresholds, summed by row over two tables, in double and in single precision.
* ten radii next to the widest alone, which bounds leave out most pairs of: counts and sums by row, means in all, nearest distances.

Each call is made in turns, the least seconds count. Prints tables as Markdown.
"""

import os

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import directed_hausdorff
from turns import least, turns, zf


def both(a, b):
    return max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0])


def by_trees(a, b, fold, join):
    ways = [fold(KDTree(to).query(of, workers=-1)[0]) for of, to in ((a, b), (b, a))]
    return join(*ways)


def distances(rows, count):
    random = np.random.default_rng(25)
    cases = [(100_000, 3, 0.0), (100_000, 3, 0.5), (1_000_000, 3, 0.0), (10_000, 64, 0.0)]
    for n, d, moved in cases:
        a, b = random.random((n, d)), random.random((n, d)) + moved
        name = f"{n} × {n} points, {d} components" + (f", one set moved by {moved}" if moved else "")
        calls = [lambda: zf.hausdorff(a, b).value]
        names = ["zipfold"]
        # The early end does not help alike sets of a million: 10¹² pairs.
        if n <= 100_000:
            calls.append(lambda: both(a, b))
            names.append("directed_hausdorff")
        if d <= 3:
            calls.append(lambda: by_trees(a, b, np.max, max))
            names.append("KDTree")
        seconds, answers = least(calls, count)
        for peer, answer in zip(names[1:], answers[1:]):
            np.testing.assert_allclose(answer, answers[0], rtol=1e-12, err_msg=peer)
        rows += [(f"Hausdorff, {name}", who, time, time / seconds[0]) for who, time in zip(names, seconds)]
    a, b = random.random((1_000_000, 3)), random.random((1_000_000, 3))
    calls = [lambda: zf.chamfer(a, b).value, lambda: by_trees(a, b, np.mean, lambda x, y: x + y)]
    seconds, answers = least(calls, count)
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-12)
    rows += [("Chamfer, 1000000 × 1000000 points, 3 components", who, time, time / seconds[0]) for who, time in zip(("zipfold", "KDTree"), seconds)]


def values(rows, count):
    random = np.random.default_rng(26)
    formulas = {
        "exp(-r² / 2h²)": "exp(-sum((x - y)^2) / (2*h^2))",
        "1 / (1 + r² / h²)": "1 / (1 + sum((x - y)^2) / h^2)",
        "r < h": "norm(x - y) < h",
    }
    for precision in (np.float64, np.float32):
        for d in (3, 32):
            x, y = (random.random((10_000, d)).astype(precision) for _ in range(2))
            for name, formula in formulas.items():
                question = zf.pairs(x, y).pair(formula)
                calls = [lambda k=k, q=question: q.param(h=np.linspace(0.1, 1, k)).sum().run() for k in (1, 10)]
                seconds, _ = least(calls, count)
                what = f"{name}, 10000 × 10000 points, {d} components, {np.dtype(precision).name}"
                rows += [(what, f"{k} values", time, time / seconds[0]) for k, time in zip((1, 10), seconds)]


def radii(rows, count):
    random = np.random.default_rng(27)
    asked = {
        "norm(x - y) < h": ("count", "sum"),
        "if(norm(x - y) < h, 1, 0)": ("mean",),
        "norm(x - y) / h": ("min",),
    }
    for n, d, widest in ((30_000, 3, 0.1), (100_000, 2, 0.01)):
        x = random.random((n, d))
        for formula, folds in asked.items():
            for fold in folds:
                question = getattr(zf.pairs(x).pair(formula), fold)()
                calls = [lambda h=h, q=question: q.param(h=h).run() for h in ([widest], np.linspace(widest / 10, widest, 10))]
                seconds, answers = least(calls, count)
                assert (answers[1][:, 9] == answers[0][:, 0]).all(), "the widest of ten"
                what = f"{fold} of {formula}, h to {widest}, {n} points, {d} components"
                rows += [(what, who, time, time / seconds[0]) for who, time in zip(("the widest", "ten values"), seconds)]


def main():
    count = turns()
    rows: list[tuple[str, str, float, float]] = []
    distances(rows, count)
    values(rows, count)
    radii(rows, count)
    print(f"{os.cpu_count()} threads\n\n| | | seconds | ratio |\n|---|---|---|---|")
    for what, who, seconds, ratio in rows:
        print(f"| {what} | {who} | {seconds:.4g} | {ratio:.3g} |")


if __name__ == "__main__":
    main()
