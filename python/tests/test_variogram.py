"""Variograms next to double loops in NumPy, and to other packages where they are installed."""

import numpy as np
import pytest

import zipfold as zf


@pytest.fixture
def soil():
    rng = np.random.default_rng(5)
    places = rng.random((300, 2)) * 50
    places[10] = places[3]
    zinc = np.sin(places[:, 0] / 9) + rng.normal(0, 0.2, 300)
    return places, zinc, zinc * 3 + rng.normal(0, 1, 300)


def lags(places, edges, keep=None):
    """By lag, the rows of its pairs, and their distances."""
    i, j = np.triu_indices(len(places), 1)
    d = places[i] - places[j]
    h = np.sqrt((d**2).sum(axis=1))
    fine = (h <= edges[-1]) if keep is None else (h <= edges[-1]) & keep(d)
    at = np.minimum(np.searchsorted(edges, h, side="right") - 1, len(edges) - 2)
    return [(i[fine & (at == lag)], j[fine & (at == lag)], h[fine & (at == lag)]) for lag in range(len(edges) - 1)]


def test_estimators_are_those_of_numpy(soil):
    places, zinc, lead = soil
    both = ["matheron", "cressie", "madogram", "covariance"]
    found = zf.variogram(places, np.column_stack([zinc, lead]), lags=9, max=20, estimator=both)
    direction = found.directions[0]
    for lag, (i, j, h) in enumerate(lags(places, found.edges)):
        assert found.counts[lag] == len(i)
        a, b, n = zinc[i] - zinc[j], lead[i] - lead[j], len(i)
        expected = {
            "matheron value0": (a**2).mean() / 2,
            "matheron value0*value1": (a * b).mean() / 2,
            "cressie value1": np.sqrt(np.abs(b)).mean() ** 4 / 2 / (0.457 + 0.494 / n + 0.045 / n**2),
            "madogram value0": np.abs(a).mean() / 2,
            "covariance value1": ((lead[i] - lead.mean()) * (lead[j] - lead.mean())).mean(),
        }
        assert found.distances[lag] == pytest.approx(h.mean(), rel=1e-12)
        for name, value in expected.items():
            assert direction[name].values[lag] == pytest.approx(value, rel=1e-10, abs=1e-12), name


def test_a_direction_keeps_its_pairs(soil):
    places, zinc, _ = soil
    found = zf.variogram(places, zinc, lags=6, max=18, azimuth=30, tolerance=25, bandwidth=4)
    east, north = np.sin(np.radians(30)), np.cos(np.radians(30))

    def keep(d):
        along = np.abs(d[:, 0] * east + d[:, 1] * north)
        across = np.abs(d[:, 0] * north - d[:, 1] * east)
        return (across <= along * np.tan(np.radians(25))) & (across <= 4)

    assert found.counts.tolist() == [len(i) for i, _, _ in lags(places, found.edges, keep)]


@pytest.mark.filterwarnings("ignore::zipfold.ZipfoldWarning")
def test_tables_files_and_arrays_answer_alike(soil, tmp_path):
    places, zinc, _ = soil
    arrays = zf.variogram(places, zinc, lags=6, max=18, models="spherical")
    table = {"x": places[:, 0], "y": places[:, 1], "z": zinc}
    named = zf.variogram(table, "z", lags=6, max=18, models="spherical")
    np.testing.assert_array_equal(arrays.values, named.values)
    np.savetxt(tmp_path / "soil.csv", np.column_stack([places, zinc]), delimiter=",", header="x,y,z", comments="", fmt="%.17g")
    file = zf.variogram(tmp_path / "soil.csv", "z", lags=6, max=18, models="spherical", save=[tmp_path / "v.npz", tmp_path / "v.svg"])
    np.testing.assert_array_equal(arrays.values, file.values)
    assert arrays.models[0].range == file.models[0].range
    with np.load(tmp_path / "v.npz") as saved:
        np.testing.assert_array_equal(saved["matheron"], file.values)
    assert (tmp_path / "v.svg").read_text().startswith("<svg")
    assert "all pairs" in zf.variogram(table, "z", explain=True)


def test_counts_and_values_are_those_of_other_packages(soil):
    places, zinc, _ = soil
    edges = np.linspace(0, 20, 11)
    found = zf.variogram(places, zinc, edges=edges)
    gstools = pytest.importorskip("gstools")
    _, values, counts = gstools.vario_estimate(places.T, zinc, edges, return_counts=True)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_allclose(found.values, values, rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lags": 0}, "lags"),
        ({"max": -1.0}, "above 0"),
        ({"azimuth": float("nan")}, "azimuth: expected a finite number"),
        ({"tolerance": 0}, "tolerance"),
        ({"edges": [3.0, 1.0]}, "ascending"),
        ({"estimator": []}, "estimator"),
    ],
)
def test_what_means_nothing_is_refused(soil, change, said):
    places, zinc, _ = soil
    with pytest.raises(zf.RequestError, match=said):
        zf.variogram(places, zinc, **change)


def test_rows_without_a_value_are_refused_or_left_out(soil):
    places, zinc, _ = soil
    zinc[4] = np.nan
    with pytest.raises(zf.InputError, match="row 4"):
        zf.variogram(places, zinc)
    left = zf.variogram(places, zinc, nan="skip", max=10)
    fewer = zf.variogram(np.delete(places, 4, 0), np.delete(zinc, 4), max=10)
    assert left.left_out == 1
    np.testing.assert_array_equal(left.values, fewer.values)
    with pytest.raises(zf.InputError, match="shape"):
        zf.variogram(places, zinc[:7])
