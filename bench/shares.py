#!/usr/bin/env python3
"""What shares cost, and what becomes of them when workers are killed.

    python bench/shares.py target/release/zipfold [--rows 60000] [--questions NAME,…] [--shares 8] [--turns 5] [--kills 500]
        [--squares 1000000] [--sums 1000000] [--workers 2] [--folder DIR]

First the overhead: the same question by one process on two cores, and by two processes of one thread each that work on a
store, plan and merge included. Turns alternate; the least time of each counts. --questions chooses some. Then runs with kill -9: two workers at a
small question, one of which is killed at a random moment and replaced, until all shares are done; the merged answer must
have the bytes of one run. Some of these questions have shares of squares. With --squares, pruned questions over this many rows of 3 numbers: how many squares there were and
were left, and the times. With --sums, sums of rows over all pairs of this many rows of 3 numbers: the bytes of all parts, and
the times of one process and of --workers, which share the cores out. Prints all as Markdown; ends with status 1 if bytes differ.
"""

import argparse
import filecmp
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

FOLDS = {
    "sums of rows": ("{ kind = 'reduce', op = 'logsumexp' }", "csv"),
    "neighbours": ("{ kind = 'nearest', k = 8 }", "csv"),
    "histogram": ("{ kind = 'histogram', axes = [{ bins = 200, range = [0.0, 2.0] }] }", "csv"),
    "minima": ("{ kind = 'reduce', op = 'argmin' }", "csv"),
    "quantiles": ("{ kind = 'quantile', q = [0.1, 0.5] }", "csv"),
    "best pairs": ("{ kind = 'top', k = 1000 }", "csv"),
    "matches": ("{ kind = 'join', where = 'euclidean(x, y) < 0.2' }", "csv"),
    "matrix": ("{ kind = 'matrix' }", "npy"),
}

PRUNED = {
    "short histogram": "{ kind = 'histogram', axes = [{ bins = 20, range = [0.0, 0.05] }] }",
    "matches": "{ kind = 'join', where = 'euclidean(x, y) < 0.005' }",
    "neighbours": "{ kind = 'nearest', k = 8 }",
}


