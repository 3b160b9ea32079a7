#!/usr/bin/env python3
"""Formulas that no kernel knows: code made for them, the evaluator that takes them step by step, SciPy and the floor under
their instruction mix, in one run.

    python bench/jit.py PATH/TO/zipfold [--quick]

Rates are 10^9 components of pairs a second: of the kernel as `--json` reports it (2 threads), of SciPy's call (1 thread), and
of the mix in registers on as many cores (bench/peers/jit_mix.c, built with cc). The least time of five turns, taken
alternately. Prints a table as Markdown.
"""

import json
import os
import pathlib
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


def kernel(binary, folder, words, precision, family):
    """Seconds of the kernel."""
    files = [str(folder / "x.npy"), str(folder / "y.npy"), "-o", str(folder / "o.npy"), "--force"]
    words = [binary, "dist", *files, *words, "--precision", precision, "--set", f"family={family}", "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["seconds"]["kernel"]


def scipy(x, y, name):
    """Seconds of SciPy."""
    if name == "five":
        return float("nan")
    start = time.perf_counter()
    ssd.cdist(x, y, name)
    return time.perf_counter() - start


def floors(program):
    """Seconds of 10^9 components on one core, by name and precision."""
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
    return {tuple(line.split()[:2]): float(line.split()[2]) for line in lines if line}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    quick = "--quick" in sys.argv
    cores = len(os.sched_getaffinity(0))
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
                    for _ in range(5):
                        turn = [kernel(sys.argv[1], folder, words, precision, f) for f in ("jit", "vm")]
                        turn.append(scipy(x, y, name))
                        best = [min(a, b) for a, b in zip(turn, best)]
                        floor = min(floor, floors(mix).get((name, precision), float("inf")))
                    jit, vm, theirs = (n * (n + 77) * d / 1e9 / s for s in best)
                    least = cores / floor if floor < float("inf") else float("nan")
                    print(f"| {name} | {precision} | {n} | {d} | {jit:.2f} | {vm:.2f} | {theirs:.2f} | {least:.2f} "
                          f"| {jit / theirs:.2f} | {jit / least:.2f} |", flush=True)


if __name__ == "__main__":
    main()
