"""Pairs within reach by a grid of cells, beside the same questions without it.

    python bench/grid.py target/release/zipfold [TURNS]

Prints a row for each question: the least CPU (user) seconds of the whole command over TURNS (3), without the grid and with it, in
alternation, and whether both answers have the same bytes. Needs NumPy."""

import filecmp
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np

LJ = "4 * ((1 / sum((x - y)^2))^6 - (1 / sum((x - y)^2))^3)"
FORCE = "(x - y) * (1 / sum((x - y)^2))^4"
AXES = {
    "s, mu": [("norm(x - y)", 20, 20.0), ("abs(x[2] - y[2]) / norm(x - y)", 20, 1.0)],
    "rp, pi": [("sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2)", 20, 20.0), ("abs(x[2] - y[2])", 40, 40.0)],
}


def user_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def questions() -> list[tuple[str, str, list[str]]]:
    random = np.random.default_rng(7)
    np.save("atoms.npy", random.random((32000, 3)) * 34.2)
    np.save("galaxies.npy", random.random((20000, 3)) * 420)
    atoms = ["reduce", "atoms.npy", "--op", "sum", "--no-diagonal", "--pair"]
    found = [
        ("32 000 atoms, r <= 2.5, box", "npy", atoms + [LJ, "--cutoff", "2.5", "--box", "34.2,34.2,34.2"]),
        ("the same in open space", "npy", atoms + [LJ, "--cutoff", "2.5"]),
        ("the same in a triclinic box", "npy", atoms + [LJ, "--cutoff", "2.5", "--box", "34.2,34.2,34.2,80,75,85"]),
        ("forces, box", "npy", atoms + [FORCE, "--cutoff", "2.5", "--box", "34.2,34.2,34.2"]),
        ("if(r2 <= 6.25, ..., 0), box", "npy", atoms + [f"if(sum((x - y)^2) <= 6.25, {LJ}, 0)", "--box", "34.2,34.2,34.2"]),
    ]
    for name, axes in AXES.items():
        text = ", ".join(f'{{ value = "{value}", bins = {bins}, range = [0.0, {top}] }}' for value, bins, top in axes)
        path = name.replace(", ", "-") + ".toml"
        with open(path, "w") as file:
            file.write('schema = 1\nx = { name = "galaxies.npy" }\nbox = [420.0, 420.0, 420.0]\ncells = "triangle"\n')
            file.write(f'pair = {{ metric = "euclidean" }}\n[[folds]]\nkind = "histogram"\naxes = [{text}]\n')
        found.append((f"two axes ({name}), 20 000 points, box", "csv", ["run", path]))
    return found


def main() -> None:
    binary, turns = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print("| question | without | with | same bytes |\n|---|---|---|---|")
        for name, suffix, words in questions():
            least = [float("inf"), float("inf")]
            for _ in range(turns):
                for at, more in enumerate((["--set", "prune=off"], [])):
                    command = [binary, *words, *more, "--device", "cpu", "-q", "--force", "-o", f"{at}.{suffix}"]
                    least[at] = min(least[at], user_seconds(command))
            same = filecmp.cmp(f"0.{suffix}", f"1.{suffix}", shallow=False)
            print(f"| {name} | {least[0]:.2f} | {least[1]:.2f} | {'yes' if same else 'NO'} |", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
