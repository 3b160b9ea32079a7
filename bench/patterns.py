#!/usr/bin/env python3
"""Co-occurrence, Ripley's K, correlograms and partial g(r), next to squidpy, astropy, pointpats and Elephant.

    ZIPFOLD_PACKAGE=FOLDER python bench/patterns.py [--turns 3]

* co-occurrence of 27 000 and 270 000 random cells of 20 kinds in a square, 50 intervals to a twentieth of the diagonal; that of 27 000 next
  to squidpy's kernel, which visits all pairs and would hold 21.6 GB of counters for 270 000; where squidpy is not there, next to a loop in numba that does the same work: for each ordered pair, one more for every radius beyond
  its distance. The last interval of the cumulative counts is checked.
* K of 5 000 points with the translation correction, next to astropy; without one, next to pointpats.
* correlograms of 2 × 20 000 spikes in 101 bins, of 100 × 10 000 and of 10 × 200 000 in bins of 1 ms to 50 ms, next to loops in numba over
  sorted times, which are no peers but lower bounds (one compares with the edges, one multiplies and counts each pair for both units), and
  next to Elephant, which first rounds times to bins.
* g(r) of a frame of 30 000 atoms: all six partial functions of three species next to one function of all atoms.

Each call is made in turns, the least seconds count; squidpy, and the loop over cells in its place, run once. A kernel of numba is compiled before. Peers that are not installed are named and left out. Prints a table as Markdown.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from turns import least, turns, zf

try:
    import numba
except ImportError:
    numba = None
    print("numba is not installed", file=sys.stderr)
try:
    from squidpy.gr import _ppatterns as squidpy
except Exception as error:  # it has many dependencies, and fails in as many ways
    squidpy = None
    print(f"squidpy is not installed ({type(error).__name__})", file=sys.stderr)
try:
    from astropy.stats import RipleysKEstimator
except ImportError:
    RipleysKEstimator = None
    print("astropy is not installed", file=sys.stderr)
try:
    from pointpats.distance_statistics import k as pointpats_k
except Exception as error:
    pointpats_k = None
    print(f"pointpats is not installed ({type(error).__name__})", file=sys.stderr)
try:
    import elephant.spike_train_correlation as elephant
    import neo
    import quantities
    from elephant.conversion import BinnedSpikeTrain
except Exception as error:
    elephant = None
    print(f"Elephant is not installed ({type(error).__name__})", file=sys.stderr)

KINDS, BINS = 20, 50
#: A peer that would hold more is left out.
MOST_BYTES = 2_500_000_000
THREADS = os.cpu_count()


def kernel():
    """The counts of ordered pairs within every radius, by both kinds, on all threads."""

    @numba.njit(parallel=True, fastmath=True)
    def count(x, y, codes, squares, kinds):
        parts = np.zeros((numba.get_num_threads(), squares.size, kinds * kinds), np.int64)
        for i in numba.prange(x.size):
            own = parts[numba.get_thread_id()]
            for j in range(x.size):
                if i != j:
                    d = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2
                    pair = codes[i] * kinds + codes[j]
                    for r in range(squares.size - 1, -1, -1):
                        if d > squares[r]:
                            break
                        own[r, pair] += 1
        return parts.sum(axis=0)

    return count


def cooccurrence(rows, count, cells):
    random = np.random.default_rng(22)
    places = random.random((cells, 2), dtype=np.float32).astype(np.float64)
    codes = random.integers(0, KINDS, cells)
    edges = np.linspace(0, np.sqrt(2) / 20, BINS + 1)
    calls = [lambda: zf.cooccurrence(places, codes, edges=edges, cumulative=True)]
    names = ["zipfold"]
    x, y = (np.ascontiguousarray(places[:, k]) for k in range(2))
    # squidpy's kernel has a counter of 4 bytes for each cell, interval and pair of kinds.
    bytes_of_squidpy = 4 * cells * BINS * KINDS**2
    if bytes_of_squidpy > MOST_BYTES:
        print(f"{cells} cells: squidpy is left out, as it would hold {bytes_of_squidpy / 1e9:.1f} GB of counters", file=sys.stderr)
    elif squidpy is not None:
        # In single precision, as gr.co_occurrence gives them.
        x, y, narrow = (a.astype(np.float32) for a in (x, y, edges))
        labels = codes.astype(np.int32)
        squidpy._co_occurrence_helper(x[:100], y[:100], narrow, labels[:100])
        calls.append(lambda: squidpy._co_occurrence_helper(x, y, narrow, labels).transpose(1, 0, 2))
        names.append("squidpy")
    elif numba is not None:
        loop, squares = kernel(), edges[1:] ** 2
        loop(x[:100], y[:100], codes[:100], squares, KINDS)
        calls.append(lambda: loop(x, y, codes, squares, KINDS).reshape(BINS, KINDS, KINDS).transpose(1, 2, 0))
        names.append("a loop in numba")
    seconds, answers = least(calls[:1], count)
    for call in calls[1:]:
        more, answer = least([call], 1)
        seconds, answers = seconds + more, answers + answer
    if names[1:] == ["squidpy"]:
        # The first intervals have few pairs, which rounding to single precision moves.
        np.testing.assert_allclose(answers[1][:, :, 10:], answers[0].ratios[:, :, 10:], rtol=2e-3)
    elif names[1:]:
        # The loop keeps d = r, where rounding puts few pairs.
        assert abs(answers[1] - answers[0].counts.astype(np.int64)).max() <= 2, "counts"
    rows += [(f"co-occurrence of {cells} cells", name, time, time / seconds[0]) for name, time in zip(names, seconds)]


def ripley(rows, count):
    random = np.random.default_rng(23)
    places = random.random((5000, 2))
    radii = np.linspace(0, 0.1, 21)
    for correction in ("translation", "none"):
        calls = [lambda c=correction: zf.ripley(places, window=[0, 1, 0, 1], max=0.1, bins=20, correction=c).k]
        names = ["zipfold"]
        if correction == "translation" and RipleysKEstimator is not None:
            peer = RipleysKEstimator(area=1.0, x_min=0, x_max=1, y_min=0, y_max=1)
            calls.append(lambda: peer(places, radii[1:], mode="translation"))
            names.append("astropy")
        if correction == "none" and pointpats_k is not None:
            calls.append(lambda: pointpats_k(places, support=(0.005, 0.1, 20))[1])
            names.append("pointpats")
        seconds, answers = least(calls, count)
        for name, answer in zip(names[1:], answers[1:]):
            # pointpats takes the hull of the points for the window.
            np.testing.assert_allclose(answer, answers[0], rtol=5e-2, err_msg=name)
        rows += [(f"K, {correction}", name, time, time / seconds[0]) for name, time in zip(names, seconds)]


def sorted_loop():
    @numba.njit
    def count(times, units, edges, kinds):
        out = np.zeros((kinds, kinds, edges.size - 1), np.int64)
        for i in range(times.size):
            for way in (-1, 1):
                j = i + way
                while 0 <= j < times.size and abs(times[j] - times[i]) <= edges[-1]:
                    at = np.searchsorted(edges, times[j] - times[i], side="right") - 1
                    if at < edges.size - 1:
                        out[units[i], units[j], at] += 1
                    j += way
        return out

    return count


def fast_loop():
    @numba.njit
    def count(times, units, width, half, kinds):
        out = np.zeros((kinds, kinds, 2 * half + 1), np.int64)
        for i in range(times.size):
            j = i + 1
            while j < times.size and times[j] - times[i] < (half + 0.5) * width:
                at = int((times[j] - times[i]) / width + 0.5)
                out[units[i], units[j], half + at] += 1
                out[units[j], units[i], half - at] += 1
                j += 1
        return out

    return count


def correlogram(rows, count):
    for units, each, half in ((2, 20_000, None), (100, 10_000, 50), (10, 200_000, 50)):
        spikes(rows, count, (units, each, half))


def spikes(rows, count, case):
    kinds, each, half = case
    random = np.random.default_rng(24)
    size, most, bins = kinds * each, 0.1 if half is None else (half + 0.5) / 1000, 101
    times, units = random.uniform(0, 2000, size), random.integers(0, kinds, size)
    calls, names = [lambda: zf.correlogram(times, units, max=most, bins=bins)], ["zipfold"]
    if numba is not None:
        order = np.argsort(times)
        edges = zf.correlogram(times[:9], units[:9], max=most, bins=bins).edges
        loop, fast = sorted_loop(), fast_loop()
        loop(times[:9], units[:9], edges, kinds)
        fast(times[:9], units[:9], 2 * most / bins, bins // 2, kinds)
        calls.append(lambda: loop(times[order], units[order], edges, kinds))
        names.append("a loop in numba over sorted times")
        calls.append(lambda: fast(times[order], units[order], 2 * most / bins, bins // 2, kinds))
        names.append("the same by a multiplication, each pair once")
    if elephant is not None and half is None:
        second = quantities.s
        trains = [neo.SpikeTrain(np.sort(times[units == k]) * second, t_stop=2000 * second) for k in range(2)]
        width = 0.2 / 101 * second

        def by_elephant():
            binned = [BinnedSpikeTrain(train, bin_size=width, tolerance=None) for train in trains]
            return [[elephant.cross_correlation_histogram(a, b, window=[-50, 50])[0] for b in binned] for a in binned]

        calls.append(by_elephant)
        names.append("Elephant")
    seconds, answers = least(calls, count)
    if "a loop in numba over sorted times" in names:
        np.testing.assert_array_equal(answers[1], answers[0].counts)
    rows += [(f"correlograms of {kinds} × {each} spikes", name, time, time / seconds[0]) for name, time in zip(names, seconds)]


def partials(rows, count):
    random = np.random.default_rng(25)
    atoms, side = 30_000, 70.0
    kinds = np.array(["O", "H", "Na"])[random.integers(0, 3, atoms)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frame.xyz"
        lines = [f"{kind} {a:.5f} {b:.5f} {c:.5f}" for kind, (a, b, c) in zip(kinds, random.random((atoms, 3)) * side)]
        path.write_text(f'{atoms}\nLattice="{side} 0 0 0 {side} 0 0 0 {side}"\n' + "\n".join(lines) + "\n")
        ask = {"range": (0, 25), "bins": 250}
        calls = [lambda: zf.rdf(path, **ask), lambda: zf.rdf(path, partials="element", **ask)]
        seconds, answers = least(calls, count)
        both = sum(curve.counts.astype(np.int64) * (1 if curve.names[0] == curve.names[1] else 2) for curve in answers[1].curves)
        assert (both == answers[0].curves[0].counts).all(), "partial counts"
    rows += [("g(r) of 30 000 atoms", name, time, time / seconds[0]) for name, time in zip(("one function", "six partial functions"), seconds)]


def main():
    rows, count = [], turns()
    for cells in (27_000, 270_000):
        cooccurrence(rows, count, cells)
    ripley(rows, count)
    correlogram(rows, count)
    partials(rows, count)
    print(f"{THREADS} threads, {count} turns\n\n| question | engine | seconds | to the first |\n|---|---|--:|--:|")
    for what, name, time, part in rows:
        print(f"| {what} | {name} | {time:.3f} | {part:.2f} |")


if __name__ == "__main__":
    main()
