"""Formulas summed by bin on a device: the rate of each question, next to plain counts and to the host, and equal bits.

    python bench/device_values.py target/release/zipfold --device cuda [--rows 200000] [--host-rows 20000] [--turns 3]

Random points in a cube with a fourth number, and weights from 10⁻⁶ to 10⁶. For each question a line: pairs a second of the kernels (the least seconds of some turns), the
ratio to counts by the same bins, the predicted seconds to the measured ones, those of the host, and whether the device's answer of the first `--host-rows` rows has the bits of the host's.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

FORMULA = "(x[3] - y[3])^2 / 2"
PAIR = "sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2 + (x[2] - y[2])^2)"
#: Bins, and for each question its name and the words behind those of the bins; the first is what the others are compared with.
BINS = [50, 1000, 4000, 20_000]
ASKED = [
    ("counts", []),
    ("means of the distance", ["--mean"]),
    ("means of a formula", ["--value", f"v={FORMULA}", "--keep", "mean"]),
    ("means and variances of a formula", ["--value", f"v={FORMULA}", "--keep", "mean,variance"]),
    ("a pair weight", ["--weight", "x[3] * y[3]"]),
    ("weights of many sizes", ["--weights", "4"]),
]


def answer(asked, folder, table, words, device):
    command = [asked.binary, "hist", table, "--pair", PAIR, *words, "--device", device, "--set", "prune=off", "--json", "-o", "out.npz", "--force"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    told = json.loads(done.stdout)
    found = dict(np.load(folder / "out.npz"))
    return told["seconds"]["kernel"], told["plan"]["seconds"], found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--host-rows", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    asked.binary = str(Path(asked.binary).resolve())
    print("| rows | bins | question | pairs/s | to counts | predicted to measured | host, pairs/s | bits |")
    print("|---|---:|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        random = np.random.default_rng(1)
        sizes = 10.0 ** random.uniform(-6, 6, (asked.rows, 1))
        rows = np.hstack([random.random((asked.rows, 4)), sizes])
        for kind in ["f4", "f8"]:
            np.save(folder / "x.npy", rows.astype(kind))
            np.save(folder / "few.npy", rows[: asked.host_rows].astype(kind))
            for bins in BINS:
                counts = None
                for question, words in ASKED:
                    words = ["--bins", str(bins), "--range", "0", "1.8", *words]
                    turns = [answer(asked, folder, "x.npy", words, asked.device)[:2] for _ in range(asked.turns)]
                    least, predicted = min(turns)
                    rate = asked.rows * (asked.rows - 1) / 2 / least
                    counts = counts or rate
                    seconds, _, wanted = answer(asked, folder, "few.npy", words, "cpu")
                    *_, got = answer(asked, folder, "few.npy", words, asked.device)
                    same = wanted.keys() == got.keys() and all(wanted[key].tobytes() == got[key].tobytes() for key in wanted)
                    host = asked.host_rows * (asked.host_rows - 1) / 2 / seconds
                    bits = "equal" if same else "DIFFERENT"
                    print(f"| {asked.rows} {kind} | {bins} | {question} | {rate:.3g} | {rate / counts:.3f} | {predicted / least:.2f} | {host:.3g} | {bits} |", flush=True)


if __name__ == "__main__":
    main()
