"""What functions and boxes cost a pair: means of rows of formulas that differ in them alone.

    python bench/functions.py ZIPFOLD [TURNS]

Prints nanoseconds of one processor a pair (the least CPU time of the whole command over TURNS, 3) of tables in double and in single
precision, less those of the plain formula of the same table. Needs NumPy."""

import os
import resource
import subprocess
import sys
import tempfile

import numpy as np

ROWS = 2500
FUNCTIONS = [
    "exp(-u)", "expm1(u)", "log(v)", "log1p(v)", "log10(v)", "tanh(u)", "cosh(u)", "sin(u)", "tan(u)", "atan(u)", "acos(u)", "erf(u)",
    "lgamma(v)", "atan2(x[0], y[0])", "v^1.5", "v^1.3", "v^7", "v^y[0]", "sqrt(u)", "1 / v",
]  # fmt: skip
BOXES = {"right angles": "1,1,1", "right angles, smaller than the spread": ".7,.7,.7", "skewed": "1,1,1,90,80,70"}


def cpu_seconds(command: list[str], turns: int) -> float:
    least = float("inf")
    for _ in range(turns):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([*command, "--op", "mean", "--threads", "1", "--device", "cpu", "-q", "--force", "-o", "out.npy"], check=True)
        least = min(least, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return least


def main() -> None:
    zipfold = os.path.abspath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)

        def nanoseconds(width: int, pair: str, *words: str) -> list[float]:
            found = []
            for kind in ("f8", "f4"):
                np.save("table.npy", random.random((ROWS, width)).astype(kind))
                command = [zipfold, "reduce", "table.npy", "table.npy", "--pair", pair, *words]
                found.append(cpu_seconds(command, turns) / ROWS**2 * 1e9)
            return found

        print("| | double | single |\n|---|---|---|")
        plain = nanoseconds(1, "abs(x[0] - y[0])")
        for function in FUNCTIONS:
            pair = function.replace("u", "(x[0] * y[0])", 1) if "u" in function else function.replace("v", "(x[0] + y[0])", 1)
            own = nanoseconds(1, pair)
            print(f"| {function} | {own[0] - plain[0]:.1f} | {own[1] - plain[1]:.1f} |", flush=True)
        plain = nanoseconds(3, "sum((x - y)^2)")
        for name, box in BOXES.items():
            own = nanoseconds(3, "sum((x - y)^2)", "--box", box)
            print(f"| nearest images, {name} | {own[0] - plain[0]:.1f} | {own[1] - plain[1]:.1f} |", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
