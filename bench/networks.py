"""All marginals of real networks: zipfold (whole process) and, for BIF files, pyAgrum's lazy propagation in the same run.

usage: python networks.py ZIPFOLD FOLDER [NAME ...]      needs numpy; pyagrum for the comparison
FOLDER holds NAME.uai.gz with NAME.uai.evid, .PR and .MAR, or NAME.bif.gz. Prints one JSON object with every network of the folder: seconds are
the least wall seconds of up to three turns; pyAgrum's are those of inference and all posteriors, without reading the file.
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
    return {'seconds': round(best, 4), **{k: round(report['seconds'][k], 4) for k in ('read', 'simplify', 'plan', 'kernel')},
            'predicted': round(plan['seconds'], 4), 'flops': plan['flops'], 'log10': report['log10']}, numbers


def against(numbers, path):
    """The largest difference from the published marginals."""
    if not os.path.exists(path):
        return None
    words = open(path).read().split()
    want = [float(w) for w in words[words.index('MAR') + 1:]]
    want = want if len(want) == len(numbers) else want[1:]
    return float(np.abs(np.array(want) - np.array(numbers)).max()) if len(want) == len(numbers) else None


def pyagrum(path, folder):
    import pyagrum as gum
    plain = f'{folder}/n.bif'
    open(plain, 'wb').write(gzip.open(path).read())
    net = gum.loadBN(plain)
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        engine = gum.LazyPropagation(net)
        engine.makeInference()
        for node in net.nodes():
            engine.posterior(node)
        best = min(best, time.perf_counter() - start)
        if best > 5:
            break
    return best


def main():
    program, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
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
            if name.endswith('.bif') and name != 'link.bif':
                try:
                    row['pyagrum'] = round(pyagrum(path, scratch), 4)
                except ImportError:
                    pass
                except Exception as refusal:
                    row['pyagrum'] = str(refusal).split('\n')[0][:160]
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    print(json.dumps({'networks': len(rows), 'total_seconds': round(sum(r['seconds'] for r in rows), 2), 'rows': rows}, indent=1))


if __name__ == '__main__':
    main()
