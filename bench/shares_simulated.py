#!/usr/bin/env python3
"""How far shares scale: a simulation of workers at a store, fed with the measured seconds of shares.

    python bench/shares_simulated.py MEASURED [--shares 20000] [--seconds 120] [--lost 0.02] [--slow 0.05] [--bandwidth 5e9]
                                     [--page docs/shares-simulated.md] [--keep FILE --machine NAME]

MEASURED is a store whose shares are done, or a file with what they told, which --keep writes: their seconds and bytes are drawn
from. Every worker starts after a wait, reads all
inputs, then takes shares until none is left. A share takes a drawn time; a part of the workers (--slow) is three times
slower; a worker is lost with a probability for each hour of work (--lost). Its share is taken over when the lease is old,
from the beginning, and it comes back after another start. Reads and parts share the bandwidth of the store (--bandwidth,
bytes/s), and one machine reads all parts at the end. Prints hours, efficiency against one worker without troubles, and what
limits, for 10 to 1 000 workers, as Markdown; --page writes a page with plots, its pictures into the folder `pictures` next to it.
"""

import argparse
import heapq
import json
import pathlib
import typing

import numpy as np

WORKERS = (10, 30, 100, 300, 1000)
LENGTHS = (5, 10, 20, 60, 120, 300, 600)
LEASE, START = 60.0, 30.0
SEED = 20260101
#: Runs of each cluster, with other slow workers and losses; numbers are their means.
DRAWS = 7


class Cluster(typing.NamedTuple):
    """What a cluster is like: bytes/s of its store, the part of slow workers, workers lost in an hour of work."""

    bandwidth: float
    slow: float
    lost: float
    inputs: float


class Ran(typing.NamedTuple):
    """What came of a run: seconds until the answer is there, seconds of the store, shares begun again, when shares ended."""

    last: float
    busy: float
    again: float
    ends: np.ndarray


class Transfers:
    """A store that serves one transfer after another at its full rate."""

    def __init__(self, rate):
        self.rate, self.free, self.busy = rate, 0.0, 0.0

    def transfer(self, now, size):
        """When a transfer that is wanted now has ended."""
        begin = max(now, self.free)
        self.free = begin + size / self.rate
        self.busy += size / self.rate
        return self.free


class Simulation:
    """Events in the order of time: a worker is there, a share has ended, the lease of a lost worker has."""

    def __init__(self, draw, seconds, sizes, workers, cluster):
        self.draw, self.seconds, self.sizes, self.cluster = draw, seconds, sizes, cluster
        self.slow = np.where(draw.random(workers) < cluster.slow, 3.0, 1.0)
        self.todo = list(range(len(seconds) - 1, -1, -1))
        self.store, self.idle, self.ends, self.again = Transfers(cluster.bandwidth), [], [], 0
        self.events, self.number = [], 0
        for worker in range(workers):
            self.at(START * draw.random(), self.arrive, worker)

    def at(self, moment, what, *about):
        """Has something happen at a moment."""
        self.number += 1
        heapq.heappush(self.events, (moment, self.number, what, about))

    def arrive(self, now, worker):
        """A worker reads its inputs, and takes a share."""
        self.at(self.store.transfer(now, self.cluster.inputs), self.take, worker)

    def take(self, now, worker):
        """A worker takes the next share, or waits for one."""
        if not self.todo:
            self.idle.append(worker)
            return
        share = self.todo.pop()
        spent = self.seconds[share] * self.slow[worker]
        if self.draw.random() < 1.0 - np.exp(-self.cluster.lost * spent / 3600):
            moment = now + spent * self.draw.random()
            self.at(moment + LEASE, self.return_share, share)
            self.at(moment + START, self.arrive, worker)
        else:
            self.at(now + spent, self.end, worker, share)

    def end(self, now, worker, share):
        """A part is put into the store."""
        moment = self.store.transfer(now, self.sizes[share])
        self.ends.append(moment)
        self.at(moment, self.take, worker)

    def return_share(self, now, share):
        """The share of a lost worker can be taken again."""
        self.again += 1
        self.todo.append(share)
        if self.idle:
            self.take(now, self.idle.pop())

    def run(self):
        """Until every part is there, and one machine has read them all."""
        while self.events and len(self.ends) < len(self.seconds):
            now, _, what, about = heapq.heappop(self.events)
            what(now, *about)
        assert len(self.ends) == len(self.seconds), f"{len(self.ends)} of {len(self.seconds)} shares"
        last = self.store.transfer(max(self.ends), self.sizes.sum())
        return Ran(last, self.store.busy, self.again, np.sort(self.ends))


