#!/usr/bin/env python3
"""How far shares scale: a simulation of workers at a store, fed with the measured seconds of shares.

    python bench/shares_simulated.py STORE [--shares 20000] [--lost 0.02] [--slow 0.05] [--bandwidth 5e9] [--svg FILE.svg]

STORE is a store whose shares are done: their seconds and bytes are drawn from. Every worker starts after a wait, reads all
inputs, then takes shares until none is left. A share takes a drawn time; a part of the workers (--slow) is three times
slower; a worker is lost with a probability for each hour of work (--lost), which is noticed after the time of a lease, and
comes back after another start. Reads and parts share the bandwidth of the store (--bandwidth, bytes/s). Prints the hours,
the efficiency against one worker without losses, and what limits, for 1 to 1 000 workers, as Markdown.
"""

import argparse
import heapq
import json
import pathlib

import numpy as np

WORKERS = (1, 10, 30, 100, 300, 1000)
LEASE, START = 60.0, 30.0


class Bandwidth:
    """A store that serves one transfer after another at its full rate."""

    def __init__(self, rate):
        self.rate, self.free, self.busy = rate, 0.0, 0.0

    def transfer(self, now, size):
        """When a transfer that is wanted now has ended."""
        begin = max(now, self.free)
        self.free = begin + size / self.rate
        self.busy += size / self.rate
        return self.free


def simulate(draw, seconds, sizes, workers, given):
    """Seconds until the last part is there, seconds of work, and seconds that the store was busy."""
    todo = list(range(len(seconds) - 1, -1, -1))
    store = Bandwidth(given.bandwidth)
    slow = np.where(draw.random(workers) < given.slow, 3.0, 1.0)
    # Events in the order of time: (time, number, worker, share that ends, or None for a start).
    events = [(START * draw.random(), at, at, None) for at in range(workers)]
    heapq.heapify(events)
    number, last, done = workers, 0.0, 0
    while events:
        now, _, worker, share = heapq.heappop(events)
        if share is None:
            now = store.transfer(now, given.inputs)
        else:
            now = store.transfer(now, sizes[share])
            last, done = max(last, now), done + 1
        number += 1
        if not todo:
            continue
        share = todo.pop()
        spent = seconds[share] * slow[worker]
        lost = draw.random() < 1.0 - np.exp(-given.lost * spent / 3600)
        if lost:
            # Another worker takes it over when the lease is old; a half is lost on average, checkpoints apart.
            moment = now + spent * draw.random()
            todo.insert(0, share)
            heapq.heappush(events, (moment + LEASE + START, number, worker, None))
        else:
            heapq.heappush(events, (now + spent, number, worker, share))
    assert done == len(seconds), f"{done} of {len(seconds)} shares"
    return last, store.busy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("--shares", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, help="mean seconds of a share, in place of the measured mean")
    parser.add_argument("--lost", type=float, default=0.02, help="workers lost in an hour of work")
    parser.add_argument("--slow", type=float, default=0.05, help="part of the workers that is three times slower")
    parser.add_argument("--bandwidth", type=float, default=5e9)
    parser.add_argument("--svg")
    given = parser.parse_args()
    told = [json.loads(path.read_text()) for path in sorted((given.store / "told").iterdir())]
    given.inputs = json.loads((given.store / "plan.json").read_text())["predicted"]["input_bytes"]
    measured = np.array([one["seconds"] for one in told])
    draw = np.random.default_rng(20260101)
    picks = draw.integers(len(told), size=given.shares)
    seconds = measured[picks] * ((given.seconds / measured.mean()) if given.seconds else 1.0)
    sizes = np.array([one["bytes"] for one in told])[picks]
    work = seconds.sum()
    print(f"{given.shares} shares of {seconds.mean():.1f} s and {sizes.mean() / 1e6:.2f} MB, drawn from {len(told)} measured ones;")
    print(f"{100 * given.slow:.0f} % of the workers three times slower, {100 * given.lost:.0f} % lost an hour, {given.bandwidth / 1e9:.1f} GB/s\n")
    print("| workers | hours | efficiency | store busy |\n|---|---|---|---|")
    rows = []
    for workers in WORKERS:
        last, busy = simulate(draw, seconds, sizes, workers, given)
        efficiency = work / (workers * last)
        rows.append((workers, efficiency))
        print(f"| {workers} | {last / 3600:.2f} | {100 * efficiency:.0f} % | {100 * busy / last:.1f} % |")
    if given.svg:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(5.5, 3.2))
        axes.semilogx([row[0] for row in rows], [100 * row[1] for row in rows], marker="o")
        axes.set(xlabel="workers", ylabel="efficiency, %", ylim=(0, 105))
        axes.grid(alpha=0.3)
        figure.tight_layout()
        figure.savefig(given.svg)


if __name__ == "__main__":
    main()
