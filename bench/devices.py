#!/usr/bin/env python3
"""Times zipfold on one device and on several of one host, in one run, and compares their answers bit for bit.

    python bench/devices.py ZIPFOLD [--runtime cuda] [--counts 1,2] [--turns 2] [--losses] [--large] [--scale 1.0] [--scratch FOLDER]
                            [--json FILE] [--plot FILE.svg] [NAME …]

Each workload runs on each number of devices in turn; the least time of the turns counts. A row of the table has the seconds of the kernels
(from the first upload to the last merge, as `--json` reports them), the seconds of the whole process, both also as speed-up over the first
number of devices, and whether the answer is the same: to the bit where it is a file or a number, by its counts where it stays in memory. Two workloads also run with each device's own block of rows, and with that and
the next (`--set device.rows`). `--losses` adds runs that lose their first device. `--large` adds a matrix that is larger than a device, which is
compared by counts. `--scale` multiplies the rows of the inputs. The scratch folder holds inputs and outputs: one in memory keeps the disk out of the times. The exit status is 1 where an answer differs or a run fails."""

import argparse
import dataclasses
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np


@dataclasses.dataclass
class Workload:
    """A question, with how its inputs are made."""

    name: str
    arguments: list[str]
    inputs: dict[str, tuple]
    """By file: what `make` makes."""
    output: str | None
    """The file of the answer; none where the answer stays in memory, or is a number."""
    note: str
    large: bool = False
    """Whether the answer is larger than a device: only by `--large`."""
    losses: tuple[int, ...] = (3,)
    """Launches after which the first device is lost, in runs that are compared with one without losses."""
    shared: bool = False
    """Whether it shows the distributions of rows: every device has all, its own block, or that and the next."""


def cloud(rows, columns):
    return ("cloud", rows, columns)


def workloads():
    points, wide = cloud(2_000_000, 3), cloud(131_072, 512)
    yield Workload("sdh", ["hist", "points.npy", "--bins", "300", "--range", "0", "1.75"], {"points.npy": points}, "o.csv",
                   "histogram of the distances of 2 M points, d = 3, i < j", shared=True)
    yield Workload("l1-minimum", ["reduce", "rows.npy", "--metric", "cityblock", "--op", "min", "--no-diagonal"], {"rows.npy": wide}, "o.npy",
                   "least L1 distance of 131 072 rows, d = 512, to others")
    yield Workload("knn", ["knn", "rows.npy", "-k", "10"], {"rows.npy": cloud(1_000_000, 64)}, "o.npz", "10 nearest of 1 M rows, d = 64", shared=True)
    yield Workload("join", ["join", "points.npy", "--self", "--where", "sum((x - y)^2) < 0.000004"], {"points.npy": points}, "o.npz",
                   "pairs of 2 M points nearer than 0.002, d = 3, i < j")
    yield Workload("gaussian", ["reduce", "points.npy", "--pair", "exp(-sum((x - y)^2) * 50)", "--op", "sum"], {"points.npy": points}, "o.npy",
                   "Gaussian sums of 2 M points, d = 3")
    yield Workload("l1-matrix", ["dist", "rows.npy", "--metric", "cityblock", "--precision", "f32"], {"rows.npy": cloud(32_768, 512)}, None,
                   "L1 matrix of 32 768 rows, d = 512, 4.3 GB in memory", losses=())
    yield Workload("l1-file", ["dist", "rows.npy", "--metric", "cityblock", "--precision", "f32"], {"rows.npy": cloud(32_768, 512)}, "o.npy",
                   "the same to a file")
    yield Workload("large-matrix", ["dist", "rows.npy", "--metric", "cityblock", "--precision", "f32"], {"rows.npy": cloud(150_000, 16)}, "o.npy",
                   "L1 matrix of 150 000 rows, d = 16, 90 GB to a file", large=True, losses=())
    yield Workload("slices", ["infer", "torus.uai", "--task", "pr", "--precision", "f32", "--memory", "48GiB", "--time-limit", "1e9",
                              "--order-time", "3"], {"torus.uai": ("torus", 400)}, None,
                   "log10 Z of a torus of 20 x 20 binary variables, 16 slices", losses=(40,))


