"""Random buckets of the sum-product paper (section 7.2.2): zipfold, opt_einsum and NumPy on the same tables in one run.

usage: python buckets.py PROGRAM [COUNT=60] [SEED=1] [--file BUCKETS.jsonl] [--rows PART.json]      needs numpy and opt_einsum
PROGRAM is the example `buckets` of crate zipfold-product. Prints one JSON object; `--rows` adds the buckets of an earlier run, so that a long list
can be taken in short turns. No side's time includes planning: zipfold's `Prepared` and opt_einsum's `contract_expression` are made once a bucket.
Both take tables of the type in the bucket's own order; zipfold's result lies in the order of its plan and in memory that was written before,
opt_einsum's is a view in the order asked for. Rates are by the paper's count |O| (N m - 1) on all sides; each time is the least of the calls
within 0.1 s, one at least. `engine` is the forward pass for networks, which converts and restructures its tables in every call. Beside them: the rate that the
paper's A_cache model predicts, min(P, M A), with P the rate of NumPy's dgemm and M that of a copy on all cores, both measured here, and the last
cache; and the roofline max(operations / P, bytes / M), every table moved once.
"""
import json, math, os, statistics, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np, opt_einsum


def table(at, dom, scope):
    """The entries that the example makes: 24 bits of a multiplicative hash."""
    size = math.prod(dom[v] for v in scope)
    number = np.arange(1, size + 1, dtype=np.uint64) + np.uint64(at << 32)
    bits = (number * np.uint64(0x9e3779b97f4a7c15)) >> np.uint64(40)
    return (np.float32(0.1) + np.float32(0.9) * (bits.astype(np.float32) / np.float32(16777216))).reshape([dom[v] for v in scope])


def least(call):
    best, begin, out = math.inf, time.perf_counter(), None
    while time.perf_counter() - begin < 0.1 or best == math.inf:
        start = time.perf_counter()
        out = call()
        best = min(best, time.perf_counter() - start)
    return best, out


def squeezed(bucket):
    """Scopes and tables without variables of one value, and the kept and summed variables that are left."""
    dom = bucket['dom']
    wide = [v for v in range(len(dom)) if dom[v] > 1]
    scopes = [[v for v in s if dom[v] > 1] for s in bucket['scopes']]
    tables = [table(i, dom, s).reshape([dom[v] for v in t]) for i, (s, t) in enumerate(zip(bucket['scopes'], scopes))]
    kept = [v for v in wide if v not in bucket['summed']]
    return scopes, tables, kept, [v for v in wide if v in bucket['summed']]


def linear(scopes, tables, kept, of):
    sign = {v: opt_einsum.get_symbol(i) for i, v in enumerate(sorted({v for s in scopes for v in s}))}
    word = lambda s: ''.join(sign[v] for v in s)
    call = opt_einsum.contract_expression(','.join(map(word, scopes)) + '->' + word(kept), *[t.shape for t in tables])
    return least(lambda: call(*[t.astype(of, copy=False) for t in tables]))


def logarithmic(dom, scopes, tables, kept, summed):
    """Log-sum-exp over the summed axes by broadcasting, logarithms in and out."""
    full = kept + summed
    shaped = []
    for s, t in zip(scopes, tables):
        order = [v for v in full if v in s]
        shaped.append(np.log(t).transpose([s.index(v) for v in order]).reshape([dom[v] if v in s else 1 for v in full]))
    axes = tuple(range(len(kept), len(full)))

    def call():
        total = shaped[0]
        for t in shaped[1:]:
            total = total + t
        peak = total.max(axis=axes, keepdims=True)
        return np.log(np.exp(total - peak).sum(axis=axes)) + peak.reshape(peak.shape[:len(kept)])
    return least(call)


def peers(bucket):
    scopes, tables, kept, summed = squeezed(bucket)
    visits = math.prod(bucket['dom'])
    out = {}
    doubles = [t.astype(np.float64) for t in tables]
    out['opt_einsum f32'], result = linear(scopes, tables, kept, np.float32)
    total = float(result.sum(dtype=np.float64))
    if bucket['flop'] < 1e9:
        out['opt_einsum f64'] = linear(scopes, doubles, kept, np.float64)[0]
    if visits < 1 << 26:
        out['numpy log f32'] = logarithmic(bucket['dom'], scopes, tables, kept, summed)[0]
        out['numpy log f64'] = logarithmic(bucket['dom'], scopes, doubles, kept, summed)[0]
    return out, total


