"""Pair counts of catalogues: against NumPy, and against Corrfunc and TreeCorr where they are installed."""

import numpy as np
import pytest

import zipfold as zf

EDGES = np.array([0.1, 0.7, 1.9, 3.3, 4.9])


def catalogue(rng, n, box=10.0):
    """Positions that are multiples of 1/1024, so that sums of squares are exact, and weights."""
    x, y, z = np.round(rng.uniform(0, box, (3, n)) * 1024) / 1024
    return {"x": x, "y": y, "z": z, "w": np.round(rng.uniform(0, 2, n) * 64) / 64}


def points(data):
    return np.column_stack([data["x"], data["y"], data["z"]])


def loop(a, b=None, box=None):
    """Counts and sums of weights of ordered pairs by distance."""
    other = a if b is None else b
    d = points(a)[:, None] - points(other)[None]
    if box:
        d -= box * np.round(d / box)
    r = np.sqrt((d**2).sum(-1))
    w = a["w"][:, None] * other["w"][None]
    if b is None:
        np.fill_diagonal(r, np.inf)
    inside = [(r >= lo) & (r < hi) for lo, hi in zip(EDGES, EDGES[1:])]
    return np.array([i.sum() for i in inside]), np.array([w[i].sum() for i in inside])


def test_counts_are_numpys(tmp_path, rng):
    data = catalogue(rng, 200)
    wanted, weighted = loop(data, box=10.0)
    got = zf.paircount(data, EDGES, box=[10, 10, 10], weights="w")
    np.testing.assert_array_equal(got.terms["DD"].counts, wanted)
    np.testing.assert_array_equal(got.terms["DD"].sums, weighted)
    total = data["w"].sum() ** 2 - (data["w"] ** 2).sum()
    volumes = 4 / 3 * np.pi * (EDGES[1:] ** 3 - EDGES[:-1] ** 3) / 1000
    np.testing.assert_allclose(got.xi, weighted / total / volumes - 1, rtol=1e-12)
    # The same from files.
    table = np.column_stack([points(data), data["w"]])
    np.save(tmp_path / "d.npy", table)
    np.savetxt(tmp_path / "d.csv", table, delimiter=",", header="x,y,z,w", comments="", fmt="%.17g")
    for name, column in [("d.npy", 3), ("d.csv", "w")]:
        file = zf.paircount(tmp_path / name, EDGES, box=[10] * 3, weights=column)
        assert file.terms["DD"] == got.terms["DD"]


def test_estimators_and_errors(tmp_path, rng):
    data, randoms = catalogue(rng, 150), catalogue(rng, 400)
    dd, dr, rr = loop(data)[0], loop(data, randoms)[0], loop(randoms)[0]
    dd, dr, rr = dd / (150 * 149), dr / (150 * 400), rr / (400 * 399)
    got = zf.paircount(data, EDGES, randoms=randoms, regions=10)
    np.testing.assert_allclose(got.xi, (dd - 2 * dr + rr) / rr, rtol=1e-12)
    np.testing.assert_array_equal(got.curves["xi"], got.xi)
    spread = got.samples - got.samples.mean(0)
    np.testing.assert_allclose(got.covariance, 0.9 * spread.T @ spread, rtol=1e-10)
    np.testing.assert_allclose(got.errors["xi"], np.sqrt(np.diag(got.covariance)))
    assert got.regions == 10 and got.samples.shape == (10, 4)
    hamilton = zf.paircount(data, EDGES, randoms=randoms, estimator="hamilton")
    np.testing.assert_allclose(hamilton.xi, dd * rr / dr**2 - 1, rtol=1e-12)
    files = [tmp_path / "xi.csv", tmp_path / "xi.svg", tmp_path / "xi.npz", tmp_path / "xi.parquet"]
    zf.paircount(data, EDGES, randoms=randoms, regions=10, save=files)
    np.testing.assert_array_equal(np.load(files[2])["xi"], got.xi)
    assert files[1].read_text().startswith("<svg") and "rule: (DD" in files[0].read_text()
    text = zf.paircount(data, EDGES, randoms=randoms, explain=True)
    assert "DD:" in text and "DR:" in text and "RR:" in text


