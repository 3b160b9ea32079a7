"""Questions of near pairs on a device beside the host: whole calls, kernels, pairs that were swept.

    python bench/device_prune.py ZIPFOLD --device cuda --out rows.jsonl [--rows 10000000] [--without-all]

Needs NumPy. Makes random rows in a unit cube in a temporary folder. For each question it runs the
host, the device with bounds and, where that is predicted to end within a minute, the device over all
pairs, and compares the answers: counts must be equal, neighbours and matches too. Prints a table and
writes a row of JSON for each run.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np


def questions(rows):
    """Name, rows, verb, arguments after the input, answer file."""
    box = ["--box", "1,1,1"]
    some = min(rows, 1_000_000)
    short = ["--bins", "300", "--range", "0"]
    return [
        ("histogram to 0.005", rows, "hist", [*short, "0.005"], "csv"),
        ("histogram to 0.005 in a box", rows, "hist", [*short, "0.005", *box], "csv"),
        ("histogram to 0.05", some, "hist", [*short, "0.05"], "csv"),
        ("histogram to 0.3", some, "hist", [*short, "0.3"], "csv"),
        ("join below 0.002", rows, "join", ["--self", "--where", "euclidean(x, y) < 0.002"], "npz"),
        ("10 nearest", some, "knn", ["-k", "10"], "npz"),
        ("10 nearest of all", rows, "knn", ["-k", "10"], "npz"),
        ("100 nearest", some // 4, "knn", ["-k", "100"], "npz"),
    ]


def answer(path):
    """The numbers of an answer, matches in the order of their rows."""
    if path.suffix == ".csv":
        return [np.genfromtxt(path, delimiter=",", skip_header=1)]
    with np.load(path) as held:
        parts = [held[name] for name in sorted(held.files)]
    return parts


def equal(a, b):
    """Whether two answers are the same."""
    return len(a) == len(b) and all(np.array_equal(p, q, equal_nan=True) for p, q in zip(a, b))


def run(program, arguments, limit):
    """The report of a run, with the seconds of the whole call; None beyond the limit."""
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [program, *arguments, "--json"], capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    report["call"] = seconds
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", default="", help="questions whose name has this text")
    parser.add_argument("--without-all", action="store_true", help="no run over all pairs")
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    rows_of_record = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print(f"{'question':30} {'how':14} {'call':>8} {'pairs':>8} {'load':>7} {'write':>7} {'swept':>9} {'predicted':>9}  same")
        for name, rows, verb, arguments, suffix in questions(given.rows):
            if given.only not in name:
                continue
            path = folder / f"{rows}.npy"
            if not path.exists():
                np.save(path, np.random.default_rng(rows).random((rows, 3)))
            ways = [
                ("host", ["--device", "cpu"]),
                ("device", ["--device", given.device]),
                ("device again", ["--device", given.device]),
                ("all pairs", ["--device", given.device, "--set", "prune=off"]),
            ]
            first = None
            for how, extra in ways:
                if how == "all pairs" and (given.without_all or rows > 1_000_000):
                    continue
                out = folder / f"answer.{suffix}"
                report = run(given.program, [verb, str(path), *arguments, *extra, "-o", str(out), "--force"], 120)
                if report is None:
                    print(f"{name:30} {how:14} beyond 120 s")
                    continue
                found = answer(out)
                first = first or found
                seconds, counts = report["seconds"], report["counts"]
                row = {
                    "question": name,
                    "rows": rows,
                    "how": how,
                    "call": report["call"],
                    "seconds": seconds,
                    "counts": counts,
                    "predicted": report["plan"]["seconds"],
                    "backend": report["plan"]["backend"],
                    "device": report["plan"]["device"],
                    "same": equal(first, found),
                }
                rows_of_record.append(row)
                print(
                    f"{name:30} {how:14} {row['call']:8.3f} {seconds['kernel'] - seconds['load']:8.3f}"
                    f" {seconds['load']:7.3f} {seconds['write']:7.3f} {counts['evaluated']:9.2e}"
                    f" {row['predicted']:9.3f}  {row['same']}",
                    flush=True,
                )
    if given.out:
        given.out.write_text("".join(json.dumps(row) + "\n" for row in rows_of_record))


if __name__ == "__main__":
    main()
