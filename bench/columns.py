#!/usr/bin/env python3
"""Short histograms with groups and with formulas that are summed by bin: two builds of the command, turn by turn.

    python bench/columns.py OLD NEW [--turns 3] [--folder FOLDER]

OLD and NEW are commands (target/release/zipfold of two commits). The folder keeps the files of random points:

* 200 000 points in a cube of 100 with weights, 20 bins to a tenth of the side: counts, and a jackknife of 100 regions;
* 270 000 cells in a square with 20 kinds, 50 bins to a twentieth of the side;
* 814 084 points in a square with heights, 50 lags to a twentieth of the side: a semivariogram.

The least seconds of each command, as it is called, with reading. Answers of both builds are the same bytes. Prints a table as
Markdown.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

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


def main():
    builds = [str(Path(build).resolve()) for build in sys.argv[1:3]]
    folder = Path(option("--folder", ".")).resolve()
    files(folder)
    least = {}
    for turn in range(int(option("--turns", "3"))):
        for at, (_, command, _) in enumerate(ASKED):
            answers = []
            for build in builds:
                out = folder / "answer.csv"
                start = time.perf_counter()
                subprocess.run([build, *command, "-o", str(out), "--force"], cwd=folder, check=True, capture_output=True)
                seconds = time.perf_counter() - start
                least[at, build] = min(seconds, least.get((at, build), seconds))
                lines = out.read_text().splitlines()
                # Comments tell about the run.
                answers.append([line for line in lines if not line.startswith("#")])
            assert answers[0] == answers[1], f"{command}: two answers"
    print("| question | old, s | new, s | old / new | new, times the question without |\n|---|---|---|---|---|")
    for at, (what, _, beside) in enumerate(ASKED):
        old, new = (least[at, build] for build in builds)
        ratio = "" if beside is None else f"{new / least[beside, builds[1]]:.2f}"
        print(f"| {what} | {old:.3f} | {new:.3f} | {old / new:.2f} | {ratio} |")


if __name__ == "__main__":
    main()
