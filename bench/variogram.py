#!/usr/bin/env python3
"""Semivariograms of `zipfold variogram`, next to GSTools and scikit-gstat.

    python bench/variogram.py BUILD [--turns 3] [--folder FOLDER] [--record FILE.json]

BUILD is a command (target/release/zipfold). The folder keeps files of random points in a square with heights, like those of
`bench/columns.py`: 814 084 points, 50 lags to a twentieth of the side, and the first points of these for the peers. These visit all pairs:
GSTools 20 000 points, scikit-gstat 5 000, which it holds as a matrix. Each engine answers from arrays or files that are there, in
turns; the least seconds count. Counts by lag must be equal, and the values within 1e-9 of each other. Prints a table as Markdown.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

try:
    import gstools
except ImportError:
    gstools = None
try:
    import skgstat
except ImportError:
    skgstat = None

LAGS, MAX = 50, 0.05
ASK = ["--xy", "x,y", "--value", "z", "--lags", str(LAGS), "--max", str(MAX)]
# Points, and what is asked beside.
ASKED = [
    (814_084, "Matheron", []),
    (814_084, "Matheron, Cressie–Hawkins", ["--estimator", "matheron,cressie"]),
    (814_084, "one direction", ["--azimuth", "30"]),
    (20_000, "Matheron", []),
    (5_000, "Matheron", []),
]


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def points(folder):
    random = np.random.default_rng(22)
    places = random.random((814_084, 2))
    heights = np.sin(5 * places[:, 0]) + random.normal(0, 0.1, len(places))
    for count in sorted({count for count, *_ in ASKED}):
        path = folder / f"heights-{count}.csv"
        if not path.exists():
            table = np.column_stack([places, heights])[:count]
            np.savetxt(path, table, delimiter=",", fmt="%.17g", header="x,y,z", comments="")
    return places, heights


def ours(build, folder, count, more):
    """Seconds of the whole command, resident bytes at most, and the answer."""
    words = [build, "variogram", f"heights-{count}.csv", *ASK, *more, "--json"]
    start = time.perf_counter()
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        watch = threading.Thread(target=watched, args=(process.pid, resident := [0]))
        watch.start()
        told = process.stdout.read()
    seconds = time.perf_counter() - start
    watch.join()
    assert process.returncode == 0, words
    return seconds, resident[0], json.loads(told)["directions"][0]


def watched(pid, resident):
    """Keeps the most bytes that the command has resident; those of the process that starts it do not count."""
    status = Path(f"/proc/{pid}/status")
    while True:
        try:
            lines = status.read_text().splitlines()
            name = next(line for line in lines if line.startswith("Name:")).split()[1]
            line = next((line for line in lines if line.startswith("VmHWM:")), None)
        except (OSError, StopIteration):
            return
        if line is None:
            return
        if name == "zipfold":
            resident[0] = max(resident[0], int(line.split()[1]) * 1024)
        time.sleep(0.002)


def by_gstools(places, heights):
    edges = np.linspace(0, MAX, LAGS + 1)
    start = time.perf_counter()
    gstools.config.NUM_THREADS = os.cpu_count()
    _, values, counts = gstools.vario_estimate(places.T, heights, edges, return_counts=True)
    return time.perf_counter() - start, np.asarray(values), np.asarray(counts)


def by_skgstat(places, heights):
    start = time.perf_counter()
    found = skgstat.Variogram(places, heights, bin_func=list(np.linspace(0, MAX, LAGS + 1)[1:]), fit_method=None)
    values = found.experimental
    seconds = time.perf_counter() - start
    return seconds, np.asarray(values), np.asarray(found.bin_count)


def same(found, values, counts):
    """Whether counts by lag are equal, and by how much values differ."""
    fine = np.array_equal(np.array(found["counts"]), counts)
    apart = np.nanmax(np.abs(np.array(found["curves"][0]["values"]) - values))
    return fine, apart


def main():
    build = str(Path(sys.argv[1]).resolve())
    folder = Path(option("--folder", ".")).resolve()
    places, heights = points(folder)
    kept = []
    print("| points | question | zipfold, s | resident, MB | pairs in lags | GSTools, s | scikit-gstat, s |")
    print("|---|---|---|---|---|---|---|")
    for count, what, more in ASKED:
        peers = {}
        if gstools and count == 20_000:
            peers["GSTools"] = by_gstools
        if skgstat and count == 5_000:
            peers["scikit-gstat"] = by_skgstat
            if gstools:
                peers["GSTools"] = by_gstools
        times, resident = [], 0
        peer_times = {name: [] for name in peers}
        for _ in range(int(option("--turns", "3"))):
            seconds, bytes_, found = ours(build, folder, count, more)
            times.append(seconds)
            resident = max(resident, bytes_)
            for name, ask in peers.items():
                seconds, values, counts = ask(places[:count], heights[:count])
                peer_times[name].append(seconds)
                fine, apart = same(found, values, counts)
                assert fine and apart < 1e-9, f"{name}: counts equal {fine}, values apart {apart}"
        least = {name: f"{min(all_):.2f}" for name, all_ in peer_times.items() if all_}
        inside = sum(found["counts"])
        print(
            f"| {count} | {what} | {min(times):.2f} | {resident / 1e6:.0f} | {inside} |"
            f" {least.get('GSTools', '')} | {least.get('scikit-gstat', '')} |",
            flush=True,
        )
        kept.append([count, what, times, resident, inside, peer_times])
    if record := option("--record", None):
        Path(record).write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
