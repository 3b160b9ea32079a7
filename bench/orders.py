"""Contraction orders of zipfold, of omeco (Liu's TreeSA, greedy) and of cotengra (hyper-optimised greedy with subtree reconfiguration) on the same simplified networks, with the same seconds.

usage: python orders.py PROGRAM FOLDER [NAME ...]      needs omeco, cotengra, optuna
PROGRAM is the example `orders` of crate zipfold. Both sides are graded here, by log2 of the configurations that all joins visit and
by log2 of the cost that zipfold's search minimises: visits, 64 for every entry of a join's result, 2000 for a join. zipfold's search runs with as many seconds as the peer took, on as many threads, and with its own budget. cotengra minimises the first two terms of that cost (`combo-64`) for the seconds that omeco's full search took. Prints one JSON object.
"""
import glob, json, math, os, subprocess, sys, time, warnings
import cotengra, omeco


def grade(children, scopes, cards):
    """log2 of the visited configurations, of the cost and of the largest result of a tree given as nested lists of table numbers."""
    count = {}
    for s in scopes:
        for v in s:
            count[v] = count.get(v, 0) + 1
    log2 = lambda variables: sum(math.log2(cards[v]) for v in variables)
    visits, costs, largest = [], [], 0.0

    def walk(node):
        nonlocal largest
        if isinstance(node, int):
            return {v: 1 for v in scopes[node]}
        found = {}
        for child in node:
            for v, n in walk(child).items():
                found[v] = found.get(v, 0) + n
        visits.append(log2(found))
        left = {v: n for v, n in found.items() if n < count[v]}
        largest = max(largest, log2(left))
        costs.append(2.0 ** visits[-1] + 64.0 * 2.0 ** log2(left) + 2000.0)
        return left
    walk(children)
    return {'visits': round(math.log2(sum(2.0 ** v for v in visits)), 2), 'cost': round(math.log2(sum(costs)), 2), 'largest': round(largest, 1)}


def nested(tree):
    return tree['tensor_index'] if 'tensor_index' in tree else [nested(a) for a in tree['args']]


def by_omeco(network, method):
    start = time.perf_counter()
    sizes = dict(enumerate(network['cards']))
    tree = omeco.optimize_code(network['scopes'], [], sizes, method).to_dict()
    seconds = time.perf_counter() - start
    return {'seconds': round(seconds, 3), **grade(nested(tree), network['scopes'], network['cards'])}


def by_cotengra(network, seconds):
    names = {v: cotengra.get_symbol(v) for v in range(len(network['cards']))}
    inputs = [tuple(names[v] for v in scope) for scope in network['scopes']]
    sizes = {names[v]: card for v, card in enumerate(network['cards'])}
    search = cotengra.HyperOptimizer(
        methods=['greedy', 'labels'], minimize='combo-64', max_time=seconds, max_repeats=1 << 20, reconf_opts={}, parallel=False, progbar=False)
    start = time.perf_counter()
    path = search.search(inputs, (), sizes).get_ssa_path()
    seconds = time.perf_counter() - start
    nodes = list(range(len(inputs)))
    for pair in path:
        nodes.append([nodes[i] for i in pair])
    return {'seconds': round(seconds, 3), **grade(nodes[-1], network['scopes'], network['cards'])}


def by_zipfold(program, path, evidence, seconds):
    command = [program, path, evidence] + ([str(seconds)] if seconds is not None else [])
    network = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {'seconds': round(network['seconds'], 3), **grade(network['tree'], network['scopes'], network['cards'])}, network


def main():
    sys.setrecursionlimit(1 << 20)
    warnings.filterwarnings('ignore')
    program, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    rows = []
    for path in sorted(glob.glob(f'{folder}/*.uai.gz') + glob.glob(f'{folder}/*.erg.gz')):
        name = os.path.basename(path)[:-3]
        if names and not any(n in name for n in names):
            continue
        evidence = next((e for e in (path[:-3] + '.evid', path[:-3] + '.evid.gz') if os.path.exists(e)), '-')
        own, network = by_zipfold(program, path, evidence, None)
        row = {'network': name, 'tables': len(network['scopes']), 'zipfold': own}
        for label, method in (('greedy', omeco.GreedyMethod()), ('fast', omeco.TreeSA.fast()), ('full', omeco.TreeSA(ntrials=2))):
            row['omeco ' + label] = by_omeco(network, method)
            row['zipfold as omeco ' + label] = by_zipfold(program, path, evidence, row['omeco ' + label]['seconds'])[0]
        row['cotengra'] = by_cotengra(network, row['omeco full']['seconds'])
        row['zipfold as cotengra'] = by_zipfold(program, path, evidence, row['cotengra']['seconds'])[0]
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    saved = lambda m, by: [r[m][by] - r['zipfold as ' + m][by] for r in rows]
    log2_saved = {m: {by: {'mean': round(sum(saved(m, by)) / len(rows), 2), 'least': round(min(saved(m, by)), 2)} for by in ('cost', 'visits')}
                  for m in ('omeco greedy', 'omeco fast', 'omeco full', 'cotengra')}
    print(json.dumps({'networks': len(rows), 'log2_saved': log2_saved, 'rows': rows}, indent=1))


if __name__ == '__main__':
    main()
