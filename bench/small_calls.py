#!/usr/bin/env python3
"""What one call on a small input costs: zipfold beside SciPy, in one process.

    PYTHONPATH=python python bench/small_calls.py [--rows 100] [--columns 3] [--turns 7] [--check] [METRIC ...]

Calls of the two libraries alternate in short turns, so that both see the same machine; the least mean of a turn counts.
Prints a table as Markdown, in microseconds, the ratio being zipfold's time over SciPy's. With --check it ends with
status 1 when a ratio is above 1.
"""

import argparse
import os
import sys
import time
import warnings

import numpy as np
import scipy
from scipy.spatial import distance as ssd

import zipfold as zf

REAL = ("braycurtis canberra chebyshev cityblock correlation cosine euclidean hamming jensenshannon mahalanobis "
        "minkowski seuclidean sqeuclidean").split()
BOOLEAN = "dice jaccard rogerstanimoto russellrao sokalsneath yule".split()


def mean(call, seconds):
    """Mean seconds of a call over a turn."""
    calls, start = 0, time.perf_counter()
    while True:
        for _ in range(16):
            call()
        calls += 16
        spent = time.perf_counter() - start
        if spent > seconds:
            return spent / calls


def compared(ours, theirs, turns, seconds):
    """Least mean seconds of both."""
    ours(), theirs()
    both = [(mean(ours, seconds), mean(theirs, seconds)) for _ in range(turns)]
    return min(a for a, _ in both), min(b for _, b in both)


def calls(metrics, rows, columns):
    """(name, zipfold's call, SciPy's call) of everything compared."""
    rng = np.random.default_rng(0)
    real, other = rng.random((rows, columns)), rng.random((rows, columns))
    true, false = real < 0.5, other < 0.5
    for metric in metrics:
        x, y = (true, false) if metric in BOOLEAN else (real, other)
        options = {"p": 3} if metric == "minkowski" else {}
        yield (f"cdist {metric}", lambda m=metric, x=x, y=y, o=options: zf.cdist(x, y, m, **o),
               lambda m=metric, x=x, y=y, o=options: ssd.cdist(x, y, m, **o))
        yield (f"pdist {metric}", lambda m=metric, x=x, o=options: zf.pdist(x, m, **o),
               lambda m=metric, x=x, o=options: ssd.pdist(x, m, **o))


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("metrics", nargs="*", default=[*REAL, *BOOLEAN])
    words.add_argument("--rows", type=int, default=100)
    words.add_argument("--columns", type=int, default=3)
    words.add_argument("--turns", type=int, default=7)
    words.add_argument("--check", action="store_true")
    given = words.parse_args()
    warnings.simplefilter("ignore")
    print(f"{given.rows} × {given.columns}, SciPy {scipy.__version__}, NumPy {np.__version__}, {os.cpu_count()} cores\n")
    print("| call | zipfold µs | SciPy µs | ratio |\n|---|---:|---:|---:|")
    slower = []
    for name, ours, theirs in calls(given.metrics, given.rows, given.columns):
        a, b = compared(ours, theirs, given.turns, 0.02)
        slower += [name] if a > b else []
        print(f"| {name} | {a * 1e6:.1f} | {b * 1e6:.1f} | {a / b:.2f} |", flush=True)
    print(f"\n{len(slower)} slower than SciPy" + "".join(f"\n* {name}" for name in slower))
    sys.exit(given.check and bool(slower))


if __name__ == "__main__":
    main()
