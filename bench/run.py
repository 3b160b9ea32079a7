#!/usr/bin/env python3
"""Runs a definition of `bench/definitions` on zipfold and its peers, in one run, turn by turn.

    python bench/run.py pairs [NAME …] [--engines zipfold_package,faiss_library] [--turns 5] [--record DATE]

Each engine of `bench/engines` is a process of its own; one that cannot be imported is named and left out. Time is the
least of the turns, taken alternately. Answers are compared with zipfold's. `--record` writes the table as
`bench/records/<machine>/<DATE>-<definition>.json`. `ZIPFOLD_PACKAGE` is the folder of a built `zipfold` package, if it is
not installed.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import time
import tomllib

BENCH = pathlib.Path(__file__).resolve().parent
OURS = "zipfold_package"
ENGINES = [OURS, "numpy_library", "scipy_library", "faiss_library", "numba_loops", "pykdtree_library", "corrfunc_library"]


class Engine:
    """A process that answers workloads."""

    def __init__(self, name):
        path = os.pathsep.join(p for p in (os.environ.get("ZIPFOLD_PACKAGE"), os.environ.get("PYTHONPATH")) if p)
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, str(BENCH / "engines" / "serve.py"), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})

    def ask(self, request):
        """The reply, or None where the process is gone."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else None

    def last_words(self):
        """The last line on its standard error."""
        self.process.kill()
        return (self.process.communicate()[1].strip().splitlines() or ["no message"])[-1]


def difference(ours, theirs):
    """The largest difference between two digests, relative to the largest number in them."""
    if len(ours) != len(theirs):
        return float("inf")
    scale = max((abs(v) for v in ours), default=0.0) or 1.0
    return max((abs(a - b) for a, b in zip(ours, theirs)), default=0.0) / scale


def measure(workload, engines, turns, budget):
    """{engine: {seconds, rate, difference}} of those that answer."""
    found, digests = {}, {}
    for name, engine in list(engines.items()):
        reply = engine.ask({"workload": workload})
        if reply is None:
            print(f"{name} left out: {engine.last_words()}", file=sys.stderr)
            del engines[name]
        elif reply["ready"]:
            digests[name], found[name] = reply["digest"], []
    start = time.monotonic()
    for turn in range(turns):
        names = list(found) if turn % 2 == 0 else list(reversed(found))
        for name in names:
            if turn == 0 or time.monotonic() - start < budget:
                # Threads of another engine may spin for a while after their work.
                time.sleep(0.3)
                found[name].append(engines[name].ask({"turn": True})["seconds"])
    n, d = workload["x"]["rows"], workload["x"]["cols"]
    work = eval(workload["work"], {}, {"n": n, "m": workload.get("y", workload["x"])["rows"], "d": d})
    right = digests.get(OURS) or next(iter(digests.values()), [])
    return {name: {"seconds": min(s), "rate": work / min(s) / 1e9, "turns": len(s), "difference": difference(right, digests[name])}
            for name, s in found.items()}


def goal(workload, ours):
    """What was meant to be reached, and whether it was."""
    if "rate" in workload:
        return f"≥ {workload['rate']} G/s", ours is not None and ours["rate"] >= workload["rate"]
    if "seconds" in workload:
        return f"≤ {workload['seconds']} s", ours is not None and ours["seconds"] <= workload["seconds"]
    return "", None


def show(workload, results):
    ours = results.get(OURS)
    text, met = goal(workload, ours)
    print(f"\n{workload['name']}  {text} {'' if met is None else 'met' if met else 'missed'}")
    for name, r in sorted(results.items(), key=lambda item: item[1]["seconds"]):
        ratio = f"{r['seconds'] / ours['seconds']:8.2f} ×" if ours else ""
        print(f"  {name:18} {r['seconds']:10.4f} s {r['rate']:9.3f} G/s {ratio}  differs by {r['difference']:.1e}")
    return {"workload": workload, "goal": text, "met": met, "results": results}


def machine():
    """Model and cores of this machine, as a folder name and as text."""
    models = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")] if os.path.exists("/proc/cpuinfo") else []
    model = models[0] if models else platform.processor() or platform.machine()
    short = "epyc" if "EPYC" in model else "".join(c if c.isalnum() else "-" for c in model.lower()).strip("-")
    return f"{short}-{os.cpu_count()}core", f"{model}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("definition")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds a workload after which no turn is begun")
    parser.add_argument("--record", metavar="DATE")
    args = parser.parse_args()
    workloads = tomllib.loads((BENCH / "definitions" / f"{args.definition}.toml").read_text())["workload"]
    unknown = set(args.names) - {w["name"] for w in workloads}
    if unknown:
        sys.exit(f"no workload {', '.join(sorted(unknown))} (there are: {', '.join(w['name'] for w in workloads)})")
    engines = {name: Engine(name) for name in args.engines.split(",")}
    folder, text = machine()
    record = {"machine": text, "load": os.getloadavg()[0], "rows": []}
    for workload in workloads:
        if not args.names or workload["name"] in args.names:
            record["rows"].append(show(workload, measure(workload, engines, args.turns, args.budget)))
    if args.record:
        path = BENCH / "records" / folder / f"{args.record}-{args.definition}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in record.pop("rows"))
        path.write_text(json.dumps(record)[:-1] + ', "rows": [\n' + lines + "\n]}\n")
        print(f"\n{path.relative_to(BENCH.parent)}")


if __name__ == "__main__":
    main()
