"""What `zipfold bench` gives for two binaries, in turns: which workloads or questions became slower.

usage: python bench_against.py OLD NEW [ROUNDS=3] [WORD ...]

WORDs go to `zipfold bench`: names of workloads, or `--everything` and texts that questions hold. One thread. Prints the ratio of the least
seconds, NEW to OLD: the median of all, by kind of question where there are at least three, and the largest.
"""

import json
import statistics
import subprocess
import sys
from collections import defaultdict

#: Rows of the largest ratios that are printed.
LARGEST = 20


def measure(binary: str, words: list[str]) -> dict[tuple, float]:
    """{what was measured: least seconds} of one call."""
    command = [binary, "bench", *words, "--threads", "1", "--turns", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: dict[tuple, float] = {}
    for row in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines())):
        if "workload" in row:
            seconds[(row["workload"],)] = row["measured"]
        elif row.get("seconds"):
            seconds[(row["question"], row["rows"], row["family"])] = row["seconds"]
    return seconds


def main() -> None:
    old, new, *rest = sys.argv[1:]
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else 3
    least: list[dict[tuple, float]] = [{}, {}]
    for _ in range(rounds):
        for binary, kept in zip((old, new), least):
            for what, seconds in measure(binary, rest).items():
                kept[what] = min(seconds, kept.get(what, seconds))
    ratios = {what: least[1][what] / seconds for what, seconds in least[0].items() if what in least[1]}
    if not ratios:
        sys.exit("expected workloads that both binaries have, got none")
    print(f"{len(ratios)} measured by both, NEW to OLD: median {statistics.median(ratios.values()):.3f}")
    kinds = defaultdict(list)
    for what, ratio in ratios.items():
        if len(what) > 1:
            kinds[what[2], what[0].split(" of ")[0]].append(ratio)
    for kind, all_of_it in sorted(kinds.items(), key=lambda item: -statistics.median(item[1])):
        if len(all_of_it) >= 3:
            print(f"{statistics.median(all_of_it):.3f}  {len(all_of_it):4}  {' '.join(kind)}")
    for what, ratio in sorted(ratios.items(), key=lambda item: -item[1])[:LARGEST]:
        print(f"{ratio:.3f}  {least[0][what]:.6f} s  {' '.join(map(str, what))}")


if __name__ == "__main__":
    main()