def make(path, what, scale):
    kind, *sizes = what
    rng = np.random.default_rng(sum(sizes))
    if kind == "cloud":
        rows, columns = sizes
        np.save(path, rng.random((max(8, int(rows * scale)), columns), dtype="float32"))
        return
    side = max(4, round((sizes[0] * scale) ** 0.5))
    edges = [(r * side + c, to) for r in range(side) for c in range(side) for to in (r * side + (c + 1) % side, (r + 1) % side * side + c)]
    with open(path, "w") as file:
        print("MARKOV", side * side, " ".join("2" * side * side), len(edges), sep="\n", file=file)
        for edge in edges:
            print(2, *edge, file=file)
        for _ in edges:
            print("4\n", *(rng.random(4) + 0.1), file=file)


def digest(path):
    hashed = hashlib.blake2b()
    with open(path, "rb") as file:
        while block := file.read(1 << 24):
            hashed.update(block)
    return hashed.hexdigest()


def run(zipfold, workload, device, folder, extra=()):
    """One run: its seconds, and what tells its answer from another."""
    named = [str(folder / a) if a in workload.inputs else a for a in workload.arguments]
    output = folder / workload.output if workload.output else None
    command = [zipfold, *named, "--device", device, "--json", *extra, *(["--force", "-o", str(output)] if output else [])]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    whole = time.monotonic() - start
    if done.returncode != 0:
        return {"error": " ".join(done.stderr.split())[-300:], "command": command}
    told = json.loads(done.stdout)
    bits = (digest(output) if output and not workload.large else None) or told.get("log10")
    answer = str(told["counts"] if bits is None else bits)
    return {"kernel": told["seconds"]["kernel"], "load": told["seconds"].get("load", 0.0), "whole": whole, "predicted": told["plan"]["seconds"], "warnings": told["warnings"],
            "answer": answer, "compared": "counts" if bits is None else "bits", "told": {key: told[key] for key in ("seconds", "plan", "device") if key in told}}


def timed(asked, workload, folder, record):
    """The least times of all turns, by number of devices; whether something was wrong."""
    best, bad = {}, False
    for turn in range(1 if workload.large else asked.turns):
        for count in asked.counts:
            got = run(asked.zipfold, workload, devices(asked, count), folder)
            record.append({"workload": workload.name, "devices": count, "turn": turn, **got})
            if "error" in got:
                print(f"{workload.name} on {count} devices: {got['error']}", flush=True)
                return best, True
            if workload.large:
                print(f"{workload.name} on {count} devices: kernels {got['kernel']:.3f} s", flush=True)
            old = best.get(count, got)
            bad |= old["answer"] != got["answer"]
            best[count] = {**got, "kernel": min(got["kernel"], old["kernel"]), "whole": min(got["whole"], old["whole"])}
    return best, bad


def distributions(asked, workload, folder, record, whole):
    """Prints a row for each distribution of rows over all devices; whether one has other bits."""
    count, bad = asked.counts[-1], False
    for rows in ["block", "overlap"]:
        best = None
        for turn in range(asked.turns + 1):
            got = run(asked.zipfold, workload, devices(asked, count), folder, ["--set", f"device.rows={rows}"])
            record.append({"workload": workload.name, "devices": count, "turn": turn, "rows": rows, **got})
            if "error" in got:
                print(f"{workload.name}, rows in {rows}: {got['error']}", flush=True)
                return True
            bad |= got["answer"] != whole["answer"]
            if best is None or got["kernel"] < best["kernel"]:
                best = got
        print(f"{workload.name:12} {count} devices, rows in {rows:8} kernels {best['kernel']:8.3f} s ({whole['kernel'] / best['kernel']:4.2f} x of copies)  "
              f"load {best['load']:6.3f} s  {'OTHER BITS' if bad else 'same bits'}", flush=True)
    return bad


def devices(asked, count):
    return f"{asked.runtime}:" + ",".join(map(str, range(count)))


