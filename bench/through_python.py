#!/usr/bin/env python3
"""What a call through Python costs over the engine's own time, on work of the engine's benchmark.

    PYTHONPATH=python python bench/through_python.py PATH/TO/zipfold [--turns 5] [--quick] [--check]

Three times for each workload, the least of several turns taken alternately: the call in Python from start to end, the
computing that the engine reports of that same call, and the computing that the command reports of the same work on the
same rows. A matrix is written into an array of the caller that has been touched before; the command cannot do that (its
matrix goes to a file), so it has no third time. Prints a table as Markdown. With --check it ends with status 1 where the
call takes more than 3 % over the engine's time within it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import zipfold as zf


def workloads(folder, quick):
    """(name, arrays by file name, call in Python that gives the engine's seconds or None, words of the command)."""
    rng = np.random.default_rng(0)
    x, y = rng.random((4000, 512), dtype=np.float32), rng.random((4000, 512), dtype=np.float32)
    count = 40_000 if quick else 200_000
    points, rows = rng.random((count, 3)), rng.random((20_000, 64), dtype=np.float32)
    queries = rows[:10_000].copy()
    out = np.ones((len(x), len(y)), np.float32)
    question = zf.pairs(points).histogram(300, (0, 1.8))
    nearest = zf.pairs(queries, rows).pair("euclidean").nearest(10)
    matrix = zf.pairs(x, y).pair("cityblock").matrix().precision("f32")
    for name, array in {"points": points, "rows": rows, "queries": queries}.items():
        np.save(folder / f"{name}.npy", array)
    yield ("cityblock matrix 4000 × 4000, d = 512, float32, into `out`",
           lambda: zf.cdist(x, y, "cityblock", out=out, precision="f32") is None, None)
    yield "the same as a new matrix, by `zf.pairs`", lambda: matrix.outcome().seconds, None
    yield (f"histogram of {count} points, 300 bins", lambda: question.outcome().seconds,
           ["hist", str(folder / "points.npy"), "--bins", "300", "--range", "0", "1.8", "-o", str(folder / "o.csv")])
    yield ("10 nearest of 10 000 in 20 000, d = 64, float32", lambda: nearest.outcome().seconds,
           ["knn", str(folder / "queries.npy"), str(folder / "rows.npy"), "-k", "10", "-o", str(folder / "o.npz")])


def turn(call):
    """Seconds of a call, and those that the engine says it computed."""
    start = time.perf_counter()
    inside = call()
    return time.perf_counter() - start, inside or float("nan")


def command(binary, words, folder):
    """Seconds that the command says it computed."""
    pathlib.Path(words[-1]).unlink(missing_ok=True)
    done = subprocess.run([binary, *words, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["seconds"]["kernel"]


def main():
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("binary")
    given.add_argument("--turns", type=int, default=5)
    given.add_argument("--quick", action="store_true", help="fewer points in the histogram")
    given.add_argument("--check", action="store_true")
    given = given.parse_args()
    print(f"zipfold {zf.__version__}, NumPy {np.__version__}, {os.cpu_count()} cores\n")
    print("| work | call s | engine within s | over | command s | over |\n|---|---:|---:|---:|---:|---:|")
    worst = 0.0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        folder = pathlib.Path(folder)
        for name, call, words in workloads(folder, given.quick):
            call()
            turns = []
            for _ in range(given.turns):
                turns.append((*turn(call), command(given.binary, words, folder) if words else float("nan")))
            whole, inside, beside = (min(t[k] for t in turns) for k in range(3))
            over = min(t[0] / t[1] for t in turns) - 1
            worst = max(worst, over) if over == over else worst
            shown = [f"{v:.4f}" if v == v else "–" for v in (whole, inside, beside)]
            more = [f"{100 * v:.2f} %" if v == v else "–" for v in (over, whole / beside - 1)]
            print(f"| {name} | {shown[0]} | {shown[1]} | {more[0]} | {shown[2]} | {more[1]} |", flush=True)
    sys.exit(given.check and worst > 0.03)


if __name__ == "__main__":
    main()
