"""All marginals of real networks: zipfold (whole process) and, in the same run, pyAgrum's lazy propagation (BIF) or NumPy along omeco's trees (UAI).

usage: python networks.py ZIPFOLD FOLDER [--tree] [NAME ...]      needs numpy; pyagrum or omeco for the comparison
FOLDER holds NAME.uai.gz with NAME.uai.evid, .PR and .MAR, or NAME.bif.gz. Prints one JSON object with every network of the folder: seconds are
the least wall seconds of up to three turns of the whole process, start, reading and writing included; `inference` are zipfold's own of simplification, plan and
execution. pyAgrum's stand beside both: `pyagrum process` starts Python, imports it, reads the file and takes all posteriors; `pyagrum` is makeInference
and all posteriors alone. With --tree, log10 Z alone
by peers/numpy_tree.py --fast: its seconds of order and contraction, without start, reading and simplification, or why it has no answer within 60 s.
"""
import glob, gzip, json, math, os, subprocess, sys, tempfile, time
import numpy as np


def zipfold(program, path, evidence, folder):
    command = [program, 'infer', path, '--task', 'mar', '-o', f'{folder}/o.MAR', '--force', '--json', '--memory', '16GiB']
    command += ['--evidence', evidence] if evidence else []
    best, report = math.inf, None
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        wall = time.perf_counter() - start
        if done.returncode:
            return {'refused': done.stderr.strip().splitlines()[0][:160], 'seconds': round(wall, 4)}, None
        if wall < best:
            best, report = wall, json.loads(done.stdout)
        if wall > 5:
            break
    numbers = [float(w) for w in open(f'{folder}/o.MAR').read().split()[1:]]
    plan = report['plan'] or {'seconds': 0.0, 'flops': 0.0}
    own = sum(report['seconds'][k] for k in ('simplify', 'plan', 'kernel'))
    return {'seconds': round(best, 4), 'inference': round(own, 5), **{k: round(report['seconds'][k], 4) for k in ('read', 'simplify', 'plan', 'kernel')},
            'predicted': round(plan['seconds'], 4), 'flops': plan['flops'], 'log10': report['log10']}, numbers


def against(numbers, path):
    """The largest difference from the published marginals."""
    if not os.path.exists(path):
        return None
    words = open(path).read().split()
    want = [float(w) for w in words[words.index('MAR') + 1:]]
    want = want if len(want) == len(numbers) else want[1:]
    return float(np.abs(np.array(want) - np.array(numbers)).max()) if len(want) == len(numbers) else None


def numpy_tree(path, evidence):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'peers', 'numpy_tree.py')
    try:
        done = subprocess.run([sys.executable, script, path, evidence or '-', '--fast'], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 'beyond 60 s'
    if done.returncode:
        return (done.stderr.strip().splitlines() or ['killed'])[-1][:100]
    answer = json.loads(done.stdout)
    return {'log10': answer['log10'], 'seconds': round(answer['order'] + answer['contract'], 4)}


PYAGRUM = """
import sys, time
import pyagrum as gum
net = gum.loadBN(sys.argv[1])
start = time.perf_counter()
engine = gum.LazyPropagation(net)
engine.makeInference()
for node in net.nodes():
    engine.posterior(node)
print(time.perf_counter() - start)
"""


def pyagrum(path, folder):
    """Least seconds of up to three turns: the whole process, and its inference."""
    plain = f'{folder}/n.bif'
    open(plain, 'wb').write(gzip.open(path).read())
    whole = inner = math.inf
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, '-c', PYAGRUM, plain], capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ['killed'])[-1])
        whole, inner = min(whole, seconds), min(inner, float(done.stdout.split()[-1]))
        if whole > 5:
            break
    return {'pyagrum process': round(whole, 4), 'pyagrum': round(inner, 5)}


def main():
    program, folder, names = sys.argv[1], sys.argv[2], [n for n in sys.argv[3:] if n != '--tree']
    files = sorted(glob.glob(f'{folder}/*.uai.gz') + glob.glob(f'{folder}/*.bif.gz'))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in files:
            name = os.path.basename(path)[:-3]
            if names and not any(n in name for n in names):
                continue
            evidence = path[:-3] + '.evid'
            row, numbers = zipfold(program, path, evidence if os.path.exists(evidence) else None, scratch)
            row = {'network': name, **row}
            if numbers and name.endswith('.uai'):
                reference = path[:-3] + '.PR'
                row['reference'] = float(open(reference).read().split()[-1]) if os.path.exists(reference) else None
                row['largest_difference'] = against(numbers, path[:-3] + '.MAR')
            if '--tree' in sys.argv and not 'refused' in row:
                row['numpy_tree'] = numpy_tree(path, evidence if os.path.exists(evidence) else None)
            if name.endswith('.bif') and name != 'link.bif':
                try:
                    row.update(pyagrum(path, scratch))
                except Exception as refusal:
                    row['pyagrum'] = str(refusal).split('\n')[0][:160]
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    actual = sorted(r['kernel'] / r['predicted'] for r in rows if r.get('predicted', 0) > 1e-3)
    share = {k: round(actual[int(q * (len(actual) - 1))], 2) for k, q in (('least', 0), ('median', 0.5), ('most', 1))} if actual else None
    print(json.dumps({'networks': len(rows), 'total_seconds': round(sum(r['seconds'] for r in rows), 2),
                      'kernel_over_predicted_above_1_ms': share, 'rows': rows}, indent=1))


if __name__ == '__main__':
    main()
