#!/usr/bin/env python3
"""Work that bounds settle, by zipfold and by the peers that are installed, in one run; counts are compared.

    python bench/prune.py PATH/TO/zipfold [NAME ...]

Prints one JSON object: for every workload the seconds of zipfold's kernel and of its whole command, the pairs evaluated,
skipped and settled, and the seconds of each peer's call (arrays loaded, trees built inside). All are the least of several
turns, taken alternately.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

TURNS = 5


def peers():
    """{workload: {peer: call(x, y) -> count or None}} of what can be imported."""
    out = {name: {} for name in WORK}
    from scipy.spatial import cKDTree
    out["pairs-within"]["scipy KDTree.query_pairs"] = lambda x, y: len(cKDTree(x).query_pairs(1, output_type="ndarray"))
    out["neighbours"]["scipy cKDTree.query"] = lambda x, y: cKDTree(y).query(x, 10, workers=-1)[1].size
    try:
        from pykdtree.kdtree import KDTree
        out["neighbours"]["pykdtree"] = lambda x, y: KDTree(y).query(x, 10)[1].size
    except ImportError:
        pass
    eps = float(np.sqrt(5e-5))
    out["join-l1"]["scipy cKDTree.query_ball_tree"] = lambda x, y: sum(
        map(len, cKDTree(x).query_ball_tree(cKDTree(y), eps, p=1)))
    try:
        from Corrfunc.theory.DD import DD
        cores = os.cpu_count()

        def corrfunc(edges, box):
            periodic = box is not None
            return lambda x, y: int(sum(r["npairs"] for r in DD(
                1, cores, edges, *x.T.copy(), periodic=periodic, boxsize=box or 0.0)) // 2)
        out["cutoff"]["Corrfunc DD"] = corrfunc(np.linspace(1e-9, 0.05, 201), 1.0)
        out["rdf"]["Corrfunc DD"] = corrfunc(np.linspace(1e-9, 0.25, 201), 1.0)
        out["paircount"]["Corrfunc DD"] = corrfunc(np.logspace(np.log10(0.5), np.log10(50), 17), None)
    except ImportError:
        pass
    return out


def cube(n, d, scale=1.0, seed=0, kind=np.float64):
    return (np.random.default_rng(seed).random((n, d)) * scale).astype(kind)


JOIN = "abs(x[0] - y[0]) + abs(x[1] - y[1]) < " + repr(float(np.sqrt(5e-5)))
LOG = np.logspace(np.log10(0.5), np.log10(50), 17)
WORK = {
    "pairs-within": (["join", "X", "--self", "--where", "sum((x - y)^2) <= 1"], cube(20_000, 2, 100), None),
    "neighbours": (["knn", "X", "Y", "-k", "10"], cube(20_000, 3, kind=np.float32), cube(100_000, 3, seed=1, kind=np.float32)),
    "join-l1": (["join", "X", "Y", "--where", JOIN], cube(100_000, 2, kind=np.float32), cube(100_000, 2, seed=1, kind=np.float32)),
    "cutoff": (["hist", "X", "--bins", "200", "--range", "0", "0.05", "--box", "1,1,1"], cube(100_000, 3), None),
    "rdf": (["hist", "X", "--bins", "200", "--range", "0", "0.25", "--box", "1,1,1"], cube(100_000, 3), None),
    "paircount": (["hist", "X", "--edges", "EDGES"], cube(200_000, 3, 1000), None),
    "inequality": (["join", "X", "Y", "--where", "x[0] < y[0] and x[1] > y[1] + 0.998"], cube(100_000, 2), cube(100_000, 2, seed=1)),
}
OUT = {"join": "o.npz", "knn": "o.npz", "hist": "o.csv"}


def zipfold(program, words, folder, extra=()):
    """(report, seconds of the whole command)."""
    files = {"X": f"{folder}/x.npy", "Y": f"{folder}/y.npy", "EDGES": f"{folder}/edges.csv"}
    command = [program, *(files.get(w, w) for w in words), *extra, "-o", f"{folder}/{OUT[words[0]]}", "--force", "--json"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.perf_counter() - start


def found(words, folder):
    """What the command counted: matches, neighbours, or pairs in bins."""
    if words[0] == "hist":
        rows = [line for line in open(f"{folder}/o.csv") if line[0] in "0123456789"]
        return sum(int(line.split(",")[2]) for line in rows)
    with np.load(f"{folder}/o.npz") as arrays:
        return int(arrays[arrays.files[0]].size)


def measure(program, name, calls):
    words, x, y = WORK[name]
    least, record = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        if y is not None:
            np.save(f"{folder}/y.npy", y)
        np.savetxt(f"{folder}/edges.csv", LOG)
        for _ in range(TURNS):
            report, whole = zipfold(program, words, folder)
            turn = {"zipfold kernel": report["seconds"]["kernel"], "zipfold command": whole}
            for peer, call in calls.items():
                start = time.perf_counter()
                record.setdefault("counts", {})[peer] = call(x, y)
                turn[peer] = time.perf_counter() - start
            least = {k: min(v, least.get(k, v)) for k, v in turn.items()}
        record.setdefault("counts", {})["zipfold"] = found(words, folder)
    pairs = {k: report["counts"][k] for k in ("pairs", "evaluated", "skipped", "settled")}
    return {"command": " ".join(["zipfold", *words]), "seconds": {k: round(v, 4) for k, v in least.items()}, "pairs": pairs, **record}


def main():
    program, names = sys.argv[1], sys.argv[2:] or list(WORK)
    calls = peers()
    print(json.dumps({name: measure(program, name, calls[name]) for name in names}, indent=1))


if __name__ == "__main__":
    main()
