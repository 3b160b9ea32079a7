"""The nearest rows by torch and by FAISS on a GPU, the way that is fast on matrix units, and how many neighbours they get wrong.

    python bench/neighbours_peers.py [--engines torch,faiss] [--rows 262144] [--dims 64,128,256] [--k 10] [--checked 256]

Rows are uniform in the cube. torch: products from torch.matmul in single precision, TF32 and f16, a chunk of rows at a time; then
|x|² + |y|² − 2 x·y and torch.topk. FAISS: knn_gpu over rows that are on the device, in single precision and f16. Device events around a whole
search, least of three. Prints a JSON line for each engine, number of components and precision: seconds, operations a second (two for each
component of a pair), and of some rows the share with a wrong set of neighbours and the share of wrong neighbours, against double precision.
An engine that is not installed is skipped by name. `device_rate cuda "wide nearest"` times the same questions.
"""

import argparse
import json
import sys

import torch

CHUNK = 8192


def by_torch(kind: str):
    """A search by products of matrices."""

    def search(x, y, k: int):
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        half = kind == "f16"
        b = y.half() if half else y
        squares = (y * y).sum(1)
        found = []
        for rows in x.split(CHUNK):
            a = rows.half() if half else rows
            products = (a @ b.T).float()
            # The squared length of a row changes no order.
            values = torch.add(squares, products, alpha=-2)
            found.append(torch.topk(values, k, dim=1, largest=False).indices)
        return torch.cat(found)

    return search


def by_faiss(kind: str):
    """A search by faiss.knn_gpu."""
    import faiss
    import faiss.contrib.torch_utils  # knn_gpu takes tensors then

    resources = faiss.StandardGpuResources()
    resources.setDefaultNullStreamAllDevices()

    def search(x, y, k: int):
        a, b = (x.half(), y.half()) if kind == "f16" else (x, y)
        return faiss.knn_gpu(resources, a, b, k)[1]

    return search


ENGINES = {"torch": (by_torch, ("f32", "tf32", "f16")), "faiss": (by_faiss, ("f32", "f16"))}


def timed(call):
    """What `call` gives, and the least seconds of three calls."""
    least = float("inf")
    for _ in range(3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        found = call()
        end.record()
        torch.cuda.synchronize()
        least = min(least, begin.elapsed_time(end) / 1e3)
    return found, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--rows", type=int, default=262144)
    parser.add_argument("--dims", default="64,128,256")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--checked", type=int, default=256)
    args = parser.parse_args()
    generator = torch.Generator(device="cuda").manual_seed(1)
    for dim in map(int, args.dims.split(",")):
        x, y = (torch.rand(args.rows, dim, generator=generator, device="cuda") for _ in range(2))
        some = torch.arange(0, args.rows, args.rows // args.checked, device="cuda")
        exact = torch.cat([torch.topk(torch.cdist(rows.double(), y.double(), compute_mode="donot_use_mm_for_euclid_dist"), args.k, dim=1,
                                      largest=False).indices for rows in x[some].split(16)])
        for engine in args.engines.split(","):
            make, kinds = ENGINES[engine]
            for kind in kinds:
                try:
                    search = make(kind)
                except ImportError as odd:
                    print(f"SKIPPED {engine}: {odd}", file=sys.stderr)
                    break
                found, least = timed(lambda: search(x, y, args.k))
                same = (found[some].unsqueeze(2) == exact.unsqueeze(1)).any(2)
                print(json.dumps({
                    "work": f"{engine} nearest {args.k}", "precision": kind, "n": args.rows, "d": dim, "seconds": round(least, 5),
                    "tera_operations": round(2 * dim * args.rows**2 / least / 1e12, 1),
                    "rows_wrong": round(1 - same.all(1).float().mean().item(), 4),
                    "neighbours_wrong": round(1 - same.float().mean().item(), 5),
                }), flush=True)


if __name__ == "__main__":
    main()
