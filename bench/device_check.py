#!/usr/bin/env python3
"""Checks zipfold on a device: the tests of devices, random problems, and some of them under compute-sanitizer. A table comes last.

usage: device_check.py [--device cuda] [--problems 10000] [--sanitized 60] [--seed 1] [--suite FILE]

`--device` names one device or several (`cuda:0,1`). `--suite` is the test program of the crate testkit; without it, cargo builds it.
The output of each step goes to a file next to the table. The exit status is that of the worst step."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANDOM = [f"device_random::random_questions_of_{kind}_numbers_have_the_answers_of_the_oracle" for kind in ("even", "odd")]


def suite() -> str:
    """The test program, built by cargo."""
    command = ["cargo", "test", "--locked", "--no-run", "-p", "zipfold-testkit", "--test", "suite"]
    said = subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True).stderr
    found = re.search(r"\((target/\S+/deps/suite-\S+)\)", said)
    if found is None:
        sys.exit(f"expected the path of the test program from cargo, got: {said[-400:]}")
    return str(ROOT / found[1])


def sanitizer() -> str | None:
    """compute-sanitizer on the path, or where the CUDA toolkit puts it."""
    usual = "/usr/local/cuda/bin/compute-sanitizer"
    return shutil.which("compute-sanitizer") or (usual if os.access(usual, os.X_OK) else None)


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--device", default="cuda")
    reader.add_argument("--problems", type=int, default=10_000)
    reader.add_argument("--sanitized", type=int, default=60)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--suite")
    asked = reader.parse_args()
    program = asked.suite or suite()
    logs = pathlib.Path(tempfile.mkdtemp(prefix="zipfold-device-"))
    table, worst = [], 0

    def step(name: str, before: list[str], tests: list[str], problems: int) -> None:
        nonlocal worst
        device = {"ZIPFOLD_TEST_DEVICE": asked.device, "ZIPFOLD_SEED": str(asked.seed), "ZIPFOLD_PROBLEMS": str(problems)}
        command = [*before, program, "--ignored", "--nocapture", "--test-threads", "1", *tests]
        start = time.monotonic()
        done = subprocess.run(command, env=os.environ | device, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - start
        log = logs / (name.replace(" ", "_") + ".txt")
        log.write_text(done.stdout)
        tested = sum(int(n) for n in re.findall(r"test result: \w+\. (\d+) passed", done.stdout))
        asked_of = sum(int(n) for n in re.findall(r"(\d+) problems, \d+ answered by the device", done.stdout))
        reports = re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", done.stdout)
        errors = sum(int(a or b) for a, b in reports)
        # A sanitizer that never reported checked nothing.
        bad = done.returncode != 0 or errors > 0 or tested == 0 or (before and not reports)
        worst = max(worst, int(bool(bad)))
        table.append((name, str(tested), str(asked_of or "-"), f"{seconds:.1f}", "FAILED" if bad else "ok", str(log) if bad else ""))

    step("tests of devices", [], ["gpu::", "devices::", "device_random::questions", "device_random::sums"], asked.problems)
    step("random problems", [], ["--exact", *RANDOM], asked.problems)
    found = sanitizer()
    for tool in ("memcheck", "racecheck"):
        if found is None:
            table.append((tool, "-", "-", "-", "SKIPPED: no compute-sanitizer", ""))
            worst = max(worst, 1)
            continue
        before = [found, "--tool", tool, "--error-exitcode", "9", "--target-processes", "all"]
        step(tool, before, ["--exact", *RANDOM], asked.sanitized)
    head = ("step", "tests", "problems", "seconds", "result", "output")
    widths = [max(len(row[at]) for row in [head, *table]) for at in range(len(head))]
    for row in [head, *table]:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    return worst


if __name__ == "__main__":
    sys.exit(main())
