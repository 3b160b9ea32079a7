#!/usr/bin/env python3
"""Short histograms with groups and with formulas that are summed by bin: builds of the command, turn by turn.

    python bench/columns.py BUILD... [--turns 3] [--folder FOLDER] [--record FILE.json]

BUILDs are commands (target/release/zipfold of some commits), the oldest first. The folder keeps the files of random points:

* 200 000 points in a cube of 100 with weights, 20 bins to a tenth of the side: counts, and a jackknife of 100 regions;
* 270 000 cells in a square with 20 kinds, 50 bins to a twentieth of the side;
* 814 084 points in a square with heights, 50 lags to a twentieth of the side: a semivariogram.

The least seconds of each command as it is called, with reading, and of its engine (``seconds`` of ``--json``). Answers of all builds
are the same bytes. TreeCorr counts the points of the first question too, with a jackknife of 100 patches, where it is installed: from
arrays, without reading. Prints tables as Markdown, and keeps all seconds in the file of ``--record``.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

try:
    import treecorr
except ImportError:
    treecorr = None
    print("TreeCorr is not installed", file=sys.stderr)

COUNT = ["paircount", "cat.csv", "--range", "0.1", "10", "--bins", "20"]
CELLS = ["hist", "cells.csv", "--bins", "50", "--range", "0", "500"]
LAGS = ["hist", "heights.csv", "--columns", "x,y", "--attributes", "z", "--bins", "50", "--range", "0", "0.05"]
GAMMA = ["--value", "gamma=(x.z-y.z)^2/2"]
# What is asked, and the question beside it.
ASKED = [
    ("pairs of 200 000 points", COUNT, None),
    ("with 100 regions", [*COUNT, "--regions", "100"], 0),
    ("with weights", [*COUNT, "--weights", "w"], None),
    ("with weights and 100 regions", [*COUNT, "--weights", "w", "--regions", "100"], 2),
    ("270 000 cells", [*CELLS, "--attributes", "kind"], None),
    ("by 20 kinds", [*CELLS, "--by", "kind"], 4),
    ("814 084 points, 50 lags", LAGS, None),
    ("with a semivariogram", [*LAGS, *GAMMA], 6),
]


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def write(path, names, columns):
    if not path.exists():
        np.savetxt(path, np.column_stack(columns), delimiter=",", fmt="%.17g", header=",".join(names), comments="")


def files(folder):
    random = np.random.default_rng(22)
    places = random.random((814_084, 2))
    heights = np.sin(5 * places[:, 0]) + random.normal(0, 0.1, len(places))
    write(folder / "heights.csv", "xyz", [places, heights])
    write(folder / "cat.csv", "xyzw", [random.random((200_000, 3)) * 100, random.random(200_000) + 0.5])
    cells = random.random((270_000, 2)) * 1e4
    write(folder / "cells.csv", ["x", "y", "kind"], [cells, random.integers(0, 20, len(cells))])


def call(build, command, folder):
    """Seconds of a command and of its engine, and the lines of its answer."""
    out = folder / "answer.csv"
    start = time.perf_counter()
    told = subprocess.run([build, *command, "-o", str(out), "--force", "--json"], cwd=folder, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    engine = json.loads(told.stdout)["seconds"]
    # Comments tell about the run.
    lines = [line for line in out.read_text().splitlines() if not line.startswith("#")]
    return (seconds, engine["kernel"] if isinstance(engine, dict) else engine), lines


def peer(folder):
    """Seconds of TreeCorr for the plain count and for a jackknife of 100 patches, and its pairs of each bin, both ways round."""
    x, y, z, _ = np.loadtxt(folder / "cat.csv", delimiter=",", skiprows=1).T.copy()
    seconds, pairs = [], []
    for patches in (1, 100):
        start = time.perf_counter()
        catalogue = treecorr.Catalog(x=x, y=y, z=z, npatch=patches)
        method = "jackknife" if patches > 1 else "shot"
        count = treecorr.NNCorrelation(min_sep=0.1, max_sep=10, nbins=20, bin_type="Linear", bin_slop=0, var_method=method)
        count.process(catalogue, num_threads=os.cpu_count())
        seconds.append(time.perf_counter() - start)
        pairs.append(2 * count.npairs)
    return seconds, pairs


def table(builds, least, which):
    last = builds[-1]
    print("| question |" + "".join(f" {build}, s |" for build in builds) + " first / last | last, times the question without |")
    print("|---" * (len(builds) + 3) + "|")
    for at, (what, _, beside) in enumerate(ASKED):
        times = [least[at, build][which] for build in builds]
        ratio = "" if beside is None else f"{times[-1] / least[beside, last][which]:.2f}"
        print(f"| {what} |" + "".join(f" {t:.3f} |" for t in times) + f" {times[0] / times[-1]:.2f} | {ratio} |")


def main():
    first_option = next((at for at, text in enumerate(sys.argv) if text.startswith("--")), len(sys.argv))
    builds = [str(Path(build).resolve()) for build in sys.argv[1:first_option]]
    folder = Path(option("--folder", ".")).resolve()
    files(folder)
    all_seconds = {(at, build): [] for at in range(len(ASKED)) for build in builds}
    for turn in range(int(option("--turns", "3"))):
        for at, (_, command, _) in enumerate(ASKED):
            answers = []
            for build in builds:
                seconds, lines = call(build, command, folder)
                all_seconds[at, build].append(seconds)
                answers.append(lines)
            assert all(lines == answers[0] for lines in answers), f"{command}: two answers"
    least = {key: [min(times) for times in zip(*seconds)] for key, seconds in all_seconds.items()}
    kept = [[ASKED[at][0], Path(build).name, seconds] for (at, build), seconds in all_seconds.items()]
    names = [Path(build).name for build in builds]
    by_name = {(at, Path(build).name): times for (at, build), times in least.items()}
    for which, what in enumerate(["Whole commands", "Engines"]):
        print(f"\n{what}:\n")
        table(names, by_name, which)
    if treecorr:
        seconds, pairs = peer(folder)
        print(f"\nTreeCorr {treecorr.__version__}: {seconds[0]:.2f} s, with 100 patches {seconds[1]:.2f} s,")
        print(f"{seconds[1] / least[1, builds[-1]][0]:.1f} times the whole command with 100 regions.")
        kept.append(["TreeCorr", treecorr.__version__, seconds])
        ours = call(builds[-1], COUNT, folder)[1]
        held(ours, pairs)
    if record := option("--record", None):
        Path(record).write_text(json.dumps({"seconds": kept, "unit": "whole command, engine"}, indent=1) + "\n")


def held(lines, pairs):
    """Says how many pairs of TreeCorr are in another bin."""
    at = lines[0].split(",").index("DD")
    counts = np.array([float(line.split(",")[at]) for line in lines[1:]])
    for what, found in zip(["plain", "jackknife"], pairs):
        print(f"{what}: {np.abs(found - counts).sum():.0f} of {counts.sum():.0f} pairs are in another bin.")


if __name__ == "__main__":
    main()