def machine():
    """Operations a second of dgemm, bytes a second of a copy (read and written), entries of f64 in the last cache."""
    a = np.random.default_rng(1).random((2048, 2048))
    c = np.empty_like(a)
    gemm = 2.0 * 2048 ** 3 / least(lambda: np.matmul(a, a, out=c))[0]
    cores = os.cpu_count()
    parts = [(np.ones(1 << 22), np.ones(1 << 22)) for _ in range(cores)]
    with ThreadPoolExecutor(cores) as pool:
        copy = 2.0 * cores * 8 * (1 << 22) / least(lambda: list(pool.map(lambda p: np.copyto(p[1], p[0]), parts)))[0]
    size = open('/sys/devices/system/cpu/cpu0/cache/index3/size').read().strip()
    return {'gemm f64': gemm, 'copy': copy, 'cache entries': int(size[:-1]) * {'K': 1024, 'M': 1 << 20}[size[-1]] // 8}


def model(traffic, bucket, facts):
    """GFLOP/s that A_cache predicts, and the seconds of the roofline, for f64."""
    intensity = traffic['operations'] / (traffic['read'] + traffic['written'])
    predicted = min(facts['gemm f64'], facts['copy'] / 8 * intensity)
    size = lambda s: math.prod(bucket['dom'][v] for v in s)
    kept = [v for v in range(len(bucket['dom'])) if v not in bucket['summed']]
    moved = 8.0 * (sum(map(size, bucket['scopes'])) + size(kept))
    return {'intensity': intensity, 'predicted': predicted / 1e9,
            'roofline': max(bucket['flop'] / facts['gemm f64'], moved / facts['copy']), 'compute bound': bucket['flop'] / facts['gemm f64'] > moved / facts['copy']}


PAIRS = {'f32': 'opt_einsum f32', 'f64': 'opt_einsum f64', 'log f32': 'numpy log f32', 'log f64': 'numpy log f64',
         'log-sum-exp f64': 'numpy log f64'}


def floor(row, of):
    """Seconds of the roofline, which the rows hold for f64: f32 has twice the rate and half the bytes."""
    return row['roofline'] / (2 if of == 'f32' else 1)


def main():
    program, rest = sys.argv[1], sys.argv[2:]
    if '--file' in rest:
        text = open(rest[rest.index('--file') + 1]).read()
    else:
        count, seed = (rest + ['60', '1'][len(rest):])[:2]
        text = subprocess.run([program, '--generate', count, seed], capture_output=True, text=True, check=True).stdout
    buckets = sorted(map(json.loads, text.splitlines()), key=lambda b: b['flop'])
    rows, facts = [], machine()
    if '--rows' in rest:
        rows = json.load(open(rest[rest.index('--rows') + 1]))['rows']
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as file:
        for bucket in buckets:
            file.seek(0), file.truncate(), file.write(json.dumps(bucket) + '\n'), file.flush()
            command = [program, file.name, '--cache', str(facts['cache entries'])]
            done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            mine = done['seconds and total']
            others, total = peers(bucket)
            for name, (_, own) in mine.items():
                assert abs(own - total) < 1e-4 * total, (name, own, total)
            rows.append({'flop': bucket['flop'], **{k: v[0] for k, v in mine.items()}, **others, **model(done['traffic'], bucket, facts)})
            print(rows[-1], file=sys.stderr)
    names = [n for n in {n: 0 for r in rows for n in r} if n not in ('flop', 'intensity', 'predicted', 'roofline', 'compute bound')]
    medians = {name: round(statistics.median(r['flop'] / r[name] / 1e9 for r in rows if name in r), 3) for name in names}
    ratios = {f'{a} / {b}': {'of medians': round(statistics.median([r['flop'] / r[a] for r in rows if b in r]) / 1e9 / medians[b], 2),
                             'median': round(statistics.median(r[b] / r[a] for r in rows if b in r), 2),
                             'least': round(min(r[b] / r[a] for r in rows if b in r), 2)} for a, b in PAIRS.items() if any(b in r for r in rows)}
    log_cost = {p: round(statistics.median(r[f'log {p}'] / r[p] for r in rows), 3) for p in ('f32', 'f64')}
    large = [r for r in rows if r['flop'] > 1e9]
    shares = {('compute' if bound else 'memory') + ' bound': [round(r['roofline'] / r['f64'], 2) for r in large if r['compute bound'] == bound]
              for bound in (True, False)}
    model_share = round(statistics.median(r['flop'] / r['f64'] / 1e9 / r['predicted'] for r in rows), 3)
    print(json.dumps({'buckets': len(rows), 'machine': facts, 'gflops_median': medians, 'ratios': ratios, 'log_over_linear': log_cost,
                      'f64_over_a_cache_prediction': model_share, 'share_of_roofline_above_1e9': shares,
                      'share_of_roofline_median': {p: round(statistics.median(floor(r, p) / r[p] for r in rows), 3) for p in ('f32', 'f64')},
                      'log_over_linear_above_1e9': [round(r['log f64'] / r['f64'], 2) for r in large],
                      'rows': [{k: v if isinstance(v, bool) else float(f'{v:.4g}') for k, v in r.items()} for r in rows]}))


if __name__ == '__main__':
    main()
