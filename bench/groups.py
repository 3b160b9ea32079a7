#!/usr/bin/env python3
"""Groups, keys and values per bin: the time beside that of the same question without them, and beside other programs.

    ZIPFOLD_PACKAGE=FOLDER python bench/groups.py [--turns 3] [--everything]

* 100 000 points in a unit cube, 20 kinds, 100 bins to 1.8: all pairs, with groups and without.
* 270 000 cells in a square, 20 kinds, 50 bins to a twentieth of the side (co-occurrence): with groups and without. squidpy's
  loop over cells, as its co_occurrence compiles it with numba, beside it if numba is installed (``--everything``, minutes).
* 200 000 rows, 100 000 keys of two rows: pairs within keys.
* 814 084 points in a square with heights, 50 lags to a twentieth of the side: a semivariogram with counts.

The least seconds of some turns, taken alternately. Counts by groups are held to the sum over all groups, and to NumPy's counts
of a part. Prints a table as Markdown.
"""

import os
import sys
import time

import numpy as np
from turns import least, turns, zf


def by_kinds(points, kinds, edges, turns):
    """Seconds of a histogram without and with groups. Their counts are compared."""
    plain = lambda: zf.pair_histogram(points, bins=edges)
    grouped = lambda: zf.pair_histogram(points, bins=edges, by=kinds)
    seconds, (all_pairs, groups) = least([plain, grouped], turns)
    upper = np.triu_indices(len(groups.groups))
    assert (groups.counts[upper].sum(axis=0) == all_pairs.counts).all(), "groups add up to all pairs"
    a, b = points[kinds == 0][:300], points[kinds == 1]
    some = np.sqrt(((a[:, None] - b) ** 2).sum(-1))
    part = zf.pair_histogram(a, b, bins=edges).counts
    assert abs(np.histogram(some, edges)[0].astype(int) - part.astype(int)).max() <= 2, "NumPy's counts"
    return seconds


def numba_loop(points, kinds, edges):
    """squidpy's co-occurrence counts: a compiled loop over cells that adds one to a bin of two kinds."""
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def counted(x, y, kinds, squares, groups):
        out = np.zeros((numba.get_num_threads(), groups, groups, len(squares)), np.int64)
        for i in numba.prange(len(x)):
            thread = numba.get_thread_id()
            for j in range(len(x)):
                if i != j:
                    d = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2
                    for r in range(len(squares)):
                        if d <= squares[r]:
                            out[thread, kinds[i], kinds[j], r] += 1
        return out.sum(axis=0)

    x, y = np.ascontiguousarray(points.T)
    run = lambda: counted(x, y, kinds, edges[1:] ** 2, int(kinds.max()) + 1)
    counted(x[:10], y[:10], kinds[:10], edges[1:] ** 2, int(kinds.max()) + 1)
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main():
    count = turns()
    random = np.random.default_rng(22)
    rows = []
    points, kinds = random.random((100_000, 3)), random.integers(0, 20, 100_000)
    plain, grouped = by_kinds(points, kinds, np.linspace(0, 1.8, 101), count)
    rows.append(("histogram of 100 000 points, 100 bins", plain))
    rows.append((f"by 20 kinds ({grouped / plain:.2f} of it)", grouped))
    cells, kinds = random.random((270_000, 2)) * 1e4, random.integers(0, 20, 270_000)
    edges = np.linspace(0, 500, 51)
    plain, grouped = by_kinds(cells, kinds, edges, count)
    rows.append(("histogram of 270 000 cells, 50 bins to 1/20 of the side", plain))
    rows.append((f"by 20 kinds ({grouped / plain:.2f} of it)", grouped))
    if "--everything" in sys.argv:
        rows.append(("the same by a numba loop over all pairs, as squidpy has it", numba_loop(cells, kinds, edges)))
    keys = random.permutation(200_000) // 2
    pairs = zf.pairs(random.random((200_000, 2)), attributes={"key": keys}).within("same:key").histogram(10, (0, 2))
    (seconds,), (answer,) = least([pairs.run], count)
    assert answer.counts.sum() == 100_000, "a pair for each key"
    rows.append(("pairs within 100 000 keys of two rows", seconds))
    places = random.random((814_084, 2))
    heights = {"z": np.sin(5 * places[:, 0]) + random.normal(0, 0.1, len(places))}
    gamma = {"gamma": "(x.z - y.z)^2 / 2"}
    variogram = lambda: zf.pair_histogram(places, bins=np.linspace(0, 0.05, 51), attributes=heights, values=gamma)
    (seconds,), (answer,) = least([variogram], 1)
    assert 0.009 < answer.values["gamma"]["mean"][0] < 0.012, "the nugget of the noise"
    rows.append((f"semivariogram of 814 084 points, 50 lags to 1/20 of the side ({answer.counts.sum()} pairs)", seconds))
    print(f"{os.cpu_count()} threads, {count} turns\n\n| question | seconds |\n|---|---|")
    print("\n".join(f"| {what} | {seconds:.3f} |" for what, seconds in rows))


if __name__ == "__main__":
    main()