class Measured(typing.NamedTuple):
    """The shares of a store: seconds, bytes, bytes of the inputs, what was asked of what."""

    seconds: np.ndarray
    sizes: np.ndarray
    inputs: float
    question: str

    @classmethod
    def of(cls, place, machine):
        """What the workers at a store have told, or a file that has it."""
        if place.is_file():
            kept = json.loads(place.read_text())
            return cls(np.array(kept["seconds"]), np.array(kept["bytes"]), kept["input_bytes"], kept["question"])
        told = [json.loads(path.read_text()) for path in sorted((place / "told").iterdir())]
        plan = json.loads((place / "plan.json").read_text())
        kinds = ", ".join(fold["kind"] for fold in plan["problem"]["folds"])
        pairs = f"{plan['predicted']['pairs']:,}".replace(",", " ")
        question = f"{kinds} over {pairs} pairs, {plan['shape']}, on {machine}"
        seconds, sizes = ([one[what] for one in told] for what in ("seconds", "bytes"))
        return cls(np.array(seconds), np.array(sizes), plan["predicted"]["input_bytes"], question)

    def keep(self, file):
        """Writes a file that :meth:`of` reads."""
        kept = {
            "question": self.question,
            "input_bytes": self.inputs,
            "seconds": [round(float(one), 4) for one in self.seconds],
            "bytes": [int(one) for one in self.sizes],
        }
        file.write_text(json.dumps(kept) + "\n")

    def drawn(self, shares, seconds):
        """The seconds and bytes of this many shares, whose mean is that of the measured ones or as given."""
        picks = np.random.default_rng(SEED).integers(len(self.seconds), size=shares)
        drawn = self.seconds[picks]
        return drawn * (seconds / drawn.mean() if seconds else 1.0), self.sizes[picks]


def ran(measured, given, cluster, workers, seconds=None, shares=None):
    """Runs by some workers: their means, and the efficiency."""
    lengths, sizes = measured.drawn(shares or given.shares, seconds or given.seconds)
    draws = (np.random.default_rng(SEED + draw) for draw in range(DRAWS))
    each = [Simulation(draw, lengths, sizes, workers, cluster).run() for draw in draws]
    done = Ran(*(np.mean([getattr(one, name) for one in each], axis=0) for name in Ran._fields))
    return done, lengths.sum() / (workers * done.last)


def table(measured, given, cluster):
    """Hours and efficiency by number of workers."""
    lines = ["| workers | hours | efficiency | shares begun again | store busy |", "|---|---|---|---|---|"]
    for workers in WORKERS:
        done, efficiency = ran(measured, given, cluster, workers)
        busy = 100 * done.busy / done.last
        lines.append(f"| {workers} | {done.last / 3600:.2f} | {100 * efficiency:.1f} % | {done.again:.0f} | {busy:.1f} % |")
    return lines


def scenarios(cluster):
    """The cluster, with one trouble at a time and with all of them."""
    calm = cluster._replace(slow=0.0, lost=0.0, bandwidth=1e15)
    return {
        "none": calm,
        f"{100 * cluster.slow:.0f} % slow workers": calm._replace(slow=cluster.slow),
        f"{100 * cluster.lost:.0f} % lost an hour": calm._replace(lost=cluster.lost),
        f"store of {cluster.bandwidth / 1e9:g} GB/s": calm._replace(bandwidth=cluster.bandwidth),
        "all of these": cluster,
        "all, inputs of 10 GB": cluster._replace(inputs=10e9),
    }


