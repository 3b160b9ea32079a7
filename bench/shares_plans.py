#!/usr/bin/env python3
"""Plans of questions that no single machine answers soon: what `zipfold plan` prints for 10^8 × 10^8 pruned pairs and for
10^7 × 10^7 dense ones.

    python bench/shares_plans.py target/release/zipfold [--pruned 100000000] [--dense 10000000] [--price 0.80] [--folder DIR]
        [--reach 0.04] [--shares 16] [--work]

The rows are random, 3 numbers of 4 bytes each for the pruned question, 16 for the dense one. The pruned question keeps counts of
distances within a few mean distances of neighbours, or within --reach; the dense one the sums of rows of a kernel. Prints the plans and the seconds
and memory that planning took, as Markdown. With --work a process on all cores works on all shares, and another one merges: seconds
next to the predicted ones. Needs 2.5 times the size of the pruned table on disk: the store has its rows by square.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

#: Rows that are drawn at a time.
SOME = 1 << 20


def table(path, rows, columns):
    """A file of random rows, drawn some at a time."""
    draw = np.random.default_rng(rows)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, columns))
    for first in range(0, rows, SOME):
        part = out[first : first + SOME]
        part[:] = draw.random(part.shape, dtype=np.float32)
    out.flush()


def plan(command, folder, name, about, more):
    """What planning prints, the plan, and seconds and bytes that it took."""
    problem, store = folder / f"{name}.toml", folder / f"{name}.store"
    problem.write_text(f"schema = 1\n{about}\n")
    words = [command, "plan", problem, "--store", store, *more]
    start = time.perf_counter()
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, words
    took = time.perf_counter() - start
    return text.replace(str(folder), "."), json.loads((store / "plan.json").read_text()), took, used.ru_maxrss * 1024


def timed(command, *words):
    start = time.perf_counter()
    subprocess.run([str(command), *map(str, words)], check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("--pruned", type=int, default=10**8)
    parser.add_argument("--dense", type=int, default=10**7)
    parser.add_argument("--price", type=float, default=0.80)
    parser.add_argument("--reach", type=float)
    parser.add_argument("--shares", type=int)
    parser.add_argument("--work", action="store_true")
    parser.add_argument("--folder")
    given = parser.parse_args()
    command = given.command.resolve()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = pathlib.Path(os.path.realpath(name))
        questions = []
        if given.pruned:
            table(folder / "pruned.npy", given.pruned, 3)
            # Some neighbours each.
            reach = given.reach or round(2.0 * given.pruned ** (-1 / 3), 6)
            axes = f"axes = [{{ bins = 20, range = [0.0, {reach}] }}]"
            about = f"pair = {{ metric = 'euclidean' }}\nfolds = [{{ kind = 'histogram', {axes} }}]"
            questions.append(("pruned", given.pruned, f"x = {{ name = '{folder}/pruned.npy' }}\n{about}"))
        if given.dense:
            table(folder / "dense.npy", given.dense, 16)
            about = "domain = 'square'\npair = { formula = 'exp(-sum((x - y)^2) / 2)' }\nfolds = [{ kind = 'reduce', op = 'sum' }]"
            questions.append(("dense", given.dense, f"x = {{ name = '{folder}/dense.npy' }}\n{about}"))
        for name, rows, about in questions:
            more = ["--price", given.price, *(["--shares", given.shares] if given.shares else [])]
            text, made, took, resident = plan(command, folder, name, about, more)
            print(f"### {rows:,} × {rows:,} rows, {name}\n".replace(",", " "))
            print("```\n" + about.replace(str(folder), ".") + "\n```\n\n```\n" + text.strip() + "\n```\n")
            squares = made["squares"]
            if squares:
                pairs = made["predicted"]["pairs"]
                left = f"{squares['left']:,} of {squares['all']:,} squares are left".replace(",", " ")
                print(f"{left}; {100 * squares['settled'] / pairs:.3f} % of the pairs are settled in the plan.\n")
            print(f"Planning took {took:.1f} s and {resident / 2**30:.1f} GiB.\n", flush=True)
            if given.work:
                store, answer, predicted = folder / f"{name}.store", folder / f"{name}.csv", made["predicted"]["seconds"]
                worked = timed(command, "work", store, "--quiet")
                merged = timed(command, "merge", store, "-o", answer, "--quiet")
                told = f"predicted {predicted:.1f} s of work; {worked:.1f} s measured, reading included ({worked / predicted:.2f})"
                print(f"{made['shares']} shares: {told}; merge {merged:.1f} s.\n", flush=True)


if __name__ == "__main__":
    main()
