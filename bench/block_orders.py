#!/usr/bin/env python3
"""Orders of the blocks of a tile: matrices and sums under each, in one run, turn by turn.

    python bench/block_orders.py PATH/TO/zipfold

Kernel seconds of the command with two threads, the least of five turns taken alternately. Prints a table as Markdown.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ORDERS = ["column", "row", "snake", "hilbert"]
WORKS = {
    "L1 f32, 6000 × 5419, self": (6000, 5419, ["dist", "--metric", "cityblock"]),
    "L1 f32, 4000 × 512, self": (4000, 512, ["dist", "--metric", "cityblock"]),
    "Gaussian sum, 20000 × 3": (20000, 3, ["reduce", "--op", "sum", "--pair", "exp(-sum((x - y)^2))"]),
    "histogram, 30000 × 3": (30000, 3, ["hist", "--bins", "100", "--range", "0", "2", "--set", "prune=off"]),
}


def seconds(binary, folder, words, order):
    """Kernel seconds of one run."""
    out = ["-o", str(folder / ("o.csv" if words[0] == "hist" else "o.npy")), "--force", "--json", "--quiet"]
    verb, rest = words[0], words[1:]
    command = [binary, verb, str(folder / "x.npy"), *rest, *out, "--set", f"order={order}", "--device", "cpu"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(report)["seconds"]["kernel"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| work | " + " | ".join(ORDERS) + " |\n|---|" + "---|" * len(ORDERS))
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        folder = pathlib.Path(folder)
        for name, (n, d, words) in WORKS.items():
            np.save(folder / "x.npy", np.random.default_rng(0).random((n, d)).astype(np.float32))
            best = dict.fromkeys(ORDERS, float("inf"))
            for turn in range(3 if d > 1000 else 5):
                for order in ORDERS if turn % 2 == 0 else reversed(ORDERS):
                    best[order] = min(best[order], seconds(sys.argv[1], folder, words, order))
            print(f"| {name} | " + " | ".join(f"{best[o]:.4f}" for o in ORDERS) + " |", flush=True)


if __name__ == "__main__":
    main()
