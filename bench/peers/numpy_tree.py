"""log10 of the partition function of a UAI network by NumPy along a contraction tree of omeco's: shares no code with zipfold.

usage: python numpy_tree.py NETWORK.uai[.gz] [EVIDENCE|-] [--fast]      needs numpy and omeco
--fast takes two trials of omeco's default search and prints JSON: the answer and the seconds of reading, order and contraction.
"""
import gzip, json, math, sys, time
from collections import Counter
import numpy as np, omeco


def read(path):
    words = (gzip.open if path.endswith('.gz') else open)(path, 'rt').read().split()
    at = 1

    def take():
        nonlocal at
        at += 1
        return words[at - 1]
    cards = [int(take()) for _ in range(int(take()))]
    scopes = [[int(take()) for _ in range(int(take()))] for _ in range(int(take()))]
    tables = []
    for scope in scopes:
        values = [float(take()) for _ in range(int(take()))]
        tables.append((scope, np.array(values).reshape([cards[v] for v in scope])))
    return cards, tables


def evidence(path):
    numbers = [int(w) for w in open(path).read().split()]
    if numbers in ([], [0]):
        return {}
    pairs = numbers[1:] if len(numbers) == 2 * numbers[0] + 1 else numbers[2:]
    return dict(zip(pairs[::2], pairs[1::2]))


def prune(cards, tables, seen):
    """Only states that every table supports; tables over what is left."""
    states = [[seen[v]] if v in seen else list(range(c)) for v, c in enumerate(cards)]
    changed = True
    while changed:
        changed = False
        for scope, table in tables:
            part = table[np.ix_(*[states[v] for v in scope])] > 0 if scope else table
            for i, v in enumerate(scope):
                alive = part.any(axis=tuple(k for k in range(len(scope)) if k != i))
                if not alive.all():
                    states[v] = [s for s, a in zip(states[v], alive) if a]
                    part, changed = part.compress(alive, axis=i), True
    cards = [len(s) for s in states]
    log, left = 0.0, []
    for scope, table in tables:
        part = table[np.ix_(*[states[v] for v in scope])] if scope else table
        keep = [v for v in scope if cards[v] > 1]
        if keep:
            left.append((keep, part.reshape([cards[v] for v in keep])))
        else:
            log += math.log(float(part.ravel()[0]))
    return cards, left, log


def absorb(cards, tables):
    """Multiplies tables into wider ones that hold their variables."""
    out = []
    for scope, table in sorted(tables, key=lambda t: -len(t[0])):
        for i, (home, big) in enumerate(out):
            if set(scope) <= set(home):
                axes = [scope.index(v) for v in home if v in scope]
                out[i] = (home, big * table.transpose(axes).reshape([cards[v] if v in scope else 1 for v in home]))
                break
        else:
            out.append((scope, table))
    return out


def order(cards, tables, fast):
    sizes = {v: cards[v] for scope, _ in tables for v in scope}
    search = omeco.TreeSA(ntrials=2) if fast else omeco.TreeSA(ntrials=1, niters=60, betas=[0.01 + 0.05 * i for i in range(300)])
    return omeco.optimize_code([list(s) for s, _ in tables], [], sizes, search).to_dict()


def contract(cards, tables, tree):
    count = Counter(v for scope, _ in tables for v in scope)
    size = lambda vs: math.prod(cards[v] for v in vs)

    def product(x, y):
        (s, a, la), (t, b, lb) = x, y
        both = [v for v in s if v in t]
        count.subtract(both)
        summed, batch = [v for v in both if count[v] == 1], [v for v in both if count[v] > 1]
        rows, columns = [v for v in s if v not in both], [v for v in t if v not in both]
        a = a.transpose([s.index(v) for v in batch + rows + summed]).reshape(size(batch), size(rows), size(summed))
        b = b.transpose([t.index(v) for v in batch + summed + columns]).reshape(size(batch), size(summed), size(columns))
        if size(batch + rows + columns) > 1 << 28:
            raise MemoryError(f'a table of {size(batch + rows + columns)} entries')
        c, scope = np.matmul(a, b), batch + rows + columns
        top = c.max()
        return scope, (c / top).reshape([cards[v] for v in scope]), la + lb + math.log(top)

    def walk(node):
        if 'tensor_index' in node:
            scope, table = tables[node['tensor_index']]
            lone = tuple(i for i, v in enumerate(scope) if count[v] == 1)
            return [v for v in scope if count[v] > 1], table.sum(axis=lone), 0.0
        parts = [walk(child) for child in node['args']]
        out = parts[0]
        for part in parts[1:]:
            out = product(out, part)
        return out
    scope, table, log = walk(tree)
    return log + math.log(float(table.sum()))


if __name__ == '__main__':
    sys.setrecursionlimit(100_000)
    fast, marks = '--fast' in sys.argv, [time.perf_counter()]
    cards, tables = read(sys.argv[1])
    seen = evidence(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] not in ('-', '--fast') else {}
    cards, tables, log = prune(cards, tables, seen)
    tables = absorb(cards, tables)
    marks.append(time.perf_counter())
    tree = order(cards, tables, fast) if tables else None
    marks.append(time.perf_counter())
    answer = (log + (contract(cards, tables, tree) if tables else 0.0)) / math.log(10)
    marks.append(time.perf_counter())
    seconds = [round(b - a, 4) for a, b in zip(marks, marks[1:])]
    print(json.dumps({'log10': answer, 'read': seconds[0], 'order': seconds[1], 'contract': seconds[2]}) if fast else answer)
