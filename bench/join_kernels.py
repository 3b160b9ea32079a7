"""The kernel of joins with rows in shared memory (stripe.c) apart from the engine, every tile on one device: values and logarithms, by CuPy.

usage: zipfold bench sum-product list > BUCKETS.jsonl; python join_kernels.py BUCKETS.jsonl [--double] [--from 1e8]    needs CuPy and its NVRTC
A bucket is one join of all its tables. Prints a row a bucket: the roofline (every table once at 2.41e12 bytes/s, operations by the paper's count at
61e12 or 32.1e12 a second), the best tile with rows and columns by tables (a bit each), its microseconds by device events (least of three times ten
launches in a row), its registers, the greatest relative difference from some entries summed on the host, and the microseconds with mantissas made from
logarithms before and logarithms of the result after. The division of digits, the lists and the texts are those of gpu/src/visit.rs and visit_text.rs.
"""
import argparse
import itertools
import json
import math
import pathlib

import cupy
import numpy as np

KERNELS = pathlib.Path(__file__).resolve().parent.parent / 'crates/gpu/src/kernels'
HEADER = ''.join((KERNELS / name).read_text() for name in ('cuda.h', 'numbers.h', 'logarithms.h'))
THREADS, LINES, LEAST, HELD, ROWS, PIECE, SOME = 256, 128, 8, 16 << 10, 128, 64, 16
SPANNED = (THREADS - 1) // LEAST + 2
TILES = [(4, 4), (8, 2), (8, 4), (16, 2), (16, 4)]
MODULES = {}


def shape(bucket):
    """Digits (values, stride in each table, stride in the result), entries of the tables, of the result."""
    cards, scopes = bucket['dom'], bucket['scopes']
    sizes = [math.prod(cards[v] for v in s) for s in scopes]
    kept = [v for v in range(len(cards)) if v not in bucket['summed']]
    kept.sort(key=lambda v: max(size for size, s in zip(sizes, scopes) if v in s))
    rank = {v: at for at, v in enumerate(bucket['summed'] + kept)}
    order = [v for v in rank if cards[v] > 1]
    strides = []
    for scope in [*scopes, kept]:
        stride, own = 1, {}
        for v in sorted(scope, key=rank.get, reverse=True):
            own[v], stride = stride, stride * cards[v]
        strides.append(own)
    digits = [(cards[v], [s.get(v, 0) for s in strides[:-1]], strides[-1].get(v, 0)) for v in order]
    merged = []
    for card, own, out in digits:
        if merged and merged[-1][2] == out * card and all(a == b * card for a, b in zip(merged[-1][1], own)):
            card *= merged.pop()[0]
        merged.append((card, own, out))
    return merged, sizes, math.prod(cards[v] for v in kept)


def tables_of(digit):
    return sum(1 << f for f, s in enumerate(digit[1]) if s)


def divided(digits, rows, columns):
    """Kept digits that are rows, columns and neither."""
    out, lines = ([], [], []), [1, 1]
    for digit in reversed([d for d in digits if d[2]]):
        own = tables_of(digit)
        if own & columns == own and lines[1] < LINES:
            which = 1
        elif own & rows == own and own & columns != own and lines[0] < LINES:
            which = 0
        else:
            which = 2
        if which < 2:
            lines[which] *= digit[0]
        out[which].append(digit)
    return [digits[::-1] for digits in out]


def offsets(digits):
    out = np.zeros(1, np.int64)
    for card, stride in reversed(digits):
        out = (np.arange(card)[:, None] * stride + out).reshape(-1)
    return out


