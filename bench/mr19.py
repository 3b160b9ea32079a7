#!/usr/bin/env python3
"""Corrfunc's own benchmark beside ours: periodic pair counts of its Mr19 mock, 1.24 million galaxies in a box of 420 Mpc/h.

    ZIPFOLD_PACKAGE=FOLDER python bench/mr19.py PATH/TO/corrfunc-SOURCE [--turns 3]

The galaxies, the 14 bins and the reference counts are files of Corrfunc's source distribution (theory/tests). Both engines
run in this process with as many threads, turn by turn; the least seconds of each. Single precision coordinates, as the file
holds them. Prints the counts beside the reference, and a table as Markdown. Corrfunc counts every pair from both sides.
Without Corrfunc installed only zipfold is timed.
"""

import os
import pathlib
import sys

import numpy as np
from turns import least, turns, zf

BOX = 420.0


def galaxies(path):
    """Columns of a catalogue in Corrfunc's fast-food format: Fortran records of sizes, of a float, and of columns."""
    raw = path.read_bytes()
    at, records = 0, []
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "little")
        records.append(raw[at + 4 : at + 4 + size])
        at += size + 8
    columns = [np.frombuffer(r, np.float32) for r in records if len(r) > 1000]
    return columns[:3]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    count = turns()
    tests = pathlib.Path(sys.argv[1]) / "theory" / "tests"
    columns = galaxies(tests / "data" / "gals_Mr19.ff")
    bins = np.loadtxt(tests / "bins")
    edges = np.append(bins[:, 0], bins[-1, 1])
    reference = np.loadtxt(tests / "Mr19_DD_periodic")[:, 0].astype(np.uint64)
    points = np.stack(columns, axis=1)
    threads = os.cpu_count()
    ours = lambda: zf.pair_histogram(points, bins=edges, box=[BOX] * 3, closed="half-open").counts
    calls, names = [ours], ["zipfold"]
    try:
        from Corrfunc.theory import DD
    except ImportError:
        print("Corrfunc is not installed", file=sys.stderr)
    else:
        calls.append(lambda: DD(1, threads, edges, *columns, boxsize=BOX, periodic=True)["npairs"])
        names.append("Corrfunc")
    seconds, answers = least(calls, count)
    twice = [2 * answers[0].astype(np.uint64), *[a.astype(np.uint64) for a in answers[1:]]]
    print(f"{len(points)} galaxies, {threads} threads, {count} turns\n")
    print("| bin | " + " | ".join(names) + " | reference |\n|" + "---|" * (len(names) + 2))
    for at in range(len(bins)):
        counts = " | ".join(str(t[at]) for t in twice)
        print(f"| {edges[at]:.4f} – {edges[at + 1]:.4f} | {counts} | {reference[at]} |")
    print("\n| engine | seconds |\n|---|---|")
    print("\n".join(f"| {name} | {s:.3f} |" for name, s in zip(names, seconds)))


if __name__ == "__main__":
    main()
