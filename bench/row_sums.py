"""Folds by rows of a table with itself, with weights and of exponentials, beside the same by another build of the command.

    python bench/row_sums.py BEFORE AFTER [TURNS]

Prints a row for each question: the least CPU (user) seconds of the whole command over TURNS (3), by both builds in alternation, and
how the second compares with the table and its copy, without weights (the floor of the row). Needs NumPy."""

import os
import resource
import subprocess
import sys
import tempfile

import numpy as np

ROWS = 6000
VALUES = {"r²": "sum((x - y)^2)", "exp(-r²)": "exp(-sum((x - y)^2))"}
FILES = {"f64, 3 components": "x.npy", "f32, 3 components": "xf.npy", "f64, 16 components": "x16.npy"}


def user_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def questions() -> list[tuple[str, list[str]]]:
    random = np.random.default_rng(7)
    rows = random.random((ROWS, 3))
    np.save("x.npy", rows)
    np.save("xf.npy", rows.astype("f4"))
    np.save("x16.npy", random.random((ROWS, 16)))
    for columns in (1, 8):
        np.save(f"w{columns}.npy", random.random((ROWS, columns)))
    kinds = {
        "sum, X and a copy": (2, ["--op", "sum"]),
        "sum, X alone": (1, ["--op", "sum"]),
        "sum, X alone, no diagonal": (1, ["--op", "sum", "--no-diagonal"]),
        "sum, 1 column of weights": (2, ["--op", "sum", "--weights", "w1.npy"]),
        "sum, X alone, 1 column": (1, ["--op", "sum", "--weights", "w1.npy"]),
        "sum, 8 columns of weights": (2, ["--op", "sum", "--weights", "w8.npy"]),
        "log-sum-exp": (2, ["--op", "logsumexp"]),
        "log-sum-exp, X alone": (1, ["--op", "logsumexp"]),
    }
    found = []
    for data, file in FILES.items():
        for value, pair in VALUES.items():
            for kind, (sides, words) in kinds.items():
                found.append((f"{data}, {value}: {kind}", ["reduce", *[file] * sides, "--pair", pair, *words, "-o", "out.npy"]))
    boxes = {"straight": "1,1,1", "triclinic": "1,1,1,80,75,85", "strongly skewed": "1,1,1,30,40,35"}
    for name, box in boxes.items():
        found.append((f"f64, r² in a {name} box: sum, X alone", ["reduce", "x.npy", "--pair", VALUES["r²"], "--op", "sum", "--box", box, "-o", "out.npy"]))
    table = np.c_[random.random((100_000, 3)) * 420, random.random(100_000)]
    np.savetxt("pairs.csv", table, delimiter=",", header="a,b,c,w", comments="")
    counts = ["hist", "pairs.csv", "--bins", "20", "--range", "0", "40", "--box", "420,420,420", "-o", "out.csv"]
    for name, words in {"": ["--columns", "a,b,c"], ", means": ["--columns", "a,b,c", "--mean"], ", weights and means": ["--weights", "w", "--mean"]}.items():
        found.append((f"pair counts of 100 000 points{name}", [*counts, *words]))
    np.save("points.npy", random.random((100_000, 3)))
    found.append(("100 nearest of 100 000 points, npz of 160 MB", ["knn", "points.npy", "-k", "100", "-o", "out.npz"]))
    return found


def main() -> None:
    builds = [os.path.abspath(path) for path in sys.argv[1:3]]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print("| question | before | after | before / after | after / floor |\n|---|---|---|---|---|")
        floor = 0.0
        for name, words in questions():
            least = [float("inf"), float("inf")]
            for _ in range(turns):
                for at, build in enumerate(builds):
                    least[at] = min(least[at], user_seconds([build, *words, "--device", "cpu", "-q", "--force"]))
            if "copy" in name or "straight" in name or name.endswith("points"):
                floor = least[1]
            beside = "" if "npz" in name else f"{least[1] / max(floor, 1e-3):.1f}"
            print(f"| {name} | {least[0]:.2f} | {least[1]:.2f} | {least[0] / max(least[1], 1e-3):.1f} | {beside} |", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
