"""Networks with many zeros: two builds, and the ways of the second: by default, by elimination alone, by a count of components.

usage: python zeros.py OLD NEW FOLDER [NAME ...]
FOLDER holds the folders uai and uai2008. Networks that are generated come first. Time limit 60 s, of the count 5 s. Prints a row for each network and task: variables and tables
after simplification, predicted seconds of elimination, and for each way the CPU seconds, log10 and the largest difference from the first way that answers.
"""
import glob, json, os, random, resource, subprocess, sys, tempfile

WAYS = (('OLD', []), ('NEW', []), ('elimination', ['--set', 'product.method=elimination']), ('components', ['--time-limit', '5', '--set', 'product.method=components']))
LIMIT = ['--time-limit', '60']
FAMILIES = ('uai2008/*.erg.gz', 'uai/linkage_*.uai.gz', 'uai/P*_1*.uai.gz', 'uai/CSP_*.uai.gz', 'uai/relational_1.uai.gz')


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write(path, cards, tables):
    with open(path, 'w') as f:
        f.write(f"MARKOV\n{len(cards)}\n{' '.join(map(str, cards))}\n{len(tables)}\n")
        for scope, _ in tables:
            f.write(f"{len(scope)} {' '.join(map(str, scope))}\n")
        for _, values in tables:
            f.write(f"{len(values)}\n{' '.join(map(repr, values))}\n")


def formula(path, many, clauses, seed):
    """A random formula of clauses of three literals, with a weight for each variable."""
    r = random.Random(seed)
    tables = [([v], [1.0, round(r.uniform(0.2, 2.0), 3)]) for v in range(many)]
    for _ in range(clauses):
        scope = r.sample(range(many), 3)
        tables.append((scope, [1.0] * 8))
        tables[-1][1][r.randrange(8)] = 0.0
    write(path, [2] * many, tables)


def circuit(path, inputs, gates, seen, seed):
    """Gates over earlier signals nearby; the last are observed, for some inputs."""
    r = random.Random(seed)
    tables = [([v], [0.3, 0.7]) for v in range(inputs)]
    value = [r.randrange(2) for _ in range(inputs)]
    kinds = ([0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 1, 0], [1, 1, 1, 0])
    for g in range(inputs, inputs + gates):
        a, b = r.sample(range(max(0, g - 2 * inputs), g), 2)
        out = r.choice(kinds)
        value.append(out[2 * value[a] + value[b]])
        tables.append(([a, b, g], [float(o == x) for o in out for x in (0, 1)]))
    for g in range(inputs + gates - seen, inputs + gates):
        tables.append(([g], [float(value[g] == x) for x in (0, 1)]))
    write(path, [2] * (inputs + gates), tables)


def grid(path, side, share, seed):
    """A grid in which every variable depends on the ones above and to the left, most of them by a table of zeros and ones."""
    r = random.Random(seed)
    tables = []
    for at in range(side * side):
        parents = [p for p in (at - side, at - 1 if at % side else -1) if p >= 0]
        values = []
        for _ in range(2 ** len(parents)):
            one = float(r.random() < 0.5) if r.random() < share else round(r.random(), 4)
            values += [1.0 - one, one]
        tables.append((parents + [at], values))
    tables.append(([side * side - 1], [0.0, 1.0]))
    write(path, [2] * (side * side), tables)


def generated(folder):
    made = {'formula-60-180': (formula, 60, 180, 1), 'formula-100-350': (formula, 100, 350, 2), 'formula-150-300': (formula, 150, 300, 3),
            'circuit-30-300': (circuit, 30, 300, 8, 4), 'circuit-60-600': (circuit, 60, 600, 20, 5), 'grid-30-90': (grid, 30, 0.9, 6), 'grid-40-90': (grid, 40, 0.9, 7)}
    for name, (make, *how) in made.items():
        path = os.path.join(folder, name + '.uai')
        make(path, *how)
        yield path, 'pr', []
        yield path, 'mar', []


def real(root):
    for path in sorted(p for family in FAMILIES for p in glob.glob(os.path.join(root, family))):
        name = os.path.basename(path)
        seen = [e for e in (path[:-3] + '.evid', path[:-3] + '.evid.gz') if os.path.exists(e)]
        yield path, 'pr', seen
        if name.startswith(('90-', 's1238', 'pedigree38', 'linkage_23', 'c499')):
            yield path, 'mar', []


def ask(program, path, task, seen, more, folder):
    out = os.path.join(folder, 'answer')
    evidence = [w for e in seen for w in ('--evidence', e)]
    start = cpu()
    command = [program, 'infer', path, '--task', task, '--memory', '8GiB', *(more[:2] if '--time-limit' in more else LIMIT), '--json', '-o', out, '--format', 'uai', '--force', *evidence, *more[-2:]]
    done = subprocess.run(command, capture_output=True, text=True)
    took = cpu() - start
    if done.returncode:
        return {'cpu': took, 'error': done.stderr.strip().splitlines()[0][:200]}
    report = json.loads(done.stdout)
    numbers = [float(w) for w in open(out).read().split()[1:]]
    return {'cpu': took, 'log10': report['log10'], 'numbers': numbers, 'count': report.get('count')}


def told(run, first):
    if 'error' in run:
        return f"refused, {run['cpu']:.2f}"
    gap = max((abs(x - y) for x, y in zip(run['numbers'], first['numbers'])), default=0.0)
    how = ' (count)' if run['count'] else ''
    return f"{run['cpu']:.2f}{how}, {gap:.0e}"


def simplified(program, path, task, seen):
    evidence = [w for e in seen for w in ('--evidence', e)]
    done = subprocess.run([program, 'explain', 'infer', path, '--task', task, '--json', *LIMIT, *evidence], capture_output=True, text=True)
    if done.returncode:
        return '–', '–'
    report = json.loads(done.stdout)
    plan = report['plan']
    return f"{report['simplified']['variables']}, {report['simplified']['tables']}", f"{plan['seconds']:.2g}" if plan else '–'


def main():
    old, new, root, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        asked = [*generated(folder), *real(root)]
        print('| network, task | OLD variables, tables | predicted | NEW | predicted | ' + ' | '.join(f'{n} CPU s, difference' for n, _ in WAYS) + ' | log10 |')
        print('|---' * (6 + len(WAYS)) + '|')
        for path, task, seen in asked:
            name = f'{os.path.basename(path)}, {task}'
            if names and not any(n in name for n in names):
                continue
            runs = [ask(old if way == 'OLD' else new, path, task, seen, more, folder) for way, more in WAYS]
            first = next((r for r in runs if 'error' not in r), None)
            sizes = [*simplified(old, path, task, seen), *simplified(new, path, task, seen)]
            log10 = '' if first is None else f"{first['log10']:.8g}"
            print(f"| {name} | {' | '.join(sizes)} | {' | '.join(told(r, first) for r in runs)} | {log10} |", flush=True)


main()
