"""log10 of the partition function of a UAI network by NumPy along a contraction tree of omeco's: shares no code with zipfold.

usage: python numpy_tree.py NETWORK.uai[.gz] [EVIDENCE]      needs numpy and omeco
"""
import gzip, math, sys
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


def contract(cards, tables):
    sizes = {v: cards[v] for scope, _ in tables for v in scope}
    search = omeco.TreeSA(ntrials=1, niters=60, betas=[0.01 + 0.05 * i for i in range(300)])
    tree = omeco.optimize_code([list(s) for s, _ in tables], [], sizes, search).to_dict()
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
        c, scope = np.matmul(a, b), batch + rows + columns
        top = c.max()
        return scope, (c / top).reshape([cards[v] for v in scope]), la + lb + math.log(top)

    def walk(node):
        if 'tensor_index' in node:
            return (*tables[node['tensor_index']], 0.0)
        parts = [walk(child) for child in node['args']]
        out = parts[0]
        for part in parts[1:]:
            out = product(out, part)
        return out
    scope, table, log = walk(tree)
    return log + math.log(float(table.sum()))


if __name__ == '__main__':
    sys.setrecursionlimit(100_000)
    cards, tables = read(sys.argv[1])
    cards, tables, log = prune(cards, tables, evidence(sys.argv[2]) if len(sys.argv) > 2 else {})
    print((log + contract(cards, absorb(cards, tables))) / math.log(10))