def question(folder, name, rows, columns, fold, domain):
    """A problem file over random rows."""
    data = folder / f"{name}.npy"
    np.save(data, np.random.default_rng(rows).random((rows, columns)))
    text = f"schema = 1\nx = {{ name = '{data}' }}\ndomain = '{domain}'\npair = {{ metric = 'euclidean' }}\nfolds = [{fold}]\n"
    (folder / f"{name}.toml").write_text(text)
    return folder / f"{name}.toml"


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Command:
    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())

    def run(self, *words):
        subprocess.run([self.path, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, *words):
        return subprocess.Popen([self.path, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def shared(command, problem, store, answer, shares, workers, threads=1, more=()):
    shutil.rmtree(store, ignore_errors=True)
    command.run("plan", problem, "--store", store, "--shares", shares, "--threads", threads, *more)
    started = [command.start("work", store, "--threads", threads, "--quiet") for _ in range(workers)]
    for worker in started:
        said = worker.communicate()[1]
        if worker.returncode:
            sys.exit(said)
    command.run("merge", store, "-o", answer, "--force", "--quiet")


def overheads(command, folder, rows, shares, turns, chosen):
    print(f"Two processes of one thread against one of two threads, {rows} rows of 8 numbers, {shares} shares, best of {turns}:\n")
    print("| question | one process, s | two processes, s | overhead | parts, MB |\n|---|---|---|---|---|")
    same = True
    for name, (fold, suffix) in FOLDS.items():
        if chosen and name not in chosen:
            continue
        size = rows // 6 if name == "matrix" else rows
        problem = question(folder, "big", size, 8, fold, "square" if name != "neighbours" else "ordered")
        one, many, store = folder / f"one.{suffix}", folder / f"many.{suffix}", folder / "store"
        alone, together = [], []
        for _ in range(turns):
            alone.append(timed(lambda: command.run("run", problem, "-o", one, "--force", "--quiet", "--threads", 2)))
            together.append(timed(lambda: shared(command, problem, store, many, shares, 2)))
        same &= filecmp.cmp(one, many, shallow=False)
        parts = sum(part.stat().st_size for part in (store / "parts").iterdir()) / 1e6
        print(f"| {name} | {min(alone):.3f} | {min(together):.3f} | {100 * (min(together) / min(alone) - 1):+.1f} % | {parts:.1f} |")
    return same


def squares(command, folder, rows, turns):
    print(f"Pruned questions, {rows} rows of 3 numbers, 8 shares, best of {turns}:\n")
    print("| question | squares | left | pairs settled in the plan | one process, s | two processes, s |\n|---|---|---|---|---|---|")
    same = True
    for name, fold in PRUNED.items():
        problem = question(folder, "pruned", rows, 3, fold, "triangle" if name != "neighbours" else "ordered")
        one, many, store = folder / "one.npz", folder / "many.npz", folder / "store"
        alone, together = [], []
        for _ in range(turns):
            alone.append(timed(lambda: command.run("run", problem, "-o", one, "--force", "--quiet", "--threads", 2)))
            together.append(timed(lambda: shared(command, problem, store, many, 8, 2, more=("--set", "prune=on"))))
        same &= filecmp.cmp(one, many, shallow=False)
        plan = json.loads((store / "plan.json").read_text())
        found = plan["squares"]
        told = [found["all"], found["left"], f"{100 * found['settled'] / plan['predicted']['pairs']:.2f} %"] if found else ["none"] * 3
        print("|", " | ".join(map(str, [name, *told, f"{min(alone):.2f}", f"{min(together):.2f}"])), "|")
    return same


def sums(command, folder, rows, workers):
    """Sums of rows over all pairs: one process on all cores, and workers that share them out."""
    cores = len(os.sched_getaffinity(0))
    threads = max(cores // workers, 1)
    print(f"Sums of rows of exp(-r²), {rows} rows of 3 numbers of 4 bytes, {4 * workers} shares, {cores} cores:\n")
    print(f"| domain | one process, s | {workers} processes of {threads} threads, s | parts, MB | largest part, MB |\n|---|---|---|---|---|")
    data, problem = folder / "sums.npy", folder / "sums.toml"
    np.save(data, np.random.default_rng(rows).random((rows, 3), dtype=np.float32))
    one, many, store = folder / "one.csv", folder / "many.csv", folder / "store"
    same = True
    for domain in ("square", "diagonal"):
        text = f"schema = 1\nx = {{ name = '{data}' }}\ndomain = '{domain}'\npair = {{ formula = 'exp(-sum((x - y)^2))' }}\n"
        problem.write_text(text + "folds = [{ kind = 'reduce', op = 'sum' }]\n")
        alone = timed(lambda: command.run("run", problem, "-o", one, "--force", "--quiet"))
        together = timed(lambda: shared(command, problem, store, many, 4 * workers, workers, threads))
        same &= filecmp.cmp(one, many, shallow=False)
        parts = [part.stat().st_size / 1e6 for part in (store / "parts").iterdir()]
        print(f"| {domain} | {alone:.1f} | {together:.1f} | {sum(parts):.1f} | {max(parts):.1f} |")
    return same


def kills(command, folder, rounds):
    draw = random.Random(20260101)
    killed = 0
    slowly = ("--set", "tile.rows=128", "--set", "tile.cols=256", "--set", "isa=scalar", "--set", "family=vm", "--set", "batch=1")
    problems = []
    for name, (fold, suffix) in FOLDS.items():
        problem = question(folder, name.split()[0], 1500, 3, fold, "square" if name != "neighbours" else "ordered")
        problems.append((problem, suffix, slowly))
    for name, fold in PRUNED.items():
        problem = question(folder, f"pruned-{name.split()[0]}", 40_000, 3, fold, "triangle" if name != "neighbours" else "ordered")
        problems.append((problem, "npz", ("--set", "prune=on")))
    answers = []
    for problem, suffix, _ in problems:
        answers.append(folder / f"{problem.stem}-one.{suffix}")
        command.run("run", problem, "-o", answers[-1], "--force", "--quiet")
    for turn in range(rounds):
        (problem, suffix, how), one = problems[turn % len(problems)], answers[turn % len(problems)]
        store, many = folder / "kills", folder / f"many.{suffix}"
        shutil.rmtree(store, ignore_errors=True)
        command.run("plan", problem, "--store", store, "--shares", 5, *how)
        if how != slowly and not json.loads((store / "plan.json").read_text())["squares"]:
            sys.exit(f"{problem.stem}: expected shares of squares")
        words = ("work", store, "--threads", 1, "--lease", 1, "--retries", 1000, "--checkpoint-every", 0.02, "--quiet")
        workers = [command.start(*words) for _ in range(2)]
        for _ in range(2):
            time.sleep(draw.random() * 0.12)
            at = draw.randrange(2)
            if workers[at].poll() is None:
                workers[at].kill()
                killed += 1
            workers[at].communicate()
            workers[at] = command.start(*words)
        for worker in workers:
            said = worker.communicate()[1]
            if worker.returncode:
                print(f"turn {turn}: {said}")
                return False, killed
        command.run("merge", store, "-o", many, "--force", "--quiet")
        if not filecmp.cmp(one, many, shallow=False):
            print(f"turn {turn}: other bytes")
            return False, killed
    return True, killed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--shares", type=int, default=8)
    parser.add_argument("--questions", type=lambda text: text.split(","), default=[], help=", ".join(FOLDS))
    parser.add_argument("--squares", type=int, default=0)
    parser.add_argument("--sums", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder")
    given = parser.parse_args()
    command = Command(given.command)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = pathlib.Path(os.path.realpath(name))
        good = overheads(command, folder, given.rows, given.shares, given.turns, given.questions) if given.turns else True
        if given.squares:
            good &= squares(command, folder, given.squares, max(given.turns, 1))
        if given.sums:
            good &= sums(command, folder, given.sums, given.workers)
        if given.kills:
            start = time.perf_counter()
            fine, killed = kills(command, folder, given.kills)
            good &= fine
            spent = time.perf_counter() - start
            print(f"\n{given.kills} runs, {killed} workers killed: {'nothing lost' if fine else 'FAILED'} ({spent:.0f} s)")
    sys.exit(not good)


if __name__ == "__main__":
    main()