def pictures(measured, given, cluster, folder):
    """The plots of the page, as files of `folder`; their numbers as lines of tables."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "zipfold", "font.size": 9})

    def drawing(name, xlabel, ylabel, lines, **axes_settings):
        figure, axes = pyplot.subplots(figsize=(5.8, 3.4))
        for (label, (x, y)), marker in zip(lines.items(), "os^vDP", strict=False):
            axes.plot(x, y, marker=marker if len(x) < 50 else None, markersize=4, label=label)
        axes.set(xlabel=xlabel, ylabel=ylabel, **axes_settings)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(folder / name, metadata={"Date": None})
        pyplot.close(figure)

    curves, rows = {}, ["| trouble | " + " | ".join(map(str, WORKERS)) + " |", "|---" * (len(WORKERS) + 1) + "|"]
    for label, one in scenarios(cluster).items():
        shares = [100 * ran(measured, given, one, workers)[1] for workers in WORKERS]
        curves[label] = (WORKERS, shares)
        rows.append(f"| {label} | " + " | ".join(f"{share:.1f} %" for share in shares) + " |")
    drawing("shares-workers.svg", "workers", "efficiency, %", curves, xscale="log", ylim=(0, 105))
    work = measured.drawn(given.shares, given.seconds)[0].sum()
    lengths = {}
    for workers in (100, 300, 1000):
        of = [(length, max(workers, round(work / length))) for length in LENGTHS]
        lengths[f"{workers} workers"] = (LENGTHS, [100 * ran(measured, given, cluster, workers, *one)[1] for one in of])
    drawing("shares-lengths.svg", "mean seconds of a share", "efficiency, %", lengths, xscale="log", ylim=(0, 105))
    long = ["| seconds of a share | " + " | ".join(map(str, LENGTHS)) + " |", "|---" * (len(LENGTHS) + 1) + "|"]
    long += [f"| {label} | " + " | ".join(f"{share:.1f} %" for share in line[1]) + " |" for label, line in lengths.items()]
    ends = {}
    for label in ("none", "all of these"):
        done, _ = ran(measured, given, scenarios(cluster)[label], WORKERS[-1])
        ends[label] = (done.ends / 60, 100 * np.arange(1, len(done.ends) + 1) / len(done.ends))
    drawing("shares-progress.svg", "minutes", "parts that are there, %", ends, ylim=(0, 105))
    return rows, long


def page(measured, given, cluster):
    """The page as Markdown."""
    folder = given.page.parent / "pictures"
    folder.mkdir(exist_ok=True)
    rows, long = pictures(measured, given, cluster, folder)
    lengths, sizes = measured.drawn(given.shares, given.seconds)
    kept = measured.seconds / measured.seconds.mean()
    text = [
        "# Shares, simulated up to 1 000 workers",
        "",
        "How long a question in shares takes on a cluster, from the measured times of shares on one machine. No cluster was used: "
        "the numbers of workers, losses, slow machines and the store are assumptions, which the command takes.",
        "",
        f"{given.shares} shares of {lengths.mean():.0f} s on average and {sizes.mean() / 1e6:.2f} MB are drawn from "
        f"{len(measured.seconds)} measured ones ({measured.question}), whose times are {kept.min():.2f} to {kept.max():.2f} of "
        f"their mean of {measured.seconds.mean():.2f} s. "
        f"Inputs have {cluster.inputs / 1e6:.0f} MB. Workers start within {START:.0f} s and read all inputs; "
        f"{100 * cluster.slow:.0f} % of them are three times slower; {100 * cluster.lost:.0f} % are lost in an hour of work. "
        f"A lost share is begun again when its lease is {LEASE:.0f} s old. The store gives {cluster.bandwidth / 1e9:g} GB/s "
        "to all together. At the end one machine reads all parts.",
        "",
        "```",
        given.words,
        "```",
        "",
        "## With all troubles",
        "",
        *table(measured, given, cluster),
        "",
        "Efficiency is the work of one worker without troubles over the time of all workers. "
        f"Every number is the mean of {DRAWS} runs with other slow workers and losses.",
        "",
        "## One trouble at a time",
        "",
        "![efficiency by workers](pictures/shares-workers.svg)",
        "",
        *rows,
        "",
        "## How long a share should be",
        "",
        "The same work in shorter or longer shares, with all troubles. Short shares write more parts; long ones leave workers "
        "without work at the end, and lose more when a worker is lost.",
        "",
        "![efficiency by seconds of a share](pictures/shares-lengths.svg)",
        "",
        *long,
        "",
        "## The end of a run",
        "",
        f"Parts that are there over time, {WORKERS[-1]} workers: slow workers and lost ones keep the last shares.",
        "",
        "![parts over time](pictures/shares-progress.svg)",
        "",
    ]
    given.page.write_text("\n".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="write what the shares told to this file")
    parser.add_argument("--machine", default="a machine", help="what it ran on, for the file")
    parser.add_argument("--shares", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, help="mean seconds of a share, in place of the measured mean")
    parser.add_argument("--lost", type=float, default=0.02, help="workers lost in an hour of work")
    parser.add_argument("--slow", type=float, default=0.05, help="part of the workers that is three times slower")
    parser.add_argument("--bandwidth", type=float, default=5e9)
    parser.add_argument("--inputs", type=float, help="bytes that each worker reads, in place of those of the store")
    parser.add_argument("--page", type=pathlib.Path, help="write a page with plots to this file")
    given = parser.parse_args()
    measured = Measured.of(given.measured, given.machine)
    if given.keep:
        measured.keep(given.keep)
    cluster = Cluster(given.bandwidth, given.slow, given.lost, given.inputs or measured.inputs)
    options = [f"--{name} {getattr(given, name):g}" for name in ("shares", "seconds", "lost", "slow", "bandwidth", "inputs") if getattr(given, name)]
    given.words = f"python bench/shares_simulated.py {given.measured} {' '.join(options)} --page {given.page}"
    if given.page:
        page(measured, given, cluster)
        return
    print("\n".join(table(measured, given, cluster)))


if __name__ == "__main__":
    main()
