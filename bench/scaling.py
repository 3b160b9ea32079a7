#!/usr/bin/env python3
"""Threads and triangles: how much faster two threads are than one, and half a matrix, mirrored, than a whole one.

    python bench/scaling.py PATH/TO/zipfold [--turns 5]

Runs `zipfold bench` with one thread and with two, alternately, three times; the least seconds of each count. Prints tables
as Markdown.
"""

import subprocess
import sys

SCALED = ["l1", "l2", "lp3", "l1-long-f64", "canberra-f64", "sdh", "knn3", "gauss3"]
HALVES = [("l1-self", "l1"), ("chebyshev-self", "chebyshev"), ("cosine-self", "cosine")]


def seconds(binary, names, threads, turns):
    """{name: seconds} as `zipfold bench` prints them."""
    words = [binary, "bench", *names, "--threads", str(threads), "--turns", turns]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[2:]
    return {cells[0]: float(cells[2]) for cells in ([c.strip() for c in line.strip("|").split("|")] for line in lines)}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    turns = sys.argv[sys.argv.index("--turns") + 1] if "--turns" in sys.argv else "5"
    names = sorted(set(SCALED) | {name for pair in HALVES for name in pair})
    best = {1: {}, 2: {}}
    for _ in range(3):
        for threads, found in best.items():
            for name, s in seconds(sys.argv[1], names, threads, turns).items():
                found[name] = min(s, found.get(name, s))
    print("| workload | one thread, s | two threads, s | ratio |\n|---|---|---|---|")
    for name in SCALED:
        print(f"| {name} | {best[1][name]:.4f} | {best[2][name]:.4f} | {best[1][name] / best[2][name]:.2f} |")
    print("\n| half | whole | half, s | whole, s | ratio |\n|---|---|---|---|---|")
    for half, whole in HALVES:
        print(f"| {half} | {whole} | {best[2][half]:.4f} | {best[2][whole]:.4f} | {best[2][whole] / best[2][half]:.2f} |")


if __name__ == "__main__":
    main()
