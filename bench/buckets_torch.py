"""Random buckets of the sum-product paper on a GPU by torch: paths of opt_einsum on cuBLAS, and logarithms by logsumexp, in f32.

usage: zipfold bench sum-product list > BUCKETS.jsonl; python buckets_torch.py BUCKETS.jsonl [--ours ROWS.jsonl]    needs torch, numpy, opt_einsum
ROWS.jsonl is what `zipfold bench sum-product buckets --device cuda:0 --json` printed on the same device. Prints a row a bucket, and last the
geometric means over buckets from 1e8 operations on, of rates by the paper's count and of the ratios of seconds. Tables are on the device and
have the entries that zipfold gives them; each time is the median of three calls by device events, after one call. Logarithms need all
configurations at once, so only buckets below 2^30 of them are tried. `joins` ends when the host knows of the end; `joins_repeated` is one of several
turns in a row, which the events of the peer come closest to.
"""
import argparse
import json
import math

import numpy as np
import opt_einsum
import torch

from buckets import squeezed

LARGE = 1e8
MOST_LOGS = 2**30


def seconds(call):
    call()
    torch.cuda.synchronize()
    times = []
    for _ in range(3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        out = call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
        del out
    return sorted(times)[1]


def measured(bucket):
    scopes, tables, kept, summed = squeezed(bucket)
    sign = {v: opt_einsum.get_symbol(i) for i, v in enumerate(sorted({v for s in scopes for v in s}))}
    word = lambda scope: ''.join(sign[v] for v in scope)
    text = ','.join(map(word, scopes)) + '->' + word(kept)
    there = [torch.from_numpy(np.ascontiguousarray(t, dtype=np.float32)).cuda() for t in tables]
    row = {'operations': bucket['flop']}
    try:
        row['values'] = seconds(lambda: opt_einsum.contract(text, *there, backend='torch'))
    except (RuntimeError, ValueError) as e:
        row['values_refused'] = str(e)[:80]
    full = kept + summed
    if math.prod(bucket['dom']) < MOST_LOGS:
        logs = []
        for scope, t in zip(scopes, there):
            order = [v for v in full if v in scope]
            logs.append(t.log().permute([scope.index(v) for v in order]).reshape([bucket['dom'][v] if v in scope else 1 for v in full]))
        axes = tuple(range(len(kept), len(full)))

        def call():
            total = logs[0]
            for t in logs[1:]:
                total = total + t
            return torch.logsumexp(total, axes)
        try:
            row['logs'] = seconds(call)
        except RuntimeError as e:
            row['logs_refused'] = str(e)[:80]
    torch.cuda.empty_cache()
    return row


def mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('buckets')
    parser.add_argument('--ours')
    args = parser.parse_args()
    ours = [json.loads(line) for line in open(args.ours)] if args.ours else []
    own = {(r['entries'], round(r['operations'])): r for r in ours if r.get('section') == 'buckets' and r['type'] == 'f32'}
    rows = []
    for bucket in map(json.loads, open(args.buckets)):
        row = measured(bucket)
        for entries in ('values', 'logs'):
            mine = own.get((entries, round(row['operations'])), {})
            for who in ('joins', 'joins_repeated', 'paged'):
                if who in mine and entries in row:
                    row[f'{entries} / {who}'] = row[entries] / mine[who]
        rows.append(row)
        print(json.dumps({k: float(f'{v:.4g}') if isinstance(v, float) else v for k, v in row.items()}), flush=True)
    large = [r for r in rows if r['operations'] >= LARGE]
    end = {f'{e}, operations/s': mean(r['operations'] / r[e] for r in large if e in r) for e in ('values', 'logs')}
    ratios = sorted({k for r in large for k in r if '/' in k})
    end.update({f'torch {k}': {'mean': mean(r[k] for r in large if k in r), 'least': min(r[k] for r in large if k in r)} for k in ratios})
    print(json.dumps({'buckets from 1e8 operations on': len(large), **end}))


if __name__ == '__main__':
    main()
