"""Corrfunc: pair counts with its AVX-512 kernels; ordered pairs halved."""

import os

import numpy as np
from Corrfunc.theory.DD import DD
from inputs import edges


def histogram(w, x, y):
    angles = len(w.get("box", [])) > 3
    if angles or ("range" in w and w["range"][1] > 0.3 * max(w.get("box", [0]))):
        return None
    e = np.maximum(edges(w), 1e-7 * edges(w)[-1])
    columns = [np.ascontiguousarray(c) for c in x.T]
    box = w.get("box", [0.0])[0]
    return lambda: DD(1, os.cpu_count(), e, *columns, periodic="box" in w, boxsize=box)["npairs"].astype(np.int64) // 2


TASKS = {"histogram": histogram}
