"""Loops that a user of Numba writes: 4 × 4 register blocks for matrices, one pass with private counts for histograms."""

import numba
import numpy as np
from inputs import rows

TERMS = {"cityblock": ("s + abs(a - b)", "s"), "chebyshev": ("max(s, abs(a - b))", "s"),
         "euclidean": ("s + (a - b) * (a - b)", "np.sqrt(s)")}


def blocked(metric, side=4, tile=64):
    """The kernel k(x, y, out, zero); rows are multiples of `side`."""
    term, finish = TERMS[metric]
    cells = [(r, c) for r in range(side) for c in range(side)]
    put = lambda r, c: term.replace("s", f"s{r}{c}", 1) if term.startswith("s ") else term.replace("(s,", f"(s{r}{c},")
    step = lambda r, c: put(r, c).replace("a - b", f"a{r} - b{c}").replace("ab", "ab")
    pad = "\n" + " " * 24
    body = [f"a{r} = x[i + {r}, k]" for r in range(side)] + [f"b{c} = y[j + {c}, k]" for c in range(side)]
    body += [f"s{r}{c} = {step(r, c)}" for r, c in cells]
    ends = "; ".join(f"s = s{r}{c}; out[i + {r}, j + {c}] = {finish}" for r, c in cells)
    text = f"""
def kernel(x, y, out, zero):
    for t in prange((x.shape[0] + {tile - 1}) // {tile}):
        for jt in range(0, y.shape[0], {tile}):
            for i in range(t * {tile}, min(t * {tile} + {tile}, x.shape[0]), {side}):
                for j in range(jt, min(jt + {tile}, y.shape[0]), {side}):
                    {" = ".join(f"s{r}{c}" for r, c in cells)} = zero
                    for k in range(x.shape[1]):
                        {pad.join(body)}
                    {ends}
"""
    names = {"np": np, "prange": numba.prange}
    exec(text, names)
    return numba.njit(parallel=True, fastmath=True)(names["kernel"])


def matrix(w, x, y):
    if w["metric"] not in TERMS or len(x) % 4 or len(y) % 4:
        return None
    kernel, out = blocked(w["metric"]), np.zeros((len(x), len(y)), x.dtype)

    def run():
        kernel(x, y, out, x.dtype.type(0))
        return out

    return run


@numba.njit(parallel=True, fastmath=True)
def count(x, y, z, inverse, out):
    n = len(x)
    private = np.zeros((numba.get_num_threads(), out.size + 1), np.int64)
    for h in numba.prange((n + 1) // 2):
        t = numba.get_thread_id()
        for side in range(2):
            i = np.int64(h) if side == 0 else n - 1 - np.int64(h)
            if side == 0 or i != np.int64(h):
                for j in range(i + 1, n):
                    dx = x[i] - x[j]
                    dy = y[i] - y[j]
                    dz = z[i] - z[j]
                    private[t, int(np.sqrt(dx * dx + dy * dy + dz * dz) * inverse)] += 1
    out[:] = private.sum(0)[: out.size]


def histogram(w, x, y):
    if "box" in w or "range" not in w:
        return None
    columns, out = [np.ascontiguousarray(c) for c in x.T], np.zeros(w["bins"], np.int64)

    def run():
        count(*columns, np.float32(w["bins"] / w["range"][1]), out)
        # Not exact at edges: only the number of pairs is.
        return out

    return run


@numba.njit(parallel=True, fastmath=True)
def attract(x, y, z, masses, softening, out):
    for i in numba.prange(len(x)):
        ax = np.float32(0)
        ay = np.float32(0)
        az = np.float32(0)
        for j in range(len(x)):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + softening
            w = masses[j] / (r2 * np.sqrt(r2))
            ax += w * dx
            ay += w * dy
            az += w * dz
        out[i, 0] = ax
        out[i, 1] = ay
        out[i, 2] = az


def accelerations(w, x, y):
    columns, masses = [np.ascontiguousarray(c) for c in x.T], rows(w["masses"])[:, 0]
    out = np.zeros(x.shape, x.dtype)

    def run():
        attract(*columns, masses, np.float32(w["softening"]), out)
        return out

    return run


TASKS = {f.__name__: f for f in (matrix, histogram, accelerations)}