def test_two_axes(rng):
    data = catalogue(rng, 150)
    d = points(data)[:, None] - points(data)[None]
    rp, pi = np.hypot(d[..., 0], d[..., 1]), np.abs(d[..., 2])
    np.fill_diagonal(rp, np.inf)
    wanted = np.histogram2d(rp.ravel(), pi.ravel(), [EDGES, np.linspace(0, 4.5, 6)])[0]
    got = zf.paircount(data, EDGES, separation="rppi", pi=(4.5, 5))
    np.testing.assert_array_equal(got.terms["DD"].counts, wanted)
    assert got.axes == ["rp", "pi"] and got.xi is None
    randoms = catalogue(rng, 300)
    got = zf.paircount(data, EDGES, separation="rppi", pi=(4.5, 5), randoms=randoms)
    np.testing.assert_allclose(got.curves["wp"], 2 * got.xi.sum(1) * 0.9, rtol=1e-12)
    got = zf.paircount(data, EDGES, separation="smu", mu=6, wedges=3, randoms=randoms, multipoles=[0, 2])
    assert list(got.curves) == ["xi0", "xi2", "wedge1", "wedge2", "wedge3"]
    np.testing.assert_allclose(got.curves["xi0"], got.xi.mean(1), rtol=1e-12)
    np.testing.assert_allclose(got.curves["wedge2"], got.xi[:, 2:4].mean(1), rtol=1e-12)


def test_bad_catalogues(rng):
    data = catalogue(rng, 20)
    with pytest.raises(ValueError, match=r"half of the box"):
        zf.paircount(data, EDGES, box=[9, 9, 9])
    with pytest.raises(ValueError, match=r"weights from 0 on"):
        zf.paircount({**data, "w": -data["w"]}, EDGES, weights="w")
    sky = {"ra": np.linspace(-80, 80, 5), "dec": np.linspace(0, 300, 5)}
    with pytest.raises(ValueError, match=r"look swapped"):
        zf.paircount(sky, EDGES, separation="theta")
    with pytest.raises(ValueError, match=r"in all 2 regions"):
        zf.paircount(data | {"g": np.arange(20) % 2}, EDGES, randoms=data | {"g": np.zeros(20)}, regions="g")


def test_counts_are_corrfuncs(rng):
    theory = pytest.importorskip("Corrfunc.theory")
    data = catalogue(rng, 2000)
    x, y, z, w = (data[name].astype(np.float64) for name in "xyzw")
    wanted = theory.DD(1, 2, EDGES, x, y, z, weights1=w, weight_type="pair_product", boxsize=10.0, periodic=True)
    got = zf.paircount(data, EDGES, box=[10] * 3, weights="w")
    np.testing.assert_array_equal(got.terms["DD"].counts, wanted["npairs"])
    sums = wanted["npairs"] * wanted["weightavg"]
    np.testing.assert_allclose(got.terms["DD"].sums, sums, rtol=1e-11)
    wanted = theory.DDrppi(1, 2, 4.0, EDGES, x, y, z, boxsize=10.0, periodic=True)
    got = zf.paircount(data, EDGES, separation="rppi", pi=(4, 4), box=[10] * 3)
    np.testing.assert_array_equal(got.terms["DD"].counts.ravel(), wanted["npairs"])


def test_counts_are_treecorrs(rng):
    treecorr = pytest.importorskip("treecorr")
    ra, dec = rng.uniform(0, 360, 1500), np.degrees(np.arcsin(rng.uniform(-1, 1, 1500)))
    cat = treecorr.Catalog(ra=ra, dec=dec, ra_units="deg", dec_units="deg")
    nn = treecorr.NNCorrelation(min_sep=1, max_sep=20, nbins=8, sep_units="deg", bin_slop=0, metric="Arc")
    nn.process(cat)
    got = zf.paircount({"ra": ra, "dec": dec}, separation="theta", range=(1, 20), bins=8, log=True)
    np.testing.assert_array_equal(got.terms["DD"].counts, 2 * nn.npairs)
