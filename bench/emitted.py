"""Compares the kernels that two builds of zipfold emit: the same sources mean the same speed and the same bits on a device.

    python bench/emitted.py OLD NEW

OLD and NEW are two `zipfold` commands. No GPU is needed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PAIRS = {
    "gauss": "exp(-sum((x-y)^2))",
    "near": "norm(x-y)<0.5",
    "tie": "sum((x-y)^2)<0.01",
    "both": "norm(x-y)<0.1 and x[0]<y[0]",
}
QUESTIONS = [
    ["dist"],
    ["dist", "--pair", "sum(x*y)"],
    ["dist", "--metric", "cosine", "--precision", "f32"],
    ["knn", "-k", "5"],
    ["knn", "-k", "40", "--metric", "chebyshev"],
    ["hist", "--range", "0", "2"],
    ["hist", "--range", "0", "2", "--bins", "20000"],
    ["hist", "--edges", "edges.txt"],
    ["reduce", "--op", "sum", "--pair", PAIRS["gauss"]],
    ["reduce", "--op", "logsumexp", "--pair", "-sum((x-y)^2)"],
    ["reduce", "--op", "argmin", "--pair", "sum(abs(x-y))"],
    ["reduce", "--op", "count", "--pair", PAIRS["near"]],
    ["join", "--self", "--where", PAIRS["tie"]],
    ["join", "--self", "--kind", "semi", "--where", PAIRS["both"]],
    ["reduce", "--op", "sum", "--axis", "column", "--pair", "norm(x-y)"],
    ["top", "-k", "3"],
]
CHOICES = [
    [],
    ["filter=off"],
    ["points.anchors=1", "points.unroll=2"],
    ["fold.tiles=sweep"],
    ["device.rows=streamed"],
    ["dense.stages=2", "dense.across=16"],
    ["tile.map=ltm", "tile.root=table"],
    ["join.output=count"],
    ["load.vector=1"],
    ["device.family=pairs"],
]


def emitted(command, target, verb, table, rest, choices, folder):
    """The sources, without the plan in comments before them; or none where the command refuses."""
    made = [word for choice in choices for word in ("--set", choice)]
    words = [command, "emit", "--target", target, verb, table, *rest, *made]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        return None
    return "".join(line for line in done.stdout.splitlines(True) if not line.startswith("// "))


def main():
    old, new = (str(Path(command).resolve()) for command in sys.argv[1:3])
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            "f32x3.npy": rng.random((3000, 3)).astype("f4"),
            "f64x3.npy": rng.random((2000, 3)),
            "f32x64.npy": rng.random((1000, 64)).astype("f4"),
            "whole.npy": rng.integers(0, 5, (900, 16)).astype("f4"),
        }
        for name, table in tables.items():
            np.save(Path(folder, name), table)
        Path(folder, "edges.txt").write_text("0\n0.1\n0.5\n2\n")
        same, other, refused = 0, [], 0
        for target in ("cuda", "opencl"):
            for name in tables:
                for verb, *rest in QUESTIONS:
                    for choices in CHOICES:
                        a, b = (emitted(c, target, verb, name, rest, choices, folder) for c in (old, new))
                        if a is None and b is None:
                            refused += 1
                        elif a == b:
                            same += 1
                        else:
                            other.append((target, name, verb, rest, choices))
    print(f"{same} the same, {len(other)} others, {refused} refused by both")
    for question in other[:10]:
        print(*question)
    sys.exit(bool(other))


if __name__ == "__main__":
    main()
