"""What is taken as rows, and what is refused with words that help."""

import decimal

import numpy as np
import pytest

import zipfold as zf
from zipfold.arrays import rows

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def test_contiguous_arrays_are_taken_as_they_are(rng, tmp_path):
    x = rng.normal(size=(5, 3))
    assert rows(x, "X") is x
    single = x.astype(np.float32)
    assert rows(single, "X") is single
    fixed = x.copy()
    fixed.flags.writeable = False
    assert np.shares_memory(rows(fixed, "X"), fixed)
    path = tmp_path / "x.npy"
    np.save(path, x)
    mapped = np.load(path, mmap_mode="r")
    assert np.shares_memory(rows(mapped, "X"), mapped)
    np.testing.assert_array_equal(zf.cdist(mapped, fixed), zf.cdist(x, x))


@pytest.mark.parametrize("make", [np.asfortranarray, lambda x: x[::2], lambda x: x[:, ::-1], lambda x: x.T, lambda x: x[:, 1:]])
def test_any_strides(rng, make):
    x = make(rng.normal(size=(8, 6)))
    np.testing.assert_array_equal(zf.cdist(x, x), zf.cdist(x.copy(order="C"), x.copy(order="C")))


@pytest.mark.parametrize("kind", ["bool", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "g", ">f8", ">i4"])
def test_every_type_of_number(kind):
    x = np.array([[0, 1], [3, 5], [1, 1]]).astype(kind)
    wanted = np.array([[0.0, 1.0], [3.0, 5.0], [1.0, 1.0]]) if kind != "bool" else np.array([[0.0, 1], [1, 1], [1, 1]])
    np.testing.assert_allclose(zf.cdist(x, x), zf.cdist(wanted, wanted), rtol=1e-6)


def test_unaligned_arrays(rng):
    raw = np.zeros(8 * 6 + 1, np.uint8)
    x = raw[1:].view(np.float64).reshape(3, 2)
    x[:] = rng.normal(size=(3, 2))
    np.testing.assert_array_equal(zf.cdist(x, x), zf.cdist(x.copy(), x.copy()))


class OnlyDlpack:
    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_dlpack_without_a_copy(rng):
    x = rng.normal(size=(4, 3))
    assert np.shares_memory(rows(OnlyDlpack(x), "X"), x)


def test_results_are_of_the_callers_library(rng):
    class Theirs(np.ndarray):
        pass

    class Space:
        @staticmethod
        def from_dlpack(array):
            return np.from_dlpack(array).view(Theirs)

    class Rows(OnlyDlpack):
        def __array_namespace__(self):
            return Space

    x = rng.normal(size=(4, 3))
    for call in (lambda a: zf.cdist(a, x), zf.pdist, zf.pairwise_distances, zf.pairwise_kernels):
        got = call(Rows(x))
        assert type(got) is Theirs
        np.testing.assert_array_equal(np.asarray(got), call(x))


@pytest.mark.parametrize("device", [2, 10, 8])
def test_arrays_on_a_device_that_is_out_of_reach(rng, device):
    with pytest.raises(zf.DeviceError, match="copy it to the host"):
        zf.cdist(OnlyDlpack(rng.normal(size=(4, 3)), (device, 0)), [[0.0, 0.0, 0.0]])


def test_cuda_arrays_without_a_gpu():
    class Cuda:
        __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f8", "data": (0, False), "version": 3}

    with pytest.raises(zf.DeviceError, match="XB"):
        zf.cdist([[0.0, 0.0]], Cuda())


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_every_library(rng, library):
    x = rng.normal(size=(6, 2))
    table = library({"a": x[:, 0], "b": x[:, 1]})
    np.testing.assert_array_equal(zf.cdist(table, table), zf.cdist(x, x))
    got = zf.pairs(table).pair("abs(x.b - y.b)").matrix().run()
    np.testing.assert_array_equal(got, abs(x[:, 1:] - x[:, 1]))


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ([[1, 2], [3]], ValueError, "same length"),
        ([1.0, 2.0], ValueError, "one dimension"),
        (np.zeros((2, 2, 2)), ValueError, "2 dimensions"),
        (np.zeros((2, 2), complex), TypeError, "complex"),
        (np.array([[1, "a"]], dtype=object), TypeError, r"XA\[0, 1\]: str"),
        (np.array([["a", "b"]]), TypeError, "not of numbers"),
        (np.array([["2020-01-01"]], dtype="M8[s]"), TypeError, "not of numbers"),
        (np.array([[2**53 + 1]]), ValueError, r"XA\[0, 0\].*2\^53"),
        (np.array([[2**64 - 1]], dtype="u8"), ValueError, r"2\^53"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), ValueError, "masked"),
    ],
)
def test_what_holds_no_rows_of_numbers(bad, error, words):
    with pytest.raises(error, match=words) as caught:
        zf.cdist(bad, [[0.0, 0.0]])
    assert isinstance(caught.value, zf.ZipfoldError)


def test_objects_that_are_numbers():
    x = np.array([[decimal.Decimal("1.5"), 2]], dtype=object)
    np.testing.assert_array_equal(zf.cdist(x, [[1.5, 0.0]]), [[2.0]])


def test_different_numbers_of_columns():
    with pytest.raises(ValueError, match="XA has 2 columns, XB 3"):
        zf.cdist(np.zeros((1, 2)), np.zeros((1, 3)))


def test_text_and_missing_columns_of_tables():
    with pytest.raises(TypeError, match="'who' holds text"):
        zf.cdist(pa.table({"a": [1.0], "who": ["ann"]}), [[0.0, 0.0]])
    with pytest.raises(ValueError, match="NaN"):
        zf.pair_histogram(pl.DataFrame({"a": [1.0, None, 2.0]}))


@pytest.mark.parametrize(("policy", "count"), [("skip", 1), ("propagate", 3)])
def test_nan_under_each_policy(policy, count):
    x = np.array([[0.0], [np.nan], [1.0]])
    with pytest.raises(ValueError, match=r"row 1 \(from 0\), column 0 \(from 0\)"):
        zf.pairs(x).histogram(2, (0, 2)).run()
    tally = zf.pairs(x).nan(policy).histogram(2, (0, 2)).outcome().tally
    assert tally.counted == count
    assert tally.counted + tally.nan == 3
