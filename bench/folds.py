"""What a fold costs that is one file and no kernel: `top` beside folds that have kernels of their own, all pairs evaluated.

    python bench/folds.py target/release/zipfold [ANOTHER …] [--turns 5]

A line a question: the least seconds of some turns by binary, all questions taking turns, and the ratio to the fused fold of the same
values. With two binaries also how the second compares with the first.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

#: Rows, components, type, the pair.
TABLES = [
    (12000, 3, "f8", "sum(abs(x - y))"),
    (12000, 3, "f4", "exp(-sum((x - y)^2))"),
    (6000, 32, "f8", "sum(abs(x - y))"),
]
#: The name, and the words of the command behind the table and the pair; the first is what the others are compared with.
FOLDS = [
    ("row minima (fused)", ["reduce", "--op", "min"]),
    ("top 10", ["top", "-k", "10"]),
    ("top 10 000", ["top", "-k", "10000"]),
    ("10 nearest", ["knn", "-k", "10"]),
    ("histogram of 100 bins", ["hist", "--bins", "100", "--range", "0", "4"]),
    ("row sums (fused)", ["reduce", "--op", "sum"]),
    ("row medians", ["reduce", "--op", "median"]),
    ("nine quantiles", ["reduce", "--op", "quantile", "--quantiles", "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"]),
]


def seconds(binary: str, words: list[str], table: str, pair: str, folder: Path) -> float:
    verb, *rest = words
    command = [binary, verb, table, "--pair", pair, *rest, "--set", "prune=off", "--threads", "1", "--device", "cpu", "--json"]
    done = subprocess.run([*command, "-o", "out.npz" if verb in ("knn", "top", "hist") else "out.npy", "--force"],
                          cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["seconds"]["kernel"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    print("| pair, rows | fold | " + " | ".join(f"seconds {n + 1}" for n in range(len(asked.binaries))) + " | to the fused fold | second to first |")
    print("|---|---|" + "---:|" * (len(asked.binaries) + 2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n, d, kind, pair in TABLES:
            np.save(folder / "x.npy", np.random.default_rng(1).random((n, d)).astype(kind))
            least: dict[tuple[str, int], float] = {}
            for _ in range(asked.turns):
                for fold, words in FOLDS:
                    for at, binary in enumerate(asked.binaries):
                        try:
                            took = seconds(binary, words, "x.npy", pair, folder)
                        except SystemExit:
                            if words[0] != "top" or at > 0:
                                raise
                            continue  # a binary from before `top`
                        least[fold, at] = min(least.get((fold, at), np.inf), took)
            for fold, _ in FOLDS:
                times = [least.get((fold, at)) for at in range(len(asked.binaries))]
                fused = least[FOLDS[0][0], len(asked.binaries) - 1]
                row = [f"{t:.3f}" if t else "–" for t in times] + [f"{times[-1] / fused:.2f}"]
                row.append(f"{times[1] / times[0]:.2f}" if len(times) > 1 and times[0] else "–")
                print(f"| `{pair}`, {n} × {d} {kind} | {fold} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
