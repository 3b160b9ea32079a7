"""Radial distribution functions: against a double loop, and against MDAnalysis and freud where they are installed."""

import numpy as np
import pytest

import zipfold as zf


def frames(rng, count, n, edge=12.0):
    """Positions that are multiples of 1/128, so that single precision holds every difference."""
    return np.round(rng.uniform(-edge, 2 * edge, (count, n, 3)) * 128) / 128


def write(path, all_frames, edge=12.0, kinds=None):
    text = ""
    for places in all_frames:
        text += f'{len(places)}\nLattice="{edge} 0 0 0 {edge} 0 0 0 {edge}"\n'
        for at, (x, y, z) in enumerate(places):
            text += f"{kinds[at] if kinds else 'Ar'} {x} {y} {z}\n"
    path.write_text(text)
    return path


def distances(a, b, edge=12.0):
    d = a[:, None] - b[None]
    d -= edge * np.round(d / edge)
    return np.sqrt((d**2).sum(-1))


def test_counts_are_those_of_numpy(tmp_path, rng):
    places = frames(rng, 4, 60)
    kinds = ["O" if at % 3 else "H" for at in range(60)]
    path = write(tmp_path / "t.xyz", places, kinds=kinds)
    got = zf.rdf(path, range=(0, 6), bins=24)
    wanted = np.zeros(24, dtype=np.uint64)
    for frame in places:
        apart = distances(frame, frame)[~np.eye(60, dtype=bool)]
        wanted += np.histogram(apart, 24, (0, 6))[0].astype(np.uint64)
    np.testing.assert_array_equal(got.counts, wanted)
    shells = 4 / 3 * np.pi * (got.high**3 - got.low**3)
    np.testing.assert_allclose(got.g, wanted / (4 * 60 * 59 / 12.0**3 * shells), rtol=1e-12)
    np.testing.assert_allclose(got.n, np.cumsum(wanted) / (4 * 60), rtol=1e-12)
    assert (got.frames, got.unit, got.counts.dtype) == (4, "Å", np.uint64)
    parts = zf.rdf(path, range=(0, 6), bins=24, partials="element")
    assert sorted(curve.names for curve in parts) == [("H", "H"), ("H", "O"), ("O", "O")]
    both = parts["H", "H"].counts + 2 * parts["H", "O"].counts + parts["O", "O"].counts
    np.testing.assert_array_equal(both, wanted)
    with pytest.raises(KeyError, match="expected one of"):
        parts["N", "N"]


def test_files_and_plans(tmp_path, rng):
    path = write(tmp_path / "t.xyz", frames(rng, 1, 10))
    names = [tmp_path / "g.csv", tmp_path / "g.svg", tmp_path / "g.npz", tmp_path / "g.parquet"]
    got = zf.rdf(path, range=(0, 5), bins=5, save=names)
    np.testing.assert_array_equal(np.load(names[2])["count"], got.counts)
    assert names[1].read_text().startswith("<svg") and "rule: convention plain" in names[0].read_text()
    with pytest.raises(ValueError, match=r"overwrite=True"):
        zf.rdf(path, range=(0, 5), save=names[0])
    text = zf.rdf(path, range=(0, 5), explain=True)
    assert "10 atoms" in text and "predicted" in text


def test_refusals_use_the_words_of_python(tmp_path, rng):
    path = write(tmp_path / "t.xyz", frames(rng, 1, 10))
    with pytest.raises(ValueError, match=r"range=\(0, 6\)"):
        zf.rdf(path, range=(0, 7))
    with pytest.raises(ValueError, match="select: expected"):
        zf.rdf(path, select="mass 3")
    with pytest.raises(TypeError, match="bins=…"):
        zf.rdf(path, nbins=3)
    with pytest.raises(ValueError, match="gromax"):
        zf.rdf(path, convention="gromax")


