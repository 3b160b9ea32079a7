#!/usr/bin/env python3
"""Joins, histograms, neighbours and sums of the command against SciPy's KDTree and NumPy.

    python counts.py PATH/TO/zipfold

Prints a line for each comparison, and ends with status 1 when one disagrees.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist, pdist


class Checks:
    """Comparisons made so far."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.bad, self.count = binary, pathlib.Path(folder), 0, 0

    def run(self, words, out, **arrays):
        """Saves `arrays`, runs the command and returns the path of its output."""
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
        path = self.folder / out
        path.unlink(missing_ok=True)
        done = subprocess.run([self.binary, *words, "-o", out], capture_output=True, text=True, cwd=self.folder)
        if done.returncode:
            print(done.stderr.strip())
            return None
        return path

    def line(self, name, agree, what):
        """Prints one comparison."""
        self.count += 1
        self.bad += not agree
        print(f"{name:34} {what}{'' if agree else '  DISAGREES'}")


def rows(path, width):
    """A CSV file as an array of `width` columns."""
    if path is None:
        return np.full((0, width), np.nan)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")][1:]
    return np.array([line.split(",") for line in lines], dtype=float).reshape(-1, width)


def close_pairs(checks):
    """The self-join of the plane: the set of SciPy's KDTree."""
    points = np.random.default_rng(0).random((20000, 2)) * 100
    right = np.array(sorted(KDTree(points).query_pairs(1)))
    got = rows(checks.run(["join", "a.npy", "--self", "--where", "sum((x - y)^2) <= 1"], "p.csv", a=points), 2)
    checks.line("join --self, 20000 points", np.array_equal(got, right), f"{len(got)} pairs, {len(right)} by KDTree")


def sparse(checks):
    """The same as arrays of a sparse matrix, with distances."""
    points = np.random.default_rng(5).random((3000, 3))
    right = KDTree(points).sparse_distance_matrix(KDTree(points), 0.1, output_type="coo_matrix").tocsr()
    words = ["join", "a.npy", "a.npy", "--where", "norm(x - y) <= 0.1", "--value", "norm(x - y)"]
    path = checks.run(words, "p.csr.npz", a=points)
    if path:
        got = np.load(path)
        got = csr_array((got["data"], got["indices"], got["indptr"]), shape=got["shape"])
    checks.line("join -o p.csr.npz", path and abs(got - right).max() < 1e-15, f"{right.nnz} entries of zero or more")


def one_bin(checks):
    """Every pair of 93 000 points is in one bin."""
    points = np.random.default_rng(1).random((93000, 3))
    got = rows(checks.run(["hist", "a.npy", "--bins", "1", "--range", "0", "2"], "h.csv", a=points), 3)
    checks.line("hist, 93000 points, one bin", got[:, 2].tolist() == [4324453500], f"{got[:, 2]}")


def histograms(checks):
    """numpy.histogram of SciPy's pdist, where no distance is within rounding of an edge."""
    rng = np.random.default_rng(2)
    for dim in (1, 2, 3, 5, 20):
        points = rng.normal(size=(1500, dim))
        distances = pdist(points)
        edges = np.sort(rng.uniform(0, distances.max(), 38))
        edges = np.concatenate([[0.0], edges, [distances.max() * 1.01]])
        right = np.histogram(distances, edges)[0]
        np.savetxt(checks.folder / "e.csv", edges, fmt="%.17g", header="edge", comments="")
        got = rows(checks.run(["hist", "a.npy", "--edges", "e.csv"], "h.csv", a=points), 3)
        checks.line(f"hist, {dim} columns, 39 bins", np.array_equal(got[:, 2], right), f"{int(got[:, 2].sum())} pairs")


def neighbours(checks):
    """The nearest rows by SciPy's KDTree."""
    rng = np.random.default_rng(3)
    for dim, k in ((1, 3), (2, 8), (3, 10), (8, 5)):
        x, y = rng.normal(size=(400, dim)), rng.normal(size=(3000, dim))
        right = KDTree(y).query(x, k)
        path = checks.run(["knn", "a.npy", "b.npy", "-k", str(k)], "k.npz", a=x, b=y)
        got = np.load(path) if path else {"indices": None, "values": np.zeros(0)}
        agree = np.array_equal(got["indices"], right[1]) and np.allclose(got["values"], right[0], rtol=1e-14, atol=0)
        checks.line(f"knn, {dim} columns, k = {k}", agree, f"{x.shape[0]} of {y.shape[0]} rows")


def sums(checks):
    """Sums and extrema of rows of SciPy's cdist."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(300, 3)), rng.normal(size=(1111, 3))
    matrix = cdist(x, y)
    for op, right in (("sum", matrix.sum(1)), ("mean", matrix.mean(1)), ("min", matrix.min(1)), ("max", matrix.max(1)),
                      ("argmin", matrix.argmin(1)), ("argmax", matrix.argmax(1)),
                      ("logsumexp", np.logaddexp.reduce(matrix, axis=1))):
        path = checks.run(["reduce", "a.npy", "b.npy", "--op", op], "r.npy", a=x, b=y)
        got = np.load(path) if path else np.zeros(0)
        checks.line(f"reduce --op {op}", got.shape == right.shape and np.allclose(got, right, rtol=1e-13), f"{len(right)} rows")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        for part in (close_pairs, sparse, one_bin, histograms, neighbours, sums):
            part(checks)
    print(f"{checks.count - checks.bad} of {checks.count} agree")
    sys.exit(checks.bad > 0)


if __name__ == "__main__":
    main()
