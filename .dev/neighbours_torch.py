"""The ten nearest rows by torch, the way that is fast on matrix units, and how many neighbours it gets wrong.

    python bench/neighbours_torch.py [--rows 262144] [--dims 64,128,256] [--k 10] [--checked 256]

Rows are uniform in the cube. Products come from torch.matmul in single precision, TF32 and f16, a chunk of rows at a time; then
|x|² + |y|² − 2 x·y and torch.topk. Device events around a whole search, least of three. Prints a JSON line for each number of components and
precision: seconds, operations a second (two for each component of a pair), and of some rows the share with a wrong set of neighbours and the
share of wrong neighbours, against double precision. `device_rate cuda "wide nearest"` times the same questions.
"""

import argparse
import json

import torch

CHUNK = 8192


def search(x, y, k: int, kind: str):
    """The indices of the k nearest rows of y, by row of x."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
        for kind in ("f32", "tf32", "f16"):
            least = float("inf")
            for _ in range(3):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                found = search(x, y, args.k, kind)
                end.record()
                torch.cuda.synchronize()
                least = min(least, begin.elapsed_time(end) / 1e3)
            same = (found[some].unsqueeze(2) == exact.unsqueeze(1)).any(2)
            print(json.dumps({
                "work": f"torch nearest {args.k}", "precision": kind, "n": args.rows, "d": dim, "seconds": round(least, 5),
                "tera_operations": round(2 * dim * args.rows**2 / least / 1e12, 1),
                "rows_wrong": round(1 - same.all(1).float().mean().item(), 4),
                "neighbours_wrong": round(1 - same.float().mean().item(), 5),
            }))


if __name__ == "__main__":
    main()
