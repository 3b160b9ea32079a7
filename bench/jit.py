#!/usr/bin/env python3
"""Formulas that no kernel knows: code made for them, the evaluator that takes them step by step, SciPy and the floor under
their instruction mix, in one run.

    python bench/jit.py PATH/TO/zipfold [--quick]

Rates are 10^9 components of pairs a second of processor time on one core, so that other work on the machine counts as little as
may be: of the whole command with one thread (start, reading, hoisting, computing, writing), of SciPy's call alone, and of the
mix in registers (bench/peers/jit_mix.c, built with cc). The least of seven turns, taken alternately. Prints a table as Markdown.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from scipy.spatial import distance as ssd

WORKS = {
    "canberra": ["--metric", "canberra"],
    "braycurtis": ["--metric", "braycurtis"],
    "hamming": ["--metric", "hamming"],
    "jensenshannon": ["--metric", "jensenshannon"],
    "five": ["--pair", "sum(abs(x - y) * (x + y) / 2)"],
}


def spent():
    """Seconds of processor time that children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command(binary, folder, words, precision, family):
    """Processor seconds of the whole command on one thread."""
    files = [str(folder / "x.npy"), str(folder / "y.npy"), "-o", str(folder / "o.npy"), "--force", "--threads", "1"]
    start = spent()
    words = [binary, "dist", *files, *words, "--precision", precision, "--set", f"family={family}", "--quiet"]
    subprocess.run(words, check=True)
    return spent() - start


def scipy(x, y, name):
    """Processor seconds of SciPy."""
    if name == "five":
        return float("nan")
    start = time.process_time()
    ssd.cdist(x, y, name)
    return time.process_time() - start


def floors(program):
    """Seconds of 10^9 components on one core, by name and precision."""
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
    return {tuple(line.split()[:2]): float(line.split()[2]) for line in lines if line}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    quick = "--quick" in sys.argv
    rng = np.random.default_rng(0)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    print("| formula | precision | n | d | jit | step by step | SciPy | floor | jit / SciPy | jit / floor |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        folder = pathlib.Path(folder)
        mix = folder / "mix"
        source = pathlib.Path(__file__).parent / "peers" / "jit_mix.c"
        subprocess.run(["cc", "-O2", "-mavx512f", "-mavx512dq", str(source), "-o", str(mix)], check=True)
        for n, d in ((1000, 512), (2000, 16)) if quick else ((2000, 512), (4000, 16)):
            for precision, dtype in (("f64", np.float64), ("f32", np.float32)):
                x, y = (rng.random((m, d)).astype(dtype) for m in (n, n + 77))
                np.save(folder / "x.npy", x)
                np.save(folder / "y.npy", y)
                for name, words in WORKS.items():
                    best = [float("inf")] * 3
                    floor = float("inf")
                    for _ in range(7):
                        turn = [command(sys.argv[1], folder, words, precision, f) for f in ("jit", "vm")]
                        turn.append(scipy(x, y, name))
                        best = [min(a, b) for a, b in zip(turn, best)]
                        floor = min(floor, floors(mix).get((name, precision), float("inf")))
                    jit, vm, theirs = (n * (n + 77) * d / 1e9 / s for s in best)
                    least = 1 / floor if floor < float("inf") else float("nan")
                    print(f"| {name} | {precision} | {n} | {d} | {jit:.2f} | {vm:.2f} | {theirs:.2f} | {least:.2f} "
                          f"| {jit / theirs:.2f} | {jit / least:.2f} |", flush=True)


if __name__ == "__main__":
    main()
