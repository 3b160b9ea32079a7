#!/usr/bin/env python3
"""Radial distribution functions beside MDAnalysis and freud, on MDAnalysis' own test data.

    ZIPFOLD=target/release/zipfold python bench/rdf.py [--turns 3] [--frames 10] [--brief]

The trajectory is adk_oplsaa of MDAnalysisTests: 47 681 atoms in a triclinic box. All engines have the same frames, 75 bins
up to 15 Å and as many threads as there are cores (MDAnalysis has one). Seconds are those of a frame, reading included: the
least of the turns, taken one after another. With --brief MDAnalysis is left out, which takes minutes. Counts are compared; those of zipfold with MDAnalysis' pairs also when their
distances are computed again in double precision. Then all partial functions of three elements beside one function of the
same atoms, and a long trajectory of few atoms beside reading it. Prints Markdown.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import freud
import MDAnalysis as mda
from MDAnalysis.analysis.rdf import InterRDF
from MDAnalysis.lib.distances import capped_distance
from MDAnalysisTests.datafiles import GRO, XTC

ZIPFOLD = os.environ.get("ZIPFOLD", "zipfold")
LAST, BINS = 15.0, 75


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def zipfold(*words):
    """The report of a run, and its seconds from start to end of the process."""
    start = time.perf_counter()
    done = subprocess.run([ZIPFOLD, "rdf", *words, "--json"], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout), seconds


def ask(*words, bins=BINS, last=LAST):
    return zipfold(XTC, "--topology", GRO, "--range", "0", str(last), "--bins", str(bins), "--unit", "A", *words)


def by_mdanalysis(universe, words, frames):
    atoms = universe.select_atoms(words)
    start = time.perf_counter()
    run = InterRDF(atoms, atoms, nbins=BINS, range=(0, LAST)).run(stop=frames)
    return run.results.count.astype(np.int64), time.perf_counter() - start


def by_freud(universe, words, frames):
    atoms = universe.select_atoms(words)
    start = time.perf_counter()
    rdf = freud.density.RDF(bins=BINS, r_max=LAST)
    for ts in universe.trajectory[:frames]:
        box = freud.box.Box.from_matrix(ts.triclinic_dimensions.T.astype(np.float64))
        rdf.compute((box, box.wrap(atoms.positions)), reset=False)
    return np.asarray(rdf.bin_counts).astype(np.int64), time.perf_counter() - start


def in_double(universe, words):
    """The counts of MDAnalysis' pairs of the first frame, their distances in double precision, and its box."""
    ts = universe.trajectory[0]
    atoms = universe.select_atoms(words)
    places, cell = atoms.positions.astype(np.float64), ts.triclinic_dimensions.astype(np.float64)
    pairs = capped_distance(atoms.positions, atoms.positions, LAST + 0.01, box=ts.dimensions, return_distances=False)
    shifts = np.array([[a, b, c] for a in range(-1, 2) for b in range(-1, 2) for c in range(-1, 2)]) @ cell
    counts = np.zeros(BINS, dtype=np.int64)
    inverse = np.linalg.inv(cell)
    for part in np.array_split(pairs, max(1, len(pairs) // 200_000)):
        d = places[part[:, 0]] - places[part[:, 1]]
        d -= np.round(d @ inverse) @ cell
        square = ((d[:, None, :] - shifts[None]) ** 2).sum(-1).min(1)
        counts += np.histogram(np.sqrt(square), BINS, (0, LAST))[0]
    return counts, ",".join(repr(float(v)) for v in cell.ravel())


def difference(a, b):
    a, b = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    return f"{np.abs(a - b).sum()} of {b.sum()}"


def beside_others(turns, frames):
    universe = mda.Universe(GRO, XTC)
    print("| atoms | engine | seconds a frame | ratio | counts that differ |\n|---|---|---|---|---|")
    brief = "--brief" in sys.argv
    for words, few in [("name OW", frames), ("all", max(1, frames // 5))]:
        rows = {}
        for turn in range(turns):
            for name, call in [
                ("zipfold", lambda: ask("--select", words, "--frames", f"0:{few}")),
                ("freud", lambda: by_freud(universe, words, few)),
                ("MDAnalysis", lambda: by_mdanalysis(universe, words, 1)),
            ]:
                # MDAnalysis takes minutes: a frame, once, is enough.
                if name == "MDAnalysis" and (brief or turn > 0):
                    continue
                answer, seconds = call()
                count = 1 if name == "MDAnalysis" else few
                rows[name] = (answer, min(seconds / count, rows.get(name, (0, 1e9, 0))[1]), count)
        for name, (answer, seconds, count) in rows.items():
            told = ""
            if name != "zipfold":
                counts = ask("--select", words, "--frames", f"0:{count}", "--convention", name.lower())[0]["curves"][0]["counts"]
                told = difference(counts, answer)
            ratio = seconds / rows["zipfold"][1]
            print(f"| {words} ({len(universe.select_atoms(words))}) | {name} | {seconds:.3f} | {ratio:.1f} | {told} |")
    if brief:
        return print()
    counts, cell = in_double(universe, "name OW")
    ours = ask("--select", "name OW", "--frames", "0", "--convention", "mdanalysis", "--box", cell)[0]["curves"][0]["counts"]
    print(f"\nMDAnalysis' pairs of OW in the first frame, in double precision: {difference(ours, counts)} counts differ.\n")


def partials(turns):
    chosen = ["--select", "element C O H", "--frames", "0:10"]
    one = min(ask(*chosen)[1] for _ in range(turns))
    all_six = min(ask(*chosen, "--partials")[1] for _ in range(turns))
    print(f"Elements C, O and H, 10 frames: one function {one:.3f} s, six partial functions {all_six:.3f} s, {all_six / one:.2f} times.\n")


def long_and_small(turns):
    rng = np.random.default_rng(1)
    print("| trajectory | reading, s | rdf, s | rdf at the speed of reading |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, atoms, frames in [("xyz", 216, 5000), ("gro", 216, 5000), ("pdb", 216, 2000), ("dcd", 216, 10000), ("xtc", 216, 10000)]:
            path = write(folder, suffix, atoms, frames, rng)
            first = os.path.join(folder, "first.gro") if suffix in ("dcd", "xtc") else None
            words = [path, *(["--topology", first] if first else []), "--range", "0", "9", "--bins", "90", "--unit", "A"]
            read = min(zipfold(*words, "--select", "index 0 1")[1] for _ in range(turns))
            all_atoms = min(zipfold(*words)[1] for _ in range(turns))
            print(f"| .{suffix}, {atoms} atoms, {frames} frames | {read:.3f} | {all_atoms:.3f} | {read / all_atoms:.0%} |")


def write(folder, suffix, atoms, frames, rng):
    universe = mda.Universe.empty(atoms, trajectory=True)
    universe.add_TopologyAttr("name", ["AR"] * atoms)
    universe.dimensions = [20, 20, 20, 90, 90, 90]
    path = os.path.join(folder, f"t.{suffix}")
    universe.atoms.positions = rng.uniform(0, 20, (atoms, 3))
    universe.atoms.write(os.path.join(folder, "first.gro"))
    if suffix == "gro":
        with open(path, "w") as out:
            for at in range(frames):
                places = rng.uniform(0, 2, (atoms, 3))
                lines = (f"    1AR      AR{i + 1:5}{x:8.3f}{y:8.3f}{z:8.3f}" for i, (x, y, z) in enumerate(places))
                out.write("\n".join([f"t= {at}", str(atoms), *lines, "   2.0   2.0   2.0", ""]))
        return path
    if suffix == "xyz":
        with open(path, "w") as out:
            for _ in range(frames):
                lines = (f"Ar {x:.4f} {y:.4f} {z:.4f}" for x, y, z in rng.uniform(0, 20, (atoms, 3)))
                out.write("\n".join([str(atoms), 'Lattice="20 0 0 0 20 0 0 0 20"', *lines, ""]))
        return path
    with mda.Writer(path, atoms, multiframe=True) as writer:
        for _ in range(frames):
            universe.atoms.positions = rng.uniform(0, 20, (atoms, 3))
            writer.write(universe.atoms)
    return path


def main():
    turns, frames = option("--turns", 3), option("--frames", 10)
    print(f"{os.cpu_count()} cores, {turns} turns; MDAnalysis {mda.__version__}, freud {freud.__version__}\n")
    beside_others(turns, frames)
    partials(turns)
    long_and_small(turns)


if __name__ == "__main__":
    main()
