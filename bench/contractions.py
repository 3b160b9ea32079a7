"""Contractions of two tables above 10^9 operations, in the form that buckets.py takes: python contractions.py > FILE.

Products of square matrices, and binary variables in shuffled order as in genetic linkage networks: rows, columns, depth and batch in powers of two.
"""
import json, random

SHAPES = [(10, 10, 10, 0), (11, 11, 8, 0), (8, 8, 8, 6), (7, 7, 7, 9), (5, 5, 5, 15), (10, 10, 4, 6)]


def shuffled(shape, seed):
    chance = random.Random(seed)
    rows, columns, depth, batch = shape
    names = iter(range(sum(shape)))
    summed, row, column, both = ([next(names) for _ in range(n)] for n in (depth, rows, columns, batch))
    scopes = [row + summed + both, column + summed + both]
    for scope in scopes:
        chance.shuffle(scope)
    return {'dom': [2] * sum(shape), 'scopes': scopes, 'summed': summed, 'flop': 2.0 * 2 ** sum(shape), 'shape': shape}


if __name__ == '__main__':
    for n in (1024,):
        print(json.dumps({'dom': [n, n, n], 'scopes': [[1, 0], [0, 2]], 'summed': [0], 'flop': 2.0 * n ** 3, 'shape': [n]}))
    for seed, shape in enumerate(SHAPES):
        print(json.dumps(shuffled(shape, seed)))