def lost(asked, workload, folder, record, whole):
    """Whether a run that loses its first device has the answer of one that loses none."""
    bad = False
    for launches in workload.losses:
        count = asked.counts[-1]
        got = run(asked.zipfold, workload, devices(asked, count), folder, ["--set", "fault.devices=1", "--set", f"fault.launches={launches}"])
        record.append({"workload": workload.name, "devices": count, "launches": launches, **got})
        if "error" in got:
            print(f"{workload.name}, a device lost: {got['error']}", flush=True)
            bad = True
            continue
        same = got["answer"] == whole["answer"]
        bad |= not same
        print(f"{workload.name:12} one of {count} lost after {launches} launches  kernels {got['kernel']:8.3f} s  "
              f"{'same bits' if same else 'OTHER BITS'}  {len(got['warnings'])} warnings", flush=True)
    return bad


def row(name, count, got, one):
    same = f"same {got['compared']}" if got["answer"] == one["answer"] else f"OTHER {got['compared'].upper()}"
    print(f"{name:12} {count} devices  kernels {got['kernel']:8.3f} s ({one['kernel'] / got['kernel']:4.2f} x)  "
          f"process {got['whole']:8.3f} s ({one['whole'] / got['whole']:4.2f} x)  load {got['load']:6.3f} s  predicted {got['predicted']:8.3f} s  {same}  "
          f"{'; '.join(map(str, got['warnings']))}", flush=True)
    return got["answer"] != one["answer"]


def plot(record, path):
    """Draws the speed-up of the kernels and of whole processes, by workload and number of devices."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    best = {}
    for row in record:
        if "error" not in row and "rows" not in row and "launches" not in row:
            old = best.get((row["workload"], row["devices"]), row)
            best[row["workload"], row["devices"]] = {key: min(row[key], old[key]) for key in ("kernel", "whole")}
    names = list(dict.fromkeys(name for name, _ in best))
    counts = sorted({count for _, count in best})
    figure, axes = pyplot.subplots(figsize=(8, 0.5 + 0.55 * len(names)), layout="constrained")
    bars = [(count, key) for count in counts[1:] for key in ("kernel", "whole")]
    for at, (count, key) in enumerate(bars):
        there = [n for n, name in enumerate(names) if (name, count) in best and (name, counts[0]) in best]
        speed = [best[names[n], counts[0]][key] / best[names[n], count][key] for n in there]
        height = 0.8 / len(bars)
        axes.barh([n - 0.4 + (at + 0.5) * height for n in there], speed, height, label=f"{count} devices, {'kernels' if key == 'kernel' else 'process'}")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"speed-up over {counts[0]} device{'s' if counts[0] > 1 else ''}")
    axes.legend()
    figure.savefig(path)


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("zipfold")
    reader.add_argument("names", nargs="*")
    reader.add_argument("--runtime", default="cuda")
    reader.add_argument("--counts", default="1,2")
    reader.add_argument("--turns", type=int, default=2)
    reader.add_argument("--scale", type=float, default=1.0)
    reader.add_argument("--scratch")
    reader.add_argument("--json")
    reader.add_argument("--plot")
    reader.add_argument("--large", action="store_true")
    reader.add_argument("--losses", action="store_true")
    asked = reader.parse_intermixed_args()
    asked.counts = [int(c) for c in asked.counts.split(",")]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="zipfold-devices-", dir=asked.scratch))
    record, bad, made = [], False, {}
    try:
        for workload in workloads():
            chosen = not asked.names or workload.name in asked.names
            if not chosen or (workload.large and not asked.large):
                continue
            for name, what in workload.inputs.items():
                if made.get(name) != what:
                    make(folder / name, what, asked.scale)
                    made[name] = what
            best, wrong = timed(asked, workload, folder, record)
            bad |= wrong
            for count, got in best.items():
                bad |= row(workload.name, count, got, best[asked.counts[0]])
            if workload.shared and len(best) > 1:
                bad |= distributions(asked, workload, folder, record, best[asked.counts[-1]])
            if asked.losses and len(best) > 1:
                bad |= lost(asked, workload, folder, record, best[asked.counts[-1]])
            if workload.output:
                (folder / workload.output).unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if asked.json:
            pathlib.Path(asked.json).write_text(json.dumps(record, indent=1))
        if asked.plot:
            plot(record, asked.plot)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
