"""Results in files: ``Pairs.save``."""

import numpy as np
import pytest

import zipfold as zf

X = np.array([[0.0], [1.0], [3.0], [7.0]])


def test_a_histogram_is_a_table_and_a_picture(tmp_path):
    question = zf.pairs(X).histogram(7, (0, 7))
    names = question.save(tmp_path / "g.csv", tmp_path / "g.npz", tmp_path / "g.parquet", tmp_path / "g.svg")
    assert names == [str(tmp_path / name) for name in ("g.csv", "g.npz", "g.parquet", "g.svg")]
    np.testing.assert_array_equal(np.load(names[1])["count"], question.run().counts)
    assert (tmp_path / "g.svg").read_text().startswith("<svg")


def test_a_png_is_read_by_others(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    question = zf.pairs(X).histogram(4, (0, 3))
    names = question.save(tmp_path / "g.svg", tmp_path / "g.png", tmp_path / "g.dark.png")
    light, dark = (image.imread(name)[..., :3] for name in names[1:])
    assert light.shape == dark.shape == (960, 1440, 3)
    # White and near black around the same drawing.
    assert light[0, 0].min() == 1.0
    assert dark[0, 0].max() < 0.2
    bars = (light != light[0, 0]).any(axis=2)
    assert 0.02 < bars.mean() < 0.9


def test_a_matrix_goes_to_its_file(tmp_path):
    [name] = zf.pairs(X).matrix().save(tmp_path / "d.npy")
    np.testing.assert_array_equal(np.load(name), zf.pairs(X).matrix().run())
    # With a picture the values are in memory.
    names = zf.pairs(X).matrix().save(tmp_path / "e.npy", tmp_path / "e.svg")
    np.testing.assert_array_equal(np.load(names[0]), np.load(name))


def test_several_results_are_numbered(tmp_path):
    names = zf.pairs(X).sum().nearest(1).save(tmp_path / "both.csv")
    assert names == [str(tmp_path / "both.0.csv"), str(tmp_path / "both.1.csv")]


def test_a_file_that_exists_is_kept(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("mine")
    question = zf.pairs(X).histogram(7, (0, 7))
    with pytest.raises(zf.RequestError, match="overwrite=True replaces it"):
        question.save(path)
    assert path.read_text() == "mine"
    question.save(path, overwrite=True)
    assert "count" in path.read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [("g.xlsx", r"expected a suffix that names a format, got '\.xlsx'"), ("g", "got none"), ("no/g.csv", "folder does not exist")],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, name, words):
    told = []
    with pytest.raises(zf.RequestError, match=words):
        zf.pairs(X).histogram(7, (0, 7)).save(tmp_path / name, progress=lambda done, of: told.append(done))
    assert told == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_write_is_refused():
    with pytest.raises(zf.RequestError, match=r"try: \.save\("):
        zf.pairs(X).sum().save()


def test_matches_beyond_memory_go_to_a_file(tmp_path):
    rows = np.random.default_rng(5).random((1500, 3))
    question = zf.pairs(rows).join("euclidean(x, y) < 0.7")
    with pytest.raises(zf.ResourceError, match=r"\.save\('matches\.parquet'\)"):
        question.run(memory="9MiB")
    [small] = question.save(tmp_path / "small.csv", memory="9MiB")
    [ample] = question.save(tmp_path / "ample.csv", memory="1GiB")
    assert (tmp_path / "small.csv").read_bytes() == (tmp_path / "ample.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ample.csv", "small.csv"]
    assert "so for a file (.save('matches.parquet'))" in str(question.explain(memory="9MiB"))