def share(tall, tiles, depth, bytes, units=132):
    rows, columns, others = tiles
    room = HELD // bytes // min((THREADS - 1) // columns + 2, SPANNED) - 16 // bytes
    piece = lambda turns: max(1, min(room // (turns * tall), PIECE, depth))
    along = -(-columns * others // THREADS)
    most = min(along * rows // (SOME * units), ROWS // tall, rows)
    turns = next((t for t in range(most, 1, -1) if piece(t) == depth), 1)
    turns = -(-rows // -(-rows // turns))
    return -(-rows // turns), along, turns, piece(turns)


def resident(columns, both, tall, wide, bytes):
    size = tall * wide * bytes // 64
    if columns < 2 and not both and (size <= 1 or size == 2 and bytes == 4 and wide <= 2):
        return 4
    return 3 if size <= 2 and not both else 2


def product(factors):
    return ' * '.join(factors) or '1'


def compiled(digits, sizes, out_len, double, rows, columns, tile, logs):
    """The kernel with its arguments; None where it does not take the join so."""
    bytes, number = (8, 'double') if double else (4, 'float')
    tall, wide = tile
    of_rows, of_columns, others = divided(digits, rows, columns)
    many = [math.prod(d[0] for d in ds) for ds in (of_rows, of_columns, others)]
    tiles = [-(-many[0] // tall), -(-many[1] // wide), many[2]]
    if tiles[1] < LEAST or tiles[2] > 1 << 17 or many[0] < 2:
        return None
    tables = len(sizes)
    role = lambda f: (rows >> f & 1) + 2 * (columns >> f & 1)
    order = sorted(range(tables), key=role)
    ends = list(itertools.accumulate([sum(role(f) == r for f in range(tables)) for r in range(4)], initial=0))
    without, by_column, both = range(ends[2]), range(ends[2], ends[3]), range(ends[3], tables)
    with_columns = range(ends[2], tables)
    summed = [d for d in digits if not d[2]]
    depth = math.prod(d[0] for d in summed)
    lists = [np.stack([offsets([(d[0], d[1][f]) for d in summed]) for f in order], 1)]
    for ds in (of_rows, of_columns, others):
        lists.append(np.stack([offsets([(d[0], d[1][f]) for d in ds]) for f in order] + [offsets([(d[0], d[2]) for d in ds])], 1))
    groups, along, turns, piece = share(tall, tiles, depth, bytes)
    quad = 16 // bytes
    each = lambda fs, text: ' '.join(text(f) for f in fs)
    row = lambda f: f'row_begins[(row0 + i) * {tables + 1}u + {f}u]'
    suffix = 'd' if double else 'f'
    places = {
        'BLOCKS': resident(len(by_column), len(both), tall, wide, bytes), 'VECTOR': 'zf_d2' if double else 'zf_f4', 'QUAD': quad,
        'HELD': HELD // bytes, 'SPANNED': SPANNED, 'PIECE': PIECE, 'ROWS': ROWS, 'THREADS': THREADS, 'TALL': tall, 'WIDE': wide, 'TABLES': tables,
        'INPUTS': ', '.join(f'ZF_IN({number}) t{f}' for f in range(tables)),
        'ADD_OWN': each(with_columns, lambda f: f'c{f}[j] += own[{f}];'),
        'LINES': each(with_columns, lambda f: f'@INDEX@ c{f}[{wide}];'),
        'COLUMN_LINES': each(with_columns, lambda f: f'c{f}[j] = at[{f}];'),
        'X': product(f't{f}[here[{f}] + row[{f}] + at[{f}]]' for f in without),
        'Y': product(f't{f}[c{f}[j] + at[{f}]]' for f in by_column),
        'ONE': product(['x[i]', *(f't{f}[c{f}[j] + {row(f)} + at[{f}]]' for f in both)]),
        'SPREAD': ' '.join(f'x[i + {at}u] = some.{place};' for at, place in enumerate('xyzw'[:quad])),
        'FOLD': 'fma(one, y[j], total[i][j])' if len(by_column) else 'total[i][j] + one',
        'LAST': f'zf_logarithm_{suffix}(total[i][j], shift)' if logs else 'total[i][j]', 'SHIFT': ', double shift' if logs else '',
        'AHEAD': 8 if double else 4, 'REST': 4 if double else 3, 'REST_LOOP': 'for (; k < steps; k += 4u)' if double else 'if (k < steps)',
        'INDEX': 'zf_u32', 'T': number,
    }
    source = (KERNELS / 'stripe.c').read_text()
    for name, text in places.items():
        source = source.replace(f'@{name}@', str(text))
    kernel = module(HEADER + source).get_function('zf_stripe')
    numbers = [out_len, depth, depth, len(others), many[0], many[1], groups, tiles[1], tiles[1] * tiles[2], piece, turns]
    lists = np.concatenate([part.reshape(-1) for part in lists])
    rest = [cupy.asarray(np.array(n, np.uint32)) for n in (numbers, lists)]
    shift = (np.float64(0.25 * tables),) if logs else ()
    return kernel, order, lambda tables, out: kernel((groups * along,), (THREADS,), (*(tables[f] for f in order), out, *rest, *shift))


def counted(digits, tables, places):
    """The entries of the result at `places`, in double precision on the host."""
    held = [table.get().astype(np.float64) for table in tables]
    begins, summed = [np.zeros(len(places), np.int64) for _ in held], [d for d in digits if not d[2]]
    for card, own, out in digits:
        if out:
            for begin, stride in zip(begins, own):
                begin += places // out % card * stride
    each = [table[begin[:, None] + offsets([(d[0], d[1][f]) for d in summed])[None]] for f, (table, begin) in enumerate(zip(held, begins))]
    return math.prod(each).sum(1)


def module(source):
    if source not in MODULES:
        MODULES[source] = cupy.RawModule(code=source, options=('--std=c++17',))
    return MODULES[source]


def exponentials(double):
    text = (KERNELS / 'mantissas.c').read_text()
    suffix = 'd' if double else 'f'
    for name, own in {'T': 'double' if double else 'float', 'MANTISSA': f'zf_mantissa_{suffix}', 'LOGARITHM': f'zf_logarithm_{suffix}',
                      'FOLD': 'total + more', 'LAST': 'total', 'SHIFT': '', 'INFINITY': f'ZF_INF_{suffix.upper()}'}.items():
        text = text.replace(f'@{name}@', own)
    kernel = module(HEADER + text).get_function('zf_exponentials')
    blocks = lambda table: max(1, min(-(-table.size // THREADS), 8 * 132))
    return lambda logs, out: kernel((blocks(logs),), (THREADS,), (logs, out, np.float64(0.25), np.float64(logs.size)))


def microseconds(call):
    call()
    times = []
    for _ in range(3):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(10):
            call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 100)
    return min(times)


def measured(bucket, double):
    digits, sizes, out_len = shape(bucket)
    of = np.float64 if double else np.float32
    random = np.random.default_rng(1)
    logs = [cupy.asarray(np.log(0.1 + 0.9 * random.random(size)).astype(of)) for size in sizes]
    tables, out = [cupy.empty_like(t) for t in logs], cupy.empty(out_len, of)
    make = exponentials(double)
    scaled = lambda: [make(l, t) for l, t in zip(logs, tables)]
    scaled()
    places = random.integers(0, out_len, 4096)
    want = counted(digits, tables, places)
    sets = sorted({tables_of(d) for d in digits if d[2]})
    fast = next(tables_of(d) for d in digits if d[2] == 1)
    best = []
    for rows, columns in itertools.permutations(sets, 2):
        most = (64 if not rows & columns else 32) // (2 if double else 1)
        for tile in [t for t in TILES if t[0] * t[1] <= most and columns & fast == fast]:
            how = (digits, sizes, out_len, double, rows, columns, tile)
            made = compiled(*how, False)
            if made:
                out.fill(np.nan)
                made[2](tables, out)
                error = float(np.abs(out[places].get() / want - 1).max())
                best.append((microseconds(lambda: made[2](tables, out)), how, made[0].num_regs, error))
    least, how, registers, _ = min(best, key=lambda b: b[0])
    logged = compiled(*how, True)
    logged[2](tables, out)
    error = float(np.abs(out[places].get() - np.log(want) - 0.25 * len(sizes)).max())
    taken = microseconds(lambda: (scaled(), logged[2](tables, out)))
    once = (sum(sizes) + out_len) * (8 if double else 4)
    floor = 1e6 * max(once / 2.41e12, bucket['flop'] / (32.1e12 if double else 61e12))
    return {'operations': bucket['flop'], 'type': 'f64' if double else 'f32', 'floor': floor, 'values': least, 'share': floor / least, 'tile': how[6],
            'rows': how[4], 'columns': how[5], 'registers': registers, 'differs': max(b[3] for b in best), 'logs': taken, 'ratio': taken / least, 'logs_differ': error}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('buckets')
    parser.add_argument('--double', action='store_true')
    parser.add_argument('--from', dest='least', type=float, default=1e8)
    args = parser.parse_args()
    rows = []
    for bucket in map(json.loads, open(args.buckets)):
        if bucket['flop'] >= args.least:
            rows.append(measured(bucket, args.double))
            print(json.dumps({k: float(f'{v:.4g}') if isinstance(v, float) else v for k, v in rows[-1].items()}), flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
    mean = lambda name: math.exp(sum(math.log(r[name]) for r in rows) / len(rows))
    print(json.dumps({'buckets': len(rows), 'share': mean('share'), 'logs / values': mean('ratio'), 'most': max(r['ratio'] for r in rows)}))


if __name__ == '__main__':
    main()
