#!/usr/bin/env python3
"""Joins of the command by columns of text against pandas, in every format that has text.

    python texts.py PATH/TO/zipfold

Prints a line for each comparison, and ends with status 1 when one disagrees.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd

CONDITIONS = {
    "x.kind == y.kind": lambda a, b: a == b,
    "x.kind < y.kind": lambda a, b: a < b,
    "x.kind <= y.kind and abs(x.v - y.v) < 2": lambda a, b: a <= b,
    "x.kind == y.other": lambda a, b: a == b,
    "x.kind == 'Na' and y.kind != 'Na'": None,
}
WRITERS = {
    "csv": lambda table, path: table.to_csv(path, index=False),
    "tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "parquet": lambda table, path: table.to_parquet(path, index=False),
    "feather": lambda table, path: table.to_feather(path),
}


def table(rng, rows, words, category):
    """Numbers and two columns of words, some of which are missing."""
    kind = rng.choice(np.array([*words, None], object), rows)
    other = rng.choice(np.array([*words, None], object), rows)
    out = pd.DataFrame({"v": rng.integers(0, 9, rows).astype(float), "kind": kind, "other": other})
    return out.astype({"kind": "category"}) if category else out


def wanted(a, b, condition):
    """The matches, pair by pair."""
    out = []
    words = {name: (list(a[name].astype(object)), list(b[name].astype(object))) for name in ("kind", "other")}
    holds = CONDITIONS[condition]
    for i in range(len(a)):
        for j in range(len(b)):
            x, y = words["kind"][0][i], words["other" if "other" in condition else "kind"][1][j]
            if not isinstance(x, str) or not isinstance(y, str):
                continue
            found = (x == "Na" and y != "Na") if holds is None else holds(x, y)
            if found and ("abs" not in condition or abs(a["v"][i] - b["v"][j]) < 2):
                out.append((i, j))
    return out


def main():
    """All formats and conditions."""
    rng, bad = np.random.default_rng(5), 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for suffix, write in WRITERS.items():
            for category in (False, True):
                a = table(rng, 70, ["Na", "Cl", "Łódź", "É", "x1", "nul"], category)
                b = table(rng, 60, ["Na", "K", "Łódź", "É", "z", "Nb"], category)
                write(a, folder / f"a.{suffix}")
                write(b, folder / f"b.{suffix}")
                for condition in CONDITIONS:
                    words = ["join", f"a.{suffix}", f"b.{suffix}", "--where", condition, "--nan", "propagate"]
                    done = subprocess.run(
                        [sys.argv[1], *words, "-o", "m.parquet", "--force"], capture_output=True, text=True, cwd=folder
                    )
                    found = None
                    if done.returncode == 0:
                        matches = pd.read_parquet(folder / "m.parquet")
                        found = list(zip(matches["i"], matches["j"], strict=True))
                    agree = found == wanted(a, b, condition)
                    bad += not agree
                    print(f"{suffix} {condition}: {'agrees' if agree else 'DISAGREES ' + done.stderr}")
    print(f"{bad} disagree")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
