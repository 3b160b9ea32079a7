#!/usr/bin/env python3
"""Pair counts of catalogues next to Corrfunc and TreeCorr: equal counts, sums of weights, and seconds.

    ZIPFOLD_PACKAGE=FOLDER python bench/paircount.py [--turns 3] [--points 200000]

Random points in a box of 100, with weights, up to a tenth of the side in 20 bins, in double precision:

* DD(r), without and with weights; with 100 regions (a jackknife), and that of TreeCorr with as many patches;
* (rp, π) with 10 bins of π and (s, μ) with 10 bins of μ, with weights;
* angles on the sky up to 10 degrees.

All engines have as many threads, turn by turn; the least seconds of each. Counts are held to those of Corrfunc and TreeCorr (which
counts a pair once), sums of weights to 1e-11. Engines that are not installed are left out. Prints a table as Markdown.
"""

import os
import sys

import numpy as np
from turns import least, turns, zf

try:
    from Corrfunc import mocks, theory
except ImportError:
    mocks = theory = None
    print("Corrfunc is not installed", file=sys.stderr)
try:
    import treecorr
except ImportError:
    treecorr = None
    print("TreeCorr is not installed", file=sys.stderr)

THREADS = os.cpu_count()
SIDE, BINS = 100.0, 20
EDGES = np.linspace(0.1, SIDE / 10, BINS + 1)


def compare(rows, what, ours, others, count, term="DD"):
    """Times our call next to the calls of others by name, each with how its counts become ours, and checks them."""
    calls = [ours, *[call for _, call, _ in others]]
    seconds, answers = least(calls, count)
    found = answers[0].terms[term]
    rows.append((what, "zipfold", seconds[0], 1.0))
    for (name, _, read), answer, time in zip(others, answers[1:], seconds[1:]):
        counts, sums = read(answer)
        np.testing.assert_array_equal(np.ravel(found.counts), counts, err_msg=f"{what}: {name}")
        if sums is not None:
            np.testing.assert_allclose(np.ravel(found.sums), sums, rtol=1e-11, err_msg=f"{what}: {name}")
        rows.append((what, name, time, time / seconds[0]))


def of_corrfunc(answer):
    return answer["npairs"], answer["npairs"] * answer["weightavg"] if answer["weightavg"].any() else None


def in_a_box(rows, data, count):
    x, y, z, w = (np.ascontiguousarray(data[name]) for name in "xyzw")
    box, weighed = [SIDE] * 3, {"weights1": w, "weight_type": "pair_product"}
    periodic = {"periodic": True, "boxsize": SIDE}

    def corrfunc(call):
        return [("Corrfunc", call, of_corrfunc)] if theory else []

    compare(rows, "DD(r)", lambda: zf.paircount(data, EDGES, box=box), corrfunc(lambda: theory.DD(1, THREADS, EDGES, x, y, z, **periodic)), count)
    compare(
        rows,
        "DD(r), weights",
        lambda: zf.paircount(data, EDGES, box=box, weights="w"),
        corrfunc(lambda: theory.DD(1, THREADS, EDGES, x, y, z, **periodic, **weighed)),
        count,
    )
    compare(
        rows,
        "(rp, π), weights",
        lambda: zf.paircount(data, EDGES, box=box, weights="w", separation="rppi", pi=(10, 10)),
        corrfunc(lambda: theory.DDrppi(1, THREADS, 10.0, EDGES, x, y, z, **periodic, **weighed)),
        count,
    )
    compare(
        rows,
        "(s, μ), weights",
        lambda: zf.paircount(data, EDGES, box=box, weights="w", separation="smu", mu=10),
        corrfunc(lambda: theory.DDsmu(1, THREADS, EDGES, 1.0, 10, x, y, z, **periodic, **weighed)),
        count,
    )


def regions(rows, data, count):
    """A jackknife of 100 regions next to the plain count and to that of TreeCorr."""
    places = np.column_stack([data["x"], data["y"], data["z"]])
    ours = [lambda: zf.paircount(data, EDGES), lambda: zf.paircount(data, EDGES, regions=100)]
    (plain, jackknife), _ = least(ours, count)
    rows.append(("DD(r), no box", "zipfold", plain, 1.0))
    rows.append(("DD(r), 100 regions", f"zipfold ({jackknife / plain:.2f} of the plain count)", jackknife, 1.0))
    if not treecorr:
        return
    # Regions of the same kind: TreeCorr has k-means patches of its own.
    x, y, z = places.T.copy()

    def patches():
        cat = treecorr.Catalog(x=x, y=y, z=z, npatch=100)
        nn = treecorr.NNCorrelation(min_sep=EDGES[0], max_sep=EDGES[-1], nbins=BINS, bin_type="Linear", bin_slop=0, var_method="jackknife")
        nn.process(cat, num_threads=THREADS)
        return nn

    (seconds,), (answer,) = least([patches], 1)
    counts = zf.paircount(data, EDGES).terms["DD"].counts
    differ = int(np.abs(2 * answer.npairs - counts).sum())
    rows.append(("DD(r), 100 regions", f"TreeCorr ({differ} of {counts.sum()} counts differ)", seconds, seconds / jackknife))


def on_the_sky(rows, rng, points, count):
    ra, dec = rng.uniform(0, 360, points), np.degrees(np.arcsin(rng.uniform(-1, 1, points)))
    edges = np.linspace(0.1, 10, BINS + 1)
    others = []
    if mocks:
        call = lambda: mocks.DDtheta_mocks(1, THREADS, edges, ra, dec)
        others.append(("Corrfunc", call, of_corrfunc))
    compare(rows, "θ", lambda: zf.paircount({"ra": ra, "dec": dec}, edges, separation="theta"), others, count)


def main():
    count = turns()
    points = int(sys.argv[sys.argv.index("--points") + 1]) if "--points" in sys.argv else 200_000
    rng = np.random.default_rng(22)
    data = dict(zip("xyzw", np.round(rng.random((4, points)) * SIDE * 2**16) / 2**16))
    rows = []
    in_a_box(rows, data, count)
    regions(rows, data, count)
    on_the_sky(rows, rng, points, count)
    print(f"{points} points, {THREADS} threads, {count} turns\n\n| pairs | engine | seconds | ratio |\n|---|---|---|---|")
    print("\n".join(f"| {what} | {name} | {seconds:.3f} | {ratio:.1f} |" for what, name, seconds, ratio in rows))


if __name__ == "__main__":
    main()
