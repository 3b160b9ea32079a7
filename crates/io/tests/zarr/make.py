"""Makes the arrays of crates/io/tests/zarr with zarr-python: 64 rows of 5 columns, row * 10 + column / 4."""
import pathlib, shutil, sys
import numpy as np, zarr, numcodecs
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec, BytesCodec
out = pathlib.Path(sys.argv[1]); shutil.rmtree(out, ignore_errors=True); out.mkdir(parents=True)
full = np.add.outer(np.arange(64) * 10.0, np.arange(5) / 4)
def v2(name, data=full, chunks=(40, 3), **how):
    z = zarr.create_array(str(out / name), shape=data.shape, chunks=chunks[:data.ndim], dtype=data.dtype, zarr_format=2, **how)
    z[...] = data
    return z
def v3(name, data=full, chunks=(40, 3), **how):
    z = zarr.create_array(str(out / name), shape=data.shape, chunks=chunks[:data.ndim], dtype=data.dtype, zarr_format=3, **how)
    z[...] = data
    return z
v2("two-plain", compressors=None)
v2("two-zlib", compressors=numcodecs.Zlib())
v2("two-gzip", compressors=numcodecs.GZip(), chunk_key_encoding={"name": "v2", "separator": "/"})
v2("two-zstd", compressors=numcodecs.Zstd())
for c, s in [("lz4", 1), ("lz4hc", 1), ("zstd", 1), ("zlib", 0)]:
    v2(f"two-blosc-{c}", compressors=numcodecs.Blosc(cname=c, shuffle=s, blocksize=512), chunks=(64, 5))
v2("two-blosc-single", full.astype("f4"), compressors=numcodecs.Blosc(cname="lz4", shuffle=1), chunks=(64, 5))
v2("two-fortran", compressors=None, order="F")
v2("two-big", (full * 4).astype(">i4"), compressors=None)
z = zarr.create_array(str(out / "two-missing"), shape=(64, 5), chunks=(40, 3), dtype="f8", zarr_format=2, fill_value=float("nan"), compressors=None)
z[:40, :3] = full[:40, :3]
v2("two-vector", full[:, 1].copy(), compressors=None, chunks=(40,))
v2("odd-bits", compressors=numcodecs.Blosc(cname="lz4", shuffle=2), chunks=(64, 5))
v2("odd-blosclz", compressors=numcodecs.Blosc(cname="blosclz", shuffle=1), chunks=(64, 5))
v2("odd-lzma", compressors=numcodecs.LZMA(), chunks=(64, 5))
v2("odd-filters", compressors=None, filters=[numcodecs.Delta(dtype="f8")], chunks=(64, 5))
v2("odd-three", np.zeros((4, 3, 2)), chunks=(4, 3, 2), compressors=None)
v3("three-plain", compressors=None)
v3("three-gzip", compressors=GzipCodec())
v3("three-zstd", compressors=ZstdCodec())
v3("three-blosc", compressors=BloscCodec(cname="zstd", shuffle="shuffle"), chunks=(64, 5))
v3("three-small", full.astype("f4"), compressors=None, chunks=(64, 5))
v3("odd-sharded", compressors=None, shards=(64, 6), chunks=(32, 3))
zarr.create_group(str(out / "odd-group"), zarr_format=3)
for junk in out.rglob(".zattrs"): junk.unlink()
