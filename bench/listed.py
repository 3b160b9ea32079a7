#!/usr/bin/env python3
"""Listed pairs and batches: the time beside a gather by NumPy, and a loop over batches.

    ZIPFOLD_PACKAGE=FOLDER python bench/listed.py [--turns 3]

* 10 000 000 random pairs of 1 000 000 points in space: the value of each, a histogram, sums of rows.
* As many pairs in runs of ten and of a thousand consecutive rows, and 1 000 000 pairs of one row.
* 100 000 batches of 50 points: a histogram of each, condensed matrices.

The least seconds of some turns. Values are held to NumPy's, counts of batches to those of some batches alone. Prints a table as
Markdown.
"""

import os

import numpy as np
from turns import least, turns, zf

ROWS, PAIRS, BATCHES, OF_BATCH = 1_000_000, 10_000_000, 100_000, 50


def lists(random):
    """Lists of pairs by what they are called."""
    of = lambda first, length: (first[:, None] + np.arange(length)).ravel()
    row = lambda count: random.integers(0, ROWS, count)
    run = lambda count, length: np.column_stack([np.repeat(row(count), length), of(row(count) % (ROWS - length), length)])
    return {
        "random pairs": random.integers(0, ROWS, (PAIRS, 2)),
        "runs of 10": run(PAIRS // 10, 10),
        "runs of 1 000": run(PAIRS // 1000, 1000),
        "pairs of one row": np.column_stack([np.full(ROWS, 7), random.permutation(ROWS)]),
    }


def by_numpy(points, listed):
    """NumPy's gather, and the distances."""
    return np.sqrt(((points[listed[:, 0]] - points[listed[:, 1]]) ** 2).sum(axis=1))


def main():
    count = turns()
    random = np.random.default_rng(140)
    points = random.random((ROWS, 3))
    table = []
    for what, listed in lists(random).items():
        question = zf.pairs(points, pairs=listed)
        asked = [question.matrix(), question.histogram(50, (0, 1.8)), question.sum()]
        runs = [one.run for one in asked]
        gather = lambda listed=listed: by_numpy(points, listed)
        seconds, (values, counts, sums, wanted) = least([*runs, gather], count)
        assert np.allclose(values, wanted, rtol=1e-14), "NumPy's values"
        assert counts.counts.sum() == len(listed), "each pair once"
        assert np.allclose(sums, np.bincount(listed[:, 0], wanted, ROWS)), "NumPy's sums"
        table.append((f"{len(listed):,} {what}".replace(",", " "), *seconds))
    print(f"{os.cpu_count()} threads, {count} turns\n")
    print("| list | `matrix` | `histogram` | `sum` | NumPy's values |\n|---|---|---|---|---|")
    for what, *seconds in table:
        print(f"| {what} | " + " | ".join(f"{s:.2f} s" for s in seconds) + " |")
    places = random.random((BATCHES * OF_BATCH, 3))
    frames = np.repeat(np.arange(BATCHES), OF_BATCH)
    batches = zf.pairs(places, attributes={"frame": frames}).batch("frame")
    runs = [batches.histogram(20, (0, 1.8)).run, batches.condensed().run, batches.sum(None).run]
    seconds, (counts, condensed, _) = least(runs, count)
    alone = lambda at: zf.pairs(places[at * OF_BATCH : (at + 1) * OF_BATCH])
    each = OF_BATCH * (OF_BATCH - 1) // 2
    for at in (0, 17, BATCHES - 1):
        assert (counts.counts[at] == alone(at).histogram(20, (0, 1.8)).run().counts).all(), "a batch alone"
        assert (condensed[at * each : (at + 1) * each] == alone(at).condensed().run()).all(), "a batch alone"
    print(f"\n| {BATCHES:,} batches of {OF_BATCH} rows | seconds | µs a batch |\n|---|---|---|".replace(",", " "))
    for what, taken in zip(("`histogram`", "`condensed`", "`sum(None)`"), seconds, strict=True):
        print(f"| {what} | {taken:.2f} | {taken / BATCHES * 1e6:.0f} |")


if __name__ == "__main__":
    main()
