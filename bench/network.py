#!/usr/bin/env python3
"""Networks of genes next to pandas and scikit-learn: equal values, and seconds.

    ZIPFOLD_PACKAGE=FOLDER python bench/network.py [--turns 3] [--large]

Random genes of 8 programs over samples, with missing values:

* Spearman, Pearson and Kendall of 1 166 genes over 60 samples, 4.7 % missing, at least 20 common samples, next to
  `DataFrame.corr(method=, min_periods=)`; values are held to 1e-12;
* mutual information of genes over 200 samples next to `mutual_info_regression` (another estimator: by nearest neighbours), which
  is timed on some genes and multiplied by the number of genes;
* with `--large`, a false discovery rate over 20 000 genes and 200 samples, complete and with missing values: seconds and memory.

Turn by turn; the least seconds of each. Prints a table as Markdown.
"""

import argparse
import resource
import time

import numpy as np
from turns import least, zf

COMMON = 20


def expression(genes, samples, missing, seed=1):
    random = np.random.default_rng(seed)
    programs = random.normal(size=(8, samples))
    shares = random.normal(size=(genes, 8)) * (random.random((genes, 8)) < 0.3)
    x = shares @ programs + random.normal(size=(genes, samples))
    x[random.random(x.shape) < missing] = np.nan
    return x


def correlations(rows, turns):
    import pandas as pd

    x = expression(1166, 60, 0.047)
    frame = pd.DataFrame(x.T)
    for method in ("spearman", "pearson", "kendall"):
        calls = [
            lambda: zf.network(x, measure=method, min_periods=COMMON, fdr=0.05),
            lambda: frame.corr(method=method, min_periods=COMMON),
        ]
        seconds, (found, matrix) = least(calls, turns)
        values = matrix.to_numpy()[found.i, found.j]
        np.testing.assert_allclose(found.values, values, rtol=0, atol=1e-12)
        what = f"{method}, 1 166 genes, 60 samples, 4.7 % missing"
        rows.append((f"{what}, with discoveries", "zipfold", seconds[0], 1.0))
        rows.append((what, "pandas", seconds[1], seconds[1] / seconds[0]))


def information(rows, turns, genes=2000, timed=8):
    from sklearn.feature_selection import mutual_info_regression

    x = expression(genes, 200, 0.0)
    calls = [
        lambda: zf.network(x, measure="mi", top=10),
        lambda: [mutual_info_regression(x.T, x[g], random_state=0) for g in range(timed)],
    ]
    seconds, _ = least(calls, turns)
    other = seconds[1] / timed * (genes - 1) / 2
    rows.append((f"mutual information, {genes} genes, 200 samples", "zipfold", seconds[0], 1.0))
    rows.append((f"the same, {timed} genes times {(genes - 1) / 2 / timed:.0f}", "scikit-learn", other, other / seconds[0]))


def large(rows):
    for missing, measure in ((0.0, "spearman"), (0.0, "bicor"), (0.047, "spearman"), (0.047, "pearson")):
        x = expression(20_000, 200, missing)
        start = time.perf_counter()
        found = zf.network(x, measure=measure, min_periods=COMMON, fdr=0.05, threshold=0.6)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        what = f"{measure}, 20 000 genes, 200 samples, {missing:.1%} missing: {len(found.i)} edges, peak {peak} MiB"
        rows.append((what, "zipfold", seconds, 1.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    rows = []
    correlations(rows, args.turns)
    information(rows, args.turns)
    if args.large:
        large(rows)
    print("| question | by | seconds | times |\n|---|---|--:|--:|")
    for what, who, seconds, times in rows:
        print(f"| {what} | {who} | {seconds:.3g} | {times:.3g} |")


if __name__ == "__main__":
    main()
