#!/usr/bin/env python3
"""Metrics of boolean rows by counting bits, beside SciPy and scikit-learn, in one run.

    ZIPFOLD_PACKAGE=FOLDER python bench/booleans.py

Rates are 10^9 components of pairs a second: the least of five turns of each, taken alternately, of rows of zeros and ones in
single precision for zipfold and as booleans for the others. Prints a table as Markdown.
"""

import os
import sys
import time

import numpy as np

if "ZIPFOLD_PACKAGE" in os.environ:
    sys.path.insert(0, os.environ["ZIPFOLD_PACKAGE"])
import zipfold as zf
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

METRICS = ["jaccard", "dice", "hamming", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]


def timed(call):
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def main():
    rng = np.random.default_rng(0)
    print("| metric | n | d | zipfold | SciPy | scikit-learn | zipfold / best | largest difference |\n|---|---|---|---|---|---|---|---|")
    for n, d in ((2000, 128), (2000, 1024)):
        x, y = (rng.random((n, d)) < 0.3 for _ in range(2))
        fx, fy = x.astype(np.float32), y.astype(np.float32)
        out = np.zeros((n, n), np.float32)
        for metric in METRICS:
            calls = [
                lambda: zf.cdist(fx, fy, metric, out=out),
                lambda: cdist(x, y, metric),
                lambda: pairwise_distances(x, y, metric=metric, n_jobs=2),
            ]
            best, answers = [float("inf")] * 3, [None] * 3
            for turn in range(5):
                for at, call in enumerate(calls):
                    if turn == 0 or best[at] < 1.0:
                        seconds, answers[at] = timed(call)
                        best[at] = min(best[at], seconds)
            ours, scipy, sklearn = (n * n * d / s / 1e9 for s in best)
            apart = float(np.nanmax(np.abs(answers[0] - answers[1])))
            print(f"| {metric} | {n} | {d} | {ours:.1f} | {scipy:.2f} | {sklearn:.2f} | {ours / max(scipy, sklearn):.1f} | {apart:.1e} |", flush=True)


if __name__ == "__main__":
    main()
