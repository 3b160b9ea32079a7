"""Joins beyond memory: seconds and resident memory of a join whose matches go to sorted runs, beside the time that writing the
bytes of its answer takes alone.

    python bench/match_runs.py BUILD [--points 40000] [--memory 512MiB]
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

WHERE = "(x[0]-y[0])^2 + (x[1]-y[1])^2 + (x[2]-y[2])^2 < 0.25"


def timed(words, folder):
    """Seconds, and the most resident bytes, of a command."""
    start = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, words
    return time.perf_counter() - start, used.ru_maxrss * 1024


def written(path, size):
    """Seconds of writing so many bytes, in pieces of a mebibyte."""
    piece, start = os.urandom(1 << 20), time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        for at in range(0, size, len(piece)):
            file.write(piece[: size - at])
    took = time.perf_counter() - start
    os.remove(path)
    return took


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--points", type=int, default=40_000)
    arguments.add_argument("--memory", default="512MiB")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/points.npy", np.random.default_rng(1).random((given.points, 3)))
        print("| answer | memory | bytes | seconds | resident, MiB | writing the bytes, s |")
        print("|---|---|---|---|---|---|")
        for suffix in ("parquet", "npz"):
            sizes = set()
            for memory in (given.memory, "16GiB"):
                out = f"{folder}/out.{suffix}"
                words = [given.build.resolve(), "join", "points.npy", "--self", "--where", WHERE, "--threads", "2"]
                took, resident = timed([*words, "-o", out, "--memory", memory, "-q"], folder)
                size = os.path.getsize(out)
                sizes.add(size)
                os.remove(out)
                floor = written(f"{folder}/floor", size)
                print(f"| .{suffix} | {memory} | {size:,} | {took:.1f} | {resident >> 20} | {floor:.1f} |", flush=True)
            assert len(sizes) == 1, sizes


if __name__ == "__main__":
    main()