@pytest.mark.parametrize("exclude", [None, "residue"])
def test_counts_are_mdanalysis(tmp_path, rng, exclude):
    mda = pytest.importorskip("MDAnalysis")
    analysis = pytest.importorskip("MDAnalysis.analysis.rdf")
    places = frames(rng, 3, 50)
    universe = mda.Universe.empty(50, n_residues=10, atom_resindex=np.arange(50) // 5, trajectory=True)
    box = np.array([12.0, 12, 12, 90, 90, 90], dtype=np.float32)
    universe.load_new(places.astype(np.float32), dimensions=np.tile(box, (3, 1)))
    wanted = analysis.InterRDF(universe.atoms, universe.atoms, nbins=20, range=(0, 5), exclude_same=exclude).run()
    lines = ["frame", "50"] if exclude else []
    path = write(tmp_path / "t.xyz", places)
    how = {}
    if exclude:
        for at in range(50):
            lines.append(f"{at // 5 + 1:5}RES      A{at + 1:5}   0.000   0.000   0.000")
        (tmp_path / "t.gro").write_text("\n".join([*lines, "1 1 1", ""]))
        how = {"topology": tmp_path / "t.gro", "exclude": exclude}
    got = zf.rdf(path, range=(0, 5), bins=20, convention="mdanalysis", **how)
    np.testing.assert_array_equal(got.counts, wanted.results.count)
    np.testing.assert_allclose(got.g, wanted.results.rdf, rtol=1e-6)
    np.testing.assert_allclose(got.r, wanted.results.bins)


def test_counts_are_freuds(tmp_path, rng):
    freud = pytest.importorskip("freud")
    places = frames(rng, 3, 200)
    wanted = freud.density.RDF(bins=20, r_max=5.0)
    for frame in places:
        box = freud.box.Box.cube(12.0)
        wanted.compute((box, box.wrap(frame)), reset=False)
    got = zf.rdf(write(tmp_path / "t.xyz", places), range=(0, 5), bins=20, convention="freud")
    np.testing.assert_array_equal(got.counts, wanted.bin_counts)
    np.testing.assert_allclose(got.g, wanted.rdf, rtol=1e-5)
    np.testing.assert_allclose(got.n, wanted.n_r, rtol=1e-5)


def test_structure_factors_are_debyes(tmp_path, rng):
    places = frames(rng, 2, 40)
    kinds = ["O" if at % 3 else "H" for at in range(40)]
    path = write(tmp_path / "t.xyz", places, kinds=kinds)
    got = zf.rdf(path, debye=(0.0, 4.0, 9))
    wanted = sum(np.sinc(got.k[:, None, None] * distances(f, f) / np.pi).sum((1, 2)) for f in places) / (2 * 40)
    np.testing.assert_allclose(got.s, wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(got.k, np.linspace(0, 4, 9))
    parts = zf.rdf(path, debye=(1.0, 4.0, 4), partials="element")
    both = {curve.names: curve.s * np.sqrt(np.prod(curve.atoms)) for curve in parts.curves}
    whole = zf.rdf(path, debye=(1.0, 4.0, 4)).s * 40
    np.testing.assert_allclose(both["H", "H"] + 2 * both["H", "O"] + both["O", "O"], whole, rtol=1e-10)
    with pytest.raises(ValueError, match="wave numbers"):
        zf.rdf(path, debye=(1.0, 0.0, 4))


def test_structure_factors_are_freuds(tmp_path, rng):
    freud = pytest.importorskip("freud")
    places = frames(rng, 1, 60)
    wanted = freud.diffraction.StaticStructureFactorDebye(num_k_values=20, k_max=6.0, k_min=0.5)
    box = freud.box.Box.cube(12.0)
    wanted.compute((box, box.wrap(places[0])))
    got = zf.rdf(write(tmp_path / "t.xyz", places), debye=(0.5, 6.0, 20))
    np.testing.assert_allclose(got.s, wanted.S_k, rtol=1e-4, atol=1e-4)
