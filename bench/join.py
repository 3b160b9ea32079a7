#!/usr/bin/env python3
"""Joins of tables by name next to DuckDB and pandas, matches of catalogues next to astropy and SciPy: equal answers, and seconds.

    python bench/join.py ZIPFOLD [--turns 3] [--rows 1000000] [--sky 200000]

ZIPFOLD is the command. Every engine reads two Parquet files and writes one, with as many threads:

* rows of the same key within a range of time (an inequality join with a key), and without a key;
* the last row before each row, by key (an as-of join);
* a join by key alone, with some hundred million rows;
* sources of two catalogues within two arcseconds, from CSV files: the nearest, and all.

Engines take turns; the least seconds of each, and the most memory of the command. Answers are held to each other by the number of
rows and by sums of the numbers of rows. Engines that are not installed are left out. Prints a table as Markdown.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

try:
    import duckdb
except ImportError:
    duckdb = None
    print("DuckDB is not installed", file=sys.stderr)
try:
    from astropy import units
    from astropy.coordinates import SkyCoord, search_around_sky
except ImportError:
    SkyCoord = None
    print("astropy is not installed", file=sys.stderr)
try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None
    print("SciPy is not installed", file=sys.stderr)


def number(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


THREADS = os.cpu_count()
COMMAND = sys.argv[1] if len(sys.argv) > 1 else "zipfold"
TURNS, ROWS, SKY = number("--turns", 3), number("--rows", 1_000_000), number("--sky", 200_000)
STATIONS = np.array([f"s{k:04d}" for k in range(2000)])


def events(rows, seed):
    random = np.random.default_rng(seed)
    station = STATIONS[random.integers(0, len(STATIONS), rows)]
    return pd.DataFrame({"id": np.arange(rows), "station": station, "time": np.round(random.uniform(0, 1e6, rows), 3)})


def sources(rows, seed):
    random = np.random.default_rng(seed)
    dec = np.degrees(np.arcsin(random.uniform(-1, 1, rows)))
    return pd.DataFrame({"id": np.arange(rows), "ra": random.uniform(0, 360, rows), "dec": dec})


def moved(catalogue, seed):
    """Half of the sources, moved by a third of an arcsecond or so, and as many others."""
    random = np.random.default_rng(seed)
    half = catalogue.iloc[::2].copy()
    half["ra"] = (half["ra"] + random.normal(0, 1e-4, len(half))) % 360
    half["dec"] = np.clip(half["dec"] + random.normal(0, 1e-4, len(half)), -90, 90)
    both = pd.concat([half, sources(len(half), seed + 1)], ignore_index=True)
    return both.assign(id=np.arange(len(both)))


def zipfold(*words):
    """A call of the command that writes o.parquet."""

    def call():
        subprocess.run([COMMAND, *words, "-o", "o.parquet", "--force", "--quiet"], check=True)
        return checked("o.parquet")

    return call


def sql(query):
    """A call of DuckDB that writes d.parquet."""

    def call():
        with duckdb.connect(config={"threads": THREADS}) as session:
            session.execute(f"copy ({query}) to 'd.parquet' (format parquet)")
        return checked("d.parquet")

    return call


def checked(path):
    """Rows of a file of pairs, and sums of their numbers: the same for any order."""
    rows, a, b = 0, 0, 0
    file = pq.ParquetFile(path)
    for batch in file.iter_batches(1 << 20, columns=["a", "b"]):
        x, y = (batch.column(name).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) for name in ("a", "b"))
        rows, a, b = rows + len(x), a + int(x.sum()), b + int((y * (x % 1009)).sum())
    return rows, a, b


def pairs(a, b):
    x, y = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    return len(x), int(x.sum()), int((y * (x % 1009)).sum())


def pandas_asof():
    x, y = (pd.read_parquet(f"{name}.parquet").sort_values("time") for name in "xy")
    y = y.rename(columns={"id": "b"})
    found = pd.merge_asof(x, y, on="time", by="station").rename(columns={"id": "a"})[["a", "b"]]
    found.to_parquet("p.parquet")
    return checked("p.parquet")


def pandas_keys():
    x, y = pd.read_parquet("x.parquet"), pd.read_parquet("y.parquet")
    both = x.merge(y, on="station")
    both = both[(both["time_x"] - both["time_y"]).abs() < 100]
    both[["id_x", "id_y"]].rename(columns={"id_x": "a", "id_y": "b"}).to_parquet("p.parquet")
    return checked("p.parquet")


def of_astropy(every):
    def call():
        x, y = (pd.read_csv(f"sky_{name}.csv") for name in "xy")
        a, b = (SkyCoord(t["ra"].to_numpy(), t["dec"].to_numpy(), unit="deg") for t in (x, y))
        if every:
            i, j, _, _ = search_around_sky(a, b, 2 * units.arcsec)
            return pairs(i, j)
        j, far, _ = a.match_to_catalog_sky(b)
        near = np.flatnonzero(far <= 2 * units.arcsec)
        return pairs(near, j[near])

    return call


def of_scipy(every):
    def vectors(name):
        table = pd.read_csv(f"sky_{name}.csv")
        ra, dec = np.radians(table["ra"].to_numpy()), np.radians(table["dec"].to_numpy())
        return np.column_stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])

    def call():
        a, b, chord = vectors("x"), vectors("y"), 2 * np.sin(np.radians(2 / 3600) / 2)
        tree = cKDTree(b)
        if every:
            lists = tree.query_ball_point(a, chord, workers=THREADS)
            lengths = [len(found) for found in lists]
            return pairs(np.repeat(np.arange(len(a)), lengths), np.concatenate([np.array(found, dtype=np.int64) for found in lists]))
        far, j = tree.query(a, workers=THREADS)
        near = np.flatnonzero(far <= chord)
        return pairs(near, j[near])

    return call


def compare(table, what, calls):
    """Times calls by name that take turns, and holds their answers to the first one."""
    seconds, answers = {}, {}
    for _ in range(TURNS):
        for name, call in calls:
            start = time.perf_counter()
            answers[name] = call()
            seconds[name] = min(seconds.get(name, np.inf), time.perf_counter() - start)
    first = calls[0][0]
    for name, _ in calls:
        assert answers[name] == answers[first], (what, name, answers)
        table.append((what, name, f"{answers[first][0]:,}", f"{seconds[name]:.2f}", f"{seconds[name] / seconds[first]:.1f}"))


def joins(table):
    events(ROWS, 1).to_parquet("x.parquet")
    events(ROWS, 2).to_parquet("y.parquet")
    few = max(ROWS // 10, 1)
    events(few, 3).to_parquet("few_x.parquet")
    events(few, 4).to_parquet("few_y.parquet")
    chosen = ("--select", "x.id as a, y.id as b")
    both = "from 'x.parquet' x join 'y.parquet' y on x.station = y.station"
    near = "abs(x.time - y.time) < 100"
    calls = [("zipfold", zipfold("join", "x.parquet", "y.parquet", "--on", "station", "--where", near, *chosen))]
    if duckdb:
        calls.append(("DuckDB", sql(f"select x.id a, y.id b {both} and abs(x.time - y.time) < 100")))
    if ROWS <= 1_000_000:
        calls.append(("pandas, merge and a mask", pandas_keys))
    compare(table, "a key and a range of time", calls)
    narrow = "abs(x.time - y.time) < 30"
    calls = [("zipfold", zipfold("join", "few_x.parquet", "few_y.parquet", "--where", narrow, *chosen))]
    if duckdb:
        few = "from 'few_x.parquet' x join 'few_y.parquet' y on x.time > y.time - 30 and x.time < y.time + 30"
        calls.append(("DuckDB", sql(f"select x.id a, y.id b {few} and abs(x.time - y.time) < 30")))
    compare(table, "a range of time alone", calls)
    before = ("--where", "y.time <= x.time", "--nearest", "1", "--value", "x.time - y.time", "--kind", "left")
    calls = [("zipfold", zipfold("join", "x.parquet", "y.parquet", "--on", "station", *before, *chosen))]
    if duckdb:
        asof = "from 'x.parquet' x asof left join 'y.parquet' y on x.station = y.station and x.time >= y.time"
        calls.append(("DuckDB, ASOF", sql(f"select x.id a, y.id b {asof}")))
    calls.append(("pandas, merge_asof", pandas_asof))
    compare(table, "the last before, by key", calls)
    calls = [("zipfold", zipfold("join", "x.parquet", "y.parquet", "--on", "station", *chosen))]
    if duckdb:
        calls.append(("DuckDB", sql(f"select x.id a, y.id b {both}")))
    compare(table, "a key alone", calls)


def catalogues(table):
    first = sources(SKY, 5)
    first.to_csv("sky_x.csv", index=False)
    moved(first, 6).to_csv("sky_y.csv", index=False)
    chosen = ("--select", "x.id as a, y.id as b", "--radius", "2")
    for what, find in (("the nearest within 2 arcsec", "nearest"), ("all within 2 arcsec", "all")):
        calls = [("zipfold", zipfold("crossmatch", "sky_x.csv", "sky_y.csv", "--find", find, *chosen))]
        if SkyCoord:
            calls.append(("astropy", of_astropy(find == "all")))
        if cKDTree:
            calls.append(("SciPy, unit vectors", of_scipy(find == "all")))
        compare(table, what, calls)


def main():
    global COMMAND
    COMMAND = os.path.abspath(COMMAND) if os.path.exists(COMMAND) else COMMAND
    table = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        joins(table)
        catalogues(table)
        os.chdir("/")
    print(f"{ROWS:,} × {ROWS:,} rows of {len(STATIONS):,} keys; {SKY:,} sources each; {THREADS} threads; least of {TURNS} turns\n")
    print("| join | engine | rows | seconds | × zipfold |\n|---|---|---|---|---|")
    for row in table:
        print("| " + " | ".join(row) + " |")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"\nThe most memory of a call of zipfold: {most / 1024:.0f} MiB.")


if __name__ == "__main__":
    main()
